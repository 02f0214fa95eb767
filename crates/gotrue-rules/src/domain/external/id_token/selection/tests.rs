use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;

const TENANT: &str = "https://login.microsoftonline.com/tenant-1/v2.0";

fn policy() -> ExternalPolicy {
    let mut policy = ExternalPolicy {
        ios_bundle_id: "com.example.shop".into(),
        allowed_id_token_issuers: vec!["https://allowed.example.com".into()],
        ..ExternalPolicy::default()
    };
    for (name, provider) in &mut policy.providers {
        provider.enabled = name != "kakao";
        provider.client_ids = vec![format!("{name}-1"), format!("{name}-2")];
    }
    let keycloak = policy.providers.get_mut("keycloak").unwrap();
    keycloak.url = "http://127.0.0.1:1/realm".into();
    keycloak.skip_nonce_check = true;
    keycloak.email_optional = true;
    policy
}

fn token(issuer: &str) -> String {
    format!("e30.{}.", URL_SAFE_NO_PAD.encode(format!(r#"{{"iss":"{issuer}"}}"#)))
}

/// The selected provider and issuer, or the error message.
fn selection_outcome(policy: &ExternalPolicy, provider: &str, issuer: &str, named: &str) -> String {
    let id_token = token(named);
    let presented = PresentedIdToken { id_token: &id_token, provider, issuer, client_id: "app-7" };
    match select_provider(&presented, policy) {
        Ok(accepted) => format!("{} {}", accepted.provider, accepted.issuer),
        Err(error) => error.message().to_owned(),
    }
}

#[test]
fn provider_is_selected_by_name_or_issuer() {
    let policy = policy();
    let apple = "https://appleid.apple.com";
    let mismatch = "Provided issuer does not match ID token issuer";
    let table = [
        ("apple", "", apple, "apple https://appleid.apple.com"),
        ("apple", "", "https://account.apple.com", "apple https://account.apple.com"),
        ("", apple, apple, "apple https://appleid.apple.com"),
        ("google", apple, apple, "apple https://appleid.apple.com"),
        ("apple", apple, "https://account.apple.com", mismatch),
        ("apple", "", "https://evil.example.com", "Detected ID token issuer is not an Apple ID token issuer"),
        ("google", "", "", "google https://accounts.google.com"),
        ("", "https://accounts.google.com", "", "google https://accounts.google.com"),
        ("azure", "", TENANT, "azure https://login.microsoftonline.com/tenant-1/v2.0"),
        ("azure", "", "https://sts.windows.net/t/", "azure https://sts.windows.net/t/"),
        ("", TENANT, TENANT, "azure https://login.microsoftonline.com/tenant-1/v2.0"),
        ("", TENANT, "https://login.microsoftonline.com/tenant-2/v2.0", mismatch),
        ("azure", "", "https://accounts.google.com", "Detected ID token issuer is not an Azure ID token issuer"),
        ("facebook", "", "", "facebook https://www.facebook.com"),
        ("keycloak", "", "", "keycloak http://127.0.0.1:1/realm"),
        ("", "http://127.0.0.1:1/realm", "", "keycloak http://127.0.0.1:1/realm"),
        ("kakao", "", "", r#"Provider (issuer "https://kauth.kakao.com") is not enabled"#),
        ("", issuers::KAKAO, "", r#"Provider (issuer "https://kauth.kakao.com") is not enabled"#),
        ("vercel_marketplace", "", "", "vercel_marketplace https://marketplace.vercel.com"),
        ("snapchat", "", "", "snapchat https://accounts.snapchat.com/accounts/oauth2/token"),
        ("Google", "", "", r#"Custom OIDC provider "Google" not allowed"#),
        ("github", "", "", r#"Custom OIDC provider "github" not allowed"#),
        ("mine", "https://allowed.example.com", "", "https://allowed.example.com https://allowed.example.com"),
        ("", "https://other.example.com", "", r#"Custom OIDC provider "" not allowed"#),
    ];
    for (provider, issuer, named, expected) in table {
        assert_eq!(selection_outcome(&policy, provider, issuer, named), expected, "{provider} {issuer} {named}");
    }
    let none = PresentedIdToken { id_token: "x", provider: "azure", ..PresentedIdToken::default() };
    let refused = select_provider(&none, &policy).unwrap_err();
    assert_eq!(refused.message(), "Unable to detect issuer in ID token for Azure provider");
}

#[test]
fn azure_issuer_cannot_point_to_another_path_or_host() {
    let redirect = "https://login.microsoftonline.com/common/oauth2/v2.0/authorize?prompt=none&redirect_uri=https://evil.example.com/v2.0";
    for issuer in [
        redirect,
        "https://login.microsoftonline.com/",
        "https://login.microsoftonline.com/t?x=/v2.0",
        "https://login.microsoftonline.com/../v2.0",
        "https://login.microsoftonline.com@evil.example.com/t/v2.0",
        "https://login.microsoftonline.com.evil.example.com/t/v2.0",
        "https://sts.windows.net/t/../../x/",
    ] {
        let outcome = selection_outcome(&policy(), "azure", "", issuer);
        assert_eq!(outcome, "Detected ID token issuer is not an Azure ID token issuer", "{issuer}");
    }
}

#[test]
fn settings_define_audiences_and_checks() {
    let of = |provider: &str, named: &str| {
        let id_token = token(named);
        select_provider(&PresentedIdToken { id_token: &id_token, provider, ..PresentedIdToken::default() }, &policy())
            .unwrap()
    };
    assert_eq!(of("apple", "https://appleid.apple.com").audiences, ["apple-1", "apple-2", "com.example.shop"]);
    let keycloak = of("keycloak", "");
    assert_eq!(keycloak.audiences, ["keycloak-1", "keycloak-2"]);
    assert!(keycloak.skip_nonce_check && keycloak.email_optional && !keycloak.is_issuer_untrusted);
    assert!(of("facebook", "").skip_nonce_check);
    assert!(!of("google", "").skip_nonce_check);
    assert!(of("azure", TENANT).is_issuer_untrusted);
}

#[test]
fn strict_id_tokens_require_configured_tenant_and_client() {
    let mut strict = ExternalPolicy { is_id_token_validation_strict: true, ..policy() };
    let other = "https://login.microsoftonline.com/tenant-2/v2.0";
    assert_eq!(selection_outcome(&strict, "azure", "", other), format!("azure {other}"));
    for base in ["https://login.microsoftonline.com/tenant-1", "https://login.microsoftonline.com/tenant-1/"] {
        base.clone_into(&mut strict.providers.get_mut("azure").unwrap().url);
        assert_eq!(selection_outcome(&strict, "azure", "", TENANT), format!("azure {TENANT}"));
        let refused = "Detected ID token issuer is not an Azure ID token issuer";
        assert_eq!(selection_outcome(&strict, "azure", "", other), refused);
        let loose = ExternalPolicy { is_id_token_validation_strict: false, ..strict.clone() };
        assert_eq!(selection_outcome(&loose, "azure", "", other), format!("azure {other}"));
    }
    let by_issuer = |client_id: &str| {
        let issuer = "https://allowed.example.com";
        select_provider(&PresentedIdToken { issuer, client_id, ..PresentedIdToken::default() }, &strict)
            .map(|accepted| accepted.audiences)
    };
    assert_eq!(by_issuer("keycloak-2").unwrap(), ["keycloak-2"]);
    for unknown in ["app-7", "kakao-1", ""] {
        assert_eq!(by_issuer(unknown).unwrap_err().code().as_str(), "validation_failed", "{unknown}");
    }
}

fn stored_provider() -> CustomProvider {
    CustomProvider {
        id: uuid::Uuid::nil(),
        identifier: "custom:acme".into(),
        name: "Acme".into(),
        client_id: "web".into(),
        client_secret: foundation::secret::Secret::new("s"),
        acceptable_client_ids: vec!["ios".into()],
        scopes: Vec::new(),
        pkce_enabled: true,
        attribute_mapping: serde_json::Map::new(),
        custom_claims_allowlist: Vec::new(),
        authorization_params: serde_json::Map::new(),
        enabled: true,
        email_optional: true,
        skip_nonce_check: true,
        protocol: Protocol::Oidc {
            issuer: "https://acme.example".into(),
            discovery_url: Some("https://acme.example/d".into()),
            discovered: None,
        },
        created_at: foundation::time::Time::default(),
        updated_at: foundation::time::Time::default(),
    }
}

#[test]
fn stored_provider_is_selected_by_identifier() {
    let named = |provider| stored_provider_name(&PresentedIdToken { provider, ..PresentedIdToken::default() });
    assert_eq!((named("custom:acme"), named("acme"), named("Custom:acme")), (Some("custom:acme"), None, None));
    let expected = AcceptedIdTokens {
        provider: "custom:acme".into(),
        issuer: "https://acme.example".into(),
        audiences: vec!["web".into(), "ios".into()],
        skip_nonce_check: true,
        email_optional: true,
        discovery_url: Some("https://acme.example/d".into()),
        is_issuer_untrusted: true,
    };
    assert_eq!(select_stored_provider("custom:acme", Some(stored_provider())).unwrap(), expected);
    let oauth2 = Protocol::OAuth2 {
        authorization_url: String::new(),
        token_url: String::new(),
        userinfo_url: String::new(),
        jwks_uri: None,
    };
    let name = r#""custom:acme""#;
    for (stored, code, message) in [
        (None, "validation_failed", format!("Custom provider {name} not found")),
        (
            Some(CustomProvider { enabled: false, ..stored_provider() }),
            "provider_disabled",
            format!("Custom provider {name} is disabled"),
        ),
        (
            Some(CustomProvider { protocol: oauth2, ..stored_provider() }),
            "validation_failed",
            format!("Provider {name} is not an OIDC provider"),
        ),
    ] {
        let refused = select_stored_provider("custom:acme", stored).unwrap_err();
        assert_eq!((refused.code().as_str(), refused.message()), (code, message.as_str()));
    }
}
