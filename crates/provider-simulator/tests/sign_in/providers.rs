//! Every provider, from the redirect to the identity, in its own wire format.

use gotrue_rules::domain::policy::{ExternalProviderSettings, PROVIDERS, Policy};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{PICTURE, Trial, zoe};

/// Rows: provider; start of the authorization URL after the simulator's; `iss` of the identity.
const TABLE: [(&str, &str, &str); 25] = [
    ("apple", "appleid.apple.com/auth/authorize?", "https://appleid.apple.com"),
    ("azure", "login.microsoftonline.com/common/oauth2/v2.0/authorize?", AZURE_ISSUER),
    ("bitbucket", "bitbucket.org/site/oauth2/authorize?", "https://api.bitbucket.org/2.0"),
    ("discord", "discord.com/api/oauth2/authorize?", "https://discord.com/api"),
    ("facebook", "www.facebook.com/dialog/oauth?", FACEBOOK_PROFILE),
    ("figma", "www.figma.com/oauth?", "https://api.figma.com"),
    ("fly", "api.fly.io/oauth/authorize?", "https://api.fly.io"),
    ("github", "github.com/login/oauth/authorize?", "https://api.github.com"),
    ("gitlab", "gitlab.com/oauth/authorize?", "https://gitlab.com"),
    ("google", "accounts.google.com/o/oauth2/v2/auth?", "https://accounts.google.com"),
    ("kakao", "kauth.kakao.com/oauth/authorize?", "https://kapi.kakao.com"),
    ("keycloak", "keycloak.example.com/realms/basalt/protocol/openid-connect/auth?", KEYCLOAK_REALM),
    ("linkedin", "api.linkedin.com/oauth/v2/authorization?", "https://api.linkedin.com"),
    ("linkedin_oidc", "api.linkedin.com/oauth/v2/authorization?", "https://www.linkedin.com/oauth"),
    ("notion", "api.notion.com/v1/oauth/authorize?", "https://api.notion.com"),
    ("slack", "slack.com/oauth/authorize?", "https://slack.com/api"),
    ("slack_oidc", "slack.com/openid/connect/authorize?", "https://slack.com/api"),
    ("snapchat", "accounts.snapchat.com/accounts/oauth2/auth?", SNAPCHAT_ISSUER),
    ("spotify", "accounts.spotify.com/authorize?", "https://api.spotify.com/v1"),
    ("twitch", "id.twitch.tv/oauth2/authorize?", "https://api.twitch.tv"),
    ("twitter", "api.twitter.com/oauth/authenticate?oauth_token=", TWITTER_PROFILE),
    ("vercel_marketplace", "api.vercel.com/oauth/v2/authorization?", "https://marketplace.vercel.com"),
    ("workos", "api.workos.com/sso/authorize?", "https://api.workos.com"),
    ("x", "x.com/i/oauth2/authorize?", "https://api.x.com"),
    ("zoom", "zoom.us/oauth/authorize?", "https://api.zoom.us/v2"),
];
const AZURE_ISSUER: &str = "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0";
const FACEBOOK_PROFILE: &str = "https://graph.facebook.com/me?fields=email,first_name,last_name,name,picture";
const KEYCLOAK_REALM: &str = "https://keycloak.example.com/realms/basalt";
const SNAPCHAT_ISSUER: &str = "https://accounts.snapchat.com/accounts/oauth2/token";
const TWITTER_PROFILE: &str = "https://api.twitter.com/1.1/account/verify_credentials.json";

/// Providers that also report addresses that they have not verified.
const UNVERIFIED: [&str; 9] =
    ["google", "github", "bitbucket", "discord", "gitlab", "kakao", "zoom", "azure", "linkedin_oidc"];

fn enable(policy: &mut Policy, name: &str, url: &str) {
    let settings = ExternalProviderSettings { enabled: true, url: url.to_owned(), ..Default::default() };
    policy.external.providers.insert(name.to_owned(), settings);
}

#[tokio::test]
async fn every_provider_signs_in_with_its_own_endpoints_and_issuer() {
    // Spotify verifies no address.
    let trial = Trial::with(|policy| policy.mail.autoconfirm = true).await;
    assert_eq!(TABLE.map(|(name, ..)| name), PROVIDERS);
    for (name, authorize, issuer) in TABLE {
        trial.set_next(name, &zoe());
        let url = trial.start(name, "").await;
        let expected = format!("{}/{authorize}", trial.settings(name).simulator_url);
        assert!(url.starts_with(&expected), "{url} {expected}");
        let response = trial.send(Method::GET, &url, &[], "").await;
        let is_form = name == "apple";
        let back = if is_form { trial.post_back(&response).await } else { trial.return_from(&response).await };
        let user = trial.user(&back).await;
        assert_eq!(user.str("email"), "zoe@example.com", "{name}");
        assert!(!back.fragment("provider_token").is_empty(), "{name}");
        let identities = user.json["identities"].as_array().expect("identities");
        let identity = identities.iter().find(|identity| identity["provider"] == name).expect("an identity");
        let id = if name == "vercel_marketplace" { "global_user_id:70071" } else { "70071" };
        let data = &identity["identity_data"];
        assert_eq!((&identity["id"], &data["sub"], &data["iss"]), (&json!(id), &json!(id), &json!(issuer)), "{name}");
        assert_eq!(data["email_verified"], json!(name != "spotify"), "{name}");
        let shown = if data["full_name"].is_null() { &data["name"] } else { &data["full_name"] };
        // Snapchat, Kakao and Discord show what they have for a name.
        let names = ["Zoe Example", "70071", "zoe"];
        assert!(names.iter().any(|known| shown == known), "{name}: {data}");
    }
}

#[tokio::test]
async fn profile_has_picture_and_names_of_the_format() {
    let trial = Trial::new().await;
    let data = async |name: &str| {
        let back = trial.sign_in_as(name, &zoe()).await;
        let user = trial.user(&back).await;
        let identities = user.json["identities"].as_array().expect("identities").clone();
        let found = identities.into_iter().find(|identity| identity["provider"] == name);
        found.expect("an identity")["identity_data"].clone()
    };
    let github = data("github").await;
    assert_eq!((&github["avatar_url"], &github["user_name"]), (&json!(PICTURE), &json!("70071")));
    let linkedin = data("linkedin").await;
    assert_eq!((&linkedin["name"], &linkedin["picture"]), (&json!("Zoe Example"), &json!(PICTURE)));
    assert_eq!(data("kakao").await["avatar_url"], PICTURE);
    let zoom = data("zoom").await;
    assert_eq!((&zoom["full_name"], &zoom["picture"]), (&json!("Zoe Example"), &json!(PICTURE)));
    assert_eq!(data("workos").await["custom_claims"]["connection_id"], "conn_basalt");
    assert_eq!(data("x").await["profile"], "https://x.com/70071");
}

#[tokio::test]
async fn claims_are_added_to_id_token_or_profile() {
    let trial = Trial::new().await;
    let back =
        trial.sign_in_as("google", &json!({"sub": "1", "email": "a@example.com", "claims": {"hd": "corp"}})).await;
    assert_eq!(trial.user(&back).await.str("identities/0/identity_data/custom_claims/hd"), "corp");
    let claims = json!({"groups": ["staff"], "preferred_username": "zed"});
    let back = trial.sign_in_as("keycloak", &json!({"sub": "2", "email": "b@example.com", "claims": claims})).await;
    let user = trial.user(&back).await;
    let custom = &user.json["identities"][0]["identity_data"]["custom_claims"];
    assert_eq!((&custom["groups"], &custom["preferred_username"]), (&json!(["staff"]), &json!("zed")));
}

#[tokio::test]
async fn apple_posts_the_name_on_the_first_sign_in_only() {
    let trial = Trial::new().await;
    for is_first in [true, false] {
        trial.set_next("apple", &zoe());
        let page = trial.send(Method::GET, &trial.start("apple", "").await, &[], "").await;
        assert_eq!(page.status, StatusCode::OK);
        let policy = page.headers["content-security-policy"].to_str().expect("text");
        assert!(policy.contains("script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.hidden_fields().contains("firstName"), is_first);
        let user = trial.user(&trial.post_back(&page).await).await;
        assert_eq!(user.str("user_metadata/full_name"), "Zoe Example");
    }
}

#[tokio::test]
async fn azure_issuer_names_the_tenant() {
    let trial = Trial::with(|policy| enable(policy, "azure", "https://login.microsoftonline.com/tenant-1")).await;
    let user = trial.user(&trial.sign_in_as("azure", &zoe()).await).await;
    let issuer = |user: &Value| user["identities"][0]["identity_data"]["iss"].clone();
    assert_eq!(issuer(&user.json), "https://login.microsoftonline.com/tenant-1/v2.0");
    let foreign = json!({"sub": "7", "email": "a@example.com", "claims": {"tid": "tenant-2"}});
    let back = trial.sign_in_as("azure", &foreign).await;
    assert_eq!(back.query("error_description"), "Error getting user profile from external provider");
    let trial = Trial::new().await;
    let user = trial.user(&trial.sign_in_as("azure", &foreign).await).await;
    assert_eq!(issuer(&user.json), "https://login.microsoftonline.com/tenant-2/v2.0");
}

#[tokio::test]
async fn own_host_of_the_operator_is_simulated() {
    let trial = Trial::with(|policy| {
        enable(policy, "gitlab", "https://git.corp.example.com/gitlab");
        enable(policy, "github", "https://github.corp.example.com");
        enable(policy, "spotify", "https://spotify.corp.example.com");
        policy.mail.autoconfirm = true;
    })
    .await;
    for (name, issuer) in [
        ("gitlab", "https://git.corp.example.com/gitlab"),
        ("github", "https://github.corp.example.com/api/v3"),
        ("spotify", "https://spotify.corp.example.com"),
    ] {
        let user = trial.user(&trial.sign_in_as(name, &zoe()).await).await;
        let identities = user.json["identities"].as_array().expect("identities");
        let identity = identities.iter().find(|identity| identity["provider"] == name).expect("an identity");
        assert_eq!(identity["identity_data"]["iss"], issuer);
    }
}

#[tokio::test]
async fn presets_and_hints_sign_in_without_page_at_every_provider() {
    let trial = Trial::with(|policy| policy.mail.autoconfirm = true).await;
    for name in PROVIDERS {
        let back = trial.sign_in(name, "&prompt=none&login_hint=ann@example.com").await;
        assert_eq!(trial.user(&back).await.str("email"), "ann@example.com", "{name}");
        let back = trial.sign_in(name, "&prompt=none").await;
        assert!(back.fragment("access_token").is_empty(), "{name}");
    }
}

#[tokio::test]
async fn unverified_email_must_be_confirmed() {
    let trial = Trial::new().await;
    for provider in UNVERIFIED {
        let email = format!("{provider}@example.com");
        let body = json!({"scenario": "unverified_email", "email": email});
        let back = trial.sign_in_as(provider, &body).await;
        assert_eq!(back.query("error_code"), "provider_email_needs_verification", "{provider}");
    }
}
