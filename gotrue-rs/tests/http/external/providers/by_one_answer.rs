//! Providers that return the profile in one response.

use serde_json::json;

use super::{ANN, PICTURE, ProviderContract, at_home_but, usual};

#[tokio::test]
async fn discord() {
    let sent_to = ("https://discord.com/api/oauth2/authorize", "email identify");
    let picture = "https://cdn.discordapp.com/avatars/dc7/a_1f2e.gif";
    let more = json!({"name": "Ann Example#1234", "picture": picture, "avatar_url": picture,
                      "custom_claims": {"global_name": "Ann G."}});
    ProviderContract::with("discord", sent_to, "https://discord.com/api/oauth2/token")
        .asks(
            "https://discord.com/api/users/@me",
            json!({"id": "dc7", "username": "Ann Example", "discriminator": "1234", "global_name": "Ann G.",
                   "avatar": "a_1f2e", "email": ANN, "verified": true}),
        )
        .makes(usual("https://discord.com/api", "dc7", &more))
        .await;
}

#[tokio::test]
async fn facebook() {
    // printf upstream-access | openssl dgst -sha256 -hmac facebook-secret
    const PROFILE_REQUEST: &str = "https://graph.facebook.com/me?fields=email,first_name,last_name,name,picture&appsecret_proof=9e156ee2eecd3ed23dbdd19060f33d79a44d713dfe998a0549a6cff2db92d225";
    let issuer = "https://graph.facebook.com/me?fields=email,first_name,last_name,name,picture";
    ProviderContract::with(
        "facebook",
        ("https://www.facebook.com/dialog/oauth", "email"),
        "https://graph.facebook.com/oauth/access_token",
    )
    .asks(
        PROFILE_REQUEST,
        json!({"id": "fb7", "email": ANN, "first_name": "Ann", "last_name": "Example", "name": "Annie",
               "picture": {"data": {"url": PICTURE}}}),
    )
    .makes(usual(issuer, "fb7", &json!({"nickname": "Annie", "slug": "Annie"})))
    .await;
}

#[tokio::test]
async fn figma() {
    let sent_to = ("https://www.figma.com/oauth", "current_user:read");
    ProviderContract::with("figma", sent_to, "https://api.figma.com/v1/oauth/token")
        .asks(
            "https://api.figma.com/v1/me",
            json!({"id": "fg7", "email": ANN, "handle": "Ann Example", "img_url": PICTURE}),
        )
        .makes(usual("https://api.figma.com", "fg7", &json!({"picture": null})))
        .await;
}

#[tokio::test]
async fn fly() {
    let custom = json!({"resource_owner_id": "owner-1", "organizations": [{"id": "org-1", "role": "member"}],
                        "scope": ["read"], "application": {"uid": "app-1"}, "created_at": 1_600_000_000});
    let more = json!({"name": null, "picture": null, "avatar_url": null, "custom_claims": custom});
    ProviderContract::with("fly", ("https://api.fly.io/oauth/authorize", "read"), "https://api.fly.io/oauth/token")
        .asks(
            "https://api.fly.io/oauth/token/info",
            json!({"resource_owner_id": "owner-1", "user_id": "fly7", "user_name": "Ann Example", "email": ANN,
                   "organizations": [{"id": "org-1", "role": "member"}], "scope": ["read"],
                   "application": {"uid": "app-1"}, "expires_in": 7200, "created_at": 1_600_000_000}),
        )
        .makes(usual("https://api.fly.io", "fly7", &more))
        .await;
}

#[tokio::test]
async fn keycloak() {
    const REALM: &str = "https://keycloak.example.com/realms/shop";
    let sent_to = ("https://keycloak.example.com/realms/shop/protocol/openid-connect/auth", "profile email");
    let custom = json!({"preferred_username": "ann", "groups": ["staff"], "realm_access": {"roles": ["user"]}});
    let more = json!({"picture": null, "avatar_url": null, "custom_claims": custom});
    let in_its_realm = async |name: &str| {
        at_home_but(name, |policy| {
            let keycloak = policy.external.providers.get_mut("keycloak").expect("it is set up");
            keycloak.url = format!("{REALM}/");
        })
        .await
    };
    ProviderContract::with(
        "keycloak",
        sent_to,
        "https://keycloak.example.com/realms/shop/protocol/openid-connect/token",
    )
    .asks(
        "https://keycloak.example.com/realms/shop/protocol/openid-connect/userinfo",
        json!({"sub": "kc-7", "name": "Ann Example", "email": ANN, "email_verified": true,
                   "preferred_username": "ann", "groups": ["staff"], "realm_access": {"roles": ["user"]}}),
    )
    .makes_in(in_its_realm, usual(REALM, "kc-7", &more))
    .await;
}

#[tokio::test]
async fn slack() {
    slack_by("slack", "https://slack.com/oauth/authorize", "https://slack.com/api/oauth.access").await;
}

#[tokio::test]
async fn slack_oidc() {
    let token = "https://slack.com/api/openid.connect.token";
    slack_by("slack_oidc", "https://slack.com/openid/connect/authorize", token).await;
}

async fn slack_by(name: &'static str, authorize: &'static str, token: &'static str) {
    let more = json!({"custom_claims": {"https://slack.com/team_id": "T1"}});
    ProviderContract::with(name, (authorize, "profile email openid"), token)
        .asks(
            "https://slack.com/api/openid.connect.userInfo",
            json!({"https://slack.com/user_id": "sl7", "https://slack.com/team_id": "T1", "email": ANN,
                   "email_verified": true, "name": "Ann Example", "picture": PICTURE}),
        )
        .makes(usual("https://slack.com/api", "sl7", &more))
        .await;
}

#[tokio::test]
async fn snapchat() {
    const SCOPES: &str = "https://auth.snapchat.com/oauth2/api/user.external_id \
                          https://auth.snapchat.com/oauth2/api/user.display_name \
                          https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar";
    const REQUESTED: &str =
        "https://kit.snapchat.com/v1/me?query=%7Bme+%7B+externalId+displayName+bitmoji+%7B+avatar+id+%7D+email+%7D+%7D";
    let sent_to = ("https://accounts.snapchat.com/accounts/oauth2/auth", SCOPES);
    let issuer = "https://accounts.snapchat.com/accounts/oauth2/token";
    ProviderContract::with("snapchat", sent_to, issuer)
        .asks(
            REQUESTED,
            json!({"data": {"me": {"externalId": "sn7", "displayName": "Ann Example", "bitmoji": {"avatar": PICTURE},
                   "email": ANN}}}),
        )
        .makes(usual(issuer, "sn7", &json!({"slug": "Ann Example"})))
        .await;
}

#[tokio::test]
async fn spotify() {
    let sent_to = ("https://accounts.spotify.com/authorize", "user-read-email");
    // It verifies no e-mail address, so sign-in succeeds only with autoconfirm.
    let where_all_are_believed = async |name: &str| at_home_but(name, |policy| policy.mail.autoconfirm = true).await;
    ProviderContract::with("spotify", sent_to, "https://accounts.spotify.com/api/token")
        .asks(
            "https://api.spotify.com/v1/me",
            json!({"id": "sp7", "display_name": "Ann Example", "email": ANN,
                   "images": [{"url": "small", "height": 64, "width": 64}, {"url": PICTURE, "height": 300, "width": 300}]}),
        )
        .makes_in(
            where_all_are_believed,
            usual("https://api.spotify.com/v1", "sp7", &json!({"email_verified": false})),
        )
        .await;
}

#[tokio::test]
async fn zoom() {
    ProviderContract::with("zoom", ("https://zoom.us/oauth/authorize", ""), "https://zoom.us/oauth/token")
        .asks(
            "https://api.zoom.us/v2/users/me",
            json!({"id": "zm7", "first_name": "Ann", "last_name": "Example", "email": ANN, "verified": 1,
                   "login_type": "100", "pic_url": PICTURE}),
        )
        .makes(usual("https://api.zoom.us/v2", "zm7", &json!({})))
        .await;
}
