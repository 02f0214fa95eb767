//! Uploads that nobody can continue: they end clearly, and nothing of them stays.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use chrono::TimeDelta;
use http::{Response, StatusCode};
use serde_json::json;
use storage_rs::backend::disk::DiskBackend;
use storage_rs::clock::Clock;
use storage_rs::storage::Storage;
use storage_rs::sweep;

use crate::api::{TestApi, config, json_of, send};
use crate::multipart::{begin_upload, request_with};

const VERSION: [(&str, &str); 1] = [("tus-resumable", "1.0.0")];
const PART: [(&str, &str); 3] =
    [("tus-resumable", "1.0.0"), ("upload-offset", "4"), ("content-type", "application/offset+octet-stream")];

async fn start() -> TestApi {
    let api = TestApi::start(&[]).await;
    let kind = [("content-type", "application/json")];
    let created = send(&api.storage, "POST", "/bucket", &kind, json!({"name": "b"}).to_string()).await;
    assert_eq!(created.status(), StatusCode::OK, "{created:?}");
    api
}

/// Begins a resumable upload with a part of its content, and returns its path.
async fn begin_resumable(api: &TestApi) -> String {
    let headers = [
        ("tus-resumable", "1.0.0"),
        ("upload-length", "10"),
        ("upload-metadata", "bucketName Yg==,objectName bg=="),
        ("content-type", "application/offset+octet-stream"),
        ("content-length", "4"),
    ];
    let created = send(&api.storage, "POST", "/upload/resumable", &headers, "part").await;
    assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    let location = created.headers()["location"].to_str().unwrap();
    location[location.find("/upload/").unwrap()..].to_owned()
}

/// The same API by a clock that is so far ahead, with the files in this folder.
fn server_later(api: &TestApi, folder: &std::path::Path, ahead: TimeDelta) -> Arc<Storage> {
    let settings = config(&api.database, folder.to_str().unwrap(), &[]);
    let machine = Clock::of_machine();
    let clock = Clock::new(move || machine.now() + ahead);
    Storage::new(settings, Arc::new(DiskBackend::open(folder).unwrap()), clock).unwrap()
}

fn text(answer: &Response<Bytes>) -> String {
    String::from_utf8_lossy(answer.body()).into_owned()
}

#[tokio::test]
async fn resumable_upload_without_a_write_for_a_day_is_deleted_and_then_not_found() {
    let api = start().await;
    let path = begin_resumable(&api).await;
    let files = api.count_files();
    let soon = server_later(&api, &api.folder, TimeDelta::hours(23));
    assert_eq!(sweep::sweep(&soon).await.unwrap().uploads, 0, "its client may go on");
    let known = send(&api.storage, "HEAD", &path, &VERSION, Body::empty()).await;
    assert_eq!((known.status(), &known.headers()["upload-offset"]), (StatusCode::OK, &"4".parse().unwrap()));
    let later = server_later(&api, &api.folder, TimeDelta::hours(25));
    assert_eq!(sweep::sweep(&later).await.unwrap().uploads, 1);
    assert!(files > 0 && api.count_files() == 0, "content, description and digest are gone");
    for (method, headers, body) in
        [("HEAD", &VERSION[..], ""), ("PATCH", &PART[..], "rest!!"), ("DELETE", &VERSION, "")]
    {
        let answer = send(&api.storage, method, &path, headers, body).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method}: {answer:?}");
    }
    let rows: i64 = api.admin.query_one("SELECT count(*) FROM storage.objects", &[]).await.unwrap().get(0);
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn uploads_in_progress_end_clearly_at_a_server_with_other_files() {
    let api = start().await;
    let resumable = begin_resumable(&api).await;
    let id = begin_upload(&api, "a.txt", &["a part"]).await;
    let folder = std::env::temp_dir().join(format!("basalt-other-files-{}", api.database));
    let other = server_later(&api, &folder, TimeDelta::zero());
    for (method, headers, body) in [("HEAD", &VERSION[..], ""), ("PATCH", &PART[..], "rest!!")] {
        let answer = send(&other, method, &resumable, headers, body).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{method}: {answer:?}");
    }
    // The rows of the parts are known, their content is not.
    let upload = format!("/s3/b/a.txt?uploadId={id}");
    let completed = request_with(&other, "POST", &upload, &[], "").await;
    assert_eq!(completed.status(), StatusCode::NOT_FOUND, "{completed:?}");
    assert!(text(&completed).contains("<Code>NoSuchKey</Code>"), "{completed:?}");
    // It keeps the bucket until it is aborted.
    let emptied = send(&other, "DELETE", "/bucket/b", &[], Body::empty()).await;
    assert_eq!(json_of(&emptied)["code"], "ResourceReferenced", "{emptied:?}");
    let listed = request_with(&other, "GET", "/s3/b?uploads", &[], "").await;
    assert!(text(&listed).contains(&id), "{listed:?}");
    let aborted = request_with(&other, "DELETE", &upload, &[], "").await;
    assert_eq!(aborted.status(), StatusCode::OK, "{aborted:?}");
    let deleted = send(&other, "DELETE", "/bucket/b", &[], Body::empty()).await;
    assert_eq!(deleted.status(), StatusCode::OK, "{deleted:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn row_of_an_upload_that_another_server_signed_is_refused() {
    let api = start().await;
    let id = begin_upload(&api, "a.txt", &["a part"]).await;
    let change = "UPDATE storage.s3_multipart_uploads SET upload_signature = 'of another secret'";
    api.admin.batch_execute(change).await.unwrap();
    let part = request_with(&api.storage, "PUT", &format!("/s3/b/a.txt?partNumber=2&uploadId={id}"), &[], "more").await;
    assert_eq!(part.status(), StatusCode::BAD_REQUEST, "{part:?}");
    assert!(text(&part).contains("<Code>InvalidUploadSignature</Code>"), "{part:?}");
    let aborted = request_with(&api.storage, "DELETE", &format!("/s3/b/a.txt?uploadId={id}"), &[], "").await;
    assert_eq!(aborted.status(), StatusCode::OK, "{aborted:?}");
    assert_eq!(api.count_files(), 0);
}
