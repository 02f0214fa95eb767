//! Logs contain no secrets and no e-mail addresses.

use gotrue_rs::testing::{FakeProvider, PASSWORD, World, json_response};
use platform::testing::Recording;
use serde_json::json;

const ANN: &str = "ann.lovelace@example.com";

#[tokio::test]
async fn a6_no_secret_and_no_address_is_logged() {
    Recording::start();
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let world = World::with(|policy| provider.enable_provider(policy, "github")).await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let (link, code) = (world.link(ANN), world.code(ANN));
    world.get(&link.replace("token=", "token=x")).await.expect(303);
    let redirect = world.get(&link).await.expect(303).header("location").to_owned();
    world.get(&link).await.expect(303);
    let user = world.sign_in(ANN).await;
    let refreshed = world.refresh(&user.refresh_token).await.expect(200);
    world.try_password(ANN, "a wrong password").await.expect(400);
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    world.faults.fail("users.by_email", 1);
    world.try_password(ANN, PASSWORD).await.expect(500);
    world.faults.panic("users.by_email", 1);
    world.try_password(ANN, PASSWORD).await.expect(500);
    let elsewhere = [("x-jwt-aud", "elsewhere")];
    let taken = json!({"email": ANN, "password": PASSWORD});
    world.request(http::Method::POST, "/signup", &elsewhere, Some(taken)).await.expect(500);
    world.get_as("not.a.token", "/user").await.expect(403);

    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    provider.respond("/github/api/v3/user", |_| json_response(500, &json!({"token": "github-access"})));
    world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    provider.respond("/github/login/oauth/access_token", |_| {
        json_response(200, &json!({"error": {"code": "c0de-from-upstream"}}))
    });
    world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;

    let text = Recording::stop().text();
    assert!(text.contains("/token"), "nothing was logged: {text}");
    assert!(text.contains("users.by_email"), "a failure is logged with its cause: {text}");
    assert!(text.contains("returned status 500"), "what a provider does wrong is logged: {text}");
    assert!(!text.split(|character: char| !character.is_alphanumeric()).any(|word| word == code), "the code is logged");
    let hash =
        link.split_once("token=").map(|(_, rest)| rest.split('&').next().unwrap_or_default()).unwrap_or_default();
    let in_fragment = redirect.split_once("refresh_token=").map(|(_, rest)| &rest[..12]).unwrap_or_default();
    for (what, secret) in [
        ("the address", ANN),
        ("the password", PASSWORD),
        ("a wrong password", "a wrong password"),
        ("the link's hash", hash),
        ("the link's refresh token", in_fragment),
        ("an access token", &*user.access_token),
        ("a refresh token", &*user.refresh_token),
        ("its successor", refreshed.str("refresh_token")),
        ("a bad token", "not.a.token"),
        ("a provider's code", "c0de-from-upstream"),
        ("a provider's access token", "github-access"),
        ("a provider's refresh token", "github-refresh"),
        ("our secret at a provider", "github-secret"),
        ("an access token by a provider", to.fragment("access_token")),
        ("the signing secret", gotrue_rs::testing::SECRET),
    ] {
        assert!(secret.len() >= 8, "{what} was not made");
        assert!(!text.contains(secret), "{what} is logged");
    }
}
