//! Validates bodies of custom providers in the reference's order, and builds or changes providers.

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use serde_json::Map;
use uuid::Uuid;

use super::{CustomProvider, IDENTIFIER_PREFIX, Protocol};
use crate::domain::external::authorization_url::RESERVED_PARAMS;
use crate::wire::requests::CustomProviderBody;

/// Reserved for operators as well as [`RESERVED_PARAMS`]: the server sets it for OIDC providers.
const NONCE: &str = "nonce";

/// Claims that a provider cannot set.
const PROTECTED_CLAIMS: [&str; 13] = [
    "id",
    "aud",
    "role",
    "app_metadata",
    "created_at",
    "updated_at",
    "confirmed_at",
    "email_confirmed_at",
    "phone_confirmed_at",
    "email_verified",
    "phone_verified",
    "banned_until",
    "is_super_admin",
];

/// Maximum lengths of name, client id and URL in characters, as in the schema.
const MAX_NAME_LENGTH: usize = 100;
const MAX_CLIENT_ID_LENGTH: usize = 512;
const MAX_URL_LENGTH: usize = 2048;

/// Parses the `type` filter of a query; `None` if absent.
pub fn parse_type_filter(word: &str) -> Result<Option<&str>> {
    match word {
        "" => Ok(None),
        "oauth2" | "oidc" => Ok(Some(word)),
        _ => Err(Error::invalid("type must be either 'oauth2' or 'oidc'")),
    }
}

/// 400 unless the identifier has the prefix of custom providers.
pub fn validate_identifier(identifier: &str) -> Result<()> {
    if identifier.is_empty() {
        return Err(Error::invalid("identifier is required"));
    }
    if identifier.starts_with(IDENTIFIER_PREFIX) {
        return Ok(());
    }
    Err(Error::invalid(format!("identifier must start with 'custom:' prefix, e.g. 'custom:{identifier}'")))
}

/// 404: no provider has this identifier.
pub fn provider_not_found() -> Error {
    Error::new(ErrorCode::CustomProviderNotFound, "Custom OAuth provider not found")
}

/// 400: a provider with this identifier exists.
pub fn identifier_taken() -> Error {
    Error::http(400, ErrorCode::Conflict, "A custom OAuth provider with this identifier already exists")
}

/// 400 if the maximum number of providers is reached.
pub fn check_quota(most: Option<usize>, count: usize) -> Result<()> {
    if most.is_none_or(|most| count < most) {
        return Ok(());
    }
    Err(Error::new(ErrorCode::OverCustomProviderQuota, "Maximum number of custom OAuth/OIDC providers reached"))
}

/// Validates a new provider except its URLs.
pub fn validate_new(body: &CustomProviderBody) -> Result<()> {
    let is_oidc = match body.provider_type.as_str() {
        "oidc" => true,
        "oauth2" => false,
        _ => return Err(Error::invalid("provider_type must be either 'oauth2' or 'oidc'")),
    };
    validate_identifier(&body.identifier)?;
    let secret = body.client_secret.reveal();
    let oidc = [("issuer is required for OIDC providers", &body.issuer)];
    let oauth2 = [
        ("authorization_url is required for OAuth2 providers", &body.authorization_url),
        ("token_url is required for OAuth2 providers", &body.token_url),
        ("userinfo_url is required for OAuth2 providers", &body.userinfo_url),
    ];
    let required: &[(&'static str, &String)] = if is_oidc { &oidc } else { &oauth2 };
    let always = [
        ("name is required", &*body.name),
        ("client_id is required", &body.client_id),
        ("client_secret is required", secret),
    ];
    let required = required.iter().map(|(message, text)| (*message, text.as_str()));
    if let Some((message, _)) = always.into_iter().chain(required).find(|(_, text)| text.is_empty()) {
        return Err(Error::invalid(message));
    }
    validate_shared_members(body)?;
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b':' | b'-');
    let is_plain = body.identifier.bytes().all(is_inside) && body.identifier.len() <= 50;
    if !is_plain || body.identifier.ends_with([':', '-']) {
        let message =
            "identifier must be at most 50 lower-case letters, digits, hyphens and colons and end in a letter or digit";
        return Err(Error::invalid(message));
    }
    Ok(())
}

/// Validates parameters, mapping and claims of a new or changed provider.
pub fn validate_shared_members(body: &CustomProviderBody) -> Result<()> {
    for (name, value) in body.authorization_params.iter().flatten() {
        if RESERVED_PARAMS.contains(&name.as_str()) || name == NONCE {
            return Err(Error::invalid(format!("Cannot override reserved OAuth parameter: {name}")));
        }
        if !value.is_string() {
            return Err(Error::invalid(format!("Authorization parameter {name:?} must be a string")));
        }
    }
    let protected = |name: &&String| PROTECTED_CLAIMS.contains(&name.as_str());
    if let Some(name) = body.attribute_mapping.iter().flat_map(Map::keys).find(protected) {
        return Err(Error::invalid(format!("Cannot map to protected system field: {name}")));
    }
    if body.custom_claims_allowlist.iter().flatten().any(|name| name.trim().is_empty()) {
        return Err(Error::invalid("custom_claims_allowlist entries must be non-empty strings"));
    }
    validate_lengths(body)
}

/// Validates lengths that the schema limits.
fn validate_lengths(body: &CustomProviderBody) -> Result<()> {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let [discovery_url, jwks_uri] = [optional(&body.discovery_url), optional(&body.jwks_uri)];
    for (name, text, longest) in [
        ("name", &body.name, MAX_NAME_LENGTH),
        ("client_id", &body.client_id, MAX_CLIENT_ID_LENGTH),
        ("issuer", &body.issuer, MAX_URL_LENGTH),
        ("discovery_url", &discovery_url, MAX_URL_LENGTH),
        ("authorization_url", &body.authorization_url, MAX_URL_LENGTH),
        ("token_url", &body.token_url, MAX_URL_LENGTH),
        ("userinfo_url", &body.userinfo_url, MAX_URL_LENGTH),
        ("jwks_uri", &jwks_uri, MAX_URL_LENGTH),
    ] {
        if text.chars().count() > longest {
            return Err(Error::invalid(format!("{name} must not be longer than {longest} characters")));
        }
    }
    Ok(())
}

/// Builds the provider from a validated body.
/// The secret is not encrypted and no discovery document is stored yet.
pub fn build_provider(body: CustomProviderBody, id: Uuid, now: Time) -> CustomProvider {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let is_oidc = body.provider_type == "oidc";
    let protocol = if is_oidc {
        Protocol::Oidc { issuer: body.issuer, discovery_url: given(body.discovery_url), discovered: None }
    } else {
        Protocol::OAuth2 {
            authorization_url: body.authorization_url,
            token_url: body.token_url,
            userinfo_url: body.userinfo_url,
            jwks_uri: given(body.jwks_uri),
        }
    };
    CustomProvider {
        id,
        identifier: body.identifier,
        name: body.name,
        client_id: body.client_id,
        client_secret: body.client_secret,
        acceptable_client_ids: body.acceptable_client_ids.unwrap_or_default(),
        scopes: protocol.with_openid(body.scopes.unwrap_or_default()),
        pkce_enabled: body.pkce_enabled.unwrap_or(true),
        attribute_mapping: body.attribute_mapping.unwrap_or_default(),
        custom_claims_allowlist: body.custom_claims_allowlist.unwrap_or_default(),
        authorization_params: body.authorization_params.unwrap_or_default(),
        enabled: body.enabled.unwrap_or(true),
        email_optional: body.email_optional.unwrap_or(false),
        skip_nonce_check: is_oidc && body.skip_nonce_check.unwrap_or(false),
        protocol,
        created_at: now,
        updated_at: now,
    }
}

/// Changes that need further processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomProviderChange {
    /// Whether the secret changed; it is not encrypted yet.
    pub is_secret_changed: bool,
    /// Whether the discovery document must be fetched again.
    pub is_discovery_stale: bool,
}

impl CustomProvider {
    /// Applies a body to the provider. Empty strings change nothing.
    pub fn apply(&mut self, body: CustomProviderBody, now: Time) -> CustomProviderChange {
        let secret = !body.client_secret.is_empty();
        if secret {
            self.client_secret = body.client_secret.clone();
        }
        let scopes = body.scopes.clone().map(|scopes| self.protocol.with_openid(scopes));
        let discovery = self.protocol.apply(&body);
        if discovery.is_some()
            && let Some(skip) = body.skip_nonce_check
        {
            self.skip_nonce_check = skip;
        }
        set_if_present(&mut self.name, non_empty(&body.name));
        set_if_present(&mut self.client_id, non_empty(&body.client_id));
        set_if_present(&mut self.acceptable_client_ids, body.acceptable_client_ids);
        set_if_present(&mut self.scopes, scopes);
        set_if_present(&mut self.pkce_enabled, body.pkce_enabled);
        set_if_present(&mut self.attribute_mapping, body.attribute_mapping);
        set_if_present(&mut self.custom_claims_allowlist, body.custom_claims_allowlist);
        set_if_present(&mut self.authorization_params, body.authorization_params);
        set_if_present(&mut self.enabled, body.enabled);
        set_if_present(&mut self.email_optional, body.email_optional);
        self.updated_at = now;
        CustomProviderChange { is_secret_changed: secret, is_discovery_stale: discovery == Some(true) }
    }
}

impl Protocol {
    /// Applies the URLs of this protocol.
    /// For OpenID Connect, returns whether the discovery document must be fetched again.
    fn apply(&mut self, body: &CustomProviderBody) -> Option<bool> {
        match self {
            Self::Oidc { issuer, discovery_url, .. } => {
                set_if_present(issuer, non_empty(&body.issuer));
                if let Some(url) = body.discovery_url.as_deref().and_then(non_empty) {
                    *discovery_url = Some(url);
                }
                Some(!body.issuer.is_empty() || body.discovery_url.is_some())
            }
            Self::OAuth2 { authorization_url, token_url, userinfo_url, jwks_uri } => {
                set_if_present(authorization_url, non_empty(&body.authorization_url));
                set_if_present(token_url, non_empty(&body.token_url));
                set_if_present(userinfo_url, non_empty(&body.userinfo_url));
                if let Some(url) = body.jwks_uri.as_deref().and_then(non_empty) {
                    *jwks_uri = Some(url);
                }
                None
            }
        }
    }

    /// The URLs of a body for this protocol, in the order in which they are validated.
    pub fn urls(is_oidc: bool, body: &CustomProviderBody) -> Vec<String> {
        let optional = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut all = if is_oidc {
            vec![body.issuer.clone(), optional(&body.discovery_url)]
        } else {
            let required = [&body.authorization_url, &body.token_url, &body.userinfo_url];
            required.into_iter().cloned().chain([optional(&body.jwks_uri)]).collect()
        };
        all.retain(|address| !address.is_empty());
        all
    }
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn set_if_present<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn body(changes: &Value) -> CustomProviderBody {
        let mut whole = json!({
            "provider_type": "oauth2", "identifier": "custom:acme", "name": "Acme", "client_id": "c", "client_secret": "s",
            "authorization_url": "https://a", "token_url": "https://t", "userinfo_url": "https://u"
        });
        for (name, value) in changes.as_object().unwrap() {
            whole[name] = value.clone();
        }
        CustomProviderBody::decode(whole.to_string().as_bytes()).unwrap()
    }

    fn validation_error(changes: &Value) -> String {
        validate_new(&body(changes)).map_or_else(|error| error.message().to_owned(), |()| String::new())
    }

    #[test]
    fn missing_members_are_reported_in_order() {
        for (changes, expected) in [
            (json!({}), ""),
            (json!({"provider_type": "saml", "identifier": ""}), "provider_type must be either 'oauth2' or 'oidc'"),
            (json!({"identifier": "", "name": ""}), "identifier is required"),
            (json!({"identifier": "acme"}), "identifier must start with 'custom:' prefix, e.g. 'custom:acme'"),
            (json!({"name": "", "client_id": ""}), "name is required"),
            (json!({"client_id": "", "client_secret": ""}), "client_id is required"),
            (json!({"client_secret": "", "authorization_url": ""}), "client_secret is required"),
            (json!({"authorization_url": "", "token_url": ""}), "authorization_url is required for OAuth2 providers"),
            (json!({"token_url": ""}), "token_url is required for OAuth2 providers"),
            (json!({"userinfo_url": ""}), "userinfo_url is required for OAuth2 providers"),
            (json!({"provider_type": "oidc"}), "issuer is required for OIDC providers"),
            (json!({"provider_type": "oidc", "issuer": "https://i", "token_url": ""}), ""),
        ] {
            assert_eq!(validation_error(&changes), expected, "{changes}");
        }
    }

    #[test]
    fn invalid_members_are_rejected() {
        let plain =
            "identifier must be at most 50 lower-case letters, digits, hyphens and colons and end in a letter or digit";
        let claims = "custom_claims_allowlist entries must be non-empty strings";
        for (changes, expected) in [
            (json!({"authorization_params": {"nonce": "x"}}), "Cannot override reserved OAuth parameter: nonce"),
            (json!({"authorization_params": {"max_age": 1}}), "Authorization parameter \"max_age\" must be a string"),
            (json!({"authorization_params": {"audience": "api"}}), ""),
            (
                json!({"attribute_mapping": {"email_verified": true}}),
                "Cannot map to protected system field: email_verified",
            ),
            (json!({"attribute_mapping": {"email": "mail"}}), ""),
            (json!({"custom_claims_allowlist": ["team", " "]}), claims),
            (json!({"identifier": "custom:"}), plain),
            (json!({"identifier": "custom:Acme"}), plain),
            (json!({"identifier": format!("custom:{}", "a".repeat(44))}), plain),
            (json!({"name": "é".repeat(100)}), ""),
            (json!({"name": "é".repeat(101)}), "name must not be longer than 100 characters"),
        ] {
            assert_eq!(validation_error(&changes), expected, "{changes}");
        }
    }

    #[test]
    fn change_keeps_absent_members() {
        let made = build_provider(body(&json!({"scopes": ["email"]})), Uuid::nil(), Time::default());
        let changed = |mut provider: CustomProvider, changes: Value| {
            let body = CustomProviderBody::decode(changes.to_string().as_bytes()).unwrap();
            let changed = provider.apply(body, Time::default());
            (provider, changed)
        };
        let nothing = CustomProviderChange { is_secret_changed: false, is_discovery_stale: false };
        assert_eq!(
            changed(
                made.clone(),
                json!({"name": "", "identifier": "custom:b", "provider_type": "oidc",
            "issuer": "https://i", "skip_nonce_check": true, "client_secret": ""})
            ),
            (made.clone(), nothing)
        );
        let (after, what) = changed(made, json!({"client_secret": "new", "scopes": [], "enabled": false}));
        assert_eq!((after.client_secret.reveal(), after.scopes.len(), after.enabled), ("new", 0, false));
        assert_eq!(what, CustomProviderChange { is_secret_changed: true, ..nothing });
        let oidc = build_provider(
            body(&json!({"provider_type": "oidc", "issuer": "https://i"})),
            Uuid::nil(),
            Time::default(),
        );
        assert_eq!((oidc.scopes.as_slice(), oidc.skip_nonce_check), (&["openid".to_owned()][..], false));
        let (after, what) =
            changed(oidc.clone(), json!({"scopes": ["email"], "discovery_url": "", "skip_nonce_check": true}));
        assert_eq!((after.scopes.join(" "), after.skip_nonce_check), ("openid email".to_owned(), true));
        assert_eq!((after.protocol, what.is_discovery_stale), (oidc.protocol, true));
    }

    #[test]
    fn urls_are_listed_in_validation_order() {
        let all = body(&json!({"jwks_uri": "https://j", "issuer": "https://i", "discovery_url": "https://d"}));
        assert_eq!(Protocol::urls(false, &all), ["https://a", "https://t", "https://u", "https://j"]);
        assert_eq!(Protocol::urls(true, &all), ["https://i", "https://d"]);
        assert!(Protocol::urls(true, &body(&json!({"discovery_url": ""}))).is_empty());
    }
}
