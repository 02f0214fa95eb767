//! Providers with deviating requests.

use gotrue_rs::testing::RedirectTarget;
use serde_json::json;

use super::{ANN, PICTURE, ProviderContract, at_home, basic, form, sent, tokens, usual};

#[tokio::test]
async fn kakao_gets_the_client_secret_in_the_body_only() {
    let sent_to = ("https://kauth.kakao.com/oauth/authorize", "account_email profile_image profile_nickname");
    let more = json!({"picture": null, "preferred_username": "Ann Example", "user_name": "Ann Example"});
    let requested = ProviderContract::with("kakao", sent_to, "https://kauth.kakao.com/oauth/token")
        .asks(
            "https://kapi.kakao.com/v2/user/me",
            json!({"id": 5150, "kakao_account": {"email": ANN, "is_email_valid": true, "is_email_verified": true,
                   "profile": {"nickname": "Ann Example", "profile_image_url": PICTURE}}}),
        )
        .makes(usual("https://kapi.kakao.com", "5150", &more))
        .await;
    let form = form(&requested[0]);
    assert_eq!((&*form["client_id"], &*form["client_secret"]), ("kakao-client", "kakao-secret"));
    assert!(!requested[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn notion_gets_a_version_header() {
    let sent_to = ("https://api.notion.com/v1/oauth/authorize", "");
    let user = json!({"id": "no7", "name": "Ann Example", "avatar_url": PICTURE, "person": {"email": ANN}});
    let requested = ProviderContract::with("notion", sent_to, "https://api.notion.com/v1/oauth/token")
        .asks("https://api.notion.com/v1/users/me", json!({"bot": {"owner": {"user": user}}}))
        .makes(usual("https://api.notion.com", "no7", &json!({})))
        .await;
    assert_eq!(basic(&requested[0]), "notion-client:notion-secret");
    assert_eq!(form(&requested[0]).len(), 3, "the secret is in the header only");
    assert_eq!(requested[1].headers["notion-version"], "2021-08-16");
}

#[tokio::test]
async fn twitch_gets_a_client_id_header() {
    let sent_to = ("https://id.twitch.tv/oauth2/authorize", "user:read:email");
    let custom = json!({"broadcaster_type": "affiliate", "description": "plays chess", "type": "",
                        "offline_image_url": "off", "view_count": 12});
    let more = json!({"name": "ann_live", "full_name": "ann_live", "nickname": "Ann Example", "slug": "Ann Example",
                      "custom_claims": custom});
    let requested = ProviderContract::with("twitch", sent_to, "https://id.twitch.tv/oauth2/token")
        .asks(
            "https://api.twitch.tv/helix/users",
            json!({"data": [{"id": "tw7", "login": "ann_live", "display_name": "Ann Example", "type": "",
                   "broadcaster_type": "affiliate", "description": "plays chess", "profile_image_url": PICTURE,
                   "offline_image_url": "off", "view_count": 12, "email": ANN, "created_at": "2016-12-14T20:32:28Z"}]}),
        )
        .makes(usual("https://api.twitch.tv", "tw7", &more))
        .await;
    assert_eq!(requested[1].headers["client-id"], "twitch-client");
}

#[tokio::test]
async fn workos_gets_a_connection_and_returns_the_profile_with_the_token() {
    let profile = json!({"id": "prof_7", "connection_id": "conn_1", "organization_id": "org_1", "email": ANN,
                         "connection_type": "OktaSAML", "first_name": "Ann", "last_name": "Example", "object": "profile",
                         "idp_id": "1", "raw_attributes": {"department": "chess"}});
    let custom = json!({"connection_id": "conn_1", "organization_id": "org_1"});
    let more = json!({"picture": null, "avatar_url": null, "custom_claims": custom});
    let contract = ProviderContract {
        in_token: json!({"profile": profile}),
        ..ProviderContract::with(
            "workos",
            ("https://api.workos.com/sso/authorize", ""),
            "https://api.workos.com/sso/token",
        )
    };
    contract.makes(usual("https://api.workos.com", "prof_7", &more)).await;
    let (world, _) = at_home("workos").await;
    let sent = sent(&world, "workos", "&organization=org_1&workos_provider=GoogleOAuth").await;
    assert_eq!((sent.query("organization"), sent.query("provider")), ("org_1", "GoogleOAuth"));
}

#[tokio::test]
async fn x_gets_a_challenge_and_its_verifier() {
    const TEST_USER: &str =
        "https://api.x.com/2/users/me?user.fields=id,name,username,confirmed_email,profile_image_url,url,created_at";
    let sent_to = ("https://x.com/i/oauth2/authorize", "users.email tweet.read users.read offline.access");
    let more = json!({"preferred_username": "ann_x", "user_name": "ann_x", "profile": "https://x.com/ann_x",
                      "website": "https://ann.example.com", "custom_claims": {"created_at": "2013-12-14T04:35:55Z"}});
    let user = json!({"data": {"id": "x7", "name": "Ann Example", "username": "ann_x", "confirmed_email": ANN,
                        "profile_image_url": PICTURE, "url": "https://ann.example.com",
                        "created_at": "2013-12-14T04:35:55Z"}});
    let response = ProviderContract::with("x", sent_to, "https://api.x.com/2/oauth2/token")
        .asks(TEST_USER, user)
        .makes(usual("https://api.x.com", "x7", &more))
        .await;
    assert_eq!(form(&response[0])["code_verifier"].len(), 43);
    let (world, internet) = at_home("x").await;
    internet.put("https://api.x.com/2/oauth2/token", 200, &tokens(&json!({})));
    let sent = sent(&world, "x", "").await;
    assert_eq!((sent.query("code_challenge_method"), sent.query("code_challenge").len()), ("S256", 43));
    let back = world.get(&format!("/callback?state={}&code=c0de", sent.query("state"))).await.expect(302);
    assert_eq!(
        RedirectTarget::from_response(&back).query("error_description"),
        "Error getting user profile from external provider"
    );
    let verifier = form(&internet.take_requests()[0])["code_verifier"].clone();
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.as_bytes());
    let challenge = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, digest);
    assert_eq!(sent.query("code_challenge"), challenge);
}

#[tokio::test]
async fn requested_scopes_are_sent_to_providers_with_scopes() {
    for (provider, scope) in
        [("github", "user:email a  b"), ("notion", ""), ("zoom", ""), ("workos", ""), ("bitbucket", "account email")]
    {
        let (world, _) = at_home(provider).await;
        assert_eq!(sent(&world, provider, "&scopes=a,%20b").await.query("scope"), scope, "{provider}");
    }
}

#[tokio::test]
async fn keycloak_requires_a_url() {
    let (world, _) = at_home("keycloak").await;
    let answer = world.get("/authorize?provider=keycloak").await.expect(400);
    assert_eq!(answer.str("msg"), "Unsupported provider: unable to find URL for the Keycloak provider");
}
