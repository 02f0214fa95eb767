//! A database per test, cloned from a template that is filled once per test process.
//!
//! A database is dropped when the thread that cloned it ends, which is when its test ends: all tests together would
//! otherwise hold some seventeen gigabytes on disk.

use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Row};
use tokio::sync::OnceCell;

use super::postgres::{PostgresServer, create_folder};
use crate::store::{Pool, PoolOptions, SessionSettings, migrate};

static SERVER: OnceCell<PostgresServer> = OnceCell::const_new();
static NUMBER: AtomicUsize = AtomicUsize::new(0);
/// Roles and schema `basalt`.
static BASALT: DatabaseTemplate = DatabaseTemplate::new("template_basalt", |pool| Box::pin(fill_basalt(pool)));

thread_local! {
    /// The databases of the test that runs on this thread.
    static CLONES: RefCell<Clones> = RefCell::default();
}

/// Drops the databases whose names it receives.
static DROPPER: LazyLock<Mutex<Sender<PgConnectOptions>>> = LazyLock::new(|| {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || drop_databases(&receiver));
    Mutex::new(sender)
});

/// The databases that one thread has cloned; they are dropped with it.
#[derive(Default)]
struct Clones(Vec<PgConnectOptions>);

impl Drop for Clones {
    fn drop(&mut self) {
        let Ok(sender) = DROPPER.lock() else { return };
        for database in self.0.drain(..) {
            // The receiver ends with the process only.
            let _ = sender.send(database);
        }
    }
}

/// Drops databases one after the other; sessions that a test left open are terminated.
fn drop_databases(databases: &Receiver<PgConnectOptions>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    for database in databases {
        let name = database.get_database().unwrap_or_default().to_owned();
        let dropped = runtime.block_on(async {
            let mut connection = PgConnection::connect_with(&database.database("postgres")).await?;
            sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")))
                .execute(&mut connection)
                .await
        });
        if let Err(error) = dropped {
            // The server has stopped, or a test has taken rights from the superuser: the folder goes at the end.
            let _ = writeln!(std::io::stderr(), "{name} was not dropped: {error}");
        }
    }
}

/// A database that is filled once and copied for each test.
#[derive(Debug)]
pub struct DatabaseTemplate {
    name: &'static str,
    fill: fn(PgPool) -> BoxFuture<'static, ()>,
    is_filled: OnceCell<()>,
}

impl DatabaseTemplate {
    /// Declares a template: its name, and the function that fills it as a superuser; the roles exist.
    pub const fn new(name: &'static str, fill: fn(PgPool) -> BoxFuture<'static, ()>) -> Self {
        Self { name, fill, is_filled: OnceCell::const_new() }
    }

    async fn prepare(&self, server: &PostgresServer) {
        self.is_filled
            .get_or_init(|| async {
                let admin = superuser(server, "postgres");
                let mut connection = PgConnection::connect_with(&admin).await.expect("the test server answers");
                let sql = format!("CREATE DATABASE {}", self.name);
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("a database can be made");
                let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(admin.database(self.name));
                (self.fill)(pool.clone()).await;
                pool.close().await;
            })
            .await;
    }
}

/// A database that no other test uses.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    name: String,
    admin: PgConnectOptions,
}

impl TestDatabase {
    /// A clone of a database with an empty schema `basalt` and no other.
    pub async fn clone_basalt() -> Self {
        Self::clone_template(&BASALT).await
    }

    /// A clone of the template, which is filled first if it is not yet.
    pub async fn clone_template(template: &DatabaseTemplate) -> Self {
        template.prepare(SERVER.get_or_init(start_server).await).await;
        Self::clone_from(template.name).await
    }

    /// A database without schemas of the server; the roles exist.
    pub async fn clone_empty() -> Self {
        Self::clone_from("template0").await
    }

    async fn clone_from(template: &str) -> Self {
        let server = SERVER.get_or_init(start_server).await;
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let admin = superuser(server, "postgres");
        let mut connection = PgConnection::connect_with(&admin).await.expect("the test server answers");
        let sql = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("a database can be cloned");
        let admin = admin.database(&name);
        CLONES.with_borrow_mut(|clones| clones.0.push(admin.clone()));
        Self { name, admin }
    }

    /// The connection options of a superuser.
    pub fn admin_options(&self) -> PgConnectOptions {
        self.admin.clone()
    }

    /// A connection URL of the auth server's own role.
    pub fn url(&self) -> String {
        let folder = self.admin.get_socket().map(|socket| socket.display().to_string()).unwrap_or_default();
        format!("postgres://supabase_auth_admin@localhost/{}?host={folder}", self.name)
    }

    /// The auth server's own pool, of eight connections.
    pub fn auth_pool(&self) -> Pool {
        Pool::new(self.pool_options(Duration::ZERO).with_max_connections(8))
    }

    /// An sqlx pool with the role and the search path of the auth server, for statements of the test.
    pub async fn pool(&self) -> PgPool {
        let options = session(Duration::ZERO).apply(self.pool_options(Duration::ZERO).connect);
        let pool = PgPoolOptions::new().max_connections(8).test_before_acquire(false);
        pool.connect_with(options).await.expect("the test server answers")
    }

    /// The pool options of the auth server; `deadline` is the statement timeout, zero for none.
    pub fn pool_options(&self, deadline: Duration) -> PoolOptions {
        PoolOptions::new(self.admin.clone().username("supabase_auth_admin")).with_session(session(deadline))
    }

    /// Runs SQL as a superuser and returns the first column of each row as text.
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

/// The settings of the auth server's transactions.
fn session(deadline: Duration) -> SessionSettings {
    SessionSettings { search_path: "auth".to_owned(), statement_timeout: deadline }
}

fn superuser(server: &PostgresServer, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass().socket(server.folder()).username("postgres").database(database)
}

async fn start_server() -> PostgresServer {
    let start = || PostgresServer::start(create_folder("shared"), &["listen_addresses=", "shared_buffers=64MB"]);
    let server = tokio::task::spawn_blocking(start).await.expect("PostgreSQL starts");
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(superuser(&server, "postgres"));
    migrate::create_roles(&pool, "secret").await.expect("roles can be made");
    pool.close().await;
    server
}

async fn fill_basalt(pool: PgPool) {
    migrate::migrate_basalt(&pool).await.expect("schema basalt can be made");
}
