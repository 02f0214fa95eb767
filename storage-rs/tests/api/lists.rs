//! Lists under row security.

use std::time::{Duration, Instant};

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::api::{TestApi, json_of, send, sign};

const OBJECTS: &str = "
    INSERT INTO storage.buckets (id, name) VALUES ('b', 'b');
    INSERT INTO storage.objects (bucket_id, name)
    SELECT 'b', 'folder' || lpad((number / 1000)::text, 3, '0') || '/file' || lpad((number % 1000)::text, 3, '0')
    FROM generate_series(0, 99999) AS numbers (number);
    CREATE POLICY readers ON storage.objects FOR SELECT TO authenticated
        USING ((storage.foldername(name))[1] <> current_setting('request.jwt.claim.sub', true));
    ANALYZE storage.objects;";

async fn list(api: &TestApi, version: &str, body: &Value) -> Value {
    let path = format!("/object/{version}/b");
    let response = send(&api.storage, "POST", &path, &[("content-type", "application/json")], body.to_string()).await;
    assert_eq!(response.status(), StatusCode::OK, "{response:?}");
    json_of(&response)
}

#[tokio::test]
async fn folders_are_sought_without_evaluating_the_policy_for_every_row() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute(OBJECTS).await.unwrap();
    api.admin
        .batch_execute(
            "CREATE SEQUENCE public.evaluated; \
             GRANT USAGE ON SEQUENCE public.evaluated TO authenticated; \
             CREATE POLICY counting ON storage.objects AS RESTRICTIVE FOR SELECT TO authenticated \
             USING (nextval('public.evaluated') > 0); \
             SET request.jwt.claim.sub = 'somebody'; SET ROLE authenticated",
        )
        .await
        .unwrap();
    let names = api.admin.query("SELECT name FROM storage.search('', 'b', 1000)", &[]).await.unwrap();
    assert_eq!(names.len(), 100);
    api.admin.batch_execute("RESET ROLE").await.unwrap();
    let evaluated: i64 = api.admin.query_one("SELECT last_value FROM public.evaluated", &[]).await.unwrap().get(0);
    // Once for each folder, and once for the end.
    assert!(evaluated <= 200, "the policy was evaluated {evaluated} times");
    api.admin.batch_execute("DROP POLICY counting ON storage.objects").await.unwrap();
    let token = format!("Bearer {}", sign(&json!({"role": "authenticated", "sub": "somebody"})));
    let mut fastest = Duration::MAX;
    for prefix in ["", "folder042"].iter().cycle().take(12) {
        let request = Request::post("/object/list/b").header("authorization", &token);
        let body = json!({"prefix": prefix, "limit": 100}).to_string();
        let request = request.header("content-type", "application/json").body(Body::from(body)).unwrap();
        let started = Instant::now();
        let answer = api.storage.handle(request).await;
        let page = answer.into_body().collect().await.unwrap().to_bytes();
        if prefix.is_empty() {
            fastest = fastest.min(started.elapsed());
        }
        let page: Value = serde_json::from_slice(&page).unwrap();
        assert_eq!(page.as_array().map(Vec::len), Some(100), "{prefix:?}");
    }
    // Other work on the machine slows some of them.
    assert!(fastest <= Duration::from_millis(30), "the fastest list of 100 folders took {fastest:?}");
}

#[tokio::test]
async fn level_of_many_folders_is_read_once_for_any_page() {
    let api = TestApi::start(&[]).await;
    api.admin
        .batch_execute(
            "INSERT INTO storage.buckets (id, name) VALUES ('b', 'b'); \
             INSERT INTO storage.objects (bucket_id, name) \
             SELECT 'b', 'user' || lpad((number / 3)::text, 5, '0') || '/file' || number % 3 \
             FROM generate_series(0, 35999) AS numbers (number); \
             CREATE SEQUENCE public.evaluated; \
             GRANT USAGE ON SEQUENCE public.evaluated TO authenticated; \
             CREATE POLICY counting ON storage.objects FOR SELECT TO authenticated \
             USING (nextval('public.evaluated') > 0 AND (storage.foldername(name))[1] <> 'another'); \
             ANALYZE storage.objects",
        )
        .await
        .unwrap();
    for (role, offset, order, first) in [
        ("authenticated", 0, "asc", "user00000"),
        ("authenticated", 11_000, "asc", "user11000"),
        ("authenticated", 11_000, "desc", "user00999"),
        ("service_role", 11_000, "asc", "user11000"),
        ("service_role", 11_000, "desc", "user00999"),
    ] {
        api.admin.batch_execute(&format!("SELECT setval('public.evaluated', 1); SET ROLE {role}")).await.unwrap();
        let sql = "SELECT name FROM storage.search('', 'b', 100, 1, $1, '', 'name', $2)";
        let names = api.admin.query(sql, &[&offset, &order]).await.unwrap();
        api.admin.batch_execute("RESET ROLE").await.unwrap();
        assert_eq!((names.len(), names[0].get::<_, &str>(0)), (100, first), "{role} {offset} {order}");
        let evaluated: i64 = api.admin.query_one("SELECT last_value FROM public.evaluated", &[]).await.unwrap().get(0);
        assert!(evaluated <= 24_200, "the policy was evaluated {evaluated} times: {role} {offset} {order}");
    }
}

#[tokio::test]
async fn pages_of_the_second_version_hold_every_entry_once() {
    let api = TestApi::start(&[]).await;
    let names = ["a", "a!x", "a-b/c", "a.txt", "a/b", "a/c/d", "aa", "b//c", "b/", "b/d", "B/e", "z"];
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    for name in names {
        let statement = "INSERT INTO storage.objects (bucket_id, name) VALUES ('b', $1)";
        api.admin.execute(statement, &[&name]).await.unwrap();
    }
    let name_of = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
    for (prefix, order, column) in [
        ("", "asc", "name"),
        ("", "desc", "name"),
        ("b/", "asc", "name"),
        ("b/", "desc", "name"),
        ("", "asc", "created_at"),
    ] {
        for with_delimiter in [true, false] {
            let request = |limit: i64| {
                json!({
                    "prefix": prefix, "limit": limit, "with_delimiter": with_delimiter,
                    "sortBy": {"column": column, "order": order},
                })
            };
            let entries = |page: &Value| -> Vec<String> {
                let all = page["folders"].as_array().unwrap().iter().chain(page["objects"].as_array().unwrap());
                all.map(name_of).collect()
            };
            let mut expected = entries(&list(&api, "list-v2", &request(1000)).await);
            for limit in 1..4 {
                let mut found = Vec::new();
                let mut cursor = None;
                loop {
                    let mut page_request = request(limit);
                    if let Some(cursor) = cursor {
                        page_request["cursor"] = cursor;
                    }
                    let page = list(&api, "list-v2", &page_request).await;
                    found.extend(entries(&page));
                    assert!(found.len() <= names.len(), "{found:?}");
                    if page["hasNext"] == false {
                        break;
                    }
                    cursor = Some(page["nextCursor"].clone());
                }
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{prefix:?} {order} {column} {with_delimiter} by {limit}");
            }
        }
    }
}

#[tokio::test]
async fn first_version_descends_without_losing_folders() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    for name in ["a.txt", "b/one", "c.txt", "d/two", "e.txt"] {
        let statement = "INSERT INTO storage.objects (bucket_id, name) VALUES ('b', $1)";
        api.admin.execute(statement, &[&name]).await.unwrap();
    }
    let page = list(&api, "list", &json!({"prefix": "", "sortBy": {"column": "name", "order": "desc"}})).await;
    let names: Vec<_> = page.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["e.txt", "d", "c.txt", "b", "a.txt"]);
}

#[tokio::test]
async fn prefix_longer_than_any_name_costs_nothing() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    // A search that took time by the square of this length would run into its limit of 30 s.
    for long in ["a".repeat(200_000), "a/".repeat(100_000)] {
        for body in [
            json!({"prefix": long}),
            json!({"prefix": "", "search": long}),
            json!({"prefix": long, "sortBy": {"column": "created_at"}}),
        ] {
            assert_eq!(list(&api, "list", &body).await, json!([]));
        }
        let pages = list(&api, "list-v2", &json!({"prefix": long, "with_delimiter": true})).await;
        assert_eq!(pages["objects"], json!([]));
        let called = api.admin.query("SELECT name FROM storage.search($1, 'b')", &[&long]).await.unwrap();
        assert!(called.is_empty());
    }
}

#[tokio::test]
async fn names_that_no_bucket_can_have_are_refused() {
    let api = TestApi::start(&[]).await;
    let body = json!({"prefix": ""}).to_string();
    let json = [("content-type", "application/json")];
    for (method, path) in [
        ("POST", "/object/list/%C3%A4"),
        ("POST", "/object/%C3%A4/x"),
        ("GET", "/object/%C3%A4/x"),
        ("GET", "/object/public/%C3%A4/x"),
        ("GET", "/object/info/%C3%A4/x"),
    ] {
        let refused = send(&api.storage, method, path, &json, body.clone()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{method} {path}: {refused:?}");
        assert_eq!(json_of(&refused)["error"], "Invalid Input", "{method} {path}: {refused:?}");
    }
}
