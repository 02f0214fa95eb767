//! Headers that keep responses out of caches.

use gotrue_rs::testing::{PASSWORD, World};
use serde_json::json;

const ANN: &str = "ann@example.com";

async fn served() -> World {
    World::builder().with_oauth_server().as_served().with_outbox().build().await
}

#[tokio::test]
async fn hardened_responses_have_no_store_and_nosniff() {
    let world = served().await;
    let user = world.create_user(ANN).await;
    let sign_in = json!({"email": ANN, "password": PASSWORD});
    let answers = [
        world.get("/health").await.expect(200),
        world.get("/nowhere").await.expect(404),
        world.get("/settings").await.expect(200),
        world.get_as(&user.access_token, "/user").await.expect(200),
        world.get("/user").await,
        world.get("/verify?type=signup&token=unknown").await.expect(303),
        world.post("/token?grant_type=password", sign_in).await.expect(200),
        world.post("/token?grant_type=password", json!({"email": ANN, "password": "wrong"})).await.expect(400),
    ];
    for answer in answers {
        let headers = [answer.header("cache-control"), answer.header("x-content-type-options")];
        assert_eq!(headers, ["no-store", "nosniff"], "{}", answer.text);
        assert_eq!(answer.header("pragma"), "");
    }
}

#[tokio::test]
async fn oauth_token_responses_have_pragma_no_cache() {
    let world = served().await;
    let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
    let code = world.obtain_code(&app, &ann, "email").await;
    for answer in
        [world.exchange_code(&app, &code).await.expect(200), world.exchange_code(&app, "unknown").await.expect(400)]
    {
        let headers = ["cache-control", "pragma", "x-content-type-options"].map(|name| answer.header(name));
        assert_eq!(headers, ["no-store", "no-cache", "nosniff"]);
    }
}

#[tokio::test]
async fn jwks_and_discovery_are_cacheable() {
    let world = served().await;
    for path in
        ["/.well-known/jwks.json", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]
    {
        let answer = world.get(path).await.expect(200);
        let headers = [answer.header("cache-control"), answer.header("x-content-type-options")];
        assert_eq!(headers, ["public, max-age=600", "nosniff"], "{path}");
    }
}

#[tokio::test]
async fn gotrue_mode_omits_these_headers() {
    let world = World::new().await;
    let answer = world.get("/settings").await.expect(200);
    assert_eq!([answer.header("cache-control"), answer.header("x-content-type-options")], [""; 2]);
}
