//! Access tokens.

use super::super::check;
use super::super::setting::{Form, Put, Setting};
use super::{Section, list, secret, text, unused, whole};

pub(super) const SECTION: Section = Section {
    title: "Access tokens",
    intro: "",
    rows: &[
        secret("GOTRUE_JWT_SECRET", |d, _, v| d.config.jwt.secret = v)
            .required()
            .doc(
                "Shared secret that tokens are signed with (HS256); may be empty where `GOTRUE_JWT_KEYS` holds \
                 keys.",
                "at-least-32-characters-of-your-own",
            ),
        Setting::new("GOTRUE_JWT_KEYS", Put::Own("a JSON list of JSON web keys", |d, _, v| check::jwt_keys(d, v)))
            .hidden()
            .doc(
                "JSON web keys that tokens are signed and verified with, exactly one with the operation \
                 `sign`; `[]`: none.",
                "[{\"kty\":\"oct\",\"kid\":\"a\",\"alg\":\"HS256\",\"k\":\"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I\",\"key_ops\":[\"sign\",\"verify\"]}]",
            ),
        text("GOTRUE_JWT_KEY_ID", |d, _, v| d.config.jwt.key_id = v)
            .doc("Key id of the shared secret.", "2026-01"),
        Setting::new("GOTRUE_JWT_VALID_METHODS", Put::List(|d, _, v| d.policy.jwt.valid_methods = Some(v)))
            .doc(
                "Algorithms a token may be signed with; unset: those of the keys; empty: none, so that every \
                 token is refused.",
                "HS256,ES256",
            ),
        whole("GOTRUE_JWT_EXP", |d, _, n| d.policy.jwt.exp = if n == 0 { 3600 } else { n })
            .of("seconds")
            .default("3600")
            .doc("Life of an access token; 0 means the default.", "900"),
        text("GOTRUE_JWT_ISSUER", |d, _, v| d.policy.jwt.issuer = v)
            .doc("`iss` of access tokens.", "https://api.example.com/auth/v1"),
        text("GOTRUE_JWT_AUD", |d, _, v| d.policy.jwt.aud = v)
            .doc("Audience of new accounts when the request names none in `X-JWT-AUD`.", "authenticated"),
        text("GOTRUE_JWT_DEFAULT_GROUP_NAME", |d, _, v| d.policy.jwt.default_group = v)
            .doc("Role of new accounts.", "authenticated"),
        text("GOTRUE_JWT_ADMIN_GROUP_NAME", |d, _, v| {
            d.policy.jwt.admin_group = if v.is_empty() { "admin".to_owned() } else { v };
        })
        .default("admin")
        .doc("Role that counts as administrator of accounts.", "owner"),
        list("GOTRUE_JWT_ADMIN_ROLES", |d, _, v| {
            if !v.is_empty() {
                d.policy.jwt.admin_roles = v;
            }
        })
        .default("service_role,supabase_admin")
        .doc("Roles in a token that open the admin API.", "service_role"),
        unused("GOTRUE_JWT_VALIDMETHODS", Form::Text, "it is spelt GOTRUE_JWT_VALID_METHODS").doc("", "HS256"),
    ],
};
