//! Settings read again: the next request has the new ones, everything that has to last goes on.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use foundation::limits::{Bucket, LimitKey, Quota};
use futures::stream;
use gotrue_rs::testing::World;
use http::Request;
use serde_json::json;
use tokio::sync::oneshot;
use tower::ServiceExt;

/// By which requests are counted.
const CALLER: [(&str, &str); 1] = [("x-caller", "ann")];

async fn limited() -> World {
    World::with(|policy| {
        policy.limits.key = LimitKey::Header("x-caller".to_owned());
        policy.limits.verify = Bucket::per_five_minutes(0.0);
        policy.limits.sso = Bucket::per_five_minutes(0.0);
    })
    .await
}

async fn verify(world: &World) -> u16 {
    let body = json!({ "type": "email", "email": "ann@example.com", "token": "123456" });
    world.request(http::Method::POST, "/verify", &CALLER, Some(body)).await.status.as_u16()
}

#[tokio::test]
async fn next_request_uses_the_new_policy() {
    let mut world = World::new().await;
    let account = |name: &str| json!({ "email": format!("{name}@example.com"), "password": "long enough" });
    assert_eq!(world.post("/signup", account("ann")).await.status, 200);
    world.reload(|policy| policy.sign_up.disabled = true);
    assert_eq!(world.post("/signup", account("bob")).await.refusal(), (422, "signup_disabled"));
    assert_eq!(world.get("/settings").await.json["disable_signup"], true);
    world.reload(|policy| policy.sign_up.disabled = false);
    assert_eq!(world.post("/signup", account("bob")).await.status, 200);
}

#[tokio::test]
async fn running_request_keeps_its_policy() {
    let mut world = World::new().await;
    let current = Arc::new(Mutex::new(world.app.clone()));
    let requested = Arc::clone(&current);
    let router = gotrue_rs::reloadable_router(move || requested.lock().expect("no thread panics").clone());
    let sign_up = |name: &str, body: Body| {
        let request = Request::post(format!("/signup?for={name}")).body(body).expect("a request");
        router.clone().oneshot(request)
    };
    let account = |name: &str| json!({ "email": format!("{name}@example.com"), "password": "eight888" }).to_string();

    let (arrived, has_arrived) = oneshot::channel();
    let (send, rest) = oneshot::channel::<String>();
    let slow = Body::from_stream(stream::once(async move {
        arrived.send(()).expect("a receiver waits");
        Ok::<_, Infallible>(Bytes::from(rest.await.expect("a body")))
    }));
    let running = tokio::spawn(sign_up("ann", slow));
    has_arrived.await.expect("its body is read");
    world.reload(|policy| policy.password.min_length = 20);
    *current.lock().expect("no thread panics") = world.app.clone();
    send.send(account("ann")).expect("it waits");

    assert_eq!(running.await.expect("it ends").expect("an answer").status(), 200);
    assert_eq!(sign_up("bob", Body::from(account("bob"))).await.expect("an answer").status(), 422);
}

#[tokio::test]
async fn reload_keeps_unchanged_limits_and_resets_changed_ones() {
    let mut world = limited().await;
    for _ in 0..30 {
        assert_eq!(verify(&world).await, 403);
    }
    assert_eq!(verify(&world).await, 429);
    world.reload(|policy| policy.sign_up.disabled = true);
    assert_eq!(verify(&world).await, 429);
    world.reload(|policy| policy.limits.sso = Bucket::per_five_minutes(7.0));
    assert_eq!(verify(&world).await, 429);
    world.reload(|policy| policy.limits.verify = Bucket::per_five_minutes(1.0));
    assert_eq!(verify(&world).await, 403);
}

#[tokio::test]
async fn reload_keeps_quotas() {
    let quota = |events| Quota::Window { events, per: Duration::from_hours(1) };
    let mut world = World::with(|policy| policy.limits.email_sent = quota(1.0)).await;
    let account = |name: &str| json!({ "email": format!("{name}@example.com"), "password": "long enough" });
    let refused = (429, "over_email_send_rate_limit");
    assert_eq!(world.post("/signup", account("ann")).await.status, 200);
    assert_eq!(world.post("/signup", account("bob")).await.refusal(), refused);
    world.reload(|policy| policy.password.min_length = 7);
    assert_eq!(world.post("/signup", account("bob")).await.refusal(), refused);
    world.reload(|policy| policy.limits.email_sent = quota(2.0));
    assert_eq!(world.post("/signup", account("bob")).await.status, 200);
    assert_eq!(world.post("/signup", account("cleo")).await.status, 200);
    assert_eq!(world.post("/signup", account("dan")).await.refusal(), refused);
}

#[tokio::test]
async fn reload_keeps_caches_with_unchanged_settings() {
    let mut world = World::new().await;
    let before = world.app.clone();
    world.reload(|policy| policy.sign_up.disabled = true);
    assert!(Arc::ptr_eq(&before.oidc, &world.app.oidc) && Arc::ptr_eq(&before.pwned, &world.app.pwned));
    assert!(
        Arc::ptr_eq(&before.hashing, &world.app.hashing)
            && Arc::ptr_eq(&before.cleanup_signal, &world.app.cleanup_signal)
    );
    world.reload(|policy| policy.external.discovery_cache_ttl = Duration::from_secs(1));
    assert!(!Arc::ptr_eq(&before.oidc, &world.app.oidc) && Arc::ptr_eq(&before.pwned, &world.app.pwned));
    world.reload(|policy| "another".clone_into(&mut policy.password.hibp.user_agent));
    assert!(!Arc::ptr_eq(&before.pwned, &world.app.pwned));
}

#[tokio::test]
async fn invalid_policy_changes_nothing() {
    let world = limited().await;
    let mut policy = world.app.policy.clone();
    policy.site.redirect_allow_list = vec!["[".to_owned()];
    policy.limits.verify = Bucket::per_five_minutes(1.0);
    for _ in 0..30 {
        verify(&world).await;
    }
    let secret = foundation::secret::Secret::new(gotrue_rs::testing::SECRET);
    let keys = gotrue_rs::ports::keys::KeySettings { jwks: &[], secret: &secret, key_id: "", valid_methods: None };
    let renewed = world.app.reload(policy, keys, world.app.delivery.clone(), world.app.http.clone());
    assert!(renewed.is_err_and(|error| error.to_string().starts_with("GOTRUE_URI_ALLOW_LIST")));
    assert_eq!(verify(&world).await, 429);
}
