//! Valid values of members as JSON texts. Placeholders between § are filled when the request is sent.

/// The values of a member of this name.
pub(super) fn valid_body(name: &str) -> &'static [&'static str] {
    USUAL.iter().find(|(names, _)| names.contains(&name)).map_or(ANY, |(_, values)| values)
}

/// Those of a member that is not listed.
const ANY: &[&str] = &[r#""""#, r#""authenticated""#, r#""https://shop.example.com/""#, "true", "1", "{}", r#"["a"]"#];

const USUAL: &[(&[&str], &[&str])] = &[
    (
        &["email", "new_email"],
        &[
            r#""ann@example.com""#,
            r#""ann@example.com""#,
            r#""bob@example.com""#,
            r#""new§n§@example.com""#,
            r#""§to§""#,
            r#""§to§""#,
            r#""Eve@Example.com""#,
            r#""""#,
            r#""nobody""#,
        ],
    ),
    (
        &["phone"],
        &[r#""""#, r#""""#, r#""""#, r#""15550100""#, r#""+1 555 0199""#, r#""1555§n§""#, r#""1""#, r#""nobody""#],
    ),
    (
        &["password", "current_password"],
        &[
            r#""correct horse""#,
            r#""correct horse""#,
            r#""battery staple""#,
            r#""""#,
            r#""short""#,
            r#""mot de passe très sûr""#,
        ],
    ),
    (
        &["type"],
        &[
            r#""signup""#,
            r#""saml""#,
            r#""saml""#,
            r#""invite""#,
            r#""recovery""#,
            r#""magiclink""#,
            r#""email""#,
            r#""email_change""#,
            r#""sms""#,
            r#""phone_change""#,
            r#""email_change_new""#,
            r#""email_change_current""#,
            r#""nothing""#,
        ],
    ),
    (
        &["redirect_uris"],
        &[r#"["https://app.example.com/cb"]"#, r#"["myapp://back","http://localhost:1/"]"#, "[]", r#"["/cb"]"#],
    ),
    (&["grant_types"], &[r#"["authorization_code"]"#, r#"["refresh_token"]"#, "[]", r#"["password"]"#]),
    (&["client_type"], &[r#""public""#, r#""confidential""#, r#""""#]),
    (
        &["token_endpoint_auth_method"],
        &[r#""none""#, r#""client_secret_basic""#, r#""client_secret_post""#, r#""""#, r#""tls_client_auth""#],
    ),
    (&["action"], &[r#""approve""#, r#""deny""#, r#""""#]),
    (&["factor_type"], &[r#""totp""#, r#""phone""#, r#""webauthn""#, r#""nothing""#]),
    (&["token", "nonce", "code"], &[r#""§code§""#, r#""§code§""#, r#""123456""#, r#""""#]),
    (&["refresh_token"], &[r#""§refresh§""#, r#""abcdefgh2345""#, r#""""#]),
    (&["code_challenge"], &[r#""""#, r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa""#]),
    (&["code_challenge_method"], &[r#""""#, r#""s256""#, r#""plain""#, r#""S256""#, r#""rot13""#]),
    (&["channel"], &[r#""""#, r#""sms""#, r#""whatsapp""#, r#""pigeon""#]),
    (
        &["id", "challenge_id", "user_id"],
        &[
            r#""""#,
            r#""""#,
            r#""00000000-0000-4000-8000-00000000§n§""#,
            r#""9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa""#,
            r#""§id§""#,
            r#""nobody""#,
        ],
    ),
    (&["domain"], &[r#""company.example.com""#, r#""Company.example.com""#, r#""""#]),
    (&["domains"], &[r#"["company.example.com"]"#, r#"["new§n§.example.com"]"#, "[]", r#"["a","A"]"#, r#"[""]"#]),
    // No external service is called.
    (&["metadata_url"], &[r#""""#, r#""""#, r#""https://127.0.0.1/""#, r#""http://shop.example.com/""#, r#""nobody""#]),
    (
        &["metadata_xml"],
        &[
            r#""""#,
            r#""<EntityDescriptor xmlns='urn:oasis:names:tc:SAML:2.0:metadata' entityID='https://new§n§.example.com'><IDPSSODescriptor/></EntityDescriptor>""#,
            r#""<EntityDescriptor xmlns='urn:oasis:names:tc:SAML:2.0:metadata' entityID='https://idp.example.com'><IDPSSODescriptor/></EntityDescriptor>""#,
            r#""<html>""#,
        ],
    ),
    (&["name_id_format"], &[r#""""#, r#""urn:oasis:names:tc:SAML:2.0:nameid-format:transient""#, r#""email""#]),
    (&["ban_duration"], &[r#""""#, r#""none""#, r#""1h""#, r#""-1h""#, r#""2562047h47m16.9s""#, r#""a while""#]),
    (
        &["password_hash"],
        &[
            r#""""#,
            r#""""#,
            r#""$2a$04$g.TFDs/9zNIQ.UiHqwuMK.pJr/Nmvaw5hoeYWyim2.kyNilbcJCT6""#,
            r#""$2a$31$x""#,
            r#""plain""#,
            r#""$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA""#,
        ],
    ),
    (
        &["data", "user_metadata", "app_metadata", "attribute_mapping"],
        &["{}", r#"{"name":"Ann","age":7}"#, r#"{"a":{"b":[1,null,"x"]}}"#, r#"{"provider":"x","providers":1}"#],
    ),
    (&["email_confirm", "phone_confirm", "create_user", "should_soft_delete", "disabled"], &["true", "false"]),
];
