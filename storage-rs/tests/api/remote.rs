//! Files behind the S3 protocol: another server of this kind is the store.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use futures::StreamExt;
use http::StatusCode;
use http_edge::HttpLimits;
use serde_json::json;
use storage_rs::backend::Backend;
use storage_rs::backend::remote::RemoteBackend;
use storage_rs::clock::Clock;
use storage_rs::config::S3BackendSettings;
use storage_rs::sweep;

use crate::api::{TestApi, json_of, send};

/// A store that listens.
pub(crate) struct Store {
    api: TestApi,
    endpoint: String,
    _closer: tokio::sync::watch::Sender<bool>,
}

impl Store {
    pub(crate) async fn start() -> Self {
        let api = TestApi::start(&[]).await;
        create_bucket(&api, "store").await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/s3", listener.local_addr().unwrap());
        let (closer, closing) = tokio::sync::watch::channel(false);
        let storage = Arc::clone(&api.storage);
        tokio::spawn(http_edge::serve(listener, closing, HttpLimits::behind_gateway(), move |request: Request| {
            let storage = Arc::clone(&storage);
            async move { storage.handle(request).await }
        }));
        Self { api, endpoint, _closer: closer }
    }

    /// A backend that keeps its files in the store.
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        let settings = S3BackendSettings {
            bucket: "store".to_owned(),
            endpoint: Some(self.endpoint.clone()),
            region: "us-east-1".to_owned(),
            access_key_id: Some("harbour-access-key".to_owned()),
            secret_access_key: Some("harbour-secret-key-0123456789".to_owned()),
            forces_path_style: true,
        };
        Arc::new(RemoteBackend::open(&settings, "stub", Clock::of_machine()).unwrap())
    }

    /// The names of the objects in the store.
    async fn names(&self) -> Vec<String> {
        let rows = self.api.admin.query("SELECT name FROM storage.objects ORDER BY name", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

async fn create_bucket(api: &TestApi, name: &str) {
    let body = json!({ "name": name }).to_string();
    let response = send(&api.storage, "POST", "/bucket", &[("content-type", "application/json")], body).await;
    assert_eq!(response.status(), StatusCode::OK, "{response:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_content_is_written_in_parts_and_read_back() {
    let store = Store::start().await;
    let api = TestApi::start_over(&[], Some(store.backend())).await;
    create_bucket(&api, "b").await;
    let content: Vec<u8> = (0..20_000_000_u32).map(|number| (number % 251).to_le_bytes()[0]).collect();
    let written = api.send("POST", "/object/b/large.bin", content.clone()).await;
    assert_eq!(written.status(), StatusCode::OK, "{written:?}");
    let read = api.send("GET", "/object/b/large.bin", Body::empty()).await;
    assert!(*read.body() == content, "the content differs");
    let range = [("range", "bytes=8388600-8388619")];
    let part = send(&api.storage, "GET", "/object/b/large.bin", &range, Body::empty()).await;
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(**part.body(), content[8_388_600..8_388_620]);
    // The name of the file is that of Supabase Storage.
    let names = store.names().await;
    assert!(names.len() == 1 && names[0].starts_with("stub/b/large.bin/"), "{names:?}");
    let report = sweep::compare(&api.storage).await.unwrap();
    assert_eq!((report.files, report.rows, report.orphans, report.missing), (1, 1, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_upload_leaves_nothing_in_the_store() {
    let store = Store::start().await;
    let api = TestApi::start_over(&[], Some(store.backend())).await;
    create_bucket(&api, "b").await;
    // More than a part arrives before the content fails.
    let parts = (0..100).map(|_| Ok(Bytes::from(vec![7; 100_000]))).chain([Err(std::io::Error::other("gone"))]);
    let body = Body::from_stream(futures::stream::iter(parts).boxed());
    let refused = api.send("POST", "/object/b/a.bin", body).await;
    assert_eq!(json_of(&refused)["code"], "InvalidRequest");
    for _ in 0..100 {
        if store.api.count_files() == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(store.api.count_files(), 0, "parts stayed");
}

/// The location of a new resumable upload of ten bytes.
async fn begin_upload(api: &TestApi) -> String {
    let metadata = ("upload-metadata", "bucketName Yg==,objectName YS50eHQ=");
    let headers = [("tus-resumable", "1.0.0"), ("upload-length", "10"), metadata];
    let created = send(&api.storage, "POST", "/upload/resumable", &headers, Body::empty()).await;
    assert_eq!(created.status(), StatusCode::CREATED, "{created:?}");
    let location = created.headers()["location"].to_str().unwrap();
    location[location.find("/upload/").unwrap()..].to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_that_append_at_one_offset_lose_nothing() {
    let store = Store::start().await;
    let api = TestApi::start_over(&[], Some(store.backend())).await;
    create_bucket(&api, "b").await;
    let path = begin_upload(&api).await;
    let other = store.backend();
    let part = |offset: &'static str, content: &'static str| {
        let kind = ("content-type", "application/offset+octet-stream");
        let headers = [("tus-resumable", "1.0.0"), ("upload-offset", offset), kind];
        let (storage, path) = (Arc::clone(&api.storage), path.clone());
        async move { send(&storage, "PATCH", &path, &headers, Body::from(content)).await.status() }
    };
    assert_eq!(part("0", "hello").await, StatusCode::NO_CONTENT);
    // Another server that has read the size before appends at the same offset.
    let names = store.names().await;
    let chunk = names.iter().find(|name| name.contains("/chunk-")).expect("a part");
    let id = chunk.split('/').find_map(|part| part.parse().ok()).expect("an id");
    let content = futures::stream::iter([Ok(Bytes::from_static(b"HELLO"))]).boxed();
    let appended = other.staging().append(id, 0, content).await;
    assert!(matches!(appended, Err(storage_rs::backend::BackendError::Offset)), "{appended:?}");
    // A request that is repeated because its answer was lost has written it already.
    let content = futures::stream::iter([Ok(Bytes::from_static(b"hello"))]).boxed();
    let repeated = other.staging().append(id, 0, content).await;
    assert!(repeated.as_ref().is_ok_and(|appended| appended.size == 5), "{repeated:?}");
    assert_eq!(part("5", "world").await, StatusCode::NO_CONTENT);
    let read = api.send("GET", "/object/b/a.txt", Body::empty()).await;
    assert_eq!(*read.body(), Bytes::from_static(b"helloworld"));
}
