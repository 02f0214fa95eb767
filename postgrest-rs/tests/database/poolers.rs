//! APIs behind pgbouncer in transaction mode: each transaction runs on another session of the database.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::testing::postgres::{create_folder, run_as_postgres};
use postgrest_rs::service::DataApi;

use crate::api::{TestApi, get, sources, text};
use crate::cluster::cluster;

/// A running pgbouncer, which ends with the value.
struct Pgbouncer {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Pgbouncer {
    /// Starts one with so many sessions of the database.
    fn start(sessions: u16) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = create_folder(&format!("pooler-{port}"));
        let behind = cluster();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = trust\nauth_file = {}/users\npool_mode = transaction\ndefault_pool_size = {sessions}\n\
             unix_socket_dir =\n",
            behind.port,
            folder.display(),
        );
        fs::write(folder.join("pgbouncer.ini"), settings).unwrap();
        fs::write(folder.join("users"), "\"api_login\" \"\"\n").unwrap();
        let program =
            ["/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].into_iter().find(|path| Path::new(path).exists());
        let mut command = run_as_postgres(program.unwrap_or("pgbouncer"));
        command.arg(folder.join("pgbouncer.ini")).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("pgbouncer starts: tools/need.sh pgbouncer installs it");
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(10), "pgbouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, folder, port }
    }
}

impl Drop for Pgbouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const ITEMS: &str = "CREATE TABLE items (id int PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 20) n;
    CREATE FUNCTION prepared() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_prepared_statements $$;";

/// An API over the pooler.
async fn behind(pooler: &Pgbouncer, database: &TestApi, settings: &[(&str, &str)]) -> Arc<DataApi> {
    let uri = format!("postgresql://api_login@127.0.0.1:{}/{}", pooler.port, database.name);
    let api = DataApi::new(sources(uri, &[&[("db-pool", "8")], settings].concat())).unwrap();
    api.reload_config(None).await.unwrap();
    api.reload_schema().await.unwrap();
    api
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pooler_in_transaction_mode_is_recognised_and_nothing_is_prepared() {
    let database = TestApi::start(ITEMS, &[]).await;
    let pooler = Pgbouncer::start(2);
    // Two replicas, whose prepared statements would have the same names.
    let replicas = [behind(&pooler, &database, &[]).await, behind(&pooler, &database, &[]).await];
    for round in 0..6 {
        let requests = (0..40).map(|number| {
            let api = Arc::clone(&replicas[number % 2]);
            let id = number % 20 + 1;
            let target = match (number + round) % 3 {
                0 => format!("/items?id=eq.{id}&select=id,name"),
                1 => format!("/items?name=eq.item%20{id}&select=id,name"),
                _ => format!("/items?id=gte.{id}&limit=1&order=id&select=id,name"),
            };
            async move {
                let answer = get(&api, &target).await;
                assert_eq!(answer.status(), 200, "{target}: {}", text(&answer));
                assert_eq!(text(&answer), format!("[{{\"id\":{id},\"name\":\"item {id}\"}}]"), "{target}");
            }
        });
        futures::future::join_all(requests).await;
    }
    assert_eq!(text(&get(&replicas[0], "/rpc/prepared").await), "0");
    // Without a pooler between, statements are prepared.
    for _ in 0..3 {
        database.get("/items?id=eq.1").await;
    }
    assert_ne!(text(&database.get("/rpc/prepared").await), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_and_claims_stay_with_their_request_behind_a_pooler() {
    const SECRET: &str = "a secret of at least thirty-two characters";
    let objects = "CREATE FUNCTION who() RETURNS text LANGUAGE sql AS $$
        SELECT current_user || ' ' || (current_setting('request.jwt.claims')::json ->> 'sub') $$;";
    let database = TestApi::start(objects, &[]).await;
    let pooler = Pgbouncer::start(1);
    let api = behind(&pooler, &database, &[("jwt-secret", SECRET)]).await;
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes());
    let calls = (0..60).map(|number| {
        let claims = serde_json::json!({"role": "api_anonymous", "sub": number.to_string()});
        let token = jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap();
        let request = http::Request::get("/rpc/who").header("authorization", format!("Bearer {token}"));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let api = Arc::clone(&api);
        async move {
            let answer = crate::api::collect(api.handle(&parts, bytes::Bytes::new()).await).await;
            assert_eq!(text(&answer), format!("\"api_anonymous {number}\""));
        }
    });
    futures::future::join_all(calls).await;
}
