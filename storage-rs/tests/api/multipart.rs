//! Uploads of several parts that two requests complete at the same time.

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::json;
use storage_rs::backend::disk::DiskBackend;
use storage_rs::backend::{
    Backend, BackendError, Content, ContentHeaders, FileFacts, FileKey, ListedFile, Space, Staging,
};
use storage_rs::storage::Storage;
use storage_rs::sweep;
use tokio::sync::Semaphore;

use crate::api::{TestApi, json_of, send};
use crate::signature::{Signer, sign};

const SIGNER: Signer<'_> =
    Signer { key: "harbour-access-key", secret: "harbour-secret-key-0123456789", region: "us-east-1" };

/// A row with content takes a while.
const SLOW_ROWS: &str = "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF new.metadata ? 'eTag' THEN PERFORM pg_sleep(1); END IF; RETURN new; END $$;
    CREATE TRIGGER wait BEFORE INSERT OR UPDATE ON storage.objects FOR EACH ROW EXECUTE FUNCTION public.wait()";

/// Files on the disk, each of which is opened when the test allows it.
#[derive(Debug)]
struct GatedBackend {
    disk: DiskBackend,
    /// The files that may be opened.
    allowed: Semaphore,
    /// The files that were opened or wait for it.
    wanted: Semaphore,
    /// Whether there is no space for another file.
    is_full: bool,
}

impl GatedBackend {
    fn open(api: &TestApi, allowed: usize) -> Arc<Self> {
        let disk = DiskBackend::open(&api.folder).unwrap();
        Arc::new(Self { disk, allowed: Semaphore::new(allowed), wanted: Semaphore::new(0), is_full: false })
    }
}

impl Backend for GatedBackend {
    fn get<'a>(
        &'a self,
        key: &'a FileKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'a, Result<(FileFacts, Content), BackendError>> {
        async move {
            self.wanted.add_permits(1);
            self.allowed.acquire().await.unwrap().forget();
            self.disk.get(key, range).await
        }
        .boxed()
    }

    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        if self.is_full {
            return async { Err(BackendError::NoSpace) }.boxed();
        }
        self.disk.put(key, headers, content)
    }

    fn head<'a>(&'a self, key: &'a FileKey) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.disk.head(key)
    }

    fn copy<'a>(
        &'a self,
        source: &'a FileKey,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.disk.copy(source, target, headers)
    }

    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>> {
        self.disk.delete(keys)
    }

    fn identify(&self, key: &FileKey) -> String {
        self.disk.identify(key)
    }

    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>> {
        self.disk.list()
    }

    fn delete_listed<'a>(&'a self, file: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>> {
        self.disk.delete_listed(file)
    }

    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>> {
        self.disk.space()
    }

    fn staging(&self) -> &dyn Staging {
        self.disk.staging()
    }

    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>> {
        self.disk.delete_leftovers(older_than)
    }
}

/// Sends a signed request.
async fn request(storage: &Arc<Storage>, method: &str, target: &str, body: &str) -> Response<Bytes> {
    request_with(storage, method, target, &[], body).await
}

/// Sends a signed request with header fields.
pub(crate) async fn request_with(
    storage: &Arc<Storage>,
    method: &str,
    target: &str,
    more: &[(&str, &str)],
    body: &str,
) -> Response<Bytes> {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut headers: Vec<_> = [("host".to_owned(), "localhost".to_owned())].into_iter().chain(more).collect();
    sign(&SIGNER, method, target, &mut headers, body.as_bytes());
    let mut request = Request::builder().method(method).uri(target).header("content-length", body.len());
    for (name, value) in &headers {
        request = request.header(name, value);
    }
    let answer = storage.handle(request.body(Body::from(body.to_owned())).unwrap()).await;
    let (parts, body) = answer.into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
}

/// The text of an element of an answer.
fn element(answer: &Response<Bytes>, name: &str) -> String {
    let text = String::from_utf8_lossy(answer.body());
    let found = text.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once("</"));
    found.unwrap_or_else(|| panic!("{name} is in {answer:?}")).0.to_owned()
}

/// Begins an upload of two parts and returns its target.
async fn upload_parts(api: &TestApi) -> String {
    let kind = [("content-type", "application/json")];
    let created = send(&api.storage, "POST", "/bucket", &kind, json!({"name": "b"}).to_string()).await;
    assert_eq!(created.status(), StatusCode::OK, "{created:?}");
    let id = begin_upload(api, "a.txt", &["hello ", "world"]).await;
    format!("/s3/b/a.txt?uploadId={id}")
}

/// Begins an upload of these parts and returns its id.
pub(crate) async fn begin_upload(api: &TestApi, name: &str, parts: &[&str]) -> String {
    let begun = request(&api.storage, "POST", &format!("/s3/b/{name}?uploads"), "").await;
    let id = element(&begun, "UploadId");
    for (index, content) in parts.iter().enumerate() {
        let target = format!("/s3/b/{name}?partNumber={}&uploadId={id}", index + 1);
        let part = request(&api.storage, "PUT", &target, content).await;
        assert_eq!(part.status(), StatusCode::OK, "{part:?}");
    }
    id
}

/// The object has one row and one file, and nothing is left of the upload.
async fn assert_one_object(api: &TestApi, content: &str) {
    let read = api.send("GET", "/object/b/a.txt", Body::empty()).await;
    assert_eq!((read.status(), &read.body()[..]), (StatusCode::OK, content.as_bytes()));
    let count = "SELECT (SELECT count(*) FROM storage.objects), (SELECT count(*) FROM storage.s3_multipart_uploads),
        (SELECT count(*) FROM storage.s3_multipart_uploads_parts)";
    let row = api.admin.query_one(count, &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (1, 0, 0), "rows");
    assert_eq!(api.count_files(), 1, "files");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upload_that_another_request_completes_is_answered_alike() {
    let api = TestApi::start(&[]).await;
    let target = upload_parts(&api).await;
    api.admin.batch_execute(SLOW_ROWS).await.unwrap();
    let (storage, first_target) = (Arc::clone(&api.storage), target.clone());
    let first = tokio::spawn(async move { request(&storage, "POST", &first_target, "").await });
    api.wait_for_sleep().await;
    // The parts are still there: this one joins them too, and waits for the row.
    let second = request(&api.replica(), "POST", &target, "").await;
    let first = first.await.unwrap();
    assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::OK), "{first:?} {second:?}");
    assert_eq!(first.body(), second.body());
    assert_one_object(&api, "hello world").await;
    let again = request(&api.storage, "POST", &target, "").await;
    assert_eq!((again.status(), element(&again, "Code").as_str()), (StatusCode::NOT_FOUND, "NoSuchUpload"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upload_whose_parts_go_while_they_are_joined_is_answered_as_it_was_completed() {
    let api = TestApi::start(&[]).await;
    let target = upload_parts(&api).await;
    let backend = GatedBackend::open(&api, 1);
    let slow = api.replica_over(Arc::clone(&backend) as Arc<dyn Backend>);
    let slow_target = target.clone();
    let second = tokio::spawn(async move { request(&slow, "POST", &slow_target, "").await });
    backend.wanted.acquire_many(2).await.unwrap().forget();
    // It has read the first part and is about to open the other one.
    let first = request(&api.storage, "POST", &target, "").await;
    backend.allowed.add_permits(1);
    let second = second.await.unwrap();
    assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::OK), "{first:?} {second:?}");
    assert_eq!(first.body(), second.body());
    assert_one_object(&api, "hello world").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_completions_with_other_parts_wins() {
    let api = TestApi::start(&[]).await;
    let target = upload_parts(&api).await;
    let listed = request(&api.storage, "GET", &target, "").await;
    let part = format!("<Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>", element(&listed, "ETag"));
    let document = format!("<CompleteMultipartUpload>{part}</CompleteMultipartUpload>");
    api.admin.batch_execute(SLOW_ROWS).await.unwrap();
    let (storage, first_target) = (Arc::clone(&api.storage), target.clone());
    let first = tokio::spawn(async move { request(&storage, "POST", &first_target, &document).await });
    api.wait_for_sleep().await;
    let second = request(&api.replica(), "POST", &target, "").await;
    assert_eq!(first.await.unwrap().status(), StatusCode::OK);
    assert_eq!((second.status(), element(&second, "Code").as_str()), (StatusCode::NOT_FOUND, "NoSuchUpload"));
    assert_one_object(&api, "hello ").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upload_that_is_aborted_while_it_is_completed_leaves_nothing() {
    let api = TestApi::start(&[]).await;
    let target = upload_parts(&api).await;
    let backend = GatedBackend::open(&api, 1);
    let slow = api.replica_over(Arc::clone(&backend) as Arc<dyn Backend>);
    let slow_target = target.clone();
    let completed = tokio::spawn(async move { request(&slow, "POST", &slow_target, "").await });
    backend.wanted.acquire_many(2).await.unwrap().forget();
    let aborted = request(&api.storage, "DELETE", &target, "").await;
    assert!(aborted.status().is_success(), "{aborted:?}");
    backend.allowed.add_permits(1);
    let completed = completed.await.unwrap();
    assert_eq!((completed.status(), element(&completed, "Code").as_str()), (StatusCode::NOT_FOUND, "NoSuchUpload"));
    let rows: i64 = api.admin.query_one("SELECT count(*) FROM storage.objects", &[]).await.unwrap().get(0);
    assert_eq!((rows, api.count_files()), (0, 0), "rows and files");
}

#[tokio::test]
async fn uploads_that_get_no_part_for_a_week_are_deleted_with_their_parts() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    let mut ids = Vec::new();
    for name in ["abandoned", "continued", "young"] {
        ids.push(begin_upload(&api, name, &["a part"]).await);
    }
    let files = api.count_files();
    for (id, upload_days, part_days) in [(&ids[0], 30, 8), (&ids[1], 30, 6), (&ids[2], 6, 6)] {
        for (table, column, days) in
            [("s3_multipart_uploads", "id", upload_days), ("s3_multipart_uploads_parts", "upload_id", part_days)]
        {
            let age =
                format!("UPDATE storage.{table} SET created_at = now() - interval '{days} days' WHERE {column} = $1");
            api.admin.execute(&age, &[id]).await.unwrap();
        }
    }
    let swept = sweep::sweep_older(&api.storage, TimeDelta::zero()).await.unwrap();
    assert_eq!((swept.uploads, swept.files), (1, 1));
    assert_eq!(api.count_files(), files - 1);
    let left = api.admin.query("SELECT id FROM storage.s3_multipart_uploads", &[]).await.unwrap();
    let left: Vec<String> = left.iter().map(|row| row.get(0)).collect();
    assert!(!left.contains(&ids[0]) && left.len() == 2, "{left:?}");
}

#[tokio::test]
async fn completion_that_is_announced_as_json_has_to_be_json() {
    let api = TestApi::start(&[]).await;
    let target = upload_parts(&api).await;
    for (body, message) in [
        ("", "Body cannot be empty when content-type is set to 'application/json'"),
        ("{\"Parts\":", "Body is not valid JSON but content-type is set to 'application/json'"),
    ] {
        let json = [("content-type", "application/json")];
        let refused = request_with(&api.storage, "POST", &target, &json, body).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{body}: {refused:?}");
        assert_eq!(element(&refused, "Code"), "InvalidRequest", "{body}");
        assert_eq!(element(&refused, "Message"), message, "{body}");
    }
    // The upload is still pending.
    let xml = [("content-type", "application/xml")];
    let completed = request_with(&api.storage, "POST", &target, &xml, "").await;
    assert_eq!(completed.status(), StatusCode::OK, "{completed:?}");
    assert_one_object(&api, "hello world").await;
}

#[tokio::test]
async fn upload_without_space_is_refused_with_a_status_of_its_own() {
    let api = TestApi::start(&[]).await;
    let target = upload_parts(&api).await;
    let disk = DiskBackend::open(&api.folder).unwrap();
    let full = GatedBackend { disk, allowed: Semaphore::new(0), wanted: Semaphore::new(0), is_full: true };
    let full = api.replica_over(Arc::new(full));
    let form = "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"f\"\r\n\r\ntext\r\n--x--\r\n";
    for (content_type, body) in [("text/plain", "text"), ("multipart/form-data; boundary=x", form)] {
        let length = body.len().to_string();
        let headers = [("content-type", content_type), ("content-length", length.as_str())];
        let refused = send(&full, "POST", "/object/b/b.txt", &headers, body).await;
        assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE, "{content_type}: {refused:?}");
        assert_eq!(json_of(&refused)["code"], "InsufficientStorage", "{content_type}");
    }
    let part = request(&full, "PUT", &format!("{target}&partNumber=3"), "text").await;
    assert_eq!(part.status(), StatusCode::INSUFFICIENT_STORAGE, "{part:?}");
    assert_eq!(element(&part, "Code"), "InsufficientStorage");
    let completed = request(&api.storage, "POST", &target, "").await;
    assert_eq!(completed.status(), StatusCode::OK, "{completed:?}");
    assert_one_object(&api, "hello world").await;
}

/// The bytes that are reserved for the parts of all uploads.
async fn reserved(api: &TestApi) -> i64 {
    let sum = "SELECT coalesce(sum(in_progress_size), 0)::bigint FROM storage.s3_multipart_uploads";
    api.admin.query_one(sum, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn part_whose_client_hangs_up_reserves_nothing() {
    let api = TestApi::start(&[]).await;
    api.admin
        .batch_execute("INSERT INTO storage.buckets (id, name, file_size_limit) VALUES ('b', 'b', 1000)")
        .await
        .unwrap();
    let id = begin_upload(&api, "a.txt", &[]).await;
    let target = format!("/s3/b/a.txt?partNumber=1&uploadId={id}");
    let mut headers = vec![("host".to_owned(), "localhost".to_owned())];
    sign(&SIGNER, "PUT", &target, &mut headers, b"");
    let mut part = Request::put(&target).header("content-length", 800);
    for (name, value) in &headers {
        part = part.header(name, value);
    }
    let silent = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    let hanging = tokio::spawn({
        let (storage, part) = (Arc::clone(&api.storage), part.body(silent).unwrap());
        async move { storage.handle(part).await }
    });
    let wait_for = async |bytes: i64| {
        let started = std::time::Instant::now();
        while reserved(&api).await != bytes {
            assert!(started.elapsed() < std::time::Duration::from_secs(30), "{bytes} bytes are reserved");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    wait_for(800).await;
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());
    wait_for(0).await;
    let again = request(&api.storage, "PUT", &target, &"x".repeat(800)).await;
    assert_eq!(again.status(), StatusCode::OK, "{again:?}");
    assert_eq!((reserved(&api).await, api.count_files()), (800, 1));
}
