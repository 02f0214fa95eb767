//! Passwords.

use super::super::check;
use super::super::setting::{Put, Setting};
use super::super::values;
use super::{Section, natural, number, switch, text, whole};

pub(super) const SECTION: Section = Section {
    title: "Passwords",
    intro: "",
    rows: &[
        whole("GOTRUE_PASSWORD_MIN_LENGTH", |d, _, n| d.policy.password.min_length = super::count(n).max(6))
            .of("characters")
            .default("6")
            .doc("Fewest characters; never below 6.", "10"),
        Setting::new(
            "GOTRUE_PASSWORD_REQUIRED_CHARACTERS",
            Put::Own("sets of characters", |d, _, v| {
                d.policy.password.required_characters = values::character_sets(v);
                Ok(())
            }),
        )
        .doc(
            "Sets of characters between colons (`\\:` is a colon): at least one of each.",
            "abcdefghijklmnopqrstuvwxyz:0123456789",
        ),
        Setting::new("BASALT_PASSWORD_HASH", Put::Own("`bcrypt` or `argon2id`", check::password_hash))
            .default("bcrypt")
            .doc(
                "How new passwords are hashed: `bcrypt` as the reference does, or `argon2id` (7168 KiB, 5 \
                 passes, 1 lane). Hashes of both kinds are always verified.",
                "argon2id",
            ),
        switch("GOTRUE_PASSWORD_HIBP_ENABLED", |d, _, v| d.policy.password.hibp.enabled = v).default("false").doc(
            "New passwords are looked up among the leaked ones (the first five digits of their SHA-1 leave \
             the house).",
            "true",
        ),
        switch("GOTRUE_PASSWORD_HIBP_FAIL_CLOSED", |d, _, v| d.policy.password.hibp.fail_closed = v)
            .default("false")
            .doc("When that service does not answer, the password is refused.", "true"),
        text("GOTRUE_PASSWORD_HIBP_USER_AGENT", |d, _, v| d.policy.password.hibp.user_agent = v)
            .default("https://github.com/supabase/gotrue")
            .doc("`User-Agent` of the look-up.", "https://shop.example.com"),
        switch("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", |d, _, v| d.bloom.0 = v)
            .default("false")
            .doc("Leaked passwords once seen are remembered in memory.", "true"),
        natural("GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS", |d, _, n| d.bloom.1.items = n)
            .of("passwords")
            .default("100000")
            .doc("How many of them.", "500000"),
        number("GOTRUE_PASSWORD_HIBP_BLOOM_FALSE_POSITIVES", |d, _, n| d.bloom.1.false_positives = n)
            .default("0.0000099")
            .doc("Share of passwords that are held for leaked by mistake.", "0.00001"),
    ],
};
