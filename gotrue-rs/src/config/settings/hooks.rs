//! Hooks.

use gotrue_rules::domain::secret::Secret;

use super::super::setting::{Family, Put, Setting};
use super::{Section, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Hooks",
    intro: "`<HOOK>` is one of `SEND_SMS`, `SEND_EMAIL`, `CUSTOM_ACCESS_TOKEN`, `MFA_VERIFICATION_ATTEMPT`, \
            `PASSWORD_VERIFICATION_ATTEMPT`, `BEFORE_USER_CREATED`, `AFTER_USER_CREATED`. Address and secrets \
            are checked also while a hook is off.",
    rows: &[
        switch("GOTRUE_HOOK_*_ENABLED", |d, hook, v| d.hook(hook).enabled = v)
            .each(Family::Hooks)
            .default("false")
            .doc("The hook is called.", "true"),
        text("GOTRUE_HOOK_*_URI", |d, hook, v| d.hook(hook).uri = v).each(Family::Hooks).doc(
            "What is called: an `https` address (`http` to this machine alone), or \
             `pg-functions://database/schema/function`.",
            "pg-functions://postgres/public/my_hook",
        ),
        Setting::new(
            "GOTRUE_HOOK_*_SECRETS",
            Put::Own("secrets", |d, hook, v| {
                let parts = v.split('|').filter(|part| !part.is_empty());
                d.hook(hook).secrets = parts.map(Secret::from).collect();
                Ok(())
            }),
        )
        .or("SECRETS")
        .each(Family::Hooks)
        .hidden()
        .doc(
            "Secrets that calls over HTTP are signed with, between `|`: `v1,whsec_` and 32 to 88 characters of \
             base64.",
            "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=",
        ),
    ],
};
