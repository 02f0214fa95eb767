//! Explanations contain no secret of a request.

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use serde_json::json;

#[tokio::test]
async fn explanations_contain_no_password_code_or_token() {
    let world = World::builder().with_explanations().build().await;
    let ann = world.create_user("ann@example.com").await;
    world.post("/recover", json!({"email": "ann@example.com"})).await.expect(200);
    let (code, link) = (world.code("ann@example.com"), world.link("ann@example.com"));
    let hash = link.split("token=").nth(1).and_then(|rest| rest.split('&').next()).expect("a token").to_owned();
    world.get(&link).await.expect(303);
    world.get(&link).await.expect(303);
    world.post("/verify", json!({"type": "recovery", "email": "ann@example.com", "token": code})).await.expect(403);
    world.try_password("ann@example.com", "wrong-password-of-ann").await.expect(400);
    world.refresh(&ann.refresh_token).await.expect(200);
    world.refresh("unknown00000").await.expect(400);
    world.post_as(&ann.access_token, "/logout", json!({})).await.expect(204);
    world.get_as(&ann.access_token, "/user").await.expect(403);
    world.advance(TimeDelta::seconds(1));
    let redirect = "/recover?redirect_to=https://ann:user-info@other.example.com/a?token=secret-of-the-query";
    world.post(redirect, json!({"email": "ann@example.com"})).await.expect(200);
    let store = world.app.explanations.store().expect("explanations are kept");
    let all = store.list(usize::MAX);
    assert!(all.len() >= 6, "only {} explanations", all.len());
    let secrets = [
        code.as_str(),
        &hash,
        "wrong-password-of-ann",
        &ann.access_token,
        &ann.refresh_token,
        "unknown00000",
        "user-info",
        "secret-of-the-query",
    ];
    for secret in secrets {
        assert!(!all.iter().any(|explanation| explanation.contains(secret)), "{secret}");
    }
}
