//! Requests of an attacker: texts that are SQL in every place of a request, forged settings, other roles.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use postgrest_rs::service::DataApi;
use serde_json::{Value, json};

use crate::api::{TestApi, collect, text};

const SECRET: &str = "a secret of at least thirty-two characters";

const OBJECTS: &str = "CREATE TABLE boats (id int PRIMARY KEY, name text, facts jsonb, harbour int);
  INSERT INTO boats VALUES (1, 'Aurora', '{\"a\": {\"b\": 1}}', 1), (2, 'Brise', NULL, NULL);
  CREATE TABLE harbours (id int PRIMARY KEY, name text); INSERT INTO harbours VALUES (1, 'Altmark');
  ALTER TABLE boats ADD FOREIGN KEY (harbour) REFERENCES harbours;
  CREATE FUNCTION echo(word text, number int DEFAULT 1) RETURNS text LANGUAGE sql AS $$ SELECT word $$;
  CREATE SCHEMA hidden; CREATE TABLE hidden.secrets (word text); INSERT INTO hidden.secrets VALUES ('treasure');
  CREATE FUNCTION state() RETURNS json LANGUAGE sql AS $$ SELECT json_build_object('user', current_user,
    'claims', current_setting('request.jwt.claims', true), 'path', current_setting('search_path'),
    'method', current_setting('request.method', true), 'headers', current_setting('request.headers', true)::json) $$;";

/// What scanners send, and what breaks quoting of names, literals, arrays, dollar quotes and comments.
const PAYLOADS: [&str; 22] = [
    "' OR '1'='1",
    "1) OR 1=1--",
    "\" OR \"\"=\"",
    "'; DROP TABLE boats; --",
    "\"; DROP TABLE boats; --",
    "1; SELECT pg_sleep(30)--",
    "1 AND (SELECT 1 FROM pg_sleep(30)) IS NOT NULL",
    "' UNION ALL SELECT word FROM hidden.secrets--",
    ") UNION SELECT word FROM hidden.secrets; --",
    "$$; SELECT word FROM hidden.secrets; $$",
    "$1",
    "\\'; SELECT word FROM hidden.secrets; --",
    "\\",
    "{\"a\",NULL,\\\"",
    "/* */ UNION /**/ SELECT word FROM hidden.secrets",
    "int) FROM hidden.secrets--",
    "hidden.secrets",
    "pg_catalog.pg_authid",
    "*",
    "%27%20OR%201%3D1",
    "\u{ff07} OR \u{ff07}1\u{ff07}=\u{ff07}1",
    "E'\\x27' || (SELECT word FROM hidden.secrets)",
];

/// Places of a target where a text of the client stands.
const PLACES: [&str; 37] = [
    "/{}",
    "/rpc/{}",
    "/boats?{}=eq.1",
    "/boats?\"{}\"=eq.1",
    "/boats?name=eq.{}",
    "/boats?name=neq.{}",
    "/boats?id=eq.{}",
    "/boats?name=like.{}",
    "/boats?name=like(any).{{}}",
    "/boats?name=match.{}",
    "/boats?name=in.({})",
    "/boats?name=in.(\"{}\")",
    "/boats?name=is.{}",
    "/boats?name=isdistinct.{}",
    "/boats?name=fts.{}",
    "/boats?name=fts({}).a",
    "/boats?name={}.a",
    "/boats?facts=cs.{}",
    "/boats?facts->{}=eq.1",
    "/boats?facts->>\"{}\"=eq.1",
    "/boats?select={}",
    "/boats?select=\"{}\"",
    "/boats?select={}:name",
    "/boats?select=\"{}\":name",
    "/boats?select=id::{}",
    "/boats?select=facts->\"{}\"",
    "/boats?select=id,{}(id)",
    "/boats?select=id,harbours!{}(id)",
    "/boats?select=id,x:harbours(\"{}\")",
    "/boats?order={}",
    "/boats?order=\"{}\".desc",
    "/boats?order=id.{}",
    "/boats?or=(name.eq.{},id.eq.1)",
    "/boats?and=(name.eq.\"{}\",{})",
    "/boats?limit={}&offset={}",
    "/rpc/echo?word={}",
    "/rpc/echo?{}=1",
];

/// Header fields where a text of the client stands.
const FIELDS: [&str; 11] = [
    "accept",
    "accept-profile",
    "content-profile",
    "content-type",
    "prefer",
    "range",
    "cookie",
    "x-forwarded-for",
    "user-agent",
    "x-client-info",
    "origin",
];

async fn send(
    api: &DataApi,
    method: Method,
    target: &str,
    fields: &[(&str, &[u8])],
    body: String,
) -> Option<Response<Bytes>> {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    // What HTTP does not allow never reaches the API.
    let (parts, ()) = request.body(()).ok()?.into_parts();
    Some(collect(api.handle(&parts, Bytes::from(body)).await).await)
}

/// Sends a request with a text that would make the database sleep if it became a statement.
async fn attack(
    api: &DataApi,
    method: Method,
    target: &str,
    fields: &[(&str, &[u8])],
    body: String,
) -> Option<Response<Bytes>> {
    let started = Instant::now();
    let answer = send(api, method, target, fields, body).await;
    assert!(started.elapsed() < Duration::from_secs(30), "{target}: a statement slept");
    answer
}

/// Nothing of the attack was done: the text stayed a name or a value, or was refused as such.
fn assert_harmless(response: &Response<Bytes>, described: &str) {
    let body = text(response);
    assert!(!body.contains("treasure"), "{described}: {body}");
    assert!(response.status().as_u16() < 500, "{described}: {} {body}", response.status());
    // These would mean that the text was read as SQL. The cast alone is SQL: letters and digits of it.
    let is_read = body.contains("syntax error at or near") || body.contains("unterminated");
    assert!(!is_read || described.contains("id::"), "{described}: {body}");
}

/// All that an attack could change.
async fn fingerprint(api: &TestApi) -> String {
    let query = "SELECT (SELECT json_agg(b ORDER BY id)::text FROM boats b)
        || (SELECT count(*) FROM pg_class) || (SELECT count(*) FROM pg_proc) || (SELECT word FROM hidden.secrets)";
    api.admin.query_one(query, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_of_a_request_becomes_a_statement() {
    let api = TestApi::start(OBJECTS, &[("jwt-secret", SECRET)]).await;
    let before = fingerprint(&api).await;
    for payload in PAYLOADS {
        let encoded = utf8_percent_encode(payload, NON_ALPHANUMERIC).to_string();
        for place in PLACES {
            let target = utf8_percent_encode(place, percent_encoding::CONTROLS).to_string();
            let target = target.replace('"', "%22").replace('>', "%3E").replace("{}", &encoded).replace(['{', '}'], "");
            let described = format!("{place} {payload}");
            let response = attack(&api.api, Method::GET, &target, &[], String::new()).await.expect("a valid target");
            assert_harmless(&response, &described);
        }
        for field in FIELDS {
            for method in [Method::GET, Method::POST] {
                let body = if method == Method::POST { "{\"word\": \"x\"}" } else { "" };
                let value: &[u8] = payload.as_bytes();
                let response = attack(&api.api, method, "/rpc/echo?word=x", &[(field, value)], body.to_owned()).await;
                if let Some(response) = response {
                    assert_harmless(&response, &format!("{field}: {payload}"));
                }
            }
        }
        let bodies = [
            (Method::POST, "/rpc/echo", json!({"word": payload})),
            (Method::POST, "/rpc/echo", json!({payload: 1})),
            (Method::POST, "/boats?on_conflict=id", json!({"id": 1, payload: payload})),
            (Method::POST, "/boats", json!({"id": payload})),
            (Method::PATCH, "/boats?id=eq.-1", json!({payload: payload})),
            (Method::PATCH, "/boats?id=eq.-1", json!({"name": payload, "facts": payload})),
        ];
        for (method, target, body) in bodies {
            let described = format!("{method} {target} {body}");
            let response = attack(&api.api, method, target, &[], body.to_string()).await.expect("a valid target");
            assert_harmless(&response, &described);
        }
        for target in ["/boats?columns={}", "/boats?on_conflict={}", "/boats?columns=id,\"{}\""] {
            let target = target.replace('"', "%22").replace("{}", &encoded);
            let response = attack(&api.api, Method::POST, &target, &[], "{\"id\": 1}".to_owned()).await;
            assert_harmless(&response.expect("a valid target"), &target);
        }
        let csv = format!("id,name\nx,\"{}\"\n", payload.replace('"', "\"\""));
        let response = attack(&api.api, Method::POST, "/boats", &[("content-type", b"text/csv")], csv).await;
        assert_harmless(&response.expect("a valid target"), payload);
    }
    assert_eq!(fingerprint(&api).await, before);
}

fn token(claims: &Value) -> String {
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key).unwrap()
}

#[tokio::test]
async fn role_of_a_token_is_a_name_of_a_role_that_the_login_role_may_become() {
    let api = TestApi::start(OBJECTS, &[("jwt-secret", SECRET)]).await;
    let roles = [
        "postgres",
        "pg_read_all_data",
        "pg_database_owner",
        "none",
        "NONE",
        "",
        " ",
        "api_anonymous; RESET ROLE",
        "api_anonymous\"; RESET ROLE; --",
        "'; RESET ROLE; --",
        "session_user",
        "current_user",
        "default",
        "public",
        "API_ANONYMOUS",
        "\u{0}postgres",
        "nobody at all",
    ];
    for role in roles {
        let value = format!("Bearer {}", token(&json!({"role": role})));
        let response =
            send(&api.api, Method::GET, "/rpc/state", &[("authorization", value.as_bytes())], String::new()).await;
        let response = response.unwrap();
        assert!(
            (400..500).contains(&response.status().as_u16()),
            "{role:?}: {} {}",
            response.status(),
            text(&response)
        );
    }
    // Other types than texts count as no role.
    for role in [json!(null), json!(1), json!(["postgres"]), json!({"a": "postgres"})] {
        let value = format!("Bearer {}", token(&json!({"role": role})));
        let response =
            send(&api.api, Method::GET, "/rpc/state", &[("authorization", value.as_bytes())], String::new()).await;
        assert!(!text(&response.unwrap()).contains("\"user\": \"postgres\""), "{role}");
    }
}

#[tokio::test]
async fn headers_forge_neither_claims_nor_role_nor_search_path() {
    let api = TestApi::start(OBJECTS, &[("jwt-secret", SECRET)]).await;
    let forged: [(&str, &[u8]); 8] = [
        ("request.jwt.claims", b"{\"role\": \"postgres\"}"),
        ("request.jwt.claim.sub", b"victim"),
        ("x-role", b"postgres"),
        ("role", b"postgres"),
        ("search_path", b"hidden"),
        ("search-path", b"hidden"),
        ("x-http-method-override", b"DELETE"),
        ("cookie", b"role=postgres; request.jwt.claims={}"),
    ];
    let response = send(&api.api, Method::GET, "/rpc/state", &forged, String::new()).await.unwrap();
    let state: Value = serde_json::from_str(&text(&response)).unwrap();
    assert_eq!(state["user"], "api_anonymous");
    assert_eq!(state["path"], "\"public\", \"public\"");
    assert_eq!(state["method"], "GET");
    let claims: Value = serde_json::from_str(state["claims"].as_str().unwrap()).unwrap();
    assert_eq!(claims, json!({"role": "api_anonymous"}));
    // Bytes that are no UTF-8 become replacement characters, as text of the database is UTF-8.
    let odd: [(&str, &[u8]); 1] = [("x-odd", b"a\xff\xfeb\x80")];
    let response = send(&api.api, Method::GET, "/rpc/state", &odd, String::new()).await.unwrap();
    assert_eq!(response.status(), 200);
    // NUL is no part of a header field (RFC 9110 §5.5).
    assert!(Request::get("/").header("x-nul", &b"a\0b"[..]).body(()).is_err());
}

#[tokio::test]
async fn settings_of_a_session_do_not_reach_the_next_request() {
    let objects = "CREATE FUNCTION leave() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('response.status', '418', false);
        PERFORM set_config('response.headers', '[{\"x-account\": \"of somebody else\"}]', false);
        PERFORM set_config('request.jwt.claims', '{\"sub\": \"somebody else\"}', false);
        PERFORM set_config('request.headers', '{\"x\": \"y\"}', false);
        PERFORM set_config('search_path', 'hidden', false); END $$;
      CREATE FUNCTION escape() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        EXECUTE 'RESET ROLE'; RETURN current_user; END $$;";
    let api = TestApi::start(&format!("{OBJECTS} {objects}"), &[("jwt-secret", SECRET)]).await;
    for _ in 0..2 {
        let left = api.get("/rpc/leave").await;
        assert_eq!(left.status(), 418, "{}", text(&left));
        let read = api.get("/boats?id=eq.1&select=id").await;
        assert_eq!((read.status().as_u16(), read.headers().get("x-account")), (200, None), "{}", text(&read));
        let state: Value = serde_json::from_str(&text(&api.get("/rpc/state").await)).unwrap();
        assert_eq!(state["claims"], json!({"role": "api_anonymous"}).to_string());
        assert_eq!((&state["user"], &state["headers"]), (&json!("api_anonymous"), &json!({})));
        // A function may leave the role of the request; it then has the login role's rights, which are none.
        assert_eq!(text(&api.get("/rpc/escape").await), "\"api_login\"");
    }
}

#[tokio::test]
async fn deep_wide_and_long_requests_are_answered_or_refused() {
    let api = TestApi::start(OBJECTS, &[]).await;
    let statuses = async |target: String| {
        let started = Instant::now();
        let response = send(&api.api, Method::GET, &target, &[], String::new()).await;
        assert!(started.elapsed() < Duration::from_secs(20), "{}", &target[..60]);
        // A target above 64 KiB is none of the library, whose user answers it.
        response.map_or(414, |response| response.status().as_u16())
    };
    let embeds = |levels: usize| {
        format!("/boats?select={}id{}", "id,harbours(boats(".repeat(levels / 2), "))".repeat(levels / 2))
    };
    assert_eq!(statuses(embeds(4)).await, 200);
    assert_eq!(statuses(embeds(100)).await, 400);
    assert_eq!(statuses(embeds(6000)).await, 400);
    let tree = |members: usize| format!("/boats?or=({})", vec!["id.eq.1"; members].join(","));
    assert_eq!(statuses(tree(1000)).await, 200);
    assert_eq!(statuses(tree(8000)).await, 200);
    assert_eq!(statuses(tree(10_000)).await, 414);
    let list = |members: usize| format!("/boats?id=in.({})", vec!["1"; members].join(","));
    assert_eq!(statuses(list(30_000)).await, 200);
    let filters = |count: usize| format!("/boats?{}", vec!["id=eq.1"; count].join("&"));
    assert_eq!(statuses(filters(7000)).await, 200);
    let select = |count: usize| {
        format!("/boats?select={}", (0..count).map(|n| format!("a{n}:id")).collect::<Vec<_>>().join(","))
    };
    assert_eq!(statuses(select(1600)).await, 200);
    assert_eq!(statuses(select(2000)).await, 400);
    assert_eq!(statuses(format!("/boats?name=eq.{}", "a".repeat(10_000_000))).await, 414);
    // The API answers as before.
    assert_eq!(api.get("/boats?select=id&id=eq.1").await.status(), 200);
}

#[tokio::test]
async fn deep_and_wide_bodies_are_answered_or_refused() {
    let api = TestApi::start(OBJECTS, &[]).await;
    let nested = format!("{{\"id\": 9, \"facts\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!("{{{}}}", (0..20_000).map(|n| format!("\"k{n}\": 1")).collect::<Vec<_>>().join(","));
    let many = format!("[{}]", (0..20_000).map(|n| format!("{{\"id\": {}}}", n + 10)).collect::<Vec<_>>().join(","));
    for (body, expected) in [(nested, 400), (wide, 400), (many, 201), ("[".repeat(1_000_000), 400)] {
        let response = send(&api.api, Method::POST, "/boats", &[], body).await.unwrap();
        assert_eq!(response.status().as_u16(), expected, "{}", text(&response));
    }
}
