//! Files of the storage API behind the S3 protocol: another server is the store.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::storage_server::StorageServer;
use crate::support::{Basalt, TempFolder};

const KEY_ID: &str = "store-access-key";
const SECRET: &str = "store-secret-key-0123456789";

/// A server whose bucket `files` keeps the files of others.
struct Store {
    server: Basalt,
    _folder: TempFolder,
}

impl Store {
    async fn start() -> Self {
        let folder = TempFolder::new();
        let settings =
            format!("[basalt.storage]\ns3_access_key_id = \"{KEY_ID}\"\ns3_secret_access_key = \"{SECRET}\"\n");
        let config = folder.write("config.toml", &settings);
        let server = Basalt::serve(&["--ephemeral", "--config", &config]);
        let request = server.client.post(server.url("/storage/v1/bucket")).header("apikey", server.text("secret_key"));
        let created = request.json(&json!({"name": "files"})).send().await.expect("a response");
        assert_eq!(created.status(), StatusCode::OK);
        Self { server, _folder: folder }
    }

    fn endpoint(&self) -> String {
        self.server.url("/storage/v1/s3")
    }

    /// The environment of a server with its files here.
    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("STORAGE_BACKEND", "s3".to_owned()),
            ("STORAGE_S3_BUCKET", "files".to_owned()),
            ("STORAGE_S3_ENDPOINT", self.endpoint()),
            ("STORAGE_S3_FORCE_PATH_STYLE", "true".to_owned()),
            ("STORAGE_S3_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// The names of the objects in the bucket.
    async fn names(&self) -> Vec<String> {
        let mut database = PgConnection::connect(&self.server.text("database_url")).await.expect("a connection");
        let names = "SELECT name FROM storage.objects ORDER BY name";
        sqlx::query_scalar(names).fetch_all(&mut database).await.expect("names")
    }
}

#[tokio::test]
async fn two_servers_share_a_bucket_and_a_database() {
    let (store, owner) = (Store::start().await, Basalt::serve(&["--ephemeral"]));
    let (first, second) =
        (StorageServer::start(&owner, store.variables()).await, StorageServer::start(&owner, store.variables()).await);
    let body = json!({"name": "papers"});
    let created = first.request(Method::POST, "/bucket").json(&body).send().await.expect("a response");
    assert_eq!(created.status(), StatusCode::OK);

    assert_eq!(first.send(Method::POST, "/object/papers/a.txt", "one").await.status(), StatusCode::OK);
    assert_eq!(second.read("/object/papers/a.txt").await, (StatusCode::OK, "one".to_owned()));
    assert_eq!(second.send(Method::PUT, "/object/papers/a.txt", "two").await.status(), StatusCode::OK);
    assert_eq!(first.read("/object/papers/a.txt").await, (StatusCode::OK, "two".to_owned()));
    assert_eq!(store.names().await.len(), 1, "the file of the version before is deleted");

    let uploads = (0..6).map(|number| {
        let server = if number % 2 == 0 { &first } else { &second };
        async move { server.send(Method::POST, "/object/papers/b.txt", format!("by {number}")).await.status() }
    });
    let statuses = futures::future::join_all(uploads).await;
    let won = statuses.iter().filter(|status| **status == StatusCode::OK).count();
    assert_eq!(won, 1, "one of six uploads of a new name wins: {statuses:?}");
    assert_eq!(first.read("/object/papers/b.txt").await, second.read("/object/papers/b.txt").await);
    assert_eq!(store.names().await.len(), 2, "the files of the others are deleted");

    assert_eq!(second.send(Method::DELETE, "/object/papers/a.txt", "").await.status(), StatusCode::OK);
    assert_eq!(first.read("/object/papers/a.txt").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(store.names().await.len(), 1);
}

#[tokio::test]
async fn resumable_upload_goes_on_at_another_server() {
    let (store, owner) = (Store::start().await, Basalt::serve(&["--ephemeral"]));
    let (first, second) =
        (StorageServer::start(&owner, store.variables()).await, StorageServer::start(&owner, store.variables()).await);
    let body = json!({"name": "papers"});
    assert!(first.request(Method::POST, "/bucket").json(&body).send().await.expect("a response").status().is_success());
    let create = first.request(Method::POST, "/upload/resumable").header("tus-resumable", "1.0.0");
    let create = create.header("upload-metadata", "bucketName cGFwZXJz,objectName dHVzLnR4dA==");
    let created = create.header("upload-length", "10").send().await.expect("a response");
    assert_eq!(created.status(), StatusCode::CREATED);
    let location = created.headers()["location"].to_str().expect("text");
    let path = location.strip_prefix(first.url.as_str()).expect("a URL of the first server").to_owned();
    for (server, offset, part) in [(&first, "0", "hello"), (&second, "5", "world")] {
        let request = server.request(Method::PATCH, &path).header("tus-resumable", "1.0.0");
        let request = request.header("upload-offset", offset).header("content-type", "application/offset+octet-stream");
        assert_eq!(request.body(part).send().await.expect("a response").status(), StatusCode::NO_CONTENT, "{offset}");
    }
    assert_eq!(first.read("/object/papers/tus.txt").await, (StatusCode::OK, "helloworld".to_owned()));
}

#[tokio::test]
async fn serve_keeps_files_in_the_bucket_of_its_settings() {
    let store = Store::start().await;
    let folder = TempFolder::new();
    let settings = format!(
        "[basalt.storage]\nbucket = \"files\"\nbucket_endpoint = \"{}\"\nbucket_path_style = true\n\
         bucket_access_key_id = \"{KEY_ID}\"\nbucket_secret_access_key = \"{SECRET}\"\n[storage.buckets.images]\npublic = true\n",
        store.endpoint()
    );
    let config = folder.write("config.toml", &settings);
    let data = folder.path("data");
    let server = Basalt::serve(&["--data", &data, "--config", &config]);
    let url = server.url("/storage/v1/object/images/a.txt");
    let mut answer = Value::Null;
    // The bucket of the project is created after the start.
    for _ in 0..100 {
        let request = server.client.post(&url).header("apikey", server.text("secret_key"));
        let response = request.header("content-type", "text/plain").body("kept").send().await.expect("a response");
        let status = response.status();
        answer = response.json().await.expect("JSON");
        if status == StatusCode::OK {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(answer["Key"], "images/a.txt", "{answer}");
    let read = server.client.get(server.url("/storage/v1/object/public/images/a.txt")).send().await;
    assert_eq!(read.expect("a response").text().await.expect("text"), "kept");
    let names = store.names().await;
    assert!(names.len() == 1 && names[0].starts_with("stub/images/a.txt/"), "{names:?}");
    assert!(!std::path::Path::new(&data).join("storage").exists(), "no file is in the data folder");
}
