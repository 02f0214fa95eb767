//! Sessions and refresh tokens.

use std::time::Duration;

use super::rows::{Section, between, list, positive_span, switch, whole};

pub(super) const SECTION: Section = Section {
    title: "Sessions and refresh tokens",
    intro: "",
    rows: &[
        positive_span("GOTRUE_SESSIONS_TIMEBOX", |d, _, v| d.policy.sessions.timebox = Some(v.to_std()))
            .doc("Maximum lifetime of a session; unset: no limit.", "24h"),
        positive_span("GOTRUE_SESSIONS_INACTIVITY_TIMEOUT", |d, _, v| {
            d.policy.sessions.inactivity_timeout = Some(v.to_std());
        })
        .doc("Maximum time between two refreshes; unset: no limit.", "8h"),
        positive_span("GOTRUE_SESSIONS_ALLOW_LOW_AAL", |d, _, v| d.policy.sessions.allow_low_aal = Some(v.to_std()))
            .doc("How long a session may stay at `aal1` if the user has a verified factor; unset: no limit.", "15m"),
        switch("GOTRUE_SESSIONS_SINGLE_PER_USER", |d, _, v| d.policy.sessions.single_per_user = v)
            .default("false")
            .doc("Only the newest session of a user can be refreshed.", "true"),
        list("GOTRUE_SESSIONS_TAGS", |d, _, v| d.policy.sessions.tags = v)
            .doc("Allowed tags of sessions; the newest session is determined per tag.", "web,mobile"),
        switch("GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED", |d, _, v| d.policy.refresh.rotation_enabled = v)
            .default("true")
            .doc("Every refresh issues a new token; reuse of an old one ends the session.", "false"),
        whole("GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", |d, _, n| {
            d.policy.refresh.reuse_interval = Duration::from_secs(u64::try_from(n).unwrap_or(0));
        })
        .with_unit("seconds")
        .default("0")
        .doc("How long a used token may be reused.", "10"),
        between("GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", 0, 2, |d, _, n| {
            d.policy.refresh.algorithm_version = u8::try_from(n).unwrap_or(0);
        })
        .default("0")
        .doc(
            "Refresh token version of new sessions: 0 and 1 are stored in rows, 2 is signed with the session's key.",
            "2",
        ),
        between("GOTRUE_SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE", 0, 100, |d, _, n| {
            d.policy.refresh.upgrade_percentage = u8::try_from(n).unwrap_or(0);
        })
        .with_unit("percent")
        .default("0")
        .doc("Percentage of older sessions upgraded to version 2 when they are refreshed.", "50"),
        switch("GOTRUE_SECURITY_REFRESH_TOKEN_ALLOW_REUSE", |d, _, v| d.policy.refresh.allow_reuse = v)
            .default("false")
            .doc("A used token of version 2 may be reused at any time.", "true"),
    ],
};
