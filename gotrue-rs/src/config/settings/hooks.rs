//! Hooks.

use foundation::secret::Secret;

use super::super::setting::{Family, Setting, ValueType};
use super::rows::{Section, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Hooks",
    intro: "`<HOOK>` is one of `SEND_SMS`, `SEND_EMAIL`, `CUSTOM_ACCESS_TOKEN`, `MFA_VERIFICATION_ATTEMPT`, \
            `PASSWORD_VERIFICATION_ATTEMPT`, `BEFORE_USER_CREATED`, `AFTER_USER_CREATED`. URI and secrets are checked \
            even if a hook is disabled.",
    rows: &[
        switch("GOTRUE_HOOK_*_ENABLED", |d, hook, v| d.hook(hook).enabled = v)
            .for_family(Family::Hooks)
            .default("false")
            .doc("Enables the hook.", "true"),
        text("GOTRUE_HOOK_*_URI", |d, hook, v| d.hook(hook).uri = v).for_family(Family::Hooks).doc(
            "URI of the hook: an `https` URL (`http` only to localhost), or \
             `pg-functions://database/schema/function`.",
            "pg-functions://postgres/public/my_hook",
        ),
        Setting::new(
            "GOTRUE_HOOK_*_SECRETS",
            ValueType::Custom("secrets", |d, hook, v| {
                let parts = v.split('|').filter(|part| !part.is_empty());
                d.hook(hook).secrets = parts.map(Secret::from).collect();
                Ok(())
            }),
        )
        .with_alias("SECRETS")
        .for_family(Family::Hooks)
        .hidden()
        .doc(
            "Signing secrets of HTTP calls, separated by `|`: `v1,whsec_` and 32 to 88 characters of base64.",
            "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=",
        ),
    ],
};
