//! Details of requests and answers that few clients meet.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Request, Response};
use jsonwebtoken::crypto::sign;
use jsonwebtoken::{Algorithm, EncodingKey};

use crate::api::{TestApi, collect, text};

const OBJECTS: &str = "CREATE TABLE boats (id int PRIMARY KEY, name text);
  INSERT INTO boats VALUES (1, 'Aurora'), (2, 'Bora');
  CREATE FUNCTION framed() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('response.headers', '[{\"Content-Length\": \"999\"}, {\"Connection\": \"close\"}, {\"X-Own\": \"1\"}]', true);
    RETURN 1; END $$;
  CREATE FUNCTION unavailable() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    RAISE SQLSTATE 'PGRST' USING MESSAGE = '{\"code\": \"1\", \"message\": \"later\"}',
      DETAIL = '{\"status\": 503, \"headers\": {\"Retry-After\": \"90\"}}'; END $$;";

const SECRET: &str = "secret-of-the-tests-with-32-characters-or-more";

/// A token whose claims are this text.
fn token_of(claims: &str) -> String {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#), URL_SAFE_NO_PAD.encode(claims));
    let signature = sign(signed.as_bytes(), &EncodingKey::from_secret(SECRET.as_bytes()), Algorithm::HS256).unwrap();
    format!("{signed}.{signature}")
}

#[tokio::test]
async fn numbers_of_claims_keep_all_their_digits() {
    const CLAIMS: &str =
        "CREATE FUNCTION claims() RETURNS text LANGUAGE sql AS $$ SELECT current_setting('request.jwt.claims') $$;";
    let api = TestApi::start(CLAIMS, &[("jwt-secret", SECRET)]).await;
    let token =
        token_of(r#"{"id": 123456789012345678901234567890, "rate": 1.50, "role": "api_anonymous", "sum": 1e3}"#);
    let request = Request::get("/rpc/claims").header("authorization", format!("Bearer {token}"));
    let claims: String = serde_json::from_slice(send(&api, request, "").await.body()).unwrap();
    assert_eq!(claims, r#"{"id":123456789012345678901234567890,"rate":1.5,"role":"api_anonymous","sum":1000}"#);
}

async fn send(api: &TestApi, request: http::request::Builder, body: &'static str) -> Response<Bytes> {
    let (parts, ()) = request.body(()).unwrap().into_parts();
    collect(api.api.handle(&parts, Bytes::from(body)).await).await
}

#[tokio::test]
async fn limit_that_is_no_number_is_zero_beside_an_offset() {
    let api = TestApi::start(OBJECTS, &[]).await;
    for (query, status) in [("limit=x", 200), ("limit=x&offset=1", 416), ("limit=&offset=0", 200), ("offset=1", 200)] {
        assert_eq!(api.get(&format!("/boats?select=id&{query}")).await.status(), status, "{query}");
    }
    assert_eq!(text(&api.get("/boats?limit=&offset=0").await), "[]");
}

#[tokio::test]
async fn location_has_no_pair_for_a_separator_at_the_end() {
    let api = TestApi::start(OBJECTS, &[]).await;
    for (query, expected) in [("select=id&", "/boats?select=id"), ("select=id&&", "/boats?=&select=id")] {
        assert_eq!(api.get(&format!("/boats?{query}")).await.headers()["content-location"], expected, "{query}");
    }
}

#[tokio::test]
async fn options_without_a_method_is_answered_by_the_resource() {
    let api = TestApi::start(OBJECTS, &[]).await;
    let from = |method| Request::builder().method(method).uri("/boats").header("origin", "https://a.test");
    let answered = send(&api, from("OPTIONS"), "").await;
    assert_eq!(answered.status(), 200);
    assert!(answered.headers()["allow"].to_str().unwrap().contains("PATCH"));
    assert_eq!(answered.headers().get("access-control-expose-headers"), None);
    let preflight = send(&api, from("OPTIONS").header("access-control-request-method", "POST"), "").await;
    assert_eq!(preflight.headers()["access-control-max-age"], "86400");
    assert_eq!(preflight.headers().get("access-control-allow-headers"), None);
    assert!(send(&api, from("GET"), "").await.headers().contains_key("access-control-expose-headers"));
}

#[tokio::test]
async fn functions_do_not_frame_the_answer() {
    let api = TestApi::start(OBJECTS, &[]).await;
    let framed = api.get("/rpc/framed").await;
    assert_eq!(framed.headers()["x-own"], "1");
    assert_eq!((framed.headers().get("content-length"), framed.headers().get("connection")), (None, None));
    let unavailable = api.get("/rpc/unavailable").await;
    assert_eq!((unavailable.status().as_u16(), &unavailable.headers()["retry-after"]), (503, &"90".parse().unwrap()));
}

#[tokio::test]
async fn escape_that_is_half_of_a_pair_is_no_json() {
    let api = TestApi::start(OBJECTS, &[]).await;
    for body in [
        r#"{"id":3,"name":"\ud800"}"#,
        r#"{"id":3,"name":"\udc00"}"#,
        r#"{"id":3,"name":"\ud800\u0041"}"#,
        r#"[{"id":3,"name":{"\udbff":1}}]"#,
        r#"{"id":3,"name":["\ud83d\ude00\ud83d"]}"#,
    ] {
        let refused = send(&api, Request::post("/boats"), body).await;
        let answer: serde_json::Value = serde_json::from_slice(refused.body()).unwrap();
        assert_eq!((refused.status().as_u16(), &answer["message"]), (400, &"Empty or invalid json".into()), "{body}");
    }
    let written = send(&api, Request::post("/boats"), r#"{"id":3,"name":"\ud83d\ude00\\ud800"}"#).await;
    assert_eq!(written.status(), 201, "{}", text(&written));
}

#[tokio::test]
async fn csv_is_read_by_its_grammar() {
    let api = TestApi::start(OBJECTS, &[]).await;
    for (body, message) in [
        ("id,name", "parse error (not enough input) at \"\""),
        ("id,name\n3,x\"y\n", "parse error (Failed reading: satisfy) at \"\"y\n\""),
        ("id,name\n3,\"x\"z\n", "parse error (Failed reading: satisfy) at \"z\n\""),
        ("id,name\n3,\"", "parse error (Failed reading: trailing double quote) at \"\""),
        ("id,name\n3,\"x", "parse error (not enough input) at \"\""),
        ("\nid,name\n3,x\n", "Could not find the '' column of 'boats' in the schema cache"),
    ] {
        let refused = send(&api, Request::post("/boats").header("content-type", "text/csv"), body).await;
        let answer: serde_json::Value = serde_json::from_slice(refused.body()).unwrap();
        let shown = message.replace('\n', "\\n").replace("\"\"y", "\"\\\"y");
        assert_eq!((refused.status().as_u16(), answer["message"].as_str()), (400, Some(&*shown)), "{body}");
    }
    let written =
        send(&api, Request::post("/boats").header("content-type", "text/csv"), "id,name\r\n3,\"a\"\"b\"").await;
    assert_eq!(written.status(), 201, "{}", text(&written));
    assert_eq!(text(&api.get("/boats?id=eq.3&select=name").await), "[{\"name\":\"a\\\"b\"}]");
}
