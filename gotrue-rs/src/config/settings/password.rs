//! Passwords.

use super::super::check;
use super::super::setting::{Setting, ValueType};
use super::super::values;
use super::rows::{Section, count, natural, number, switch, text, whole};

pub(super) const SECTION: Section = Section {
    title: "Passwords",
    intro: "",
    rows: &[
        whole("GOTRUE_PASSWORD_MIN_LENGTH", |d, _, n| d.policy.password.min_length = count(n).max(6))
            .with_unit("characters")
            .default("6")
            .doc("Minimum password length; never below 6.", "10"),
        Setting::new(
            "GOTRUE_PASSWORD_REQUIRED_CHARACTERS",
            ValueType::Custom("sets of characters", |d, _, v| {
                d.policy.password.required_characters = values::parse_character_sets(v);
                Ok(())
            }),
        )
        .doc(
            "Colon-separated sets of characters (`\\:` is a colon); a password needs at least one of each.",
            "abcdefghijklmnopqrstuvwxyz:0123456789",
        ),
        Setting::new("BASALT_PASSWORD_HASH", ValueType::Custom("`bcrypt` or `argon2id`", check::parse_password_hash))
            .default("bcrypt")
            .doc(
                "Hash algorithm of new passwords: `bcrypt` like the reference, or `argon2id` (7168 KiB, 5 passes, 1 \
                 lane). Existing hashes of both algorithms stay valid.",
                "argon2id",
            ),
        switch("GOTRUE_PASSWORD_HIBP_ENABLED", |d, _, v| d.policy.password.hibp.enabled = v).default("false").doc(
            "New passwords are checked against haveibeenpwned.com (only the first five hex digits of their SHA-1 are \
             sent).",
            "true",
        ),
        switch("GOTRUE_PASSWORD_HIBP_FAIL_CLOSED", |d, _, v| d.policy.password.hibp.fail_closed = v)
            .default("false")
            .doc("The password is rejected if that service does not respond.", "true"),
        text("GOTRUE_PASSWORD_HIBP_USER_AGENT", |d, _, v| d.policy.password.hibp.user_agent = v)
            .default("https://github.com/supabase/gotrue")
            .doc("`User-Agent` of that request.", "https://shop.example.com"),
        switch("GOTRUE_PASSWORD_HIBP_BLOOM_ENABLED", |d, _, v| d.bloom.0 = v)
            .default("false")
            .doc("Leaked hashes are cached in memory (Bloom filter).", "true"),
        natural("GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS", |d, _, n| d.bloom.1.items = n)
            .with_unit("passwords")
            .default("100000")
            .doc("Capacity of that cache.", "500000"),
        number("GOTRUE_PASSWORD_HIBP_BLOOM_FALSE_POSITIVES", |d, _, n| d.bloom.1.false_positives = n)
            .default("0.0000099")
            .doc("False-positive rate of that cache.", "0.00001"),
    ],
};
