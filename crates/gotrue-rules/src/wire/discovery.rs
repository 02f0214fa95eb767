//! Server metadata: `/.well-known/openid-configuration`, `/.well-known/oauth-authorization-server`.

use serde::Serialize;

use crate::domain::oauth_server::scope;
use crate::domain::policy::Policy;

/// Authorization server metadata (RFC 8414, OpenID Connect Discovery).
#[derive(Debug, Serialize)]
pub struct DiscoveryJson<'a> {
    issuer: &'a str,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    scopes_supported: &'static [&'static str],
    response_types_supported: &'static [&'static str],
    response_modes_supported: &'static [&'static str],
    grant_types_supported: &'static [&'static str],
    subject_types_supported: &'static [&'static str],
    id_token_signing_alg_values_supported: &'static [&'static str],
    token_endpoint_auth_methods_supported: &'static [&'static str],
    claims_supported: &'static [&'static str],
    code_challenge_methods_supported: &'static [&'static str],
}

const CLAIMS: [&str; 15] = [
    "sub",
    "aud",
    "iss",
    "exp",
    "iat",
    "auth_time",
    "nonce",
    "email",
    "email_verified",
    "phone_number",
    "phone_number_verified",
    "name",
    "picture",
    "preferred_username",
    "updated_at",
];

impl<'a> From<&'a Policy> for DiscoveryJson<'a> {
    fn from(policy: &'a Policy) -> Self {
        let issuer = policy.jwt.issuer.as_str();
        let base = issuer.trim_end_matches('/');
        let at = |path: &str| format!("{base}{path}");
        let may_register = policy.oauth_server.enabled && policy.oauth_server.allow_dynamic_registration;
        Self {
            issuer,
            authorization_endpoint: at("/oauth/authorize"),
            token_endpoint: at("/oauth/token"),
            jwks_uri: at("/.well-known/jwks.json"),
            userinfo_endpoint: at("/oauth/userinfo"),
            registration_endpoint: may_register.then(|| at("/oauth/clients/register")),
            scopes_supported: scope::list_supported(&policy.oauth_server),
            response_types_supported: &["code"],
            response_modes_supported: &["query"],
            grant_types_supported: &["authorization_code", "refresh_token"],
            subject_types_supported: &["public"],
            id_token_signing_alg_values_supported: &["RS256", "HS256", "ES256"],
            token_endpoint_auth_methods_supported: &["client_secret_basic", "client_secret_post", "none"],
            claims_supported: &CLAIMS,
            code_challenge_methods_supported: if policy.oauth_server.is_plain_challenge_rejected {
                &["S256"]
            } else {
                &["S256", "plain"]
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn to_json(policy: &Policy) -> Value {
        serde_json::to_value(DiscoveryJson::from(policy)).unwrap()
    }

    #[test]
    fn endpoints_are_below_issuer_without_trailing_slashes() {
        let mut policy = Policy::default();
        policy.jwt.issuer = "https://auth.example.com/auth/v1//".into();
        let json = to_json(&policy);
        assert_eq!(json["issuer"], "https://auth.example.com/auth/v1//");
        assert_eq!(json["token_endpoint"], "https://auth.example.com/auth/v1/oauth/token");
        assert_eq!(json["jwks_uri"], "https://auth.example.com/auth/v1/.well-known/jwks.json");
        assert_eq!(to_json(&Policy::default())["userinfo_endpoint"], "/oauth/userinfo");
    }

    #[test]
    fn registration_endpoint_requires_dynamic_registration() {
        let mut policy = Policy::default();
        for (enabled, dynamic, is_listed) in
            [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
        {
            policy.oauth_server.enabled = enabled;
            policy.oauth_server.allow_dynamic_registration = dynamic;
            assert_eq!(to_json(&policy).get("registration_endpoint").is_some(), is_listed);
        }
    }

    #[test]
    fn plain_challenge_method_is_listed_only_if_accepted() {
        let mut policy = Policy::default();
        assert_eq!(to_json(&policy)["code_challenge_methods_supported"], json!(["S256", "plain"]));
        policy.oauth_server.is_plain_challenge_rejected = true;
        assert_eq!(to_json(&policy)["code_challenge_methods_supported"], json!(["S256"]));
    }

    #[test]
    fn metadata_lists_match_gotrue() {
        let json = to_json(&Policy::default());
        assert_eq!(json["claims_supported"].as_array().unwrap().len(), 15);
        assert_eq!(json["scopes_supported"], json!(["openid", "profile", "email", "phone", "offline_access"]));
        assert_eq!(json["id_token_signing_alg_values_supported"], json!(["RS256", "HS256", "ES256"]));
    }
}
