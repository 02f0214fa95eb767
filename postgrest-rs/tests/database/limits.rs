//! What is refused, and what requests of an attacker reach.

use bytes::Bytes;
use http::{Method, Request, Response};
use postgrest_rs::service::DataApi;

use crate::api::{TestApi, get, sources, text};

const TABLES: &str = "CREATE TABLE boats (id int PRIMARY KEY, name text, facts jsonb);
  INSERT INTO boats VALUES (1, 'Aurora', '{\"a\": {\"b\": 1}}'), (2, 'Brise', NULL);
  CREATE SCHEMA hidden; CREATE TABLE hidden.secrets (word text); INSERT INTO hidden.secrets VALUES ('treasure');";

/// The response to a request with a JSON body.
async fn send(api: &DataApi, method: Method, target: &str, body: &'static str) -> Response<Bytes> {
    let (parts, ()) = Request::builder().method(method).uri(target).body(()).unwrap().into_parts();
    crate::api::collect(api.handle(&parts, Bytes::from_static(body.as_bytes())).await).await
}

#[tokio::test]
async fn long_url_is_refused() {
    let api = TestApi::start(TABLES, &[]).await;
    let short = format!("/boats?name=eq.{}", "a".repeat(60_000));
    assert_eq!(api.get(&short).await.status(), 200);
    // A URL of `http` ends at 64 KiB; longer ones never reach the API.
    let refused = api.get(&format!("/boats?name=eq.{}", "a".repeat(65_000))).await;
    assert_eq!(refused.status(), 414);
    assert!(text(&refused).contains("PGRST100"), "{}", text(&refused));
}

#[tokio::test]
async fn write_of_all_rows_is_refused_where_the_setting_says_so() {
    let api = TestApi::start(TABLES, &[("db-safe-update", "true")]).await.api;
    for (method, word) in [(Method::PATCH, "UPDATE"), (Method::DELETE, "DELETE")] {
        let refused = send(&api, method.clone(), "/boats", "{\"name\": \"x\"}").await;
        assert_eq!(refused.status(), 400);
        let message =
            format!("\"code\":\"21000\",\"details\":null,\"hint\":null,\"message\":\"{word} requires a WHERE clause\"");
        assert!(text(&refused).contains(&message), "{}", text(&refused));
        assert_eq!(send(&api, method, "/boats?id=eq.9", "{\"name\": \"x\"}").await.status(), 204);
    }
    assert_eq!(send(&api, Method::PATCH, "/boats", "{}").await.status(), 204);
}

#[tokio::test]
async fn every_part_of_a_url_stays_a_name_or_a_value() {
    let api = TestApi::start(TABLES, &[]).await;
    let targets = [
        "/boats%22%3B%20DROP%20TABLE%20boats%3B--",
        "/boats?select=%22id%22%22%3B%20DROP%20TABLE%20boats%3B--%22",
        "/boats?select=id::int)%20FROM%20hidden.secrets--",
        "/boats?select=id::hidden.secrets",
        "/boats?select=x:%22a%22%22b%22",
        "/boats?select=facts-%3E%22a'%22-%3E%3E%22b%5C%22",
        "/boats?%22name%22%22%3D''%22=eq.1",
        "/boats?name=eq.'%3B%20DROP%20TABLE%20boats%3B--",
        "/boats?name=in.(%22'%22,%22%5C%5C%22%22,%7B)",
        "/boats?name=fts(english'%3B--).a",
        "/boats?order=%22id%22%22%3B--%22.asc",
        "/boats?or=(name.eq.%22')--%22,id.eq.1)",
        "/boats?limit=1%3B--",
        "/secrets",
        "/hidden.secrets",
        "/boats?select=*,secrets(*)",
        "/rpc/pg_sleep?seconds=1",
    ];
    for target in targets {
        let response = api.get(target).await;
        assert!(!text(&response).contains("treasure"), "{target}: {}", text(&response));
        assert_ne!(response.status().as_u16() / 100, 5, "{target}: {}", text(&response));
    }
    let left = api.get("/boats?select=id&order=id").await;
    assert_eq!(text(&left).replace(char::is_whitespace, ""), "[{\"id\":1},{\"id\":2}]");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused() {
    let api = TestApi::start(TABLES, &[]).await;
    for target in ["/boats?name=eq.%FF", "/boats?na%00me=eq.1", "/boats?name=eq.%00"] {
        let response = api.get(target).await;
        assert_eq!((response.status().as_u16(), text(&response).contains("PGRST100")), (400, true), "{target}");
    }
    assert_eq!(api.get("/bo%00ats").await.status(), 404);
    let body = send(&api.api, Method::POST, "/boats", "{\"na\\u0000me\": 1}").await;
    assert_eq!(body.status(), 400);
}

/// The response to a request with a body of this type.
async fn post(api: &DataApi, target: &str, content_type: &str, body: String) -> Response<Bytes> {
    let request = Request::post(target).header("content-type", content_type);
    let (parts, ()) = request.body(()).unwrap().into_parts();
    crate::api::collect(api.handle(&parts, Bytes::from(body)).await).await
}

#[tokio::test]
async fn csv_with_a_long_header_is_refused_before_its_rows_are_larger_than_a_body() {
    let api = TestApi::start(TABLES, &[]).await;
    // 170 KB, 2 GB as JSON.
    let one_name = format!("{},title\n{}", "c".repeat(50_000), ",1\n".repeat(40_000));
    let names: Vec<String> = (0..2000).map(|number| format!("column_{number:030}")).collect();
    let many_names = format!("{}\n{}", names.join(","), format!("{}\n", ",".repeat(1999)).repeat(1500));
    // 12 MB of a byte that is six in JSON.
    let escapes = format!("name\n{}", "\u{1}".repeat(12 << 20));
    for (target, body) in [
        ("/nonexistent", one_name.clone()),
        ("/boats?columns=name", one_name),
        ("/boats?columns=name", many_names),
        ("/boats", escapes),
    ] {
        let refused = post(&api.api, target, "text/csv", body).await;
        let expected = "{\"code\":\"PGRST102\",\"details\":null,\"hint\":\"Send it in parts of at most 67108864 bytes each, also as JSON.\",\
                        \"message\":\"The body is too large\"}";
        assert_eq!((refused.status().as_u16(), &*text(&refused)), (413, expected), "{target}");
    }
}

#[tokio::test]
async fn csv_below_the_limit_of_a_body_is_written() {
    let api = TestApi::start(TABLES, &[("server-max-body-size", "300000")]).await;
    let lines: Vec<String> = (10..10_010).map(|id| format!("{id},NULL\n")).collect();
    let written = post(&api.api, "/boats", "text/csv", format!("id,name\n{}", lines.concat())).await;
    assert_eq!(written.status(), 201, "{}", text(&written));
    let written = post(&api.api, "/boats", "text/csv", "name,id,name\na,3,\"b \"\"\n\"\nc,4,NULL\n".to_owned()).await;
    assert_eq!(written.status(), 201, "{}", text(&written));
    let rows = api.get("/boats?select=id,name&id=in.(3,4,10009)&order=id").await;
    let rows: serde_json::Value = serde_json::from_slice(rows.body()).unwrap();
    let expected =
        serde_json::json!([{"id": 3, "name": "b \"\n"}, {"id": 4, "name": null}, {"id": 10_009, "name": null}]);
    assert_eq!(rows, expected);
    let lines: Vec<String> = (20_000..40_000).map(|id| format!("{id},\n")).collect();
    assert_eq!(post(&api.api, "/boats", "text/csv", format!("id,name\n{}", lines.concat())).await.status(), 413);
    let uneven = post(&api.api, "/boats", "text/csv", "id,name\n5\n6,a\n".to_owned()).await;
    assert!(text(&uneven).contains("All lines must have same number of fields"), "{}", text(&uneven));
}

#[tokio::test]
async fn requests_are_answered_while_a_long_body_is_read() {
    let api = TestApi::start(TABLES, &[]).await;
    assert_eq!(api.get("/boats?select=id").await.status(), 200);
    let rows: Vec<String> = (0..1_000_000).map(|number| format!("{{\"key_{number}\": [1, 2, 3]}}")).collect();
    let long = post(&api.api, "/boats", "application/json", format!("[{}]", rows.join(",")));
    tokio::pin!(long);
    // The test has one thread: nothing else is answered while it reads.
    let answered = tokio::select! {
        biased;
        _ = &mut long => panic!("the long body is read first"),
        answered = api.get("/boats?select=id") => answered,
    };
    assert_eq!(answered.status(), 200);
    let refused = long.await;
    assert!(text(&refused).contains("All object keys must match"), "{}", text(&refused));
}

#[tokio::test]
async fn long_name_is_searched_and_shown_in_part() {
    let function = "CREATE FUNCTION echo(word text) RETURNS text LANGUAGE sql AS $$ SELECT word $$;";
    let api = TestApi::start(&format!("{TABLES} {function}"), &[]).await;
    let near = post(&api.api, "/rpc/echo", "application/json", "{\"wordd\": 1}".to_owned()).await;
    assert!(text(&near).contains("Perhaps you meant to call the function"), "{}", text(&near));
    let many: Vec<String> = (0..100_000).map(|number| format!("\"word{number}\": 1")).collect();
    let bodies = [
        ("/rpc/echo", format!("{{\"{}\": 1}}", "k".repeat(66_000))),
        ("/rpc/echo", format!("{{\"{}\": 1}}", "k".repeat(10_000_000))),
        ("/rpc/echo", format!("{{{}}}", many.join(","))),
        ("/boats", format!("{{\"{}\": 1}}", "é".repeat(10_000_000))),
    ];
    for (target, body) in bodies {
        let refused = post(&api.api, target, "application/json", body).await;
        assert!([400, 404].contains(&refused.status().as_u16()), "{}", refused.status());
        assert!(refused.body().len() < 20_000, "{target}: {} bytes", refused.body().len());
        assert!(text(&refused).contains("\"hint\":null"), "{}", text(&refused));
    }
    let long = "b".repeat(50_000);
    for target in [format!("/{long}"), format!("/rpc/{long}"), format!("/boats?select={long}(*)")] {
        let refused = api.get(&target).await;
        assert!([400, 404].contains(&refused.status().as_u16()), "{}", refused.status());
        assert!(refused.body().len() < 2_000, "{} bytes", refused.body().len());
    }
}

#[tokio::test]
async fn request_waits_for_the_first_load_and_fails_with_it() {
    let api = TestApi::start(TABLES, &[]).await;
    let uri = api.api.config().db_uri.clone();
    let fresh = DataApi::new(sources(uri.clone(), &[])).unwrap();
    let (answer, loaded) = tokio::join!(get(&fresh, "/boats?select=id"), async {
        fresh.reload_config(None).await.unwrap();
        fresh.reload_schema().await
    });
    loaded.unwrap();
    assert_eq!(answer.status(), 200);
    let failing = DataApi::new(sources(uri.replace("api_login", "nobody_at_all"), &[])).unwrap();
    let (answer, loaded) = tokio::join!(get(&failing, "/boats"), failing.reload_schema());
    assert!(loaded.is_err());
    assert_eq!((answer.status().as_u16(), text(&answer).contains("PGRST002")), (503, true));
}
