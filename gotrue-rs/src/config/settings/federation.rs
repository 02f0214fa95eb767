//! SAML, the OAuth server, custom providers, and wallets.

use super::super::check;
use super::super::setting::{Setting, ValueType};
use super::rows::{Section, or_seconds, secret, span, switch, text, whole};

pub(super) const SECTION: Section = Section {
    title: "SAML, OAuth server, wallets",
    intro: "",
    rows: &[
        switch("GOTRUE_SAML_ENABLED", |d, _, v| d.policy.saml.enabled = v)
            .default("false")
            .doc("SAML single sign-on.", "true"),
        secret("GOTRUE_SAML_PRIVATE_KEY", |d, _, v| d.policy.saml.private_key = v).doc(
            "RSA key of this service provider, at least 2048 bits, exponent 65537: PKCS#1 DER in base64.",
            "MIIEpAIBAAKCAQEA…",
        ),
        secret("GOTRUE_SAML_PRIVATE_KEY_NEXT", |d, _, v| d.policy.saml.private_key_next = (!v.is_empty()).then_some(v))
            .doc("The next key.", "MIIEpAIBAAKCAQEA…"),
        switch("GOTRUE_SAML_ALLOW_ENCRYPTED_ASSERTIONS", |d, _, v| d.policy.saml.allow_encrypted_assertions = v)
            .default("false")
            .doc("Encrypted assertions are accepted.", "true"),
        switch("GOTRUE_SAML_REQUIRE_PROVIDER_DOMAIN", |d, _, v| d.policy.saml.requires_provider_domain = v)
            .default("false")
            .doc(
                "Asserted addresses must lie in the domains of their provider, if it has any. GoTrue has no such rule.",
                "true",
            ),
        Setting::new(
            "GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD",
            ValueType::Span(|d, _, v| {
                d.is_saml_period_negative = v.nanoseconds() < 0;
                d.policy.saml.relay_state_validity = or_seconds(v, 120);
            }),
        )
        .default("2m")
        .doc("Lifetime of a relay state; 0s means the default.", "5m"),
        text("GOTRUE_SAML_EXTERNAL_URL", |d, _, v| d.policy.saml.external_url = (!v.is_empty()).then_some(v))
            .doc("Base URL of the SAML endpoints; empty: the public URL.", "https://sso.example.com"),
        switch("GOTRUE_OAUTH_SERVER_ENABLED", |d, _, v| d.policy.oauth_server.enabled = v)
            .default("false")
            .doc("Enables the OAuth 2.1 server.", "true"),
        switch("GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION", |d, _, v| {
            d.policy.oauth_server.allow_dynamic_registration = v;
        })
        .default("false")
        .doc("Enables dynamic client registration.", "true"),
        text("GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH", |d, _, v| d.policy.oauth_server.authorization_path = v)
            .doc("Path of the consent page below the site URL.", "/oauth/consent"),
        span("GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL", |d, _, v| d.policy.oauth_server.authorization_ttl = v.to_std())
            .default("10m")
            .doc("Lifetime of an authorization request.", "5m"),
        text("GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE", |d, _, v| d.policy.oauth_server.default_scope = v)
            .default("email")
            .doc("Scope of a request without one.", "openid email"),
        switch("GOTRUE_CUSTOM_OAUTH_ENABLED", |d, _, v| d.policy.custom_oauth.enabled = v)
            .default("true")
            .doc("Administrators can add providers at run time.", "false"),
        whole("GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS", |d, _, n| {
            d.policy.custom_oauth.max_providers = usize::try_from(n).ok().filter(|most| *most > 0);
        })
        .with_unit("providers")
        .default("0")
        .doc("Maximum number of custom providers; 0: no limit.", "20"),
        Setting::new(
            "GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL",
            ValueType::Custom("an absolute URL or an absolute path", |d, _, v| {
                d.policy.custom_oauth.external_url = (!v.is_empty()).then(|| v.to_owned());
                if v.is_empty() { Ok(()) } else { check::validate_url(v) }
            }),
        )
        .doc("Base URL of their callback; empty: the public URL.", "https://api.example.com/auth/v1"),
        switch("GOTRUE_EXTERNAL_WEB3_SOLANA_ENABLED", |d, _, v| d.policy.web3.solana.enabled = v)
            .default("false")
            .doc("Sign-in with a Solana wallet.", "true"),
        span("GOTRUE_EXTERNAL_WEB3_SOLANA_MAXIMUM_VALIDITY_DURATION", |d, _, v| {
            d.policy.web3.solana.maximum_validity = v.to_std();
        })
        .default("10m")
        .doc("Maximum validity of a sign-in message.", "5m"),
        switch("GOTRUE_EXTERNAL_WEB3_ETHEREUM_ENABLED", |d, _, v| d.policy.web3.ethereum.enabled = v)
            .default("false")
            .doc("Sign-in with an Ethereum wallet.", "true"),
        span("GOTRUE_EXTERNAL_WEB3_ETHEREUM_MAXIMUM_VALIDITY_DURATION", |d, _, v| {
            d.policy.web3.ethereum.maximum_validity = v.to_std();
        })
        .default("10m")
        .doc("Maximum validity of a sign-in message.", "5m"),
    ],
};
