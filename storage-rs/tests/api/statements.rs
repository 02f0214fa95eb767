//! The statements of requests, as the database logs them, and what is served without any.

use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::api::{TestApi, json_of, send, sign};
use crate::cluster::cluster;

/// Lets the cluster write the name of the database before each line of its log.
pub(crate) async fn name_databases_in_the_log() {
    static DONE: OnceCell<()> = OnceCell::const_new();
    DONE.get_or_init(|| async {
        let admin = cluster().connect("postgres").await;
        admin.batch_execute("ALTER SYSTEM SET log_line_prefix = '[%d] '").await.unwrap();
        admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        let started = Instant::now();
        loop {
            let later = cluster().connect("postgres").await;
            let prefix: String = later.query_one("SHOW log_line_prefix", &[]).await.unwrap().get(0);
            if prefix.starts_with("[%d]") {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "the setting is read");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Starts an API whose statements are logged.
async fn start(more: &[(&str, &str)]) -> TestApi {
    name_databases_in_the_log().await;
    let api = TestApi::start(more).await;
    let setting = format!("ALTER DATABASE {} SET log_statement = 'all'", api.database);
    api.admin.batch_execute(&setting).await.unwrap();
    api
}

/// The statements that were logged: those that begin transactions, and those with a result.
fn count(api: &TestApi) -> (usize, usize) {
    let log = std::fs::read_to_string(cluster().folder().join("log")).unwrap();
    let own = format!("[{}] LOG:  ", api.database);
    let lines = || log.lines().filter_map(|line| line.strip_prefix(own.as_str()));
    (
        lines().filter(|line| *line == "statement: BEGIN").count(),
        lines().filter(|line| line.starts_with("execute ")).count(),
    )
}

/// The transactions and statements of a request.
async fn cost<T>(api: &TestApi, request: impl Future<Output = T>) -> ((usize, usize), T) {
    let before = count(api);
    let answer = request.await;
    let after = count(api);
    ((after.0 - before.0, after.1 - before.1), answer)
}

async fn send_as(
    api: &TestApi,
    claims: &Value,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Bytes> {
    let token = format!("Bearer {}", sign(claims));
    let mut request = Request::builder().method(method).uri(path).header("authorization", token);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, body) = api.storage.handle(request.body(body.into()).unwrap()).await.into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
}

async fn create_bucket(api: &TestApi, bucket: Value) {
    let kind = [("content-type", "application/json")];
    let response = send(&api.storage, "POST", "/bucket", &kind, bucket.to_string()).await;
    assert_eq!(response.status(), StatusCode::OK, "{response:?}");
}

fn member() -> Value {
    json!({"role": "authenticated", "sub": "6f3b1d5e-52a1-4c3b-8d0e-1f2a3b4c5d6e"})
}

/// Header fields of a request.
type Headers<'a> = &'a [(&'a str, &'a str)];

const MEMBERS: &str = "CREATE POLICY members ON storage.objects FOR ALL TO authenticated \
    USING (owner_id = current_setting('request.jwt.claim.sub', true)) \
    WITH CHECK (owner_id = current_setting('request.jwt.claim.sub', true))";

const PLAIN: [(&str, &str); 2] = [("content-type", "text/plain"), ("content-length", "5")];
const UPSERT: [(&str, &str); 3] = [("content-type", "text/plain"), ("content-length", "5"), ("x-upsert", "true")];
const FORM: &str = "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"a\"\r\nContent-Type: text/plain\r\n\r\n\
    hello\r\n--x\r\nContent-Disposition: form-data; name=\"cacheControl\"\r\n\r\n60\r\n--x--\r\n";

#[tokio::test]
async fn small_upload_is_one_transaction_of_three_statements() {
    let api = start(&[]).await;
    create_bucket(&api, json!({"name": "b", "allowed_mime_types": ["text/*"]})).await;
    api.admin.batch_execute(MEMBERS).await.unwrap();
    let form_length = FORM.len().to_string();
    let form = [("content-type", "multipart/form-data; boundary=x"), ("content-length", form_length.as_str())];
    let requests: [(&str, &str, Headers<'_>, &'static str); 4] = [
        ("POST", "created", &PLAIN, "hello"),
        ("PUT", "replaced", &PLAIN, "hello"),
        ("POST", "upserted", &UPSERT, "hello"),
        ("POST", "form", &form, FORM),
    ];
    for caller in [json!({"role": "service_role"}), member()] {
        let role = caller["role"].as_str().unwrap();
        for (method, name, headers, content) in requests {
            for round in 0..3 {
                // Created objects have another name each time; the others are there in the later rounds.
                let round_name = if headers.len() == 2 && method == "POST" { round.to_string() } else { String::new() };
                let path = format!("/object/b/{role}/{name}{round_name}");
                let (cost, answer) = cost(&api, send_as(&api, &caller, method, &path, headers, content)).await;
                assert_eq!(answer.status(), StatusCode::OK, "{path}: {answer:?}");
                assert_eq!(cost, (1, 3), "{path}");
                let statement =
                    "SELECT id::text FROM storage.objects WHERE '/object/' || bucket_id || '/' || name = $1";
                let row = api.admin.query_one(statement, &[&path]).await.unwrap();
                assert_eq!(json_of(&answer)["Id"], row.get::<_, String>(0), "{path}");
                let read = api.send("GET", &path, Body::empty()).await;
                assert_eq!(&read.body()[..], b"hello");
            }
        }
    }
    assert_eq!(api.count_files(), 2 * (3 + 1 + 1 + 3), "replaced files are deleted");
}

#[tokio::test]
async fn large_upload_is_a_test_of_three_statements_and_a_row_of_two() {
    let api = start(&[]).await;
    create_bucket(&api, json!({"name": "b", "allowed_mime_types": ["text/*"], "file_size_limit": 400_000})).await;
    api.admin.batch_execute(MEMBERS).await.unwrap();
    let upload = async |content_type: &str, name: &str, size: usize| {
        let (path, length) = (format!("/object/{name}"), size.to_string());
        let headers = [("content-type", content_type), ("content-length", length.as_str())];
        cost(&api, send_as(&api, &member(), "PUT", &path, &headers, "x".repeat(size))).await
    };
    for round in 0..2 {
        let (cost, answer) = upload("text/plain", "b/a", 300_000).await;
        assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
        assert_eq!(cost, (2, 5), "{round}");
    }
    for (content_type, name, size, code) in [
        ("image/png", "b/a", 300_000, "InvalidMimeType"),
        ("text/plain", "b/a", 400_001, "EntityTooLarge"),
        ("text/plain", "missing/a", 300_000, "NoSuchBucket"),
    ] {
        let (cost, refused) = upload(content_type, name, size).await;
        assert_eq!(json_of(&refused)["code"], code, "{refused:?}");
        assert_eq!(cost, (1, 3), "{code}");
    }
    assert_eq!(api.count_files(), 1);
}

#[tokio::test]
async fn refused_small_upload_leaves_neither_row_nor_file() {
    let api = start(&[]).await;
    create_bucket(&api, json!({"name": "b", "allowed_mime_types": ["text/*"], "file_size_limit": 5})).await;
    api.send("POST", "/object/b/theirs", Body::empty()).await;
    api.admin.batch_execute(MEMBERS).await.unwrap();
    send(&api.storage, "POST", "/object/b/taken", &PLAIN, "first").await;
    let files = api.count_files();
    let service = json!({"role": "service_role"});
    let anonymous = json!({"role": "anon"});
    let image = [("content-type", "image/png"), ("content-length", "5")];
    let long = [("content-type", "text/plain"), ("content-length", "6")];
    let robots = [("content-type", "text/plain"), ("content-length", "5"), ("x-robots-tag", "nonsense")];
    let unknown = json!({"role": "nobody"});
    let cases: [(&Value, &str, Headers<'_>, &str, &str); 8] = [
        (&service, "/object/missing/a", &PLAIN, "hello", "NoSuchBucket"),
        (&service, "/object/b/a", &image, "hello", "InvalidMimeType"),
        (&service, "/object/b/a", &long, "hello!", "EntityTooLarge"),
        (&service, "/object/b/taken", &PLAIN, "hello", "KeyAlreadyExists"),
        (&service, "/object/b/a", &robots, "hello", "InvalidRequest"),
        (&anonymous, "/object/b/a", &PLAIN, "hello", "AccessDenied"),
        (&member(), "/object/b/taken", &UPSERT, "hello", "AccessDenied"),
        (&unknown, "/object/b/a", &PLAIN, "hello", "AccessDenied"),
    ];
    for (caller, path, headers, content, code) in cases {
        let answer = send_as(&api, caller, "POST", path, headers, content).await;
        assert_eq!(json_of(&answer)["code"], code, "{path}: {answer:?}");
        assert_eq!(api.count_files(), files, "{path}: {code}");
    }
    let read = api.send("GET", "/object/b/taken", Body::empty()).await;
    assert_eq!(&read.body()[..], b"first");
    let rows: i64 = api.admin.query_one("SELECT count(*) FROM storage.objects", &[]).await.unwrap().get(0);
    assert_eq!(usize::try_from(rows).unwrap(), files);
}

#[tokio::test]
async fn triggers_of_the_application_get_rows_from_the_server() {
    let api = start(&[]).await;
    create_bucket(&api, json!({"name": "b"})).await;
    api.admin
        .batch_execute(&format!(
            "{MEMBERS}; CREATE TABLE public.written (name text, by_whom text, is_known boolean);
             GRANT INSERT ON public.written TO service_role, authenticated;
             CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO public.written VALUES (new.name, current_user, new.metadata ? 'eTag'); RETURN new; END $$;
             CREATE TRIGGER note AFTER INSERT ON storage.objects FOR EACH ROW EXECUTE FUNCTION public.note()"
        ))
        .await
        .unwrap();
    let answer = send_as(&api, &member(), "POST", "/object/b/a", &PLAIN, "hello").await;
    assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    let rows = api.admin.query("SELECT name, by_whom, is_known FROM public.written", &[]).await.unwrap();
    let rows: Vec<(String, String, bool)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert_eq!(rows, [("a".to_owned(), "service_role".to_owned(), true)]);
    let refused = send_as(&api, &json!({"role": "anon"}), "POST", "/object/b/b", &PLAIN, "hello").await;
    assert_eq!(json_of(&refused)["code"], "AccessDenied");
    assert_eq!(api.count_files(), 1);
}

/// Notes each row that a trigger sees, and counts also what is rolled back.
const COUNTING: &str = "CREATE TABLE public.seen (what text, name text);
    GRANT INSERT ON public.seen TO service_role, authenticated;
    CREATE SEQUENCE public.calls; GRANT USAGE ON public.calls TO service_role, authenticated;
    CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM nextval('public.calls'); INSERT INTO public.seen VALUES (TG_OP, new.name); RETURN new; END $$;
    CREATE TRIGGER see AFTER INSERT OR UPDATE ON storage.objects FOR EACH ROW EXECUTE FUNCTION public.see()";

#[tokio::test]
async fn trigger_of_the_application_runs_for_the_test_and_for_the_row() {
    let api = start(&[]).await;
    create_bucket(&api, json!({"name": "b"})).await;
    api.admin.batch_execute(&format!("{MEMBERS}; {COUNTING}")).await.unwrap();
    let form_length = FORM.len().to_string();
    let form = [("content-type", "multipart/form-data; boundary=x"), ("content-length", form_length.as_str())];
    let large = "x".repeat(300 * 1024);
    let large_length = large.len().to_string();
    let large_headers = [("content-type", "text/plain"), ("content-length", large_length.as_str())];
    let requests: [(&str, &str, Headers<'_>, &str, &str); 6] = [
        ("POST", "a", &PLAIN, "hello", "INSERT"),
        ("PUT", "a", &PLAIN, "hello", "UPDATE"),
        ("POST", "b", &UPSERT, "hello", "INSERT"),
        ("POST", "c", &form, FORM, "INSERT"),
        ("POST", "d", &large_headers, large.as_str(), "INSERT"),
        ("PUT", "d", &large_headers, large.as_str(), "UPDATE"),
    ];
    for (method, name, headers, content, operation) in requests {
        let path = format!("/object/b/{name}");
        let body = Body::from(content.to_owned());
        let (cost, answer) = cost(&api, send_as(&api, &member(), method, &path, headers, body)).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}: {answer:?}");
        assert!(cost.0 == 2 && cost.1 <= 6, "{method} {path}: {cost:?}");
        let calls = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.calls";
        let calls: i64 = api.admin.query_one(calls, &[]).await.unwrap().get(0);
        assert_eq!(calls, 2, "{method} {path}: once for the test, which is rolled back, and once for the row");
        let seen = api.admin.query("DELETE FROM public.seen RETURNING what, name", &[]).await.unwrap();
        let seen: Vec<(String, String)> = seen.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(seen, [(operation.to_owned(), name.to_owned())], "{method} {path}");
        api.admin.batch_execute("ALTER SEQUENCE public.calls RESTART").await.unwrap();
    }
    assert_eq!(api.count_files(), 4, "replaced files are deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_upload_is_written_although_its_client_hangs_up() {
    let api = start(&[]).await;
    create_bucket(&api, json!({"name": "b"})).await;
    // The row takes a while, in the test and when it is written.
    let slow = "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_sleep(0.4); RETURN new; END $$;
        CREATE TRIGGER wait BEFORE INSERT ON storage.objects FOR EACH ROW EXECUTE FUNCTION public.wait()";
    api.admin.batch_execute(&format!("{MEMBERS}; {slow}")).await.unwrap();
    for (name, after) in [("test", 200), ("row", 600)] {
        let path = format!("/object/b/{name}");
        let caller = member();
        let upload = send_as(&api, &caller, "POST", &path, &PLAIN, "hello");
        assert!(tokio::time::timeout(Duration::from_millis(after), upload).await.is_err(), "{name}");
        let started = Instant::now();
        while api.send("GET", &path, Body::empty()).await.status() != StatusCode::OK {
            assert!(started.elapsed() < Duration::from_secs(30), "{name} has a row in the end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert_eq!(api.count_files(), 2);
}

async fn read_public(api: &TestApi) -> (u16, Bytes) {
    let request = Request::builder().uri("/object/public/b/a").body(Body::empty()).unwrap();
    let (parts, body) = api.storage.handle(request).await.into_parts();
    (parts.status.as_u16(), body.collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn public_object_is_read_once_until_this_server_changes_it() {
    let api = start(&[("BASALT_STORAGE_PUBLIC_VALIDITY_MS", "60000")]).await;
    create_bucket(&api, json!({"name": "b", "public": true})).await;
    send(&api.storage, "POST", "/object/b/a", &PLAIN, "first").await;
    let (first, answer) = cost(&api, read_public(&api)).await;
    assert_eq!((first, answer), ((1, 2), (200, Bytes::from("first"))), "the role, and the row");
    for _ in 0..5 {
        let (later, answer) = cost(&api, read_public(&api)).await;
        assert_eq!((later, answer), ((0, 0), (200, Bytes::from("first"))));
    }
    send(&api.storage, "PUT", "/object/b/a", &PLAIN, "other").await;
    assert_eq!(read_public(&api).await, (200, Bytes::from("other")));
    let kind = [("content-type", "application/json")];
    for (is_public, status) in [(false, 400), (true, 200)] {
        let body = json!({"public": is_public}).to_string();
        send(&api.storage, "PUT", "/bucket/b", &kind, body).await;
        assert_eq!(read_public(&api).await.0, status, "public: {is_public}");
    }
    let order = json!({"bucketId": "b", "sourceKey": "a", "destinationKey": "c"}).to_string();
    send(&api.storage, "POST", "/object/move", &kind, order.clone()).await;
    assert_eq!(read_public(&api).await.0, 400, "moved away");
    send(&api.storage, "POST", "/object/b/a", &PLAIN, "again").await;
    assert_eq!(read_public(&api).await, (200, Bytes::from("again")));
    api.send("DELETE", "/object/b/a", Body::empty()).await;
    assert_eq!(read_public(&api).await.0, 400, "deleted");
}

#[tokio::test]
async fn change_of_another_server_is_seen_when_the_validity_is_over() {
    let validity = Duration::from_millis(500);
    let api = start(&[("BASALT_STORAGE_PUBLIC_VALIDITY_MS", "500")]).await;
    create_bucket(&api, json!({"name": "b", "public": true})).await;
    send(&api.storage, "POST", "/object/b/a", &PLAIN, "first").await;
    let replica = api.replica();
    assert_eq!(read_public(&api).await, (200, Bytes::from("first")));
    // A replaced file is gone, so that its row is read again at once.
    send(&replica, "PUT", "/object/b/a", &PLAIN, "other").await;
    assert_eq!(read_public(&api).await, (200, Bytes::from("other")));
    let kind = [("content-type", "application/json")];
    send(&replica, "PUT", "/bucket/b", &kind, r#"{"public": false}"#).await;
    let made_private = Instant::now();
    while made_private.elapsed() < validity {
        read_public(&api).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(read_public(&api).await.0, 400, "reading does not prolong the validity");
}
