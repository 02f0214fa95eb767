//! Request metadata: bearer token, client address, user agent, audience.

use axum::body::Body;
use foundation::limits::LimitKey;
use gotrue_rs::testing::{PASSWORD, World};
use http::{HeaderValue, Method, Request};
use http_edge::request::{ClientAddress, RequestId, RequestIdSource, ResolvedRequest};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";

async fn stored(world: &World, column: &str) -> String {
    let newest = format!("SELECT {column}::text FROM auth.sessions ORDER BY created_at DESC, id LIMIT 1");
    world.database.query(&newest).await.concat()
}

async fn sign_in_with(world: &World, name: &'static str, value: &[u8]) {
    world.database.query("DELETE FROM auth.sessions RETURNING id::text").await;
    let body = json!({"email": ANN, "password": PASSWORD}).to_string();
    let request = Request::post("/token?grant_type=password")
        .header("content-type", "application/json")
        .header(name, HeaderValue::from_bytes(value).expect("a header"))
        .body(Body::from(body))
        .expect("a request");
    world.send(request).await.expect(200);
}

#[tokio::test]
async fn bearer_token_follows_exactly_one_space() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let token = &ann.access_token;
    for (header, status) in [
        (format!("Bearer {token}"), 200),
        (format!("bEARER {token}"), 200),
        (format!("Bearer  {token}"), 401),
        (format!("Bearer\t{token}"), 401),
        (format!("Bearer \t{token}"), 401),
        (format!("Bearer {token} x"), 401),
        ("Bearer".to_owned(), 401),
    ] {
        let answer = world.request(Method::GET, "/user", &[("authorization", &header)], None).await;
        assert_eq!(answer.status, status, "{header:?}");
    }
}

#[tokio::test]
async fn ipv4_mapped_ipv6_address_is_an_ipv4_address() {
    let world = World::new().await;
    world.create_user(ANN).await;
    for (sent, address) in [
        ("::ffff:203.0.113.7", "203.0.113.7/32"),
        ("::FFFF:cb00:7107, 10.0.0.1", "203.0.113.7/32"),
        ("2001:DB8::1", "2001:db8::1/128"),
        ("::1.2.3.4", "::1.2.3.4/128"),
    ] {
        sign_in_with(&world, "x-forwarded-for", sent.as_bytes()).await;
        assert_eq!(stored(&world, "ip").await, address, "{sent}");
    }
}

#[tokio::test]
async fn sb_forwarded_for_takes_precedence_if_trusted() {
    let mut world = World::new().await;
    world.create_user(ANN).await;
    sign_in_with(&world, "sb-forwarded-for", b"203.0.113.7").await;
    assert_eq!(stored(&world, "ip").await, "127.0.0.1/32", "the server is not configured to trust it");
    world.reload(|policy| policy.security.sb_forwarded_for_enabled = true);
    for (sent, address) in
        [("203.0.113.7, 10.0.0.1", "203.0.113.7/32"), ("::ffff:1.2.3.4", "1.2.3.4/32"), ("x", "127.0.0.1/32")]
    {
        sign_in_with(&world, "sb-forwarded-for", sent.as_bytes()).await;
        assert_eq!(stored(&world, "ip").await, address, "{sent}");
    }
}

#[tokio::test]
async fn client_address_resolved_by_a_router_takes_precedence() {
    let world = World::with(|policy| policy.limits.key = LimitKey::Peer { trusted_proxies: Vec::new() }).await;
    world.create_user(ANN).await;
    world.database.query("DELETE FROM auth.sessions RETURNING id::text").await;
    let body = json!({"email": ANN, "password": PASSWORD}).to_string();
    let mut request = Request::post("/token?grant_type=password")
        .header("content-type", "application/json")
        .header("x-forwarded-for", "198.51.100.1")
        .body(Body::from(body))
        .expect("a request");
    let client = ClientAddress::new("203.0.113.7".parse().expect("an address"));
    let id = RequestId::resolve(request.headers(), RequestIdSource::Generated, || "r-1".to_owned());
    request.extensions_mut().insert(ResolvedRequest { id, client: Some(client) });
    world.send(request).await.expect(200);
    assert_eq!(stored(&world, "ip").await, "203.0.113.7/32");
}

#[tokio::test]
async fn challenge_accepts_the_ipv4_mapped_client_address() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let bearer = format!("Bearer {}", ann.access_token);
    let from = |address| [("authorization", bearer.as_str()), ("x-forwarded-for", address)];
    let path = format!("/factors/{}", app.id);
    let headers = from("::ffff:192.0.2.1");
    let response =
        world.request(Method::POST, &format!("{path}/challenge"), &headers, Some(json!({}))).await.expect(200);
    let answer = json!({"challenge_id": response.str("id"), "code": world.totp_code(&app)});
    world.request(Method::POST, &format!("{path}/verify"), &from("192.0.2.1"), Some(answer)).await.expect(200);
}

#[tokio::test]
async fn user_agent_and_audience_may_contain_any_characters() {
    let world = World::new().await;
    world.create_user(ANN).await;
    for (sent, kept) in
        [("Größe".as_bytes(), "Größe"), ("日本".as_bytes(), "日本"), (b"a\xffb".as_slice(), "a\u{fffd}b")]
    {
        sign_in_with(&world, "user-agent", sent).await;
        assert_eq!(stored(&world, "user_agent").await, kept);
    }
    let body = json!({"email": "bob@example.com", "password": PASSWORD});
    let answer = world.request(Method::POST, "/signup", &[], Some(body)).await.expect(200);
    assert_eq!(answer.str("aud"), "authenticated");
    let body = json!({"email": "eve@example.com", "password": PASSWORD});
    let request = Request::post("/signup")
        .header("content-type", "application/json")
        .header("x-jwt-aud", HeaderValue::from_bytes("bücher".as_bytes()).expect("a header"))
        .body(Body::from(body.to_string()))
        .expect("a request");
    assert_eq!(world.send(request).await.expect(200).str("aud"), "bücher");
}

#[tokio::test]
async fn claims_are_parsed_like_gotrue() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let (now, far) = (world.now().timestamp(), world.now().timestamp() + 3600);
    for (name, value, status) in [
        ("amr", json!("password"), 403),
        ("amr", json!({}), 403),
        ("amr", json!([1]), 403),
        ("amr", json!([{"method": 1}]), 403),
        ("amr", json!([{"method": "password", "timestamp": 1.5}]), 403),
        ("amr", json!(["password", {"method": "otp", "timestamp": 1}, null]), 200),
        ("amr", Value::Null, 200),
        ("scope", json!(["email"]), 403),
        ("exp", json!(far.to_string()), 200),
        ("exp", json!((now - 1).to_string()), 403),
        ("exp", json!("soon"), 403),
        ("exp", json!(1e30), 403),
        ("nbf", json!((now - 1).to_string()), 200),
        ("nbf", json!(far.to_string()), 403),
        ("nbf", json!(1e30), 200),
        ("iat", json!("1"), 200),
        ("iat", json!([]), 403),
        ("Role", json!(1), 403),
        ("EXP", json!(now - 1), 403),
    ] {
        let mut claims = world.decode_claims(&ann.access_token);
        let members = claims.as_object_mut().expect("an object");
        members.retain(|known, _| !known.eq_ignore_ascii_case(name));
        members.insert(name.to_owned(), value.clone());
        let answer = world.get_as(&world.sign_claims(&claims), "/user").await;
        assert_eq!(answer.status, status, "{name}: {value}");
    }
    let mut claims = world.decode_claims(&ann.access_token);
    let sub = claims.as_object_mut().expect("an object").remove("sub").expect("a subject");
    claims["SUB"] = sub;
    world.get_as(&world.sign_claims(&claims), "/user").await.expect(200);
}

#[tokio::test]
async fn audit_log_names_the_actor_for_any_name_type() {
    let world = World::new().await;
    let body = json!({"email": ANN, "password": PASSWORD, "data": {"full_name": 7.5}});
    world.post("/signup", body).await.expect(200);
    let code = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    let session = world.post("/verify", code).await.expect(200);
    world.refresh(session.str("refresh_token")).await.expect(200);
    let named = "SELECT payload ->> 'action' || ' ' || json_typeof(payload -> 'actor_name')
                 FROM auth.audit_log_entries ORDER BY created_at";
    assert_eq!(
        world.database.query(named).await,
        [
            "user_confirmation_requested number",
            "user_signedup number",
            "token_refreshed number",
            "token_revoked number"
        ]
    );
}

#[tokio::test]
async fn trailing_content_of_a_magic_link_request_is_ignored() {
    let world = World::new().await;
    let send = |body: String| {
        world.send(
            Request::post("/magiclink")
                .header("content-type", "application/json")
                .body(Body::from(body))
                .expect("a request"),
        )
    };
    let padding = " ".repeat(1 << 20);
    let answer = send(format!("{{\"email\":\"\"}}{padding}x")).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    send(format!("{{\"email\":\"{ANN}\"}}{padding}")).await.expect(200);
    let answer = send(format!("{{{padding}\"email\":\"{ANN}\"}}")).await;
    assert_eq!(answer.refusal(), (400, "bad_json"));
    assert_eq!(answer.str("msg"), "Could not read verification params: http: request body too large");
    let answer = world.send(Request::post("/otp").body(Body::from(format!("{{}}{padding}"))).expect("a request")).await;
    assert_eq!(answer.refusal(), (413, "request_entity_too_large"));
}
