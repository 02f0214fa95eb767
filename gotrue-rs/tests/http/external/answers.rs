//! Provider responses are decoded like Go's `encoding/json`; the decoder has its own tests.

use axum::body::Body;
use axum::response::Response;
use gotrue_rs::testing::{FakeProvider, RedirectTarget, World};
use serde_json::json;

use super::world;

const TOKEN: &str = "/github/login/oauth/access_token";
const USER: &str = "/github/api/v3/user";

fn raw(provider: &FakeProvider, path: &str, body: &'static [u8]) {
    provider.respond(path, move |_| {
        let answer = Response::builder().header("content-type", "application/json");
        answer.body(Body::from(body)).expect("an answer")
    });
}

async fn come_back(world: &World) -> RedirectTarget {
    world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await
}

#[tokio::test]
async fn profile_members_match_case_insensitively_and_trailing_data_is_ignored() {
    for body in [
        &br#"{"ID":4711,"LOGIN":"ann","Name":"Ann"}"#[..],
        br#"{"id":4711,"name":"Ann"} and more"#,
        br#"{"id":4711,"name":"Ann"}{"id":7}"#,
        br#"{"id":7,"name":"Bob","id":4711,"NAME":"Ann"}"#,
        br#"{"id":4711,"name":"Ann","avatar_url":null,"two_factor":[1e999]}"#,
    ] {
        let (world, provider) = world().await;
        raw(&provider, USER, body);
        assert!(!come_back(&world).await.fragment("access_token").is_empty());
        let name = "SELECT identity_data ->> 'name' FROM auth.identities WHERE provider_id = '4711'";
        assert_eq!(world.database.query(name).await, ["Ann"], "{}", String::from_utf8_lossy(body));
    }
}

#[tokio::test]
async fn invalid_utf8_in_profile_is_replaced() {
    let (world, provider) = world().await;
    raw(&provider, USER, b"{\"id\":4711,\"name\":\"A\xffn\\ud800n\"}");
    assert!(!come_back(&world).await.fragment("access_token").is_empty());
    let name = "SELECT identity_data ->> 'name' FROM auth.identities";
    assert_eq!(world.database.query(name).await, ["A\u{fffd}n\u{fffd}n"]);
}

#[tokio::test]
async fn profile_member_of_wrong_type_is_refused() {
    for body in [
        &br#"{"id":"4711"}"#[..],
        br#"{"id":4711.0}"#,
        br#"{"id":4711,"name":7}"#,
        br#"{"id":4711,"email":[]}"#,
        br#"{"id":4711,"name":"a\u0000"}"#,
        b"[]",
        b"{",
        b"",
    ] {
        let (world, provider) = world().await;
        raw(&provider, USER, body);
        let to = come_back(&world).await;
        let reported = to.query("error_description");
        assert_eq!(reported, "Error getting user profile from external provider", "{}", String::from_utf8_lossy(body));
    }
}

#[tokio::test]
async fn token_response_is_parsed_strictly() {
    for (body, is_good) in [
        (&br#"{"ACCESS_TOKEN":"a","Token_Type":"bearer","expires_in":"3600"}"#[..], true),
        (br#"{"access_token":"a","expires_in":null,"error":null}"#, true),
        (br#"{"access_token":"a"} and more"#, false),
        (br#"{"access_token":"a","expires_in":3600.5}"#, false),
        (br#"{"access_token":"a","expires_in":"soon"}"#, false),
        (br#"{"access_token":"a","error_description":7}"#, false),
    ] {
        let (world, provider) = world().await;
        raw(&provider, TOKEN, body);
        let to = come_back(&world).await;
        assert_eq!(to.query("error_description").is_empty(), is_good, "{}", String::from_utf8_lossy(body));
    }
}

#[tokio::test]
async fn email_list_follows_the_same_rules() {
    let (world, provider) = world().await;
    provider.answer("/github/api/v3/user/emails", json!([null, {"EMAIL": "ann@example.com", "Primary": true}]));
    let to = come_back(&world).await;
    assert_eq!(to.query("error_code"), "provider_email_needs_verification");
}
