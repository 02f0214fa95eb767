use super::super::client::tests::client;
use super::*;

const RECORDED: RedirectUriRules = RedirectUriRules { is_comma_rejected: false, is_strict: false };

fn request() -> ClientRegistrationRequest {
    ClientRegistrationRequest {
        redirect_uris: vec!["https://app.example.com/cb".into()],
        ..ClientRegistrationRequest::default()
    }
}

#[test]
fn type_and_method_are_derived_from_each_other() {
    for (client_type, auth_method, settled) in [
        ("", "", Some(("confidential", "client_secret_basic"))),
        ("public", "", Some(("public", "none"))),
        ("confidential", "", Some(("confidential", "client_secret_basic"))),
        ("", "none", Some(("public", "none"))),
        ("", "client_secret_post", Some(("confidential", "client_secret_post"))),
        ("confidential", "client_secret_post", Some(("confidential", "client_secret_post"))),
        ("public", "client_secret_basic", None),
        ("confidential", "none", None),
        ("secret", "", None),
        ("", "private_key_jwt", None),
    ] {
        let request =
            ClientRegistrationRequest { client_type: client_type.into(), auth_method: auth_method.into(), ..request() };
        let got = register(request, RECORDED).ok();
        let got =
            got.as_ref().map(|registration| (registration.client_type.as_str(), registration.auth_method.as_str()));
        assert_eq!(got, settled, "{client_type} {auth_method}");
    }
}

#[test]
fn first_registration_error_is_reported() {
    let many = vec!["https://app.example.com/cb".to_owned(); 11];
    for (request, message) in [
        (ClientRegistrationRequest::default(), "400: redirect_uris is required"),
        (ClientRegistrationRequest { redirect_uris: many, ..request() }, "400: redirect_uris cannot exceed 10 items"),
        (
            ClientRegistrationRequest {
                redirect_uris: vec!["/cb".into()],
                grant_types: vec!["password".into()],
                ..request()
            },
            "400: invalid redirect_uri '/cb': must have scheme and host",
        ),
        (
            ClientRegistrationRequest { grant_types: vec!["password".into()], name: "x".repeat(1025), ..request() },
            "400: grant_types must only contain 'authorization_code' and/or 'refresh_token'",
        ),
        (
            ClientRegistrationRequest { name: "x".repeat(1025), uri: "nowhere".into(), ..request() },
            "400: client_name cannot exceed 1024 characters",
        ),
        (
            ClientRegistrationRequest { name: "a\0b".into(), ..request() },
            "400: client_name cannot hold the character U+0000",
        ),
        (
            ClientRegistrationRequest { uri: "nowhere".into(), logo_uri: "://".into(), ..request() },
            "400: client_uri must be a valid URL",
        ),
        (
            ClientRegistrationRequest { uri: format!("https://e.example/{}", "x".repeat(2040)), ..request() },
            "400: client_uri cannot exceed 2048 characters",
        ),
        (
            ClientRegistrationRequest { logo_uri: "://".into(), client_type: "x".into(), ..request() },
            "400: logo_uri must be a valid URL",
        ),
        (
            ClientRegistrationRequest { client_type: "x".into(), auth_method: "x".into(), ..request() },
            "400: client_type must be 'public' or 'confidential'",
        ),
        (
            ClientRegistrationRequest {
                client_type: "public".into(),
                auth_method: "client_secret_basic".into(),
                ..request()
            },
            "400: client_type 'public' is inconsistent with token_endpoint_auth_method 'client_secret_basic' \
             (expected client_type 'confidential')",
        ),
    ] {
        let refused = register(request, RECORDED).unwrap_err();
        assert_eq!((refused.code().as_str(), refused.message()), ("validation_failed", message));
    }
}

#[test]
fn uris_are_absolute_or_root_relative() {
    for (uri, is_good) in [
        ("https://app.example.com", true),
        ("/about", true),
        ("mailto:ann@example.com", true),
        ("//app.example.com/logo.png", true),
        ("nowhere", false),
        ("://", false),
        ("/%zz", false),
        ("?a", false),
    ] {
        assert_eq!(
            register(ClientRegistrationRequest { uri: uri.into(), ..request() }, RECORDED).is_ok(),
            is_good,
            "{uri}"
        );
    }
}

#[test]
fn client_and_logo_uri_must_be_web_uris() {
    for (uri, is_good) in [
        ("", true),
        ("https://app.example.com/", true),
        ("HTTP://app.example.com", true),
        ("javascript://app.example.com/%0aalert(1)", false),
        ("JavaScript:alert(1)", false),
        ("data:text/html,x", false),
        ("/about", false),
        ("//app.example.com", false),
    ] {
        assert_eq!((require_web_uris(uri, "").is_ok(), require_web_uris("", uri).is_ok()), (is_good, is_good), "{uri}");
    }
}

#[test]
fn missing_grant_types_default_to_both() {
    assert_eq!(register(request(), RECORDED).unwrap().grant_types, GRANT_TYPES);
    let one = ClientRegistrationRequest { grant_types: vec!["refresh_token".into()], ..request() };
    assert_eq!(register(one, RECORDED).unwrap().grant_types, ["refresh_token"]);
}

#[test]
fn changes_must_match_client_type() {
    let (public, confidential) = (client(AuthMethod::None), client(AuthMethod::Basic));
    let method = |word: &str| ClientChanges { auth_method: Some(word.into()), ..ClientChanges::default() };
    for (changes, client, message) in [
        (ClientChanges::default(), &public, "No fields provided for update"),
        (
            ClientChanges { redirect_uris: Some(Vec::new()), ..ClientChanges::default() },
            &public,
            "redirect_uris cannot be empty",
        ),
        (
            ClientChanges { grant_types: Some(Vec::new()), ..ClientChanges::default() },
            &public,
            "grant_types cannot be empty",
        ),
        (ClientChanges { name: Some(String::new()), ..ClientChanges::default() }, &public, ""),
        (method("none"), &public, ""),
        (method("client_secret_post"), &confidential, ""),
        (
            method("none"),
            &confidential,
            "token_endpoint_auth_method 'none' is not valid for client_type 'confidential'; valid methods: \
             [client_secret_basic client_secret_post]",
        ),
        (
            method("client_secret_post"),
            &public,
            "token_endpoint_auth_method 'client_secret_post' is not valid for client_type 'public'; valid \
             methods: [none]",
        ),
        (
            method("x"),
            &public,
            "invalid token_endpoint_auth_method: must be one of [none client_secret_basic client_secret_post]",
        ),
    ] {
        let actual =
            changes.validate(client, RECORDED).map_or_else(|error| error.message().to_owned(), |()| String::new());
        assert_eq!(actual, message);
    }
}
