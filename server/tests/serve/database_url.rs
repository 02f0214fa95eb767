//! Which database is taken: the option, else the environment, and with `--ephemeral` never what only the environment names.

use sqlx::{Connection, PgConnection, Row};

use super::support::{Basalt, Scratch, basalt};

/// A server in whose place of data there is an application's database too.
struct Place {
    _server: Basalt,
    url: String,
}

impl Place {
    async fn new() -> Self {
        let server = Basalt::serve(&["--ephemeral"]);
        let own = server.text("database_url");
        let mut db = PgConnection::connect(&own).await.expect("connected");
        sqlx::query("CREATE DATABASE application").execute(&mut db).await.expect("a database");
        let url = own.strip_suffix("/postgres").map(|rest| format!("{rest}/application")).expect("a URL");
        Self { _server: server, url }
    }

    /// The schemas of the application's database that are ours.
    async fn schemas(&self) -> Vec<String> {
        let mut db = PgConnection::connect(&self.url).await.expect("connected");
        let sql = "SELECT nspname::text FROM pg_namespace WHERE nspname IN ('auth', 'basalt') ORDER BY 1";
        let rows = sqlx::query(sql).fetch_all(&mut db).await.expect("schemas");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

#[tokio::test]
async fn an_ephemeral_server_leaves_a_database_alone_that_only_the_environment_names() {
    let place = Place::new().await;
    let server = Basalt::serve_with(&["--ephemeral"], &[("DATABASE_URL", &place.url)]);
    assert_ne!(server.text("database_url"), place.url);
    assert_eq!(place.schemas().await, Vec::<String>::new());
    drop(server);

    let scratch = Scratch::new();
    scratch.write(".env", &format!("DATABASE_URL={}\n", place.url));
    let server = Basalt::start(basalt().current_dir(&scratch.0), &["--ephemeral"]);
    assert_ne!(server.text("database_url"), place.url);
    assert_eq!(place.schemas().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_explicit_option_counts_with_ephemeral_too_and_goes_before_the_environment() {
    let place = Place::new().await;
    let nowhere = [("DATABASE_URL", "postgresql://127.0.0.1:9/nowhere")];
    let server = Basalt::serve_with(&["--ephemeral", "--database-url", &place.url], &nowhere);
    assert_eq!(server.text("database_url"), place.url);
    assert_eq!(place.schemas().await, ["auth", "basalt"]);
}

#[tokio::test]
async fn the_environment_names_the_database_of_a_server_that_lasts() {
    let (place, scratch) = (Place::new().await, Scratch::new());
    let server = Basalt::serve_with(&["--data", &scratch.path("data")], &[("DATABASE_URL", &place.url)]);
    assert_eq!(server.text("database_url"), place.url);
    assert_eq!(place.schemas().await, ["auth", "basalt"]);
}
