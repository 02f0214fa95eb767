//! The storage API of worlds: files of their own, their clock, their faults, and the buckets of the project.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row};

use super::bench::{TestServer, World};
use super::support::{Basalt, TempFolder};

async fn send(server: &TestServer, world: &World<'_>, method: Method, path: &str, body: &str) -> (u16, String) {
    let url = format!("{}/storage/v1{path}", world.text("url"));
    let kind = if path.starts_with("/object/sign") || path == "/bucket" { "application/json" } else { "text/plain" };
    let request = server.0.client.request(method, url).header("apikey", world.text("secret_key"));
    let answer = request.header("content-type", kind).body(body.to_owned()).send().await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("text"))
}

async fn upload(server: &TestServer, world: &World<'_>, name: &str, content: &str) {
    let (status, answer) = send(server, world, Method::POST, &format!("/object/papers/{name}"), content).await;
    assert_eq!(status, 200, "{answer}");
}

async fn read(server: &TestServer, world: &World<'_>, name: &str) -> Option<String> {
    let (status, content) = send(server, world, Method::GET, &format!("/object/papers/{name}"), "").await;
    (status == 200).then_some(content)
}

async fn create_bucket(server: &TestServer, world: &World<'_>) {
    let (status, answer) = send(server, world, Method::POST, "/bucket", r#"{"name": "papers"}"#).await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn worlds_have_files_of_their_own_and_forks_those_of_their_source() {
    let server = TestServer::start();
    let (world, other) = (server.world(json!({})).await, server.world(json!({})).await);
    create_bucket(&server, &world).await;
    create_bucket(&server, &other).await;
    upload(&server, &world, "a.txt", "first").await;
    assert_eq!(read(&server, &other, "a.txt").await, None);

    let (status, description) = world.call(Method::POST, "/fork", None).await;
    assert_eq!(status, 201, "{description}");
    let fork = server.described(description);
    assert_eq!(read(&server, &fork, "a.txt").await.as_deref(), Some("first"));
    assert_eq!(send(&server, &world, Method::PUT, "/object/papers/a.txt", "second").await.0, 200);
    assert_eq!(read(&server, &fork, "a.txt").await.as_deref(), Some("first"), "a fork keeps what it had");
    assert_eq!(send(&server, &world, Method::DELETE, "/object/papers/a.txt", "").await.0, 200);
    assert_eq!(read(&server, &world, "a.txt").await, None);
    assert_eq!(read(&server, &fork, "a.txt").await.as_deref(), Some("first"));
    upload(&server, &fork, "b.txt", "of the fork").await;
    assert_eq!(read(&server, &world, "b.txt").await, None);

    fork.ok(Method::POST, "/reset", None).await;
    assert_eq!(read(&server, &fork, "b.txt").await, None);
    create_bucket(&server, &fork).await;
    upload(&server, &fork, "b.txt", "again").await;
    assert_eq!(read(&server, &fork, "b.txt").await.as_deref(), Some("again"));
}

/// The number of stored files of all worlds.
async fn count_stored_files(server: &TestServer) -> usize {
    let mut database = PgConnection::connect(&server.0.text("database_url")).await.expect("connected");
    let statement = "SELECT current_setting('data_directory')";
    let folder: String = sqlx::raw_sql(statement).fetch_one(&mut database).await.expect("a row").get(0);
    let folder = std::path::Path::new(&folder).ancestors().map(|folder| folder.join("storage/objects"));
    let folder = folder.into_iter().find(|folder| folder.is_dir()).expect("the folder of stored files is there");
    let groups = std::fs::read_dir(folder).expect("a folder").flatten();
    groups.map(|group| std::fs::read_dir(group.path()).expect("a folder").count()).sum()
}

/// Waits until so many files are stored: those of dropped databases are deleted in the background.
async fn wait_for_stored_files(server: &TestServer, expected: usize) {
    let started = std::time::Instant::now();
    loop {
        let count = count_stored_files(server).await;
        if count == expected {
            return;
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{count} files, not {expected}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn file_is_deleted_when_no_world_and_no_snapshot_has_it() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    create_bucket(&server, &world).await;
    upload(&server, &world, "a.txt", "first").await;
    world.ok(Method::POST, "/snapshots/first", None).await;
    let (status, description) = world.call(Method::POST, "/fork", None).await;
    assert_eq!(status, 201, "{description}");
    let fork = server.described(description);
    assert_eq!(send(&server, &world, Method::PUT, "/object/papers/a.txt", "second").await.0, 200);
    upload(&server, &world, "b.txt", "other").await;
    assert_eq!(count_stored_files(&server).await, 3, "the fork and the snapshot have the first one");
    assert_eq!(send(&server, &world, Method::DELETE, "/object/papers/b.txt", "").await.0, 200);
    assert_eq!(count_stored_files(&server).await, 2);

    for _ in 0..5 {
        world.ok(Method::POST, "/snapshots/first/restore", None).await;
        assert_eq!(read(&server, &world, "a.txt").await.as_deref(), Some("first"));
        assert_eq!(send(&server, &world, Method::PUT, "/object/papers/a.txt", "again").await.0, 200);
    }
    wait_for_stored_files(&server, 2).await;
    world.ok(Method::POST, "/reset", None).await;
    wait_for_stored_files(&server, 1).await;
    assert_eq!(read(&server, &fork, "a.txt").await.as_deref(), Some("first"));
    fork.ok(Method::DELETE, "", None).await;
    assert_eq!(count_stored_files(&server).await, 1, "the snapshot has it");
    world.ok(Method::DELETE, "/snapshots/first", None).await;
    wait_for_stored_files(&server, 0).await;
}

#[tokio::test]
async fn signed_urls_expire_by_the_clock_of_the_world() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    create_bucket(&server, &world).await;
    upload(&server, &world, "a.txt", "signed").await;
    let (status, signed) =
        send(&server, &world, Method::POST, "/object/sign/papers/a.txt", r#"{"expiresIn": 60}"#).await;
    assert_eq!(status, 200, "{signed}");
    let signed: Value = serde_json::from_str(&signed).expect("JSON");
    let url = format!("{}/storage/v1{}", world.text("url"), signed["signedURL"].as_str().expect("a URL"));
    let status = async || server.0.client.get(&url).send().await.expect("an answer").status();
    assert_eq!(status().await, StatusCode::OK);
    world.ok(Method::POST, "/clock", Some(json!({"advance": "61s"}))).await;
    assert_eq!(status().await, StatusCode::BAD_REQUEST);
    world.ok(Method::POST, "/clock", Some(json!({"at": "2060-01-01T00:00:00Z"}))).await;
    assert_eq!(read(&server, &world, "a.txt").await.as_deref(), Some("signed"), "keys of the project stay valid");
}

#[tokio::test]
async fn faults_affect_the_storage_api() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    create_bucket(&server, &world).await;
    let rule = json!({"match": {"path": "/storage/v1/object/*"}, "do": {"status": 503}, "count": 1});
    world.ok(Method::POST, "/faults", Some(rule)).await;
    assert_eq!(send(&server, &world, Method::POST, "/object/papers/a.txt", "a").await.0, 503);
    upload(&server, &world, "a.txt", "a").await;

    world.ok(Method::POST, "/faults", Some(json!({"target": "database", "do": {"failure": "read_only"}}))).await;
    let (_, refused) = send(&server, &world, Method::POST, "/object/papers/b.txt", "b").await;
    assert!(refused.contains("DatabaseReadOnly"), "{refused}");
    assert_eq!(read(&server, &world, "a.txt").await.as_deref(), Some("a"), "reading goes on");
    world.ok(Method::DELETE, "/faults", None).await;
    upload(&server, &world, "b.txt", "b").await;
}

#[tokio::test]
async fn resumable_uploads_have_urls_below_the_world() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    create_bucket(&server, &world).await;
    let location = begin_upload(&server, &world).await;
    let url = format!("{}/storage/v1/upload/resumable", world.text("url"));
    assert!(location.starts_with(&url), "{location}");
    assert_eq!(continue_upload(&server, &world, &location).await, 204);
    assert_eq!(read(&server, &world, "tus.txt").await.as_deref(), Some("hello"));
}

/// Begins a resumable upload of five bytes and returns its URL.
async fn begin_upload(server: &TestServer, world: &World<'_>) -> String {
    let url = format!("{}/storage/v1/upload/resumable", world.text("url"));
    let create = server.0.client.post(&url).header("apikey", world.text("secret_key"));
    let create = create.header("tus-resumable", "1.0.0").header("upload-length", "5");
    let create = create.header("upload-metadata", "bucketName cGFwZXJz,objectName dHVzLnR4dA==").send().await;
    let created = create.expect("an answer");
    assert_eq!(created.status(), StatusCode::CREATED);
    created.headers()["location"].to_str().expect("text").to_owned()
}

async fn continue_upload(server: &TestServer, world: &World<'_>, url: &str) -> u16 {
    let part = server.0.client.patch(url).header("apikey", world.text("secret_key"));
    let part = part.header("tus-resumable", "1.0.0").header("upload-offset", "0");
    let part = part.header("content-type", "application/offset+octet-stream").body("hello").send().await;
    part.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn resumable_upload_belongs_to_its_world_and_ends_with_a_reset() {
    let server = TestServer::start();
    let (world, other) = (server.world(json!({})).await, server.world(json!({})).await);
    create_bucket(&server, &world).await;
    create_bucket(&server, &other).await;
    let location = begin_upload(&server, &world).await;
    let elsewhere = location.replace(world.text("url"), other.text("url"));
    assert_eq!(continue_upload(&server, &other, &elsewhere).await, 404, "another world");
    world.ok(Method::POST, "/reset", None).await;
    create_bucket(&server, &world).await;
    assert_eq!(continue_upload(&server, &world, &location).await, 404, "after a reset");
    assert_eq!(read(&server, &world, "tus.txt").await, None);
    let again = begin_upload(&server, &world).await;
    assert_eq!(continue_upload(&server, &world, &again).await, 204);
    assert_eq!(read(&server, &world, "tus.txt").await.as_deref(), Some("hello"));
}

#[tokio::test]
async fn refused_upload_in_a_world_names_the_missing_policies() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    create_bucket(&server, &world).await;
    let url = format!("{}/storage/v1/object/papers/a.txt", world.text("url"));
    let upload = server.0.client.post(url).header("apikey", world.text("publishable_key"));
    let answer = upload.header("content-type", "text/plain").body("a").send().await.expect("an answer");
    let refused: Value = answer.json().await.expect("JSON");
    assert_eq!(
        refused["hint"],
        "storage.object.upload needs policies on storage.objects for INSERT; anon has none for INSERT"
    );
}

#[tokio::test]
async fn worlds_begin_with_the_buckets_of_the_project() {
    let folder = TempFolder::new();
    std::fs::create_dir_all(folder.0.join("papers")).expect("a folder");
    folder.write("papers/a.txt", "of the project");
    let config = folder.write("config.toml", "[storage.buckets.papers]\npublic = true\nobjects_path = \"./papers\"\n");
    let server = TestServer(Basalt::serve(&["--test", "--config", &config]));
    let world = server.world(json!({})).await;
    let public = |url: &str| server.0.client.get(format!("{url}/storage/v1/object/public/papers/a.txt")).send();
    let own = server.0.text("url");
    for url in [world.text("url"), own.as_str()] {
        let answer = public(url).await.expect("an answer");
        assert_eq!(answer.text().await.expect("text"), "of the project", "{url}");
    }
    assert_eq!(send(&server, &world, Method::DELETE, "/object/papers/a.txt", "").await.0, 200);
    world.ok(Method::POST, "/reset", None).await;
    let answer = public(world.text("url")).await.expect("an answer");
    assert_eq!(answer.text().await.expect("text"), "of the project", "after a reset");
}
