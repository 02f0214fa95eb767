//! Selection of the database: the option, else the environment; `--ephemeral` ignores the environment.

use sqlx::{Connection, PgConnection, Row};

use super::support::{Basalt, TempFolder, basalt};

/// A server whose PostgreSQL also contains an application's database.
struct ApplicationDatabase {
    _server: Basalt,
    url: String,
}

impl ApplicationDatabase {
    async fn new() -> Self {
        let server = Basalt::serve(&["--ephemeral"]);
        let own = server.text("database_url");
        let mut db = PgConnection::connect(&own).await.expect("connected");
        sqlx::query("CREATE DATABASE application").execute(&mut db).await.expect("a database");
        let url = own.strip_suffix("/postgres").map(|rest| format!("{rest}/application")).expect("a URL");
        Self { _server: server, url }
    }

    /// Returns the schemas of Basalt in the application's database.
    async fn schemas(&self) -> Vec<String> {
        let mut db = PgConnection::connect(&self.url).await.expect("connected");
        let sql = "SELECT nspname::text FROM pg_namespace WHERE nspname IN ('auth', 'basalt') ORDER BY 1";
        let rows = sqlx::query(sql).fetch_all(&mut db).await.expect("schemas");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

#[tokio::test]
async fn ephemeral_server_ignores_database_of_environment() {
    let application = ApplicationDatabase::new().await;
    let server = Basalt::serve_with(&["--ephemeral"], &[("DATABASE_URL", &application.url)]);
    assert_ne!(server.text("database_url"), application.url);
    assert_eq!(application.schemas().await, Vec::<String>::new());
    drop(server);

    let scratch = TempFolder::new();
    scratch.write(".env", &format!("DATABASE_URL={}\n", application.url));
    let server = Basalt::start(basalt().current_dir(&scratch.0), &["--ephemeral"]);
    assert_ne!(server.text("database_url"), application.url);
    assert_eq!(application.schemas().await, Vec::<String>::new());
}

#[tokio::test]
async fn database_option_overrides_ephemeral_and_environment() {
    let application = ApplicationDatabase::new().await;
    let nowhere = [("DATABASE_URL", "postgresql://127.0.0.1:9/nowhere")];
    let server = Basalt::serve_with(&["--ephemeral", "--database-url", &application.url], &nowhere);
    assert_eq!(server.text("database_url"), application.url);
    assert_eq!(application.schemas().await, ["auth", "basalt"]);
}

#[tokio::test]
async fn persistent_server_uses_database_of_environment() {
    let (application, scratch) = (ApplicationDatabase::new().await, TempFolder::new());
    let server = Basalt::serve_with(&["--data", &scratch.path("data")], &[("DATABASE_URL", &application.url)]);
    assert_eq!(server.text("database_url"), application.url);
    assert_eq!(application.schemas().await, ["auth", "basalt"]);
}
