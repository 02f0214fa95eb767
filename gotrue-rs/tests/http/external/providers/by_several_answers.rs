//! Providers that return the profile in two responses.

use serde_json::json;

use super::{ANN, PICTURE, ProviderContract, usual};

#[tokio::test]
async fn github() {
    let sent_to = ("https://github.com/login/oauth/authorize", "user:email");
    let more = json!({"picture": null, "preferred_username": "ann", "user_name": "ann"});
    ProviderContract::with("github", sent_to, "https://github.com/login/oauth/access_token")
        .asks(
            "https://api.github.com/user",
            json!({"id": 5150, "login": "ann", "name": "Ann Example", "avatar_url": PICTURE, "email": null}),
        )
        .asks(
            "https://api.github.com/user/emails",
            json!([{"email": "other@example.com", "primary": false, "verified": true},
                   {"email": ANN, "primary": true, "verified": true}]),
        )
        .makes(usual("https://api.github.com", "5150", &more))
        .await;
}

#[tokio::test]
async fn gitlab() {
    let sent_to = ("https://gitlab.com/oauth/authorize", "read_user");
    ProviderContract::with("gitlab", sent_to, "https://gitlab.com/oauth/token")
        .asks(
            "https://gitlab.com/api/v4/user",
            json!({"id": 5150, "email": ANN, "name": "Ann Example", "avatar_url": PICTURE,
                   "confirmed_at": "2020-01-02T03:04:05Z"}),
        )
        .asks("https://gitlab.com/api/v4/user/emails", json!([{"id": 1, "email": "extra@example.com"}]))
        .makes(usual("https://gitlab.com", "5150", &json!({})))
        .await;
}

#[tokio::test]
async fn bitbucket() {
    let sent_to = ("https://bitbucket.org/site/oauth2/authorize", "account email");
    ProviderContract::with("bitbucket", sent_to, "https://bitbucket.org/site/oauth2/access_token")
        .asks(
            "https://api.bitbucket.org/2.0/user",
            json!({"uuid": "{bb-7}", "display_name": "Ann Example", "avatar": {"href": PICTURE}}),
        )
        .asks(
            "https://api.bitbucket.org/2.0/user/emails",
            json!({"values": [{"email": ANN, "is_primary": true, "is_confirmed": true}]}),
        )
        .makes(usual("https://api.bitbucket.org/2.0", "{bb-7}", &json!({})))
        .await;
}

#[tokio::test]
async fn linkedin() {
    const PROFILE: &str = "https://api.linkedin.com/v2/me?projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))";
    const ADDRESS: &str = "https://api.linkedin.com/v2/emailAddress?q=members&projection=(elements*(handle~))";
    let sent_to = ("https://api.linkedin.com/oauth/v2/authorization", "r_emailaddress r_liteprofile");
    let name =
        |text: &str| json!({"localized": {"en_US": text}, "preferredLocale": {"country": "US", "language": "en"}});
    let picture = json!({"displayImage~": {"elements": [{"identifiers": [{"identifier": PICTURE}]}]}});
    ProviderContract::with("linkedin", sent_to, "https://api.linkedin.com/oauth/v2/accessToken")
        .asks(
            PROFILE,
            json!({"id": "li7", "firstName": name("Ann"), "lastName": name("Example"), "profilePicture": picture}),
        )
        .asks(ADDRESS, json!({"elements": [{"handle": "urn:li:emailAddress:1", "handle~": {"emailAddress": ANN}}]}))
        .makes(usual("https://api.linkedin.com", "li7", &json!({})))
        .await;
}
