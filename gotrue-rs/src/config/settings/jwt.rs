//! Access tokens.

use super::super::check;
use super::super::setting::{Setting, UnusedForm, ValueType};
use super::rows::{Section, list, secret, text, unused, whole};

pub(super) const SECTION: Section = Section {
    title: "Access tokens",
    intro: "",
    rows: &[
        secret("GOTRUE_JWT_SECRET", |d, _, v| d.config.jwt.secret = v)
            .required()
            .doc(
                "Shared secret that tokens are signed with (HS256); may be empty if `GOTRUE_JWT_KEYS` holds keys.",
                "at-least-32-characters-of-your-own",
            ),
        Setting::new("GOTRUE_JWT_KEYS", ValueType::Custom("a JSON list of JSON web keys", |d, _, v| check::parse_jwt_keys(d, v)))
            .hidden()
            .doc(
                "JSON web keys that tokens are signed and verified with, exactly one with the operation \
                 `sign`; `[]`: none.",
                "[{\"kty\":\"oct\",\"kid\":\"a\",\"alg\":\"HS256\",\"k\":\"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I\",\"key_ops\":[\"sign\",\"verify\"]}]",
            ),
        text("GOTRUE_JWT_KEY_ID", |d, _, v| d.config.jwt.key_id = v)
            .doc("Key id of the shared secret.", "2026-01"),
        Setting::new("GOTRUE_JWT_VALID_METHODS", ValueType::List(|d, _, v| d.policy.jwt.valid_methods = Some(v)))
            .doc(
                "Accepted signing algorithms of tokens; unset: those of the keys; empty: none, so that every token is \
                 rejected.",
                "HS256,ES256",
            ),
        whole("GOTRUE_JWT_EXP", |d, _, n| d.policy.jwt.exp = if n == 0 { 3600 } else { n })
            .with_unit("seconds")
            .default("3600")
            .doc("Lifetime of an access token; 0 means the default.", "900"),
        text("GOTRUE_JWT_ISSUER", |d, _, v| d.policy.jwt.issuer = v)
            .doc("`iss` of access tokens.", "https://api.example.com/auth/v1"),
        text("GOTRUE_JWT_AUD", |d, _, v| d.policy.jwt.aud = v)
            .doc("Audience of new users if the request names none in `X-JWT-AUD`.", "authenticated"),
        text("GOTRUE_JWT_DEFAULT_GROUP_NAME", |d, _, v| v.trim().clone_into(&mut d.policy.jwt.default_group))
            .doc("Role of new users.", "authenticated"),
        text("GOTRUE_JWT_ADMIN_GROUP_NAME", |d, _, v| {
            d.policy.jwt.admin_group = if v.is_empty() { "admin".to_owned() } else { v };
        })
        .default("admin")
        .doc("Role of users who are administrators.", "owner"),
        list("GOTRUE_JWT_ADMIN_ROLES", |d, _, v| {
            if !v.is_empty() {
                d.policy.jwt.admin_roles = v;
            }
        })
        .default("service_role,supabase_admin")
        .doc("Token roles with access to the admin API.", "service_role"),
        unused("GOTRUE_JWT_VALIDMETHODS", UnusedForm::Text, "the name is GOTRUE_JWT_VALID_METHODS").doc("", "HS256"),
    ],
};
