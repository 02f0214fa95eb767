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
use storage_rs::config::S3BackendSettings;
use storage_rs::service::Clock;
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
