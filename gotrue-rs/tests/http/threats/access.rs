//! F: who may what. The matrix of routes and callers is made of the route table itself.

use axum::body::Body;
use chrono::TimeDelta;
use gotrue_rs::routes::{RouteSummary, list_routes};
use gotrue_rs::testing::{PASSWORD, World};
use http::{Method, Request};
use platform::testing::Answer;
use serde_json::{Value, json};
use uuid::Uuid;

const ANN: &str = "ann@example.com";

/// A path of the table with something in place of its parameters.
fn path(line: &RouteSummary) -> String {
    let id = Uuid::from_u128(7).to_string();
    let segment = |segment: &str| if segment.starts_with('{') { id.clone() } else { segment.to_owned() };
    line.path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

async fn call(world: &World, line: &RouteSummary, token: Option<&str>) -> Answer {
    let bearer = format!("Bearer {}", token.unwrap_or_default());
    let headers = [("authorization", &*bearer)];
    let headers = if token.is_some() { &headers[..] } else { &[] };
    let body = (line.method != Method::GET).then(|| json!({}));
    world.request(line.method.clone(), &path(line), headers, body).await
}

#[tokio::test]
async fn f2_every_route_admits_exactly_the_callers_of_its_guards() {
    let world = World::new().await;
    let now = world.now().timestamp();
    let user = json!({"role": "authenticated", "exp": now + 60, "sub": Uuid::from_u128(1)});
    let nobodys = [
        ("nobody", None, 401, "no_authorization"),
        ("garbage", Some("garbage".to_owned()), 403, "bad_jwt"),
        ("an expired token", Some(world.sign_claims(&json!({"role": "service_role", "exp": now - 1}))), 403, "bad_jwt"),
    ];
    let anonymous = world.sign_claims(&json!({"role": "anon", "exp": now + 60}));
    let (mut callers, mut admins) = (0, 0);
    for line in list_routes() {
        let guards = &line.guards;
        let is_guarded = guards.contains(&"Caller") || guards.contains(&"Admin");
        callers += usize::from(guards.contains(&"Caller"));
        admins += usize::from(guards.contains(&"Admin"));
        for (who, token, status, code) in &nobodys {
            let answer = call(&world, &line, token.as_deref()).await;
            let is_refused = answer.refusal() == (*status, *code);
            let is_off = answer.status == 404 && !matches!(guards.first(), Some(&("Caller" | "Admin")));
            let is_right = if is_guarded { is_refused || is_off } else { !is_refused };
            assert!(is_right, "{who} at {line:?}: {} {}", answer.status, answer.text);
        }
        if guards.contains(&"Caller") {
            for (who, token) in [("the anonymous key", &anonymous), ("the service key", &world.service_token())] {
                let answer = call(&world, &line, Some(token)).await;
                assert!(matches!(answer.status.as_u16(), 403 | 404), "{who} at {line:?}: {}", answer.text);
            }
            let unrelated = call(&world, &line, Some(&world.sign_claims(&user))).await;
            assert!(matches!(unrelated.refusal(), (403, "user_not_found") | (404, _)), "{line:?}: {}", unrelated.text);
        }
        if guards.contains(&"Admin") {
            for token in [&anonymous, &world.sign_claims(&user)] {
                let answer = call(&world, &line, Some(token)).await;
                assert_eq!(answer.refusal(), (403, "not_admin"), "{line:?}");
            }
        }
    }
    assert!(callers > 3, "{callers} routes for callers, {admins} for administrators: the table is not read");
}

#[tokio::test]
async fn f2_signed_in_user_passes_user_guards_but_no_admin_guard() {
    for line in list_routes() {
        let world = World::new().await;
        let user = world.create_user(ANN).await;
        let answer = call(&world, &line, Some(&user.access_token)).await;
        let code = answer.str("error_code");
        if line.guards.contains(&"Admin") {
            assert_eq!(code, "not_admin", "{line:?}");
        } else {
            assert_ne!(answer.status, 401, "{line:?}");
            assert!(!matches!(code, "no_authorization" | "bad_jwt" | "not_admin"), "{line:?}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn f1_sign_up_ignores_privileged_members() {
    let world = World::new().await;
    let body = json!({
        "email": ANN, "password": PASSWORD, "id": Uuid::from_u128(7), "role": "service_role", "aud": "elsewhere",
        "app_metadata": {"admin": true}, "raw_app_meta_data": {"admin": true}, "is_super_admin": true,
        "email_confirmed_at": "2020-01-01T00:00:00Z", "confirmed_at": "2020-01-01T00:00:00Z", "is_sso_user": true,
        "email_confirm": true, "banned_until": null, "is_anonymous": true,
        "data": {"role": "service_role", "sub": Uuid::from_u128(7), "email": "root@example.com",
                 "email_verified": true, "phone_verified": true, "provider": "sso:x"},
    });
    let answer = world.post("/signup", body).await.expect(200);
    assert_ne!(answer.str("id"), Uuid::from_u128(7).to_string());
    assert_eq!((answer.str("role"), answer.str("aud")), ("authenticated", "authenticated"));
    assert_eq!(answer.json.get("app_metadata"), Some(&json!({"provider": "email", "providers": ["email"]})));
    assert!(answer.json.get("email_confirmed_at").is_none());
    assert_eq!(answer.json.get("is_anonymous"), Some(&json!(false)));
    let metadata = &answer.json["user_metadata"];
    assert_eq!(metadata["email"], json!(ANN));
    assert_eq!(metadata["sub"], json!(answer.str("id")));
    assert_eq!((&metadata["email_verified"], &metadata["phone_verified"]), (&json!(false), &json!(false)));
    assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "email_not_confirmed"));
    let found = world.database.query("SELECT concat(is_super_admin, is_sso_user) FROM auth.users").await;
    assert_eq!(found, ["f"]);
}

#[tokio::test]
async fn f1_user_update_ignores_privileged_members() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let before = world.get_as(&user.access_token, "/user").await.expect(200);
    let forbidden = world.put_as(&user.access_token, "/user", json!({"app_metadata": {"admin": true}})).await;
    assert_eq!(forbidden.refusal(), (403, "not_admin"));
    let body = json!({
        "id": Uuid::from_u128(7), "role": "service_role", "aud": "elsewhere", "is_super_admin": true,
        "email_confirmed_at": null, "phone_confirmed_at": "2020-01-01T00:00:00Z", "banned_until": null,
        "confirmation_token": "", "encrypted_password": "", "ban_duration": "none",
        "data": {"role": "service_role", "is_super_admin": true},
    });
    world.put_as(&user.access_token, "/user", body).await.expect(200);
    let after = world.get_as(&user.access_token, "/user").await.expect(200);
    for member in ["id", "role", "aud", "app_metadata", "email", "phone", "email_confirmed_at", "phone_confirmed_at"] {
        assert_eq!(before.json.get(member), after.json.get(member), "{member}");
    }
    let refreshed = world.refresh(&user.refresh_token).await.expect(200);
    let claims = world.app.keys.verify(refreshed.str("access_token"), world.now()).unwrap_or_default();
    assert_eq!(claims.get("role"), Some(&json!("authenticated")));
    assert!(claims.get("is_super_admin").is_none());
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn f2_user_requests_affect_no_other_user() {
    let world = World::new().await;
    let (eve, ann) = (world.create_user("eve@example.com").await, world.create_user(ANN).await);
    let before = world.get_as(&ann.access_token, "/user").await.text;
    let body = json!({"id": ann.id, "user_id": ann.id, "sub": ann.id, "password": "another password",
                      "data": {"sub": ann.id}});
    world.put_as(&eve.access_token, &format!("/user?id={0}&user_id={0}", ann.id), body).await.expect(200);
    world.post_as(&eve.access_token, &format!("/logout?user_id={}", ann.id), json!({"sub": ann.id})).await.expect(204);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.expect(200).text, before);
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn f3_path_variants_are_not_routed() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let bearer = format!("Bearer {}", user.access_token);
    for path in [
        "//user",
        "/user//",
        "/./user",
        "/health/../user",
        "/user/..",
        "/%75ser",
        "/user%2f",
        "/user%00",
        "/USER",
        "/user;x=1",
        "/user.json",
        "/user\\",
        "/health/..%2fuser",
        "/auth/v1/user",
        "/%2e/user",
        "/token/",
        "/logout/",
        "/health/",
    ] {
        let Ok(request) = Request::get(path).header("authorization", &bearer).body(Body::empty()) else { continue };
        let answer = world.send(request).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
    }
    let headers =
        ["x-original-url", "x-rewrite-url", "x-forwarded-uri", "x-forwarded-prefix", "x-http-method-override"];
    for name in headers {
        let answer = world.request(Method::GET, "/user", &[(name, "/health"), (name, "POST")], None).await;
        assert_eq!(answer.refusal(), (401, "no_authorization"), "{name}");
    }
}

#[tokio::test]
async fn f3_cookie_query_and_apikey_are_not_accepted_as_token() {
    let world = World::new().await;
    let token = world.create_user(ANN).await.access_token;
    world.get(&format!("/user?access_token={token}&apikey={token}&token={token}")).await.expect(401);
    for (name, value) in [
        ("cookie", format!("sb-access-token={token}; access_token={token}")),
        ("apikey", token.clone()),
        ("x-authorization", format!("Bearer {token}")),
        ("proxy-authorization", format!("Bearer {token}")),
    ] {
        world.request(Method::GET, "/user", &[(name, &value)], None).await.expect(401);
    }
}

#[tokio::test]
async fn f4_disabled_sign_up_blocks_every_way_to_create_a_user() {
    let world = World::with(|policy| {
        policy.sign_up.disabled = true;
        policy.sign_up.anonymous_enabled = true;
        policy.sms.autoconfirm = true;
        policy.mail.autoconfirm = true;
        policy.sms.test_otp.insert("15550100".to_owned(), "424242".to_owned());
    })
    .await;
    let bodies = [
        json!({"email": ANN, "password": PASSWORD}),
        json!({"phone": "15550100", "password": PASSWORD}),
        json!({"email": ANN, "password": PASSWORD, "data": {}, "create_user": true}),
        json!({}),
        json!({"data": {"name": "Ann"}}),
    ];
    for body in bodies {
        for path in ["/signup", "/signup/", "/signup?disable_signup=false"] {
            assert_eq!(world.post(path, body.clone()).await.refusal(), (422, "signup_disabled"), "{path} {body}");
        }
    }
    let others =
        list_routes().into_iter().filter(|line| line.method == Method::POST && !line.guards.contains(&"Admin"));
    for line in others {
        for body in [
            json!({"email": ANN, "type": "signup", "token": "1"}),
            json!({"phone": "15550100", "type": "sms", "token": "424242"}),
        ] {
            world.request(Method::POST, &path(&line), &[], Some(body)).await;
        }
    }
    assert_eq!(world.database.query("SELECT id FROM auth.users").await, Vec::<String>::new());
}

#[tokio::test]
async fn f4_disabled_provider_is_refused() {
    let world = World::with(|policy| {
        policy.sign_up.email_enabled = false;
        policy.sign_up.phone_enabled = false;
    })
    .await;
    for body in [json!({"email": ANN, "password": PASSWORD}), json!({"phone": "15550100", "password": PASSWORD})] {
        assert_eq!(world.post("/token?grant_type=password", body.clone()).await.status, 422, "{body}");
        assert_eq!(world.post("/signup", body.clone()).await.status, 400, "{body}");
    }
    let answer = world.post("/recover", json!({"email": ANN})).await;
    assert_eq!(answer.refusal(), (400, "email_provider_disabled"));
}

#[tokio::test]
async fn f2_admin_role_requires_a_valid_signature() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    // A user whose own metadata says so is none.
    world.put_as(&user.access_token, "/user", json!({"data": {"role": "service_role"}})).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let answer = world.refresh(&user.refresh_token).await.expect(200);
    let claims = world.app.keys.verify(answer.str("access_token"), world.now()).unwrap_or_default();
    assert_eq!(claims.get("role").and_then(Value::as_str), Some("authenticated"));
}
