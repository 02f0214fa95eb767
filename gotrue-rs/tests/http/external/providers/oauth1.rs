//! Twitter, which speaks OAuth 1.0a.

use gotrue_rs::testing::RedirectTarget;
use serde_json::json;

use super::simulated::assert_same_form;
use super::{ANN, PICTURE, at_home, usual};

const HOST: &str = "https://api.twitter.com";

#[tokio::test]
async fn twitter() {
    let (world, internet) = at_home("twitter").await;
    let token =
        |name: &str| format!("oauth_token={name}-token&oauth_token_secret={name}-secret&oauth_callback_confirmed=true");
    internet.put(&format!("{HOST}/oauth/request_token"), 200, &token("req"));
    internet.put(&format!("{HOST}/oauth/access_token"), 200, &token("acc"));
    let profile = format!("{HOST}/1.1/account/verify_credentials.json");
    let twitter_user = json!({"id_str": "70071", "screen_name": "ann", "name": "Ann Example", "email": ANN,
                        "profile_image_url_https": PICTURE});
    internet.put(&profile, 200, &twitter_user);

    let sent = RedirectTarget::from_response(&world.get("/authorize?provider=twitter").await.expect(302));
    assert_eq!((&*sent.base, sent.query("oauth_token")), ("https://api.twitter.com/oauth/authenticate", "req-token"));
    let requests = internet.take_requests();
    let header = &requests[0].headers["authorization"];
    let (_, state) = header.split_once("state%3D").expect("the state goes with the callback");
    let back = format!("/callback?state={}&oauth_token=req-token&oauth_verifier=v", &state[..36]);
    let back = RedirectTarget::from_response(&world.get(&back).await.expect(302));

    let requests = internet.take_requests();
    let query = "?include_email=true&include_entities=false&skip_status=true";
    let urls: Vec<_> = requests.iter().map(|request| request.url.as_str()).collect();
    assert_eq!(urls, [format!("{HOST}/oauth/access_token"), format!("{profile}{query}")]);
    for (requests, token) in requests.iter().zip(["req-token", "acc-token"]) {
        let header = &requests.headers["authorization"];
        assert!(header.starts_with("OAuth ") && header.contains(&format!("oauth_token=\"{token}\"")), "{header}");
        assert!(header.contains("oauth_consumer_key=\"twitter-client\""), "{header}");
    }
    assert_eq!(back.fragment("provider_token"), "acc-token");
    let user = world.get_as(back.fragment("access_token"), "/user").await.expect(200);
    let more = json!({"preferred_username": "ann", "user_name": "ann", "phone_verified": false});
    let expected = usual(&profile, "70071", &more);
    assert_eq!(user.json["identities"][0]["identity_data"], expected);
    let mut simulated = expected;
    simulated.as_object_mut().expect("an object").shift_remove("phone_verified");
    assert_same_form("twitter", &simulated, &json!({})).await;
}
