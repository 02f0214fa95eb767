//! A database per test, cloned from a template that is migrated once in a test process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Row};
use tokio::sync::OnceCell;

use super::postgres::Postgres;
use crate::store::migrate;

static SERVER: OnceCell<Postgres> = OnceCell::const_new();
static NUMBER: AtomicUsize = AtomicUsize::new(0);
const TEMPLATE: &str = "template_basalt";

/// A database that no other test sees.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    name: String,
    admin: PgConnectOptions,
}

impl TestDatabase {
    /// A clone of the migrated template: schema `auth` and schema `basalt`, both empty.
    pub async fn migrated() -> Self {
        Self::cloned(TEMPLATE).await
    }

    /// A database without anything of ours but the roles.
    pub async fn empty() -> Self {
        Self::cloned("template0").await
    }

    async fn cloned(template: &str) -> Self {
        let server = SERVER.get_or_init(prepared).await;
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let admin = superuser(server, "postgres");
        let mut connection = PgConnection::connect_with(&admin).await.expect("the test server answers");
        let sql = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("a database can be cloned");
        Self { admin: admin.database(&name), name }
    }

    /// How a superuser connects.
    pub fn admin_options(&self) -> PgConnectOptions {
        self.admin.clone()
    }

    /// A connection URL of the auth server's own role.
    pub fn url(&self) -> String {
        let folder = self.admin.get_socket().map(|it| it.display().to_string()).unwrap_or_default();
        format!("postgres://supabase_auth_admin@localhost/{}?host={folder}", self.name)
    }

    /// A pool as the auth server opens it: its own role, its schema on the search path.
    pub async fn pool(&self) -> PgPool {
        self.pool_within(Duration::ZERO, 8).await
    }

    /// The same of so many connections, where no statement takes longer than that; zero: as long as it likes.
    pub async fn pool_within(&self, deadline: Duration, connections: u32) -> PgPool {
        let options = self.admin.clone().username("supabase_auth_admin");
        let deadline = deadline.as_millis().to_string();
        let options = options.options([("search_path", "auth"), ("statement_timeout", &*deadline)]);
        let pool = PgPoolOptions::new().max_connections(connections).test_before_acquire(false);
        pool.connect_with(options).await.expect("the test server answers")
    }

    /// Runs SQL as a superuser, behind the server's back; answers each row's first column as text.
    pub async fn query(&self, sql: &str) -> Vec<String> {
        let mut connection = PgConnection::connect_with(&self.admin).await.expect("the test server answers");
        let wrapped = if sql.trim_start().to_ascii_lowercase().starts_with("select") {
            format!("SELECT (t.c)::text FROM ({sql}) AS t (c)")
        } else {
            sql.to_owned()
        };
        let rows =
            sqlx::raw_sql(AssertSqlSafe(wrapped)).fetch_all(&mut connection).await.expect("the test's SQL is right");
        rows.iter().map(|row| row.try_get::<Option<String>, _>(0).ok().flatten().unwrap_or_default()).collect()
    }
}

fn superuser(server: &Postgres, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass().socket(server.socket_folder()).username("postgres").database(database)
}

async fn prepared() -> Postgres {
    let server = tokio::task::spawn_blocking(Postgres::start).await.expect("PostgreSQL starts");
    let admin = superuser(&server, "postgres");
    let mut connection = PgConnection::connect_with(&admin).await.expect("the test server answers");
    let sql = format!("CREATE DATABASE {TEMPLATE}");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("a database can be made");
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(admin.database(TEMPLATE));
    migrate::roles(&pool, "secret").await.expect("roles can be made");
    migrate::auth(&pool, "auth").await.expect("schema auth can be made");
    migrate::basalt(&pool).await.expect("schema basalt can be made");
    pool.close().await;
    server
}
