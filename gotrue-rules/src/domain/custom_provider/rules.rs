//! What an administrator may say of a provider, in the recorded order, and the provider that comes of it.

use serde_json::Map;
use uuid::Uuid;

use super::{CustomProvider, PREFIX, Protocol};
use crate::domain::error::{Error, Result};
use crate::domain::user::Time;
use crate::wire::requests::CustomProviderBody;

/// What the server itself says to a provider: nobody else does.
const RESERVED: [&str; 9] = [
    "client_id",
    "client_secret",
    "redirect_uri",
    "response_type",
    "state",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "nonce",
];

/// What a provider never decides.
const PROTECTED: [&str; 13] = [
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

/// Longest name, client id and address, in letters, as the schema has them.
const LONGEST_NAME: usize = 100;
const LONGEST_CLIENT_ID: usize = 512;
const LONGEST_URL: usize = 2048;

/// A type in a query: none if it is not asked for.
pub fn wanted_type(word: &str) -> Result<Option<&str>> {
    match word {
        "" => Ok(None),
        "oauth2" | "oidc" => Ok(Some(word)),
        _ => Err(Error::invalid("type must be either 'oauth2' or 'oidc'")),
    }
}

/// 400 unless a name begins as stored providers' do.
pub fn check_identifier(identifier: &str) -> Result<()> {
    if identifier.is_empty() {
        return Err(Error::invalid("identifier is required"));
    }
    if identifier.starts_with(PREFIX) {
        return Ok(());
    }
    Err(Error::invalid(format!("identifier must start with 'custom:' prefix, e.g. 'custom:{identifier}'")))
}

/// There is none of that name: 404.
pub fn not_found() -> Error {
    Error::not_found("custom_provider_not_found", "Custom OAuth provider not found")
}

/// There is one of that name already: 400.
pub fn taken() -> Error {
    Error::bad_request("conflict", "A custom OAuth provider with this identifier already exists")
}

/// 400 if there are as many as there may be.
pub fn check_quota(most: Option<usize>, count: usize) -> Result<()> {
    if most.is_none_or(|most| count < most) {
        return Ok(());
    }
    Err(Error::bad_request("over_custom_provider_quota", "Maximum number of custom OAuth/OIDC providers reached"))
}

/// Everything about a new provider but its addresses.
pub fn check_new(body: &CustomProviderBody) -> Result<()> {
    let is_oidc = match body.provider_type.as_str() {
        "oidc" => true,
        "oauth2" => false,
        _ => return Err(Error::invalid("provider_type must be either 'oauth2' or 'oidc'")),
    };
    check_identifier(&body.identifier)?;
    let secret = body.client_secret.reveal();
    let own = [("issuer is required for OIDC providers", &body.issuer)];
    let others = [
        ("authorization_url is required for OAuth2 providers", &body.authorization_url),
        ("token_url is required for OAuth2 providers", &body.token_url),
        ("userinfo_url is required for OAuth2 providers", &body.userinfo_url),
    ];
    let needed: &[(&'static str, &String)] = if is_oidc { &own } else { &others };
    let always = [
        ("name is required", &*body.name),
        ("client_id is required", &body.client_id),
        ("client_secret is required", secret),
    ];
    let needed = needed.iter().map(|(words, text)| (*words, text.as_str()));
    if let Some((words, _)) = always.into_iter().chain(needed).find(|(_, text)| text.is_empty()) {
        return Err(Error::invalid(words));
    }
    check_sayings(body)?;
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b':' | b'-');
    let is_plain = body.identifier.bytes().all(is_inside) && body.identifier.len() <= 50;
    if !is_plain || body.identifier.ends_with([':', '-']) {
        let words =
            "identifier must be at most 50 lower-case letters, digits, hyphens and colons and end in a letter or digit";
        return Err(Error::invalid(words));
    }
    Ok(())
}

/// What is said of parameters, mapping and claims, in a new provider and in a change.
pub fn check_sayings(body: &CustomProviderBody) -> Result<()> {
    for (name, value) in body.authorization_params.iter().flatten() {
        if RESERVED.contains(&name.as_str()) {
            return Err(Error::invalid(format!("Cannot override reserved OAuth parameter: {name}")));
        }
        if !value.is_string() {
            return Err(Error::invalid(format!("Authorization parameter {name:?} must be a string")));
        }
    }
    let protected = |name: &&String| PROTECTED.contains(&name.as_str());
    if let Some(name) = body.attribute_mapping.iter().flat_map(Map::keys).find(protected) {
        return Err(Error::invalid(format!("Cannot map to protected system field: {name}")));
    }
    if body.custom_claims_allowlist.iter().flatten().any(|name| name.trim().is_empty()) {
        return Err(Error::invalid("custom_claims_allowlist entries must be non-empty strings"));
    }
    check_storable(body)
}

/// What the schema would refuse, told before.
fn check_storable(body: &CustomProviderBody) -> Result<()> {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let [discovery_url, jwks_uri] = [optional(&body.discovery_url), optional(&body.jwks_uri)];
    for (name, text, longest) in [
        ("name", &body.name, LONGEST_NAME),
        ("client_id", &body.client_id, LONGEST_CLIENT_ID),
        ("issuer", &body.issuer, LONGEST_URL),
        ("discovery_url", &discovery_url, LONGEST_URL),
        ("authorization_url", &body.authorization_url, LONGEST_URL),
        ("token_url", &body.token_url, LONGEST_URL),
        ("userinfo_url", &body.userinfo_url, LONGEST_URL),
        ("jwks_uri", &jwks_uri, LONGEST_URL),
    ] {
        if text.chars().count() > longest {
            return Err(Error::invalid(format!("{name} must not be longer than {longest} characters")));
        }
    }
    Ok(())
}

/// The provider that a checked description is of. Its secret is what was given, and nothing is known of its document.
pub fn built(body: CustomProviderBody, id: Uuid, now: Time) -> CustomProvider {
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

/// What changed beside plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// A new secret was given; it stands in the provider as it was given.
    pub secret: bool,
    /// The discovery document is to be looked at again.
    pub discovery: bool,
}

impl CustomProvider {
    /// The provider with what a description changes in it. Empty texts change nothing.
    pub fn change(&mut self, body: CustomProviderBody, now: Time) -> Changed {
        let secret = !body.client_secret.is_empty();
        if secret {
            self.client_secret = body.client_secret.clone();
        }
        let scopes = body.scopes.clone().map(|scopes| self.protocol.with_openid(scopes));
        let discovery = self.protocol.change(&body);
        if discovery.is_some()
            && let Some(skip) = body.skip_nonce_check
        {
            self.skip_nonce_check = skip;
        }
        take(&mut self.name, given(&body.name));
        take(&mut self.client_id, given(&body.client_id));
        take(&mut self.acceptable_client_ids, body.acceptable_client_ids);
        take(&mut self.scopes, scopes);
        take(&mut self.pkce_enabled, body.pkce_enabled);
        take(&mut self.attribute_mapping, body.attribute_mapping);
        take(&mut self.custom_claims_allowlist, body.custom_claims_allowlist);
        take(&mut self.authorization_params, body.authorization_params);
        take(&mut self.enabled, body.enabled);
        take(&mut self.email_optional, body.email_optional);
        self.updated_at = now;
        Changed { secret, discovery: discovery == Some(true) }
    }
}

impl Protocol {
    /// Takes the addresses that belong to it. For OpenID Connect, whether the document is to be looked at again.
    fn change(&mut self, body: &CustomProviderBody) -> Option<bool> {
        match self {
            Self::Oidc { issuer, discovery_url, .. } => {
                take(issuer, given(&body.issuer));
                if let Some(url) = body.discovery_url.as_deref().and_then(given) {
                    *discovery_url = Some(url);
                }
                Some(!body.issuer.is_empty() || body.discovery_url.is_some())
            }
            Self::OAuth2 { authorization_url, token_url, userinfo_url, jwks_uri } => {
                take(authorization_url, given(&body.authorization_url));
                take(token_url, given(&body.token_url));
                take(userinfo_url, given(&body.userinfo_url));
                if let Some(url) = body.jwks_uri.as_deref().and_then(given) {
                    *jwks_uri = Some(url);
                }
                None
            }
        }
    }

    /// The addresses that a description gives this kind of provider, in the order in which they are checked.
    pub fn addresses(is_oidc: bool, body: &CustomProviderBody) -> Vec<String> {
        let optional = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut all = if is_oidc {
            vec![body.issuer.clone(), optional(&body.discovery_url)]
        } else {
            let needed = [&body.authorization_url, &body.token_url, &body.userinfo_url];
            needed.into_iter().cloned().chain([optional(&body.jwks_uri)]).collect()
        };
        all.retain(|address| !address.is_empty());
        all
    }
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn take<T>(place: &mut T, value: Option<T>) {
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

    fn said(changes: &Value) -> String {
        check_new(&body(changes)).map_or_else(|error| error.message().to_owned(), |()| String::new())
    }

    #[test]
    fn what_is_missing_is_told_in_order() {
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
            assert_eq!(said(&changes), expected, "{changes}");
        }
    }

    #[test]
    fn what_may_not_be_said_is_told() {
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
            assert_eq!(said(&changes), expected, "{changes}");
        }
    }

    #[test]
    fn a_change_leaves_alone_what_it_does_not_name() {
        let made = built(body(&json!({"scopes": ["email"]})), Uuid::nil(), Time::default());
        let changed = |mut provider: CustomProvider, changes: Value| {
            let body = CustomProviderBody::decode(changes.to_string().as_bytes()).unwrap();
            let changed = provider.change(body, Time::default());
            (provider, changed)
        };
        let nothing = Changed { secret: false, discovery: false };
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
        assert_eq!(what, Changed { secret: true, ..nothing });
        let oidc = built(body(&json!({"provider_type": "oidc", "issuer": "https://i"})), Uuid::nil(), Time::default());
        assert_eq!((oidc.scopes.as_slice(), oidc.skip_nonce_check), (&["openid".to_owned()][..], false));
        let (after, what) =
            changed(oidc.clone(), json!({"scopes": ["email"], "discovery_url": "", "skip_nonce_check": true}));
        assert_eq!((after.scopes.join(" "), after.skip_nonce_check), ("openid email".to_owned(), true));
        assert_eq!((after.protocol, what.discovery), (oidc.protocol, true));
    }

    #[test]
    fn addresses_are_checked_in_the_order_in_which_they_are_used() {
        let all = body(&json!({"jwks_uri": "https://j", "issuer": "https://i", "discovery_url": "https://d"}));
        assert_eq!(Protocol::addresses(false, &all), ["https://a", "https://t", "https://u", "https://j"]);
        assert_eq!(Protocol::addresses(true, &all), ["https://i", "https://d"]);
        assert!(Protocol::addresses(true, &body(&json!({"discovery_url": ""}))).is_empty());
    }
}
