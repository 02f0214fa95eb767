use super::*;

fn token(issuer: &str, claims: Value) -> IdToken {
    let Value::Object(mut claims) = claims else { panic!("claims are an object") };
    claims.insert("iss".into(), json!(issuer));
    claims.insert("sub".into(), json!("7"));
    claims.insert("aud".into(), json!("us"));
    let (audience, claims) = (vec!["us".into()], claims.into());
    IdToken { issuer: issuer.into(), subject: "7".into(), audience, claims, ..IdToken::default() }
}

fn read(issuer: &str, claims: Value) -> Profile {
    profile(&token(issuer, claims)).unwrap()
}

/// The data of an identity that such a token makes.
fn data(issuer: &str, claims: Value) -> Value {
    Value::Object(read(issuer, claims).settled().claims.identity_data())
}

/// Whether the only address is verified: as the issuer is believed, and where nothing is assumed.
fn verified(issuer: &str, claims: Value) -> (bool, bool) {
    let token = token(issuer, claims);
    let of = |token: &IdToken| {
        let emails = profile(token).unwrap().emails;
        assert_eq!(emails.len(), 1);
        assert!(emails[0].primary);
        emails[0].verified
    };
    (of(&token), of(&IdToken { assumes_nothing: true, ..token.clone() }))
}

const TENANT: &str = "https://login.microsoftonline.com/tenant-1/v2.0";
const APPLE: &str = "https://appleid.apple.com";

#[test]
fn each_issuer_describes_people_in_its_own_words() {
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
        assert_eq!(data(issuer, claims), expected, "{issuer}");
    }
    let vercel =
        json!({"global_user_id": "g", "user_email": "v@example.com", "user_name": "Vic", "user_avatar_url": "p"});
    assert_eq!(
        data(issuers::VERCEL_MARKETPLACE, vercel),
        json!({"iss": issuers::VERCEL_MARKETPLACE, "sub": "global_user_id:g", "provider_id": "global_user_id:g",
               "name": "Vic", "picture": "p", "email": "v@example.com", "email_verified": true, "phone_verified": false})
    );
    assert_eq!(read(issuers::VERCEL_MARKETPLACE, json!({})).claims.subject, "7");
}

#[test]
fn any_other_issuer_and_snapchat_are_read_by_the_standard() {
    for issuer in ["https://i.example.com", issuers::SNAPCHAT, "accounts.google.com", "https://sts.windows.net/t/"] {
        let claims =
            json!({"email": "a@example.com", "email_verified": true, "nickname": "A", "exp": 9, "groups": ["x"]});
        let expected = json!({"iss": issuer, "sub": "7", "aud": ["us"], "exp": 9, "nickname": "A",
                              "email": "a@example.com", "email_verified": true, "phone_verified": false});
        assert_eq!(data(issuer, claims), expected, "{issuer}");
    }
}

#[test]
fn an_address_is_verified_as_the_issuer_says_it() {
    let said = |flag: Value| json!({"email": "a@example.com", "email_verified": flag});
    let edov = |flag: Value| json!({"email": "a@example.com", "xms_edov": flag});
    let table = [
        ("https://i.example.com", said(json!(true)), (true, true)),
        ("https://i.example.com", said(json!(false)), (false, false)),
        ("https://i.example.com", said(json!(null)), (false, false)),
        (issuers::GOOGLE, said(json!(true)), (true, true)),
        (issuers::GOOGLE, said(json!(false)), (false, false)),
        (issuers::LINKEDIN, said(json!("false")), (false, false)),
        (issuers::LINKEDIN, said(json!("1")), (true, true)),
        (issuers::FACEBOOK, said(json!(null)), (true, true)),
        (APPLE, said(json!(null)), (true, true)),
        (issuers::KAKAO, said(json!(null)), (true, false)),
        (issuers::KAKAO, said(json!(true)), (true, true)),
        (issuers::SNAPCHAT, said(json!(null)), (true, false)),
        (TENANT, edov(json!(null)), (true, false)),
        (TENANT, said(json!(true)), (true, false)),
        (TENANT, edov(json!(true)), (true, true)),
        (TENANT, edov(json!("1")), (true, true)),
        (TENANT, edov(json!("true")), (true, true)),
        (TENANT, edov(json!(false)), (false, false)),
        (TENANT, edov(json!("0")), (false, false)),
        (TENANT, edov(json!(1)), (false, false)),
    ];
    for (issuer, claims, expected) in table {
        assert_eq!(verified(issuer, claims.clone()), expected, "{issuer} {claims}");
    }
}

#[test]
fn without_an_address_most_tell_none() {
    for issuer in
        [issuers::GOOGLE, issuers::KAKAO, issuers::FACEBOOK, issuers::SNAPCHAT, TENANT, "https://i.example.com"]
    {
        assert!(read(issuer, json!({})).emails.is_empty(), "{issuer}");
    }
    let linkedin = read(issuers::LINKEDIN, json!({"email_verified": "false"}));
    assert!(linkedin.emails.is_empty());
}

#[test]
fn a_claim_of_a_wrong_type_makes_a_token_useless() {
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
        assert!(profile(&token(issuer, claims.clone())).is_err(), "{issuer} {claims}");
    }
}
