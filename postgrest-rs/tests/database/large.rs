//! Large results: in files, not in memory, whole and in their order.

use futures::TryStreamExt;
use http::{Request, StatusCode};
use postgrest_rs::execute::spool::SPOOLED_VALUE;
use postgrest_rs::response::Body;

use crate::api::{TestApi, text};

const ROWS: &str = "CREATE TABLE rows (id int PRIMARY KEY, value text);
    INSERT INTO rows SELECT i, repeat(chr(97 + i % 26), 100000) FROM generate_series(1, 40) i;
    CREATE FUNCTION pieces(n int) RETURNS SETOF rows LANGUAGE sql STABLE AS $$ SELECT * FROM rows WHERE id <= n $$;
    CREATE TABLE limited (id int PRIMARY KEY, value text, owner int REFERENCES rows (id) DEFERRABLE INITIALLY DEFERRED);";

async fn handle(api: &TestApi, request: http::request::Builder, body: &str) -> http::Response<Body> {
    let (parts, ()) = request.body(()).unwrap().into_parts();
    api.api.handle(&parts, bytes::Bytes::copy_from_slice(body.as_bytes())).await
}

async fn collect(response: http::Response<Body>) -> String {
    let body = response.into_body();
    let length = body.length();
    let bytes = body.collect().await.unwrap();
    assert_eq!(bytes.len(), length);
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn large_results_are_in_files_and_equal_those_of_the_database() {
    let api = TestApi::start(ROWS, &[]).await;
    let all: String = api.admin.query_one("SELECT json_agg(rows)::text FROM rows", &[]).await.unwrap().get(0);
    assert!(all.len() > 3 * SPOOLED_VALUE);
    // Prepared and not: the second and later runs are prepared.
    for _ in 0..4 {
        let response = handle(&api, Request::get("/rows"), "").await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-range"], "0-39/*");
        assert!(matches!(response.body(), Body::Spooled(_)));
        assert!(collect(response).await == all);
        assert!(text(&api.get("/rows?id=lt.3&select=id").await) == "[{\"id\":1}, \n {\"id\":2}]", "the next result");
    }
    for target in ["/rpc/pieces?n=40", "/rows?select=*&order=id"] {
        assert!(collect(handle(&api, Request::get(target), "").await).await == all, "{target}");
    }
    let counted = handle(&api, Request::get("/rows").header("prefer", "count=exact"), "").await;
    assert_eq!(counted.headers()["content-range"], "0-39/40");
    let csv = handle(&api, Request::get("/rows?select=value").header("accept", "text/csv"), "").await;
    assert!(collect(csv).await.starts_with("value\nb"));
    let head = handle(&api, Request::head("/rows"), "").await;
    assert_eq!((head.status(), head.body().length()), (StatusCode::OK, 0));
}

#[tokio::test]
async fn large_writes_are_answered_after_their_commit() {
    let api = TestApi::start(ROWS, &[]).await;
    let value = "v".repeat(SPOOLED_VALUE);
    let insert = |owner: i32| {
        let body = format!("{{\"id\":{owner},\"value\":\"{value}\",\"owner\":{owner}}}");
        let api = &api;
        async move { handle(api, Request::post("/limited").header("prefer", "return=representation"), &body).await }
    };
    let inserted = insert(1).await;
    assert_eq!(inserted.status(), StatusCode::CREATED);
    assert!(matches!(inserted.body(), Body::Spooled(_)));
    assert!(collect(inserted).await.contains(&value));
    let refused = insert(1000).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT, "the constraint is checked at the end");
    assert!(collect(refused).await.contains("23503"));
}

/// The pool has one connection.
#[tokio::test]
async fn reader_of_a_large_result_holds_no_connection() {
    let api = TestApi::start(ROWS, &[]).await;
    let mut unread = Vec::new();
    for _ in 0..3 {
        let response = handle(&api, Request::get("/rows"), "").await;
        let Body::Spooled(spool) = response.into_body() else { panic!("in memory") };
        let mut reading = Box::pin(spool.into_stream());
        assert!(reading.try_next().await.unwrap().is_some());
        unread.push(reading);
        assert_eq!(api.get("/rows?id=eq.1").await.status(), StatusCode::OK);
    }
    for mut reading in unread {
        while reading.try_next().await.unwrap().is_some() {}
    }
}
