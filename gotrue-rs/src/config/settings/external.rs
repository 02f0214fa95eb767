//! Sign-in with external providers.

use foundation::secret::Secret;

use super::super::setting::{Family, Setting, ValueType};
use super::rows::{Section, at_least_seconds, list, span, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Sign-in with external providers",
    intro: "`<PROVIDER>` is the name of one of the [providers](guides/social-providers.md) in capitals, such as \
            `GOOGLE` or `LINKEDIN_OIDC`.",
    rows: &[
        switch("GOTRUE_EXTERNAL_*_ENABLED", |d, name, v| d.provider(name).enabled = v)
            .for_family(Family::Providers)
            .default("false")
            .doc("Enables the provider.", "true"),
        list("GOTRUE_EXTERNAL_*_CLIENT_ID", |d, name, v| d.provider(name).client_ids = v)
            .for_family(Family::Providers)
            .doc(
                "Client ids: the first one is used for sign-ins, all are accepted as audience of an ID token.",
                "the-client",
            ),
        Setting::new("GOTRUE_EXTERNAL_*_SECRET", ValueType::Secret(|d, name, v: Secret| d.provider(name).secret = v))
            .for_family(Family::Providers)
            .doc("Client secret.", "the-secret"),
        text("GOTRUE_EXTERNAL_*_REDIRECT_URI", |d, name, v| d.provider(name).redirect_uri = v)
            .for_family(Family::Providers)
            .doc("Callback URL as registered with the provider.", "https://api.example.com/auth/v1/callback"),
        text("GOTRUE_EXTERNAL_*_URL", |d, name, v| d.provider(name).url = v)
            .for_family(Family::Providers)
            .doc("Base URL of a self-hosted or multi-tenant provider.", "https://id.example.com"),
        text("GOTRUE_EXTERNAL_*_API_URL", |d, name, v| d.provider(name).api_url = v)
            .for_family(Family::Providers)
            .doc("Base URL of its API, if that differs.", "https://id.example.com/api"),
        switch("GOTRUE_EXTERNAL_*_SKIP_NONCE_CHECK", |d, name, v| d.provider(name).skip_nonce_check = v)
            .for_family(Family::Providers)
            .default("false")
            .doc("ID tokens are accepted without checking the nonce.", "true"),
        switch("GOTRUE_EXTERNAL_*_EMAIL_OPTIONAL", |d, name, v| d.provider(name).email_optional = v)
            .for_family(Family::Providers)
            .default("false")
            .doc("A profile without an e-mail address is accepted.", "true"),
        text("GOTRUE_EXTERNAL_REDIRECTURL", |d, _, v| d.policy.external.redirect_url = v).doc(
            "Redirect URL after every provider sign-in, which overrides that of the request.",
            "https://shop.example.com/welcome",
        ),
        text("GOTRUE_EXTERNAL_IOS_BUNDLE_ID", |d, _, v| d.policy.external.ios_bundle_id = v)
            .doc("Additional audience of Apple's ID tokens.", "com.example.shop"),
        list("GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS", |d, _, v| {
            if !v.is_empty() {
                d.policy.external.allowed_id_token_issuers = v;
            }
        })
        .default("https://appleid.apple.com,https://accounts.google.com")
        .doc("Issuers whose ID tokens are accepted if the request names the issuer.", "https://id.example.com"),
        span("GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION", |d, _, v| {
            d.policy.external.flow_state_expiry = at_least_seconds(v, 300);
        })
        .default("5m")
        .doc("Lifetime of a flow state; never below 5m.", "10m"),
        span("GOTRUE_EXTERNAL_OIDC_PROVIDER_CACHE_TTL", |d, _, v| d.policy.external.discovery_cache_ttl = v.to_std())
            .default("1h")
            .doc("How long a provider's discovery document is cached.", "15m"),
    ],
};
