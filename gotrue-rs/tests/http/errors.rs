//! Error bodies of both API versions, CORS, body and time limits, panics.

use std::time::Duration;

use axum::body::Body;
use chrono::TimeDelta;
use futures::future::join;
use gotrue_rs::testing::{PASSWORD, RedirectTarget, World};
use http::{HeaderMap, Method, Request};
use http_edge::request::{RequestId, RequestIdSource, ResolvedRequest};
use platform::testing::Answer;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::saml::company::with_saml;

const ANN: &str = "ann@example.com";
const MEBIBYTE: usize = 1 << 20;

async fn preflight(world: &World, path: &str, method: &str, headers: &str) -> Answer {
    let requested = [
        ("origin", "http://shop.example.com"),
        ("access-control-request-method", method),
        ("access-control-request-headers", headers),
    ];
    world.request(Method::OPTIONS, path, &requested, None).await
}

async fn raw(world: &World, path: &str, content_type: &str, body: impl Into<Body>) -> Answer {
    let request = Request::post(path).header("content-type", content_type).body(body.into());
    world.send(request.expect("the test's request is well-formed")).await
}

/// A body of exactly that many bytes.
fn filled(bytes: usize) -> String {
    let frame = json!({"email": ANN, "password": "x", "data": {"fill": ""}}).to_string();
    frame.replace("\"fill\":\"\"", &format!("\"fill\":\"{}\"", "x".repeat(bytes - frame.len())))
}

#[tokio::test]
async fn error_has_the_format_of_the_requested_api_version() {
    let world = World::new().await;
    let old = world.post("/token", json!({})).await.expect(400);
    let reported = json!({"code": 400, "error_code": "invalid_credentials", "msg": "unsupported_grant_type"});
    assert_eq!(old.json, reported);
    assert_eq!(old.header("x-supabase-api-version"), "");
    for (version, is_new) in [("2024-01-01", true), ("2030-06-01", true), ("2023-12-31", false), ("soon", false)] {
        let headers = [("x-supabase-api-version", version)];
        let answer = world.request(Method::POST, "/token", &headers, Some(json!({}))).await.expect(400);
        let new = json!({"code": "invalid_credentials", "message": "unsupported_grant_type"});
        assert_eq!(answer.json, if is_new { new } else { reported.clone() }, "{version}");
        assert_eq!(answer.header("x-supabase-api-version"), if is_new { "2024-01-01" } else { "" });
        assert_eq!(answer.header("x-sb-error-code"), "invalid_credentials");
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn weak_password_lists_reasons_in_both_api_versions() {
    let world = World::new().await;
    let body = json!({"email": ANN, "password": "12345"});
    let old = world.post("/signup", body.clone()).await.expect(422);
    assert_eq!(old.json.pointer("/weak_password/reasons"), Some(&json!(["length"])));
    let headers = [("x-supabase-api-version", "2024-01-01")];
    let new = world.request(Method::POST, "/signup", &headers, Some(body)).await.expect(422);
    assert_eq!(new.str("code"), "weak_password");
    assert_eq!(new.json.pointer("/weak_password/reasons"), Some(&json!(["length"])));
}

#[tokio::test]
async fn internal_error_contains_the_logged_error_id() {
    let world = World::with(|policy| policy.api.request_id_header = "x-request-id".to_owned()).await;
    let user = world.create_user(ANN).await;
    world.faults.fail("users.to_read", 1);
    let bearer = format!("Bearer {}", user.access_token);
    let headers = [("authorization", &*bearer), ("x-request-id", "r-1")];
    let answer = world.request(Method::GET, "/user", &headers, None).await.expect(500);
    assert_eq!((answer.str("error_code"), answer.str("error_id")), ("unexpected_failure", "r-1"));

    world.faults.fail("users.to_read", 1);
    let mut request = Request::get("/user").header("authorization", &*bearer).header("x-request-id", "r-1");
    let id = RequestId::resolve(&HeaderMap::new(), RequestIdSource::Generated, || "r-2".to_owned());
    request = request.extension(ResolvedRequest { id, client: None });
    let answer = world.send(request.body(Body::empty()).expect("a request")).await.expect(500);
    assert_eq!(answer.str("error_id"), "r-2", "the id that a router resolved");
}

#[tokio::test]
async fn wrong_method_returns_the_allow_header() {
    let world = World::new().await;
    let answer = world.get("/token").await.expect(405);
    assert_eq!((answer.header("allow"), &*answer.text), ("POST", ""));
    world.request(Method::HEAD, "/health", &[], None).await.expect(405);
}

#[tokio::test]
async fn every_response_has_cors_headers() {
    let world = World::new().await;
    let origin = [("origin", "http://shop.example.com")];
    for path in ["/health", "/user", "/nowhere", "/token"] {
        let answer = world.request(Method::GET, path, &origin, None).await;
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(answer.header("access-control-expose-headers"), "X-Total-Count, Link, X-Supabase-Api-Version");
        assert_eq!(answer.header("vary"), "Origin");
        assert_eq!(world.get(path).await.header("access-control-allow-origin"), "", "{path} without an origin");
    }
    for (method, sent) in [(Method::HEAD, origin), (Method::TRACE, origin), (Method::GET, [("origin", "")])] {
        let answer = world.request(method.clone(), "/settings", &sent, None).await;
        let headers = ["access-control-allow-origin", "access-control-expose-headers"].map(|name| answer.header(name));
        assert_eq!((headers, answer.header("vary")), ([""; 2], "Origin"), "{method} {sent:?}");
    }
}

#[tokio::test]
async fn a_preflight_permits_known_methods_and_headers() {
    let world = World::with(|policy| policy.api.cors_allowed_headers = vec!["apikey".to_owned()]).await;
    let permitted = preflight(&world, "/user", "PUT", "apikey,authorization,content-type").await.expect(204);
    assert_eq!(permitted.header("access-control-allow-methods"), "PUT");
    assert_eq!(permitted.header("access-control-allow-headers"), "apikey,authorization,content-type");
    preflight(&world, "/nowhere", "GET", "").await.expect(204);
    let options = preflight(&world, "/user", "OPTIONS", "").await.expect(204);
    assert_eq!(options.header("access-control-allow-methods"), "OPTIONS");
    for (method, headers) in [
        ("TRACE", ""),
        ("HEAD", ""),
        ("PUT", "x-unknown"),
        ("PUT", "content-type,authorization"),
        ("PUT", "authorization, content-type"),
        ("PUT", "authorization,authorization"),
        ("PUT", "authorization,"),
        ("PUT", ","),
    ] {
        let answer = preflight(&world, "/user", method, headers).await.expect(204);
        assert_eq!(answer.header("access-control-allow-origin"), "", "{method} {headers}");
    }
    assert!(world.app.journals.all().is_empty(), "no preflight reaches a route");
    let no_origin = [("origin", ""), ("access-control-request-method", "GET")];
    let answer = world.request(Method::OPTIONS, "/user", &no_origin, None).await.expect(204);
    assert_eq!(answer.header("access-control-allow-methods"), "");
    let answer = preflight(&world, "/settings", "", "").await.expect(405);
    assert_eq!((answer.header("allow"), answer.header("access-control-allow-origin")), ("GET", "*"));
}

#[tokio::test]
async fn body_is_limited_to_one_mebibyte() {
    let world = World::new().await;
    let full = raw(&world, "/signup", "application/json", filled(MEBIBYTE)).await;
    assert_eq!(full.refusal(), (422, "weak_password"), "it was read");
    let over = raw(&world, "/signup", "application/json", filled(MEBIBYTE + 1)).await;
    assert_eq!(over.refusal(), (413, "request_entity_too_large"));
}

#[tokio::test]
async fn forms_of_callback_and_saml_response_are_limited_to_ten_mebibytes() {
    let world = World::with(with_saml).await;
    let form = "application/x-www-form-urlencoded";
    let sent = async |path: &str, size: usize| {
        let frame = "state=abc&SAMLResponse=eA%3D%3D&fill=";
        let answer = raw(&world, path, form, format!("{frame}{}", "x".repeat(size - frame.len()))).await.expect(303);
        RedirectTarget::from_response(&answer).query("error_description").to_owned()
    };
    for size in [MEBIBYTE + 1, 10 * MEBIBYTE] {
        assert_eq!(sent("/callback", size).await, "OAuth state parameter is invalid", "{size}");
        assert!(!sent("/sso/saml/acs", size).await.contains("missing"), "{size}");
    }
    assert_eq!(sent("/callback", 10 * MEBIBYTE + 1).await, "OAuth state parameter missing");
    assert_eq!(sent("/sso/saml/acs", 10 * MEBIBYTE + 1).await, "SAMLResponse is missing");
}

#[tokio::test]
async fn invalid_json_is_reported() {
    let world = World::new().await;
    for body in ["", "{", "nothing", "{\"email\": 1}", "[]", "\u{0}"] {
        let answer = raw(&world, "/signup", "text/plain", body).await;
        assert_eq!(answer.refusal(), (400, "bad_json"), "{body}");
    }
}

#[tokio::test]
async fn form_body_supplies_only_the_grant_type() {
    let world = World::new().await;
    let form = "application/x-www-form-urlencoded";
    let grant = raw(&world, "/token", form, "grant_type=password&email=ann%40example.com").await;
    assert_eq!(grant.refusal(), (400, "bad_json"));
    let json = json!({"email": ANN, "password": PASSWORD}).to_string();
    assert_eq!(raw(&world, "/signup", form, json).await.refusal(), (400, "bad_json"));
}

#[tokio::test]
async fn panic_returns_500_and_affects_no_other_request() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    for (version, body) in [
        ("", json!({"code": 500, "error_code": "unexpected_failure", "msg": "Internal Server Error"})),
        ("2024-01-01", json!({"code": "unexpected_failure", "message": "Internal Server Error"})),
    ] {
        world.faults.panic("users.to_read", 1);
        let bearer = format!("Bearer {}", user.access_token);
        let headers =
            [("authorization", &*bearer), ("x-supabase-api-version", version), ("origin", "http://shop.example.com")];
        let mut answer = world.request(Method::GET, "/user", &headers, None).await.expect(500);
        if let Value::Object(members) = &mut answer.json {
            members.remove("error_id");
        }
        assert_eq!(answer.json, body);
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        world.get_as(&user.access_token, "/user").await.expect(200);
    }
}

#[tokio::test]
async fn panic_rolls_back_the_transaction() {
    let world = World::new().await;
    world.faults.panic("COMMIT", 1);
    let body = json!({"email": ANN, "password": PASSWORD});
    world.post("/signup", body.clone()).await.expect(500);
    assert!(world.database.query("SELECT id FROM auth.users").await.is_empty());
    world.post("/signup", body).await.expect(200);
}

#[tokio::test]
async fn request_timeout_rolls_back_the_transaction() {
    let world = World::new().await;
    let gate = world.faults.wait("COMMIT", 1);
    let request = world.post("/signup", json!({"email": ANN, "password": PASSWORD}));
    let too_late = async {
        gate.wait_until_reached().await;
        world.advance(TimeDelta::seconds(10));
    };
    let (answer, ()) = join(request, too_late).await;
    assert_eq!(answer.refusal(), (504, "request_timeout"));
    assert!(world.database.query("SELECT id FROM auth.users").await.is_empty());
}

#[tokio::test]
async fn single_statement_past_the_deadline_writes_nothing() {
    let world = World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.api.max_request_duration = Duration::from_millis(300);
    })
    .await;
    world.clock.run();
    let mut other = PgConnection::connect_with(&world.database.admin_options()).await.expect("the server answers");
    let mut lock = other.begin().await.expect("a transaction");
    // Reading is allowed meanwhile, writing is not.
    sqlx::query("LOCK TABLE auth.users IN SHARE MODE").execute(&mut *lock).await.expect("a lock");
    let answer = world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await;
    assert!(matches!(answer.status.as_u16(), 500 | 504), "{} {}", answer.status, answer.text);
    assert_eq!(world.journal().statements().last(), Some(&"accounts.insert"));
    while world.database.query("SELECT pid FROM pg_locks WHERE NOT granted").await != Vec::<String>::new() {
        tokio::task::yield_now().await;
    }
    lock.rollback().await.expect("the lock goes");
    assert!(world.database.query("SELECT id FROM auth.users").await.is_empty());
}
