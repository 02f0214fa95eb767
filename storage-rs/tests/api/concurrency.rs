//! Requests that happen at the same time, and clients that go away.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt;
use http::StatusCode;
use serde_json::json;

use crate::api::{TestApi, json_of, send};

/// The number of requests at the same time.
const PARALLEL: usize = 6;

/// Header fields of an upload that replaces an object.
const REPLACING: [(&str, &str); 2] = [("content-type", "text/plain"), ("x-upsert", "true")];

async fn create_bucket(api: &TestApi, name: &str) {
    let body = json!({ "name": name }).to_string();
    let response = send(&api.storage, "POST", "/bucket", &[("content-type", "application/json")], body).await;
    assert_eq!(response.status(), StatusCode::OK, "{response:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_parallel_creations_wins() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    let replica = api.replica();
    for round in 0..20 {
        let path = format!("/object/b/{round}.txt");
        let uploads = (0..PARALLEL).map(|number| {
            let storage = if number % 2 == 0 { &api.storage } else { &replica };
            send(storage, "POST", &path, &[("content-type", "text/plain")], format!("content {number}"))
        });
        let responses = futures::future::join_all(uploads).await;
        let winners: Vec<_> =
            responses.iter().enumerate().filter(|(_, response)| response.status() == StatusCode::OK).collect();
        assert_eq!(winners.len(), 1, "{responses:?}");
        let losers = responses.iter().filter(|response| response.status() != StatusCode::OK);
        assert!(losers.map(json_of).all(|body| body["code"] == "KeyAlreadyExists"));
        let read = api.send("GET", &path, Body::empty()).await;
        assert_eq!(*read.body(), Bytes::from(format!("content {}", winners[0].0)));
    }
    assert_eq!(api.count_files(), 20, "files of the losers stayed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_replacements_leave_one_file() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    let replica = api.replica();
    for _ in 0..20 {
        let uploads = (0..PARALLEL).map(|number| {
            let storage = if number % 2 == 0 { &api.storage } else { &replica };
            send(storage, "POST", "/object/b/a.txt", &REPLACING, format!("content {number}")).map_status()
        });
        let reads = (0..PARALLEL).map(|_| api.send("GET", "/object/b/a.txt", Body::empty()).map_status());
        let (written, read) =
            futures::future::join(futures::future::join_all(uploads), futures::future::join_all(reads)).await;
        assert!(written.iter().all(|status| *status == StatusCode::OK), "{written:?}");
        assert!(read.iter().all(|status| *status == StatusCode::OK || *status == StatusCode::BAD_REQUEST), "{read:?}");
    }
    assert_eq!(api.count_files(), 1);
}

/// The status of a response that is to come.
trait MapStatus {
    async fn map_status(self) -> StatusCode;
}

impl<F: Future<Output = http::Response<Bytes>>> MapStatus for F {
    async fn map_status(self) -> StatusCode {
        self.await.status()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_hangs_up_leaves_nothing() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    // Content that never ends: the request is given up in the middle.
    let endless = futures::stream::iter(0..3)
        .map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![7; 100_000])))
        .chain(futures::stream::pending());
    let upload = send(&api.storage, "POST", "/object/b/a.bin", &[], Body::from_stream(endless));
    assert!(tokio::time::timeout(Duration::from_millis(300), upload).await.is_err());
    // Content that fails.
    let parts = [Ok(Bytes::from_static(b"abc")), Err(std::io::Error::other("gone"))];
    let broken = Body::from_stream(futures::stream::iter(parts));
    let response = send(&api.storage, "POST", "/object/b/c.bin", &[], broken).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    for _ in 0..50 {
        if api.count_files() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(api.count_files(), 0);
    let rows = api.admin.query("SELECT 1 FROM storage.objects", &[]).await.unwrap();
    assert!(rows.is_empty());
}

#[tokio::test]
async fn content_of_unknown_length_obeys_the_limit() {
    let api = TestApi::start(&[]).await;
    let body = json!({ "name": "small", "file_size_limit": 1000 }).to_string();
    send(&api.storage, "POST", "/bucket", &[("content-type", "application/json")], body).await;
    let chunks = |size: usize| {
        let chunk = |_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 100]));
        Body::from_stream(futures::stream::iter((0..size / 100).map(chunk)))
    };
    assert_eq!(api.send("POST", "/object/small/a", chunks(1000)).await.status(), StatusCode::OK);
    let refused = api.send("POST", "/object/small/b", chunks(1100)).await;
    assert_eq!(json_of(&refused)["code"], "EntityTooLarge");
    assert_eq!(api.count_files(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_and_replaced_objects_keep_their_content() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    for round in 0..10 {
        send(&api.storage, "POST", "/object/b/a", &REPLACING, "first").await;
        let order = json!({"bucketId": "b", "sourceKey": "a", "destinationKey": format!("m{round}")}).to_string();
        let moving = send(&api.storage, "POST", "/object/move", &[("content-type", "application/json")], order);
        let replacing = send(&api.storage, "POST", "/object/b/a", &REPLACING, "second");
        let (moved, replaced) = Box::pin(futures::future::join(moving, replacing)).await;
        assert_eq!(moved.status(), StatusCode::OK, "{moved:?}");
        assert_eq!(replaced.status(), StatusCode::OK, "{replaced:?}");
        // Every row has its file.
        let rows = api.admin.query("SELECT name FROM storage.objects", &[]).await.unwrap();
        for row in &rows {
            let read = api.send("GET", &format!("/object/b/{}", row.get::<_, String>(0)), Body::empty()).await;
            assert_eq!(read.status(), StatusCode::OK, "{read:?}");
        }
        assert_eq!(api.count_files(), rows.len());
    }
}

/// Whether a server writes to an upload in this folder.
fn holds_a_lock(folder: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return holds_a_lock(&path);
        }
        // The file may be renamed meanwhile.
        path.extension().is_some_and(|extension| extension == "content")
            && std::fs::File::open(&path)
                .is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
    })
}

/// Header fields of a part of a resumable upload.
fn part_headers(offset: &'static str) -> [(&'static str, &'static str); 3] {
    let kind = ("content-type", "application/offset+octet-stream");
    [("tus-resumable", "1.0.0"), ("upload-offset", offset), kind]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_at_a_time_writes_to_an_upload() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    let replica = api.replica();
    let metadata = ("upload-metadata", "bucketName Yg==,objectName YS50eHQ=");
    let headers = [("tus-resumable", "1.0.0"), ("upload-length", "10"), metadata];
    let created = send(&api.storage, "POST", "/upload/resumable", &headers, Body::empty()).await;
    assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    let location = created.headers()["location"].to_str().unwrap();
    let path = location[location.find("/upload/").unwrap()..].to_owned();
    // A client that sends half a part and is silent then.
    let (sender, receiver) = futures::channel::mpsc::unbounded::<Result<Bytes, std::io::Error>>();
    sender.unbounded_send(Ok(Bytes::from_static(b"hello"))).unwrap();
    let (storage, first_path) = (std::sync::Arc::clone(&api.storage), path.clone());
    let first = tokio::spawn(async move {
        send(&storage, "PATCH", &first_path, &part_headers("0"), Body::from_stream(receiver)).await
    });
    let started = std::time::Instant::now();
    while !holds_a_lock(&api.folder) {
        assert!(started.elapsed() < Duration::from_secs(30), "the first request takes the lock");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused = send(&replica, "PATCH", &path, &part_headers("0"), Body::from(&b"HELLO"[..])).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{refused:?}");
    // One that waits for the lock finds another size than it was told.
    let (storage, second_path) = (std::sync::Arc::clone(&replica), path.clone());
    let waiting = tokio::spawn(async move {
        send(&storage, "PATCH", &second_path, &part_headers("0"), Body::from(&b"HELLO"[..])).await
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(sender);
    assert_eq!(first.await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(waiting.await.unwrap().status(), StatusCode::CONFLICT);
    let repeated = send(&replica, "PATCH", &path, &part_headers("0"), Body::from(&b"HELLO"[..])).await;
    assert_eq!(repeated.status(), StatusCode::CONFLICT, "{repeated:?}");
    let rest = send(&replica, "PATCH", &path, &part_headers("5"), Body::from(&b"world"[..])).await;
    assert_eq!(rest.status(), StatusCode::NO_CONTENT, "{rest:?}");
    let read = api.send("GET", "/object/b/a.txt", Body::empty()).await;
    assert_eq!(*read.body(), Bytes::from_static(b"helloworld"));
}

/// Marks the uploads below a folder as not complete, as after a server that stopped between the row and the mark.
fn forget_completion(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .map(|path| {
            if path.is_dir() {
                return forget_completion(&path);
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let changed = text.replace("\"is_complete\":true", "\"is_complete\":false");
            let is_changed = changed != text;
            if is_changed {
                std::fs::write(&path, changed).unwrap();
            }
            usize::from(is_changed)
        })
        .sum()
}

#[tokio::test]
async fn upload_whose_completion_was_not_noted_keeps_its_object() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    let signed = api.send("POST", "/object/upload/sign/b/a.txt", Body::empty()).await;
    let token = json_of(&signed)["token"].as_str().expect("a token").to_owned();
    let metadata = ("upload-metadata", "bucketName Yg==,objectName YS50eHQ=");
    let signature = ("x-signature", token.as_str());
    let headers = [("tus-resumable", "1.0.0"), ("upload-length", "5"), metadata, signature];
    let created = send(&api.storage, "POST", "/upload/resumable/sign", &headers, Body::empty()).await;
    assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    let location = created.headers()["location"].to_str().unwrap();
    let path = location[location.find("/upload/").unwrap()..].to_owned();
    let [version, offset, kind] = part_headers("0");
    let part = send(&api.storage, "PATCH", &path, &[version, offset, kind, signature], Body::from("hello")).await;
    assert_eq!(part.status(), StatusCode::NO_CONTENT, "{part:?}");
    assert_eq!(forget_completion(&api.folder), 1, "the description is found");
    let reported = send(&api.storage, "HEAD", &path, &[version, signature], Body::empty()).await;
    assert_eq!(reported.status(), StatusCode::OK, "{reported:?}");
    let read = api.send("GET", "/object/b/a.txt", Body::empty()).await;
    assert_eq!((read.status(), &read.body()[..]), (StatusCode::OK, &b"hello"[..]));
}

#[tokio::test]
async fn continued_download_does_not_mix_two_versions() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    send(&api.storage, "POST", "/object/b/a", &REPLACING, "first content").await;
    let first = api.send("GET", "/object/b/a", Body::empty()).await;
    let field = |name: &str| first.headers()[name].to_str().unwrap().to_owned();
    let (etag, modified) = (field("etag"), field("last-modified"));
    let rest = async |if_range: &str| {
        let headers = [("range", "bytes=6-"), ("if-range", if_range)];
        let answer = send(&api.storage, "GET", "/object/b/a", &headers, Body::empty()).await;
        (answer.status().as_u16(), String::from_utf8_lossy(answer.body()).into_owned())
    };
    for current in [etag.as_str(), modified.as_str()] {
        assert_eq!(rest(current).await, (206, "content".to_owned()), "{current}");
    }
    // Times of HTTP have seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    send(&api.storage, "POST", "/object/b/a", &REPLACING, "other things").await;
    for former in [etag.as_str(), modified.as_str(), "W/\"a\"", "nonsense"] {
        assert_eq!(rest(former).await, (200, "other things".to_owned()), "{former}");
    }
    let behind = [("range", "bytes=400-"), ("if-range", etag.as_str())];
    let answer = send(&api.storage, "GET", "/object/b/a", &behind, Body::empty()).await;
    assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
}

/// A row that has content takes a while, and is counted also if it is rolled back.
const SLOW_COMPLETION: &str = "CREATE SEQUENCE public.completions;
    GRANT USAGE ON public.completions TO service_role;
    CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF new.metadata ? 'eTag' THEN PERFORM nextval('public.completions'), pg_sleep(1); END IF; RETURN new; END $$;
    CREATE TRIGGER wait BEFORE INSERT OR UPDATE ON storage.objects FOR EACH ROW EXECUTE FUNCTION public.wait()";

/// How often a row with content was written, also in transactions that were rolled back.
async fn count_completions(api: &TestApi) -> i64 {
    let statement = "SELECT last_value FROM public.completions WHERE is_called";
    api.admin.query_opt(statement, &[]).await.unwrap().map_or(0, |row| row.get(0))
}

/// Begins a resumable upload of five bytes to `b/a.txt` and returns its path.
async fn begin_upload(api: &TestApi, is_upsert: &str) -> String {
    let metadata = ("upload-metadata", "bucketName Yg==,objectName YS50eHQ=");
    let headers = [("tus-resumable", "1.0.0"), ("upload-length", "5"), metadata, ("x-upsert", is_upsert)];
    let created = send(&api.storage, "POST", "/upload/resumable", &headers, Body::empty()).await;
    assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    let location = created.headers()["location"].to_str().unwrap();
    location[location.find("/upload/").unwrap()..].to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_complete_a_resumable_upload_once() {
    for is_upsert in ["true", "false"] {
        let api = TestApi::start(&[]).await;
        create_bucket(&api, "b").await;
        api.admin.batch_execute(SLOW_COMPLETION).await.unwrap();
        let replica = api.replica();
        let path = begin_upload(&api, is_upsert).await;
        let (storage, part_path) = (std::sync::Arc::clone(&api.storage), path.clone());
        let part = tokio::spawn(async move {
            let [version, offset, kind] = part_headers("0");
            let headers = [version, offset, kind, ("x-upsert", is_upsert)];
            send(&storage, "PATCH", &part_path, &headers, Body::from("hello")).await
        });
        api.wait_for_sleep().await;
        let headers = [("tus-resumable", "1.0.0"), ("x-upsert", is_upsert)];
        let reported = send(&replica, "HEAD", &path, &headers, Body::empty()).await;
        assert_eq!(reported.status(), StatusCode::OK, "upsert {is_upsert}: {reported:?}");
        assert_eq!(reported.headers()["upload-offset"], "5", "upsert {is_upsert}: {reported:?}");
        assert_eq!(part.await.unwrap().status(), StatusCode::NO_CONTENT, "upsert {is_upsert}");
        let read = send(&replica, "GET", "/object/b/a.txt", &[], Body::empty()).await;
        assert_eq!((read.status(), &read.body()[..]), (StatusCode::OK, &b"hello"[..]), "upsert {is_upsert}");
        assert_eq!(count_completions(&api).await, 1, "rows that were written, upsert {is_upsert}");
    }
}

#[tokio::test]
async fn upload_that_another_server_wrote_is_reported_without_a_second_row() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    let path = begin_upload(&api, "false").await;
    let part = send(&api.storage, "PATCH", &path, &part_headers("0"), Body::from("hello")).await;
    assert_eq!(part.status(), StatusCode::NO_CONTENT, "{part:?}");
    // As after a server that stopped between the row and the mark. A new row of the name is refused now.
    assert_eq!(forget_completion(&api.folder), 1, "the description is found");
    let version = [("tus-resumable", "1.0.0")];
    let reported = send(&api.replica(), "HEAD", &path, &version, Body::empty()).await;
    assert_eq!(reported.status(), StatusCode::OK, "{reported:?}");
    // An object of the same name that is another one is still in the way.
    api.admin.execute("UPDATE storage.objects SET version = 'other'", &[]).await.unwrap();
    let refused = send(&api.storage, "HEAD", &path, &version, Body::empty()).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT, "{refused:?}");
}

#[tokio::test]
async fn upload_whose_object_was_deleted_before_its_completion_was_noted_does_not_bring_it_back() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    let path = begin_upload(&api, "false").await;
    let part = send(&api.storage, "PATCH", &path, &part_headers("0"), Body::from("hello")).await;
    assert_eq!(part.status(), StatusCode::NO_CONTENT, "{part:?}");
    assert_eq!(forget_completion(&api.folder), 1, "the description is found");
    let deleted = api.send("DELETE", "/object/b/a.txt", Body::empty()).await;
    assert_eq!(deleted.status(), StatusCode::OK, "{deleted:?}");
    // Clients begin anew after these answers.
    let replica = api.replica();
    let version = [("tus-resumable", "1.0.0")];
    let reported = send(&replica, "HEAD", &path, &version, Body::empty()).await;
    assert_eq!(reported.status(), StatusCode::NOT_FOUND, "{reported:?}");
    let repeated = send(&replica, "PATCH", &path, &part_headers("5"), Body::empty()).await;
    assert_eq!(repeated.status(), StatusCode::NOT_FOUND, "{repeated:?}");
    let rows: i64 = api.admin.query_one("SELECT count(*) FROM storage.objects", &[]).await.unwrap().get(0);
    assert_eq!(rows, 0, "the object stays deleted");
    let again = begin_upload(&api, "false").await;
    let part = send(&replica, "PATCH", &again, &part_headers("0"), Body::from("again")).await;
    assert_eq!(part.status(), StatusCode::NO_CONTENT, "{part:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resumable_upload_is_completed_once_although_its_client_hangs_up() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    api.admin.batch_execute(SLOW_COMPLETION).await.unwrap();
    let path = begin_upload(&api, "false").await;
    let (storage, part_path) = (std::sync::Arc::clone(&api.storage), path.clone());
    let part =
        tokio::spawn(async move { send(&storage, "PATCH", &part_path, &part_headers("0"), Body::from("hello")).await });
    let started = std::time::Instant::now();
    api.wait_for_sleep().await;
    part.abort();
    assert!(part.await.unwrap_err().is_cancelled(), "the client hung up before the answer");
    // The client asks how far it came. The lock of this server is held until the row is there.
    let version = [("tus-resumable", "1.0.0")];
    loop {
        let reported = send(&api.storage, "HEAD", &path, &version, Body::empty()).await;
        if reported.status() == StatusCode::OK {
            assert_eq!(reported.headers()["upload-offset"], "5", "{reported:?}");
            break;
        }
        assert_eq!(reported.status(), StatusCode::SERVICE_UNAVAILABLE, "{reported:?}");
        assert!(started.elapsed() < Duration::from_secs(30), "the upload is free again");
    }
    let read = api.send("GET", "/object/b/a.txt", Body::empty()).await;
    assert_eq!((read.status(), &read.body()[..]), (StatusCode::OK, &b"hello"[..]));
    assert_eq!(count_completions(&api).await, 1, "rows that were written");
}

/// Deletes objects of the bucket `b`.
async fn remove(storage: &std::sync::Arc<storage_rs::storage::Storage>, names: &[String]) -> http::Response<Bytes> {
    let body = json!({ "prefixes": names }).to_string();
    send(storage, "DELETE", "/object/b", &[("content-type", "application/json")], body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_that_a_deadlock_rolls_back_is_repeated() {
    let mut api = TestApi::start(&[]).await;
    create_bucket(&api, "b").await;
    for name in ["a", "z"] {
        let stored = send(&api.storage, "POST", &format!("/object/b/{name}"), &REPLACING, "text").await;
        assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
    }
    // The request is the one that notices the deadlock.
    api.admin.batch_execute("SET deadlock_timeout = '60s'").await.unwrap();
    let lock = "SELECT FROM storage.objects WHERE name = $1 FOR UPDATE";
    let storage = std::sync::Arc::clone(&api.storage);
    let transaction = api.admin.transaction().await.unwrap();
    transaction.execute(lock, &[&"z"]).await.unwrap();
    let removal = tokio::spawn(async move { remove(&storage, &["a".to_owned(), "z".to_owned()]).await });
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let started = std::time::Instant::now();
    while transaction.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(started.elapsed() < Duration::from_secs(30), "the request waits for the second row");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    transaction.execute(lock, &[&"a"]).await.unwrap();
    transaction.commit().await.unwrap();
    let removed = removal.await.unwrap();
    assert_eq!(removed.status(), StatusCode::OK, "{removed:?}");
    assert_eq!(json_of(&removed).as_array().map(Vec::len), Some(2), "{removed:?}");
    assert_eq!(api.count_files(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removals_moves_and_uploads_of_the_same_names_do_not_fail() {
    let api = TestApi::start(&[]).await;
    let setting = format!("ALTER DATABASE {} SET deadlock_timeout = '20ms'", api.database);
    api.admin.batch_execute(&setting).await.unwrap();
    create_bucket(&api, "b").await;
    let replica = api.replica();
    let name = |number: usize| format!("n{}", number % 5);
    for round in 0..60 {
        let requests = (0..12).map(|number| {
            let storage = if number % 2 == 0 { &api.storage } else { &replica };
            let (first, second) = (name(round + number), name(round * 3 + number * 2 + 1));
            async move {
                match number % 3 {
                    0 => send(storage, "POST", &format!("/object/b/{first}"), &REPLACING, "text").await,
                    1 => {
                        let order = json!({"bucketId": "b", "sourceKey": first, "destinationKey": second}).to_string();
                        send(storage, "POST", "/object/move", &[("content-type", "application/json")], order).await
                    }
                    _ => remove(storage, &[first, second]).await,
                }
            }
        });
        for answer in futures::future::join_all(requests).await {
            assert!(!answer.status().is_server_error(), "round {round}: {answer:?}");
        }
    }
    // Every row has its file, and every file its row.
    let rows: i64 = api.admin.query_one("SELECT count(*) FROM storage.objects", &[]).await.unwrap().get(0);
    assert_eq!(usize::try_from(rows), Ok(api.count_files()));
}
