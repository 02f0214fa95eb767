use super::*;

fn token(issuer: &str, claims: Value) -> ExternalIdToken {
    let Value::Object(mut claims) = claims else { panic!("claims are an object") };
    claims.insert("iss".into(), json!(issuer));
    claims.insert("sub".into(), json!("7"));
    claims.insert("aud".into(), json!("us"));
    let (audience, claims) = (vec!["us".into()], claims.into());
    ExternalIdToken { issuer: issuer.into(), subject: "7".into(), audience, claims, ..ExternalIdToken::default() }
}

fn profile_of(issuer: &str, claims: Value) -> ProviderProfile {
    profile_from_id_token(&token(issuer, claims)).unwrap()
}

/// The identity data built from such a token.
fn identity_data_of(issuer: &str, claims: Value) -> Value {
    Value::Object(profile_of(issuer, claims).with_primary_email().claims.identity_data())
}

/// Whether the only address is verified: by default, and if `email_verified` is required.
fn verified_with_defaults(issuer: &str, claims: Value) -> (bool, bool) {
    let token = token(issuer, claims);
    let of = |token: &ExternalIdToken| {
        let emails = profile_from_id_token(token).unwrap().emails;
        assert_eq!(emails.len(), 1);
        assert!(emails[0].primary);
        emails[0].verified
    };
    (of(&token), of(&ExternalIdToken { requires_email_verified_claim: true, ..token.clone() }))
}

const TENANT: &str = "https://login.microsoftonline.com/tenant-1/v2.0";
const APPLE: &str = "https://appleid.apple.com";

#[test]
fn each_issuer_has_its_own_claim_mapping() {
    let ann =
        || json!({"email": "a@example.com", "email_verified": true, "name": "Ann", "picture": "p", "locale": "en"});
    let with = |more: Value| {
        let mut claims = ann();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    };
    let table = [
        (
            issuers::GOOGLE,
            with(json!({"hd": "example.com"})),
            json!({"name": "Ann", "full_name": "Ann", "picture": "p", "avatar_url": "p", "custom_claims": {"hd": "example.com"}}),
        ),
        (
            issuers::LINKEDIN,
            with(json!({"email_verified": "true", "given_name": "Ann", "family_name": "Lee"})),
            json!({"name": "Ann Lee", "given_name": "Ann", "family_name": "Lee", "locale": "en", "picture": "p"}),
        ),
        (
            issuers::KAKAO,
            with(json!({"nickname": "Annie"})),
            json!({"name": "Annie", "preferred_username": "Annie", "picture": "p"}),
        ),
        (issuers::FACEBOOK, ann(), json!({"name": "Ann", "picture": "p"})),
        (
            APPLE,
            with(json!({"is_private_email": "true", "auth_time": 5, "transfer_sub": "t"})),
            json!({"custom_claims": {"is_private_email": true, "auth_time": 5, "transfer_sub": "t"}}),
        ),
        (APPLE, ann(), json!({})),
        (
            TENANT,
            with(json!({"preferred_username": "ann@x", "tid": "tenant-1", "ver": "2.0", "nonce": "n"})),
            json!({"full_name": "Ann", "preferred_username": "ann@x",
                "custom_claims": {"email": "a@example.com", "email_verified": true, "picture": "p", "locale": "en", "tid": "tenant-1"}}),
        ),
    ];
    for (issuer, claims, own) in table {
        let mut expected = own;
        for (name, value) in [
            ("iss", json!(issuer)),
            ("sub", json!("7")),
            ("provider_id", json!("7")),
            ("email", json!("a@example.com")),
            ("email_verified", json!(true)),
            ("phone_verified", json!(false)),
        ] {
            expected[name] = value;
        }
        assert_eq!(identity_data_of(issuer, claims), expected, "{issuer}");
    }
    let vercel =
        json!({"global_user_id": "g", "user_email": "v@example.com", "user_name": "Vic", "user_avatar_url": "p"});
    assert_eq!(
        identity_data_of(issuers::VERCEL_MARKETPLACE, vercel),
        json!({"iss": issuers::VERCEL_MARKETPLACE, "sub": "global_user_id:g", "provider_id": "global_user_id:g",
               "name": "Vic", "picture": "p", "email": "v@example.com", "email_verified": true, "phone_verified": false})
    );
    assert_eq!(profile_of(issuers::VERCEL_MARKETPLACE, json!({})).claims.subject, "7");
}

#[test]
fn other_issuers_use_standard_claims() {
    for issuer in ["https://i.example.com", issuers::SNAPCHAT, "accounts.google.com", "https://sts.windows.net/t/"] {
        let claims =
            json!({"email": "a@example.com", "email_verified": true, "nickname": "A", "exp": 9, "groups": ["x"]});
        let expected = json!({"iss": issuer, "sub": "7", "aud": ["us"], "exp": 9, "nickname": "A",
                              "email": "a@example.com", "email_verified": true, "phone_verified": false});
        assert_eq!(identity_data_of(issuer, claims), expected, "{issuer}");
    }
}

#[test]
fn email_verification_follows_issuer_rules() {
    let with_flag = |flag: Value| json!({"email": "a@example.com", "email_verified": flag});
    let with_edov = |flag: Value| json!({"email": "a@example.com", "xms_edov": flag});
    let table = [
        ("https://i.example.com", with_flag(json!(true)), (true, true)),
        ("https://i.example.com", with_flag(json!(false)), (false, false)),
        ("https://i.example.com", with_flag(json!(null)), (false, false)),
        (issuers::GOOGLE, with_flag(json!(true)), (true, true)),
        (issuers::GOOGLE, with_flag(json!(false)), (false, false)),
        (issuers::LINKEDIN, with_flag(json!("false")), (false, false)),
        (issuers::LINKEDIN, with_flag(json!("1")), (true, true)),
        (issuers::FACEBOOK, with_flag(json!(null)), (true, true)),
        (APPLE, with_flag(json!(null)), (true, true)),
        (issuers::KAKAO, with_flag(json!(null)), (true, false)),
        (issuers::KAKAO, with_flag(json!(true)), (true, true)),
        (issuers::SNAPCHAT, with_flag(json!(null)), (true, false)),
        (TENANT, with_edov(json!(null)), (true, false)),
        (TENANT, with_flag(json!(true)), (true, false)),
        (TENANT, with_edov(json!(true)), (true, true)),
        (TENANT, with_edov(json!("1")), (true, true)),
        (TENANT, with_edov(json!("true")), (true, true)),
        (TENANT, with_edov(json!(false)), (false, false)),
        (TENANT, with_edov(json!("0")), (false, false)),
        (TENANT, with_edov(json!(1)), (false, false)),
    ];
    for (issuer, claims, expected) in table {
        assert_eq!(verified_with_defaults(issuer, claims.clone()), expected, "{issuer} {claims}");
    }
}

#[test]
fn profile_without_email_has_no_addresses() {
    for issuer in
        [issuers::GOOGLE, issuers::KAKAO, issuers::FACEBOOK, issuers::SNAPCHAT, TENANT, "https://i.example.com"]
    {
        assert!(profile_of(issuer, json!({})).emails.is_empty(), "{issuer}");
    }
    let linkedin = profile_of(issuers::LINKEDIN, json!({"email_verified": "false"}));
    assert!(linkedin.emails.is_empty());
}

#[test]
fn claim_of_wrong_type_is_rejected() {
    for (issuer, claims) in [
        ("https://i.example.com", json!({"email_verified": "true"})),
        ("https://i.example.com", json!({"updated_at": "yesterday"})),
        ("https://i.example.com", json!({"name": 7})),
        (issuers::SNAPCHAT, json!({"custom_claims": []})),
        (issuers::GOOGLE, json!({"email_verified": "true"})),
        (issuers::GOOGLE, json!({"id": 7})),
        (issuers::LINKEDIN, json!({"email_verified": true})),
        (issuers::LINKEDIN, json!({})),
        (issuers::KAKAO, json!({"nickname": []})),
        (issuers::VERCEL_MARKETPLACE, json!({"global_user_id": 7})),
        (issuers::FACEBOOK, json!({"email": 7})),
        (TENANT, json!({"name": {}})),
        (TENANT, json!({"jti": 7})),
        (APPLE, json!({"is_private_email": "perhaps"})),
        (APPLE, json!({"is_private_email": 1})),
        (APPLE, json!({"auth_time": "now"})),
    ] {
        assert!(profile_from_id_token(&token(issuer, claims.clone())).is_err(), "{issuer} {claims}");
    }
}
