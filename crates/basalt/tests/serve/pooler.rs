//! Servers behind pgbouncer in transaction mode.

use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::support::{Basalt, Gotrue, TempFolder, basalt, free_port};

/// The keys of both servers.
const SHARED_KEYS: &str = r#"
[auth]
jwt_secret = "a secret that both servers of the test have"
publishable_key = "sb_publishable_0123456789abcdefghijkl"
secret_key = "sb_secret_0123456789abcdefghijkl"
external_url = "http://127.0.0.1:9"
"#;
/// The user that runs pgbouncer if the tests run as root, which pgbouncer refuses.
const UNPRIVILEGED_ID: u32 = 65534;

/// pgbouncer with its default settings in front of a database.
pub(super) struct Pgbouncer {
    process: Child,
    port: u16,
    _folder: TempFolder,
}

impl Pgbouncer {
    /// Starts it in a mode of pooling, with so many connections to the database.
    pub(super) fn start(mode: &str, connections: u16, database_url: &str) -> Self {
        Self::start_with(mode, connections, database_url, "")
    }

    /// The same with more settings.
    fn start_with(mode: &str, connections: u16, database_url: &str, further: &str) -> Self {
        let (folder, port) = (TempFolder::new(), free_port());
        let url = url::Url::parse(database_url).expect("a URL");
        let (host, behind) = (url.host_str().expect("a host"), url.port().expect("a port"));
        let (user, password) = (url.username(), url.password().expect("a password"));
        let settings = format!(
            "[databases]\npostgres = host={host} port={behind} user={user} password={password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = {mode}\n\
             default_pool_size = {connections}\nunix_socket_dir =\n{further}"
        );
        let file = folder.write("pgbouncer.ini", &settings);
        let mut command = Command::new("pgbouncer");
        if rustix::process::geteuid().is_root() {
            chown(&folder.0, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).expect("root may give folders away");
            command.uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
        }
        let process = command.arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.expect("pgbouncer starts: tools/need.sh pgbouncer installs it");
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(10), "pgbouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, port, _folder: folder }
    }

    /// Returns a URL of the database with more parameters.
    pub(super) fn url(&self, parameters: &str) -> String {
        format!("postgresql://supabase_auth_admin@127.0.0.1:{}/postgres{parameters}", self.port)
    }
}

impl Drop for Pgbouncer {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::KILL);
        drop(self.process.wait());
    }
}

/// A cluster that is reached by TCP, as pgbouncer's default.
fn start_database() -> (Basalt, String) {
    let server = Basalt::serve(&["--test"]);
    let url = server.text("database_url_tcp");
    (server, url)
}

/// Signs a user up, in and out at one server and uses the tokens at another.
async fn sign_up_and_refresh(first: &Basalt, second: &Basalt, number: usize) {
    let email = format!("user{number}@example.com");
    let credentials = json!({ "email": email, "password": "a long password", "data": { "name": "O'Neil \\ \"é\"" } });
    let (status, created) = first.auth("/signup", Some(credentials.clone())).await;
    assert_eq!((status, created["user"]["email"].as_str()), (200, Some(email.as_str())), "{created}");
    assert_eq!(created["user"]["user_metadata"]["name"], "O'Neil \\ \"é\"");
    let (status, mut session) = second.auth("/token?grant_type=password", Some(credentials)).await;
    assert_eq!(status, 200, "{session}");
    for server in [first, second, first, second] {
        let token = json!({ "refresh_token": session["refresh_token"] });
        let (status, next) = server.auth("/token?grant_type=refresh_token", Some(token)).await;
        assert_eq!((status, next["user"]["email"].as_str()), (200, Some(email.as_str())), "{next}");
        session = next;
    }
    let user = get(second, "/user", session["access_token"].as_str().expect("a token")).await;
    assert_eq!(user["id"], created["user"]["id"]);
}

async fn get(server: &Basalt, path: &str, token: &str) -> Value {
    let request = server.client.get(server.url(&format!("/auth/v1{path}")));
    let answer = request.header("apikey", server.text("publishable_key")).bearer_auth(token).send().await;
    answer.expect("an answer").json().await.expect("JSON")
}

async fn list_users(server: &Basalt) -> Vec<Value> {
    let request = server.client.get(server.url("/auth/v1/admin/users?per_page=100"));
    let answer = request.header("apikey", server.text("secret_key")).send().await.expect("an answer");
    let page: Value = answer.json().await.expect("JSON");
    page["users"].as_array().cloned().unwrap_or_default()
}

async fn run_two_servers(mode: &str, connections: u16) {
    let (_cluster, direct) = start_database();
    let pooler = Pgbouncer::start(mode, connections, &direct);
    let folder = TempFolder::new();
    let config = folder.write("config.toml", SHARED_KEYS);
    let arguments = ["--ephemeral", "--config", &config, "--database-url", &pooler.url("")];
    let (first, second) = (Basalt::serve(&arguments), Basalt::serve(&arguments));
    let users = (0..6).map(|number| sign_up_and_refresh(&first, &second, number));
    futures::future::join_all(users).await;
    let (of_first, of_second) = (list_users(&first).await, list_users(&second).await);
    assert_eq!((of_first.len(), of_second.len()), (6, 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_work_behind_pgbouncer_in_transaction_mode() {
    run_two_servers("transaction", 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_work_behind_pgbouncer_in_session_mode() {
    run_two_servers("session", 20).await;
}

/// Returns whether the installed pgbouncer keeps prepared statements of clients: 1.21 does, 1.18 of Debian 12 does not.
fn keeps_prepared_statements() -> bool {
    let output = Command::new("pgbouncer").arg("--version").output().expect("pgbouncer is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(1).expect("a version");
    let numbers: Vec<u32> = version.split('.').filter_map(|number| number.parse().ok()).collect();
    numbers.as_slice() >= [1, 21].as_slice()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_api_behind_pgbouncer_prepares_as_the_settings_say() {
    const OBJECTS: &str = "CREATE ROLE api_login LOGIN NOINHERIT PASSWORD 'secret'; GRANT anon TO api_login;
        CREATE TABLE public.things (id int PRIMARY KEY); INSERT INTO public.things SELECT generate_series(1, 40);
        CREATE FUNCTION public.prepared() RETURNS text[] LANGUAGE sql
            AS $$ SELECT coalesce(array_agg(name || ': ' || statement), '{}') FROM pg_catalog.pg_prepared_statements $$;
        GRANT USAGE ON SCHEMA public TO anon; GRANT SELECT ON public.things TO anon;";
    let (cluster, direct) = start_database();
    let mut db = PgConnection::connect(&cluster.text("database_url")).await.expect("connected");
    sqlx::raw_sql(OBJECTS).execute(&mut db).await.expect("the objects");
    let mut login = url::Url::parse(&direct).expect("a URL");
    login.set_username("api_login").expect("a user");
    login.set_password(Some("secret")).expect("a password");
    let mut cases = vec![("", "", false), ("prepared_statements = false\n", "", false)];
    if keeps_prepared_statements() {
        cases.push(("prepared_statements = true\n", "max_prepared_statements = 100\n", true));
    } else {
        eprintln!("LEFT OUT: prepared_statements = true behind a pooler needs pgbouncer 1.21 or later");
    }
    for (setting, of_pooler, prepares) in cases {
        let pooler = Pgbouncer::start_with("transaction", 2, login.as_str(), of_pooler);
        let folder = TempFolder::new();
        let behind = pooler.url("");
        let lines = format!("[basalt.data_api]\ndatabase_url = \"{behind}\"\n{setting}");
        let config = folder.write("config.toml", &format!("{SHARED_KEYS}{lines}"));
        let server = Basalt::serve(&["--ephemeral", "--config", &config, "--database-url", &direct]);
        let key = server.text("publishable_key");
        let get = async |path: String| {
            let request = server.client.get(server.url(&format!("/rest/v1{path}"))).header("apikey", &key);
            let answer = request.send().await.expect("an answer");
            (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
        };
        for _ in 0..4 {
            let reads = (1..=40).map(|id| {
                let get = &get;
                async move { assert_eq!(get(format!("/things?id=eq.{id}")).await, (200, json!([{ "id": id }]))) }
            });
            futures::future::join_all(reads).await;
        }
        let (status, prepared) = get("/rpc/prepared".to_owned()).await;
        let is_prepared = prepared != json!([]);
        assert_eq!((status, is_prepared), (200, prepares), "{setting}{prepared}");
    }
}

/// Removes one index for searching users and makes another one invalid, as after an interruption.
async fn damage_indexes(db: &mut PgConnection) {
    let sql = "DROP INDEX IF EXISTS auth.idx_users_name;
        UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'auth.idx_users_email'::regclass";
    sqlx::raw_sql(sql).execute(db).await.expect("damaged");
}

/// Waits until all indexes are valid, and asserts that no lock is left.
async fn assert_indexes_are_created(db: &mut PgConnection) {
    let sql = "SELECT count(*) FROM pg_index WHERE indexrelid::regclass::text LIKE 'auth.idx_users_%'
               AND indisvalid AND indisready";
    let started = Instant::now();
    while sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut *db).await.expect("a number") < 4 {
        assert!(started.elapsed() < Duration::from_secs(10), "the indexes are not created");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let left = "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')
                     + (SELECT count(*) FROM basalt.leases WHERE name = 'indexes')";
    while sqlx::query_scalar::<_, i64>(left).fetch_one(&mut *db).await.expect("a number") > 0 {
        assert!(started.elapsed() < Duration::from_secs(10), "a lock is left");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_creates_indexes_behind_pgbouncer_in_transaction_mode() {
    let (cluster, direct) = start_database();
    let mut db = PgConnection::connect(&cluster.text("database_url")).await.expect("connected");
    damage_indexes(&mut db).await;
    // One connection suffices: the lease is no session.
    let pooler = Pgbouncer::start("transaction", 1, &direct);
    let folder = TempFolder::new();
    let config = folder.write("config.toml", SHARED_KEYS);
    let arguments = ["--ephemeral", "--config", &config, "--database-url", &pooler.url("")];
    let _servers = [Basalt::serve(&arguments), Basalt::serve(&arguments)];
    assert_indexes_are_created(&mut db).await;
}

/// Clients whose statements take several messages, so that the pooler gives its session to others in between.
struct InterruptingClients(tokio::task::JoinSet<()>);

impl InterruptingClients {
    async fn start(pooler: &Pgbouncer) -> Self {
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..3 {
            // pgbouncer refuses the parameter of the start that sqlx sends by default.
            let options: PgConnectOptions = pooler.url("").parse().expect("a URL");
            let mut client = options.extra_float_digits(None).connect().await.expect("connected");
            clients.spawn(async move {
                loop {
                    // Fails as soon as others prepare statements.
                    let _ = sqlx::query("SELECT 1").persistent(false).execute(&mut client).await;
                }
            });
        }
        Self(clients)
    }

    /// Ends them; all were still at it.
    async fn stop(mut self) {
        assert!(self.0.try_join_next().is_none(), "a client gave up");
        self.0.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_start_on_a_session_that_a_pooler_gives_to_others_between_two_messages() {
    let (cluster, direct) = start_database();
    let pooler = Pgbouncer::start("transaction", 1, &direct);
    let folder = TempFolder::new();
    let config =
        folder.write("config.toml", &format!("{SHARED_KEYS}[auth.mfa.recovery_codes]\nenroll_enabled = true\n"));
    let url = pooler.url("");
    let arguments = ["--ephemeral", "--config", &config, "--database-url", &url];
    let others = InterruptingClients::start(&pooler).await;
    let first = Basalt::serve(&arguments);
    let gotrue = Gotrue::start(&cluster, &[("DATABASE_URL", url.as_str())]);
    others.stop().await;
    sign_up_and_refresh(&first, &first, 1).await;
    assert!(!gotrue.text().contains("\"ERROR\""), "{}", gotrue.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn gotrue_creates_indexes_behind_pgbouncer_in_transaction_mode() {
    let (cluster, direct) = start_database();
    let mut db = PgConnection::connect(&cluster.text("database_url")).await.expect("connected");
    damage_indexes(&mut db).await;
    let pooler = Pgbouncer::start("transaction", 2, &direct);
    let url = pooler.url("");
    let variables = [("DATABASE_URL", url.as_str()), ("GOTRUE_INDEX_WORKER_ENSURE_USER_SEARCH_INDEXES_EXIST", "true")];
    let server = Gotrue::start(&cluster, &variables);
    assert_indexes_are_created(&mut db).await;
    assert!(!server.text().contains("\"ERROR\""), "{}", server.text());
}

#[test]
fn migrations_refuse_a_pooler_in_transaction_mode() {
    let (_database, url) = start_database();
    let folder = TempFolder::new();
    folder.write("config.toml", "");
    std::fs::create_dir_all(folder.path("supabase/migrations")).expect("a folder");
    let migrate = |url: &str| {
        let config = folder.path("config.toml");
        let arguments = ["db", "migrate", "--config", &config, "--database-url", url];
        let output = basalt().args(arguments).output().expect("the program starts");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for connections in [1, 4] {
        let pooler = Pgbouncer::start("transaction", connections, &url);
        let (is_done, text) = migrate(&pooler.url(""));
        assert!(!is_done && text.contains("connection pooler in transaction mode"), "{connections}: {text}");
    }
    let session = Pgbouncer::start("session", 4, &url);
    for url in [&url, &session.url("")] {
        let (is_done, text) = migrate(url);
        assert!(is_done, "{text}");
    }
}

#[test]
fn unknown_statement_mode_is_refused_with_the_permitted_ones() {
    for (parameter, expected) in [
        ("statement_cache_mode=none", "prepare"),
        ("prefer_simple_protocol=maybe", "true"),
        ("statement_cache_capacity=many", "a number"),
    ] {
        let url = format!("postgresql://supabase_auth_admin@127.0.0.1:9/postgres?{parameter}");
        let data = TempFolder::new();
        let output = basalt().args(["serve", "--data", &data.path("data"), "--database-url", &url]).output();
        let output = output.expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(parameter) && text.contains(expected), "{text}");
    }
}
