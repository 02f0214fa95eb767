//! Sign-in with other services.

use gotrue_rules::domain::secret::Secret;

use super::super::setting::{Family, Put, Setting};
use super::{Section, at_least_seconds, list, span, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Sign-in with other services",
    intro: "`<PROVIDER>` is one of `APPLE`, `AZURE`, `BITBUCKET`, `DISCORD`, `FACEBOOK`, `FIGMA`, `FLY`, \
            `GITHUB`, `GITLAB`, `GOOGLE`, `KAKAO`, `KEYCLOAK`, `LINKEDIN`, `LINKEDIN_OIDC`, `NOTION`, `SLACK`, \
            `SLACK_OIDC`, `SNAPCHAT`, `SPOTIFY`, `TWITCH`, `TWITTER`, `VERCEL_MARKETPLACE`, `WORKOS`, `X`, \
            `ZOOM`.",
    rows: &[
        switch("GOTRUE_EXTERNAL_*_ENABLED", |d, name, v| d.provider(name).enabled = v)
            .each(Family::Providers)
            .default("false")
            .doc("The provider may be used.", "true"),
        list("GOTRUE_EXTERNAL_*_CLIENT_ID", |d, name, v| d.provider(name).client_ids = v).each(Family::Providers).doc(
            "Our ids there: the first starts sign-ins, all are accepted as audience of an id token.",
            "the-client",
        ),
        Setting::new("GOTRUE_EXTERNAL_*_SECRET", Put::Secret(|d, name, v: Secret| d.provider(name).secret = v))
            .each(Family::Providers)
            .doc("Our secret there.", "the-secret"),
        text("GOTRUE_EXTERNAL_*_REDIRECT_URI", |d, name, v| d.provider(name).redirect_uri = v)
            .each(Family::Providers)
            .doc("Our callback as registered there.", "https://api.example.com/auth/v1/callback"),
        text("GOTRUE_EXTERNAL_*_URL", |d, name, v| d.provider(name).url = v)
            .each(Family::Providers)
            .doc("Its base, where it is self-hosted or has tenants.", "https://id.example.com"),
        text("GOTRUE_EXTERNAL_*_API_URL", |d, name, v| d.provider(name).api_url = v)
            .each(Family::Providers)
            .doc("Base of its API, where that differs.", "https://id.example.com/api"),
        switch("GOTRUE_EXTERNAL_*_SKIP_NONCE_CHECK", |d, name, v| d.provider(name).skip_nonce_check = v)
            .each(Family::Providers)
            .default("false")
            .doc("Id tokens without our nonce are accepted.", "true"),
        switch("GOTRUE_EXTERNAL_*_EMAIL_OPTIONAL", |d, name, v| d.provider(name).email_optional = v)
            .each(Family::Providers)
            .default("false")
            .doc("An account without an e-mail address is accepted.", "true"),
        text("GOTRUE_EXTERNAL_REDIRECTURL", |d, _, v| d.policy.external.redirect_url = v).doc(
            "Where every browser goes that comes back from a provider, whatever the app asked for.",
            "https://shop.example.com/welcome",
        ),
        text("GOTRUE_EXTERNAL_IOS_BUNDLE_ID", |d, _, v| d.policy.external.ios_bundle_id = v)
            .doc("One more audience of Apple's id tokens.", "com.example.shop"),
        list("GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS", |d, _, v| {
            if !v.is_empty() {
                d.policy.external.allowed_id_token_issuers = v;
            }
        })
        .default("https://appleid.apple.com,https://accounts.google.com")
        .doc("Issuers whose id tokens are accepted by their address.", "https://id.example.com"),
        span("GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION", |d, _, v| {
            d.policy.external.flow_state_expiry = at_least_seconds(v, 300);
        })
        .default("5m")
        .doc("Life of a flow that waits for its code; never below 5m.", "10m"),
        span("GOTRUE_EXTERNAL_OIDC_PROVIDER_CACHE_TTL", |d, _, v| d.policy.external.discovery_cache_ttl = v.as_std())
            .default("1h")
            .doc("How long a provider's discovery document is kept.", "15m"),
    ],
};
