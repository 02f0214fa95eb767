//! `basalt serve --test`, `basalt exec` and the formats of `basalt status`.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, basalt, binary, eventually, is_alive, run};

const PASSWORD: &str = "correct horse";

fn sign_up_body(number: usize) -> Value {
    json!({"email": format!("user{number}@example.com"), "password": PASSWORD})
}

/// Returns the data folder of the server that this line of JSON announces.
fn data_folder(announcement: &Value) -> PathBuf {
    let url = announcement["database_url"].as_str().expect("a URL").replace("%2F", "/");
    let sockets = url.split('@').nth(1).and_then(|rest| rest.split(':').next()).map(PathBuf::from).expect("a folder");
    sockets.ancestors().nth(2).expect("the data folder").to_owned()
}

#[tokio::test]
async fn test_server_has_no_limits_that_the_configuration_does_not_set() {
    let server = Basalt::serve(&["--test"]);
    for number in 0..45 {
        let (status, body) = server.auth("/signup", Some(sign_up_body(number))).await;
        assert_eq!(status, 200, "sign-up {number}: {body}");
    }
    for _ in 0..20 {
        let (status, body) = server.auth("/recover", Some(json!({"email": "user1@example.com"}))).await;
        assert_eq!(status, 200, "{body}");
    }
}

#[tokio::test]
async fn limits_of_the_configuration_apply_to_test_servers() {
    let scratch = TempFolder::new();
    let config = scratch
        .write("config.toml", "[auth]\nenable_anonymous_sign_ins = true\n[auth.rate_limit]\nanonymous_users = 2\n");
    let server = Basalt::serve(&["--test", "--config", &config]);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.auth("/signup", Some(json!({}))).await.0);
    }
    assert_eq!(statuses, [200, 200, 429]);
}

#[tokio::test]
async fn test_server_signs_with_es256_and_publishes_the_key() {
    let server = Basalt::serve(&["--test"]);
    let (_, keys) = server.auth("/.well-known/jwks.json", None).await;
    assert_eq!(keys["keys"][0]["alg"], "ES256", "{keys}");
    assert!(keys["keys"][0].get("d").is_none(), "the private part is not published");
    let (status, session) = server.auth("/signup", Some(sign_up_body(0))).await;
    assert_eq!(status, 200, "{session}");
    let token = session["access_token"].as_str().expect("autoconfirm is the default of the CLI").to_owned();
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next().expect("a header")).expect("base64");
    let header: Value = serde_json::from_slice(&header).expect("JSON");
    assert_eq!((&header["alg"], &header["kid"]), (&json!("ES256"), &keys["keys"][0]["kid"]));
    let user = server.client.get(server.url("/auth/v1/user")).bearer_auth(token);
    let user = user.header("apikey", server.text("anon_key")).send().await.expect("an answer");
    assert_eq!(user.status(), 200);
}

#[tokio::test]
async fn database_of_a_test_server_is_reachable_by_tcp_and_by_socket() {
    let server = Basalt::serve(&["--test"]);
    server.auth("/signup", Some(sign_up_body(0))).await;
    for name in ["database_url", "database_url_tcp"] {
        let mut connection = PgConnection::connect(&server.text(name)).await.expect(name);
        let count: i64 =
            sqlx::query_scalar("SELECT count(*) FROM auth.users").fetch_one(&mut connection).await.expect("a count");
        assert_eq!(count, 1, "{name}");
    }
    let tcp = server.text("database_url_tcp");
    assert!(tcp.contains("@127.0.0.1:"), "{tcp}");
    let wrong = tcp.replacen("postgres:", "postgres:x", 1);
    assert!(PgConnection::connect(&wrong).await.is_err(), "the password is required");
}

#[tokio::test]
async fn two_test_servers_of_one_project_run_at_once_and_share_nothing() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[db]\nport = 54322\n");
    let servers = [1, 2].map(|_| Basalt::serve(&["--test", "--config", &config]));
    assert_ne!(servers[0].text("database_url_tcp"), servers[1].text("database_url_tcp"));
    assert_ne!(servers[0].text("secret_key"), servers[1].text("secret_key"));
    for server in &servers {
        assert_eq!(server.auth("/signup", Some(sign_up_body(0))).await.0, 200);
    }
}

#[tokio::test]
async fn test_server_has_a_status_page_in_place_of_the_shop() {
    let server = Basalt::serve(&["--test"]);
    let page = server.client.get(server.url("/")).send().await.expect("an answer");
    assert_eq!(page.status(), 200);
    assert!(page.text().await.expect("text").contains("Basalt is running"));
    let template = server.client.get(server.url("/template/1")).send().await.expect("an answer");
    assert_eq!(template.status(), 404);
    let inbox = server.client.get(server.url("/_dev/inbox.json")).send().await.expect("an answer");
    assert_eq!(inbox.status(), 200);
}

#[tokio::test]
async fn test_server_ignores_public_addresses_and_mail_servers_of_the_configuration() {
    let scratch = TempFolder::new();
    let text = "[basalt]\nhost = \"0.0.0.0\"\n[api]\nexternal_url = \"https://api.example.com\"\n[auth]\n\
                site_url = \"https://app.example.com\"\n[auth.email.smtp]\nhost = \"127.0.0.1\"\nport = 9\n\
                user = \"u\"\npass = \"p\"\nadmin_email = \"a@example.com\"\nsender_name = \"App\"\n";
    let server = Basalt::serve(&["--test", "--config", &scratch.write("config.toml", text)]);
    assert!(server.text("url").starts_with("http://127.0.0.1:"), "{}", server.text("url"));
    assert_eq!(server.auth("/otp", Some(json!({"email": "ann@example.com"}))).await.0, 200);
    let mails = server.client.get(server.url("/_dev/inbox.json?to=ann@example.com&wait=10")).send().await;
    let mails: Value = mails.expect("an answer").json().await.expect("JSON");
    let link = mails["messages"][0]["link"].as_str().expect("a link");
    assert!(link.starts_with(&server.url("/auth/v1/verify")), "{link}");
}

/// Starts a server as the child of a shell.
///
/// Returns the shell, the server's process id and its announcement.
fn serve_below_a_shell(arguments: &str) -> (std::process::Child, Pid, Value) {
    let script = format!("\"$0\" serve --test --json --port 0 {arguments} & echo $!; wait");
    let mut shell = std::process::Command::new("sh")
        .arg("-c")
        .arg(&script)
        .arg(binary())
        .env_remove("DATABASE_URL")
        .current_dir(std::env::temp_dir())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut lines = BufReader::new(shell.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    let pid = next().trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
    let announcement = serde_json::from_str(&next()).expect("JSON");
    (shell, pid, announcement)
}

#[test]
fn test_server_ends_after_its_parent_was_killed_and_leaves_no_folder() {
    let (mut shell, server, announcement) = serve_below_a_shell("");
    let folder = data_folder(&announcement);
    assert!(folder.is_dir() && is_alive(server));
    shell.kill().expect("it runs");
    shell.wait().expect("a status");
    eventually("the server ends", || !is_alive(server));
    assert!(!folder.exists(), "{}", folder.display());
}

#[test]
fn detached_test_server_survives_its_parent() {
    let (mut shell, server, announcement) = serve_below_a_shell("--detach");
    shell.kill().expect("it runs");
    shell.wait().expect("a status");
    std::thread::sleep(Duration::from_secs(1));
    assert!(is_alive(server));
    kill_process(server, Signal::TERM).expect("it runs");
    let folder = data_folder(&announcement);
    eventually("the server ends", || !is_alive(server) && !folder.exists());
}

#[test]
fn server_that_is_stopped_while_it_starts_prints_no_ready_line() {
    let mut server = basalt()
        .args(["serve", "--test", "--json", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    // A copied database takes longer than this to start.
    std::thread::sleep(Duration::from_millis(25));
    kill_process(Pid::from_child(&server), Signal::TERM).expect("it runs");
    let mut output = String::new();
    server.stdout.take().expect("piped").read_to_string(&mut output).expect("text");
    server.wait().expect("a status");
    assert_eq!(output, "");
}

#[test]
fn demo_keys_are_those_of_the_supabase_cli() {
    let server = Basalt::serve(&["--test", "--demo-keys"]);
    assert_eq!(server.text("jwt_secret"), "super-secret-jwt-token-with-at-least-32-characters-long");
    assert_eq!(server.text("publishable_key"), "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH");
    let folder = TempFolder::new();
    let config = folder
        .write("config.toml", "[auth]\njwt_secret = \"super-secret-jwt-token-with-at-least-32-characters-long\"\n");
    let development = Basalt::serve(&["--ephemeral", "--config", &config]);
    assert_eq!(development.text("secret_key"), server.text("secret_key"), "as with the Supabase CLI");
    let check = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(
        check.status.success() && text.contains("line 2: auth.jwt_secret: is the one that Supabase publishes"),
        "{text}"
    );
    let output = run(&["serve", "--ephemeral", "--port", "0", "--demo-keys"]);
    assert!(!output.status.success(), "only test servers accept published keys");
}

#[test]
fn notices_of_a_test_server_name_the_lines_of_the_file() {
    let folder = TempFolder::new();
    let text = "# The settings of a test are merged into this.\n\n[unknown]\nkey = 1\n\n[auth]\nenabled = false\n";
    let config = folder.write("config.toml", text);
    let server = Basalt::serve(&["--test", "--config", &config]);
    for notice in ["line 3: unknown", "line 7: auth.enabled"] {
        eventually(notice, || server.log().contains(notice));
    }
}

/// Every page has the demo keys: one of another site may be a visitor, not an administrator.
#[tokio::test]
async fn pages_of_other_sites_are_no_administrators_with_demo_keys() {
    let test = Basalt::serve(&["--test", "--demo-keys"]);
    let folder = TempFolder::new();
    let config = folder.write("config.toml", "[basalt]\ndemo_keys = true\n");
    let development = Basalt::serve(&["--ephemeral", "--config", &config]);
    for server in [test, development] {
        assert_eq!(server.text("jwt_secret"), "super-secret-jwt-token-with-at-least-32-characters-long");
        let (secret, service) = (server.text("secret_key"), server.text("service_role_key"));
        let list = |key: &str, origin: &str| {
            let request = server.client.get(server.url("/auth/v1/admin/users")).header("apikey", key).bearer_auth(key);
            let request = if origin.is_empty() { request } else { request.header("origin", origin) };
            async { request.send().await.expect("a response").status().as_u16() }
        };
        for key in [&secret, &service] {
            for origin in ["https://evil.example", "null", "http://localhost.evil.example", "http://192.168.0.7:3000"] {
                assert_eq!(list(key, origin).await, 403, "{origin}");
            }
            for origin in ["", "http://localhost:3000", "http://127.0.0.1:5173"] {
                assert_eq!(list(key, origin).await, 200, "{origin}");
            }
        }
        let settings =
            server.client.get(server.url("/auth/v1/settings")).header("apikey", server.text("publishable_key"));
        assert_eq!(settings.header("origin", "https://evil.example").send().await.expect("a response").status(), 200);
    }
}

/// The secret behind demo keys is public: every token can be forged, so a foreign page is refused whatever it sends.
#[tokio::test]
async fn pages_of_other_sites_reach_nothing_with_demo_keys() {
    let folder = TempFolder::new();
    let config = folder.write("config.toml", "[basalt]\ndemo_keys = true\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    let (secret, service, anon) = (server.text("secret_key"), server.text("service_role_key"), server.text("anon_key"));
    let send = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = server.client.get(server.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.expect("a response").status().as_u16()
    };
    let (tabbed, user) = (
        format!("Bearer\t{service}"),
        forge(&json!({"sub": "6f1e2d3c-0000-4000-8000-000000000001",
        "role": "authenticated", "aud": "authenticated", "exp": 4_102_444_800_i64})),
    );
    let (shouted, user) = (forge(&json!({"ROLE": "service_role", "exp": 4_102_444_800_i64})), format!("Bearer {user}"));
    for (path, credentials) in [
        ("/storage/v1/bucket", ("authorization", service.as_str())),
        ("/storage/v1/bucket", ("authorization", &tabbed)),
        ("/rest/v1/", ("authorization", &tabbed)),
        ("/functions/v1/send-submission", ("authorization", &tabbed)),
        ("/auth/v1/admin/users", ("authorization", &format!("Bearer {shouted}"))),
        ("/auth/v1/admin/users", ("apikey", &secret)),
        ("/auth/v1/user", ("authorization", &user)),
        ("/storage/v1/s3", ("apikey", &anon)),
    ] {
        for origin in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
            assert_eq!(
                send(path, &[credentials, ("apikey", &anon), origin]).await,
                403,
                "{path} {credentials:?} {origin:?}"
            );
        }
    }
    // A page whose name was pointed at this machine has no foreign origin.
    for host in ["rebind.evil.example:54321", "127.0.0.1.evil.example"] {
        let headers = [("host", host), ("apikey", secret.as_str()), ("sec-fetch-site", "same-origin")];
        for path in ["/auth/v1/admin/users", "/rest/v1/", "/storage/v1/bucket", "/"] {
            assert_eq!(send(path, &headers).await, 403, "{path} {host}");
        }
    }
    // The application on this machine, and visitors.
    let bearer = format!("Bearer {service}");
    for origin in ["http://localhost:3000", "http://127.0.0.1:5173"] {
        for path in ["/auth/v1/admin/users", "/rest/v1/", "/storage/v1/bucket"] {
            let headers = [("apikey", secret.as_str()), ("authorization", &bearer), ("origin", origin)];
            assert_eq!(send(path, &headers).await, 200, "{path} {origin}");
        }
    }
    let visitor = [("apikey", anon.as_str()), ("origin", "https://evil.example")];
    assert_eq!((send("/auth/v1/settings", &visitor).await, send("/rest/v1/", &visitor).await), (200, 200));
}

/// Signs claims with the secret that the Supabase CLI publishes.
fn forge(claims: &Value) -> String {
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!("{}.{}", encode(br#"{"alg":"HS256","typ":"JWT"}"#), encode(claims.to_string().as_bytes()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"super-secret-jwt-token-with-at-least-32-characters-long");
    let signature = encode(hmac::sign(&key, signed.as_bytes()).as_ref());
    format!("{signed}.{signature}")
}

#[test]
fn exec_runs_the_command_with_a_server_and_returns_its_status() {
    let script =
        "env; curl -sf -o /dev/null -H \"apikey: $SUPABASE_ANON_KEY\" $SUPABASE_URL/auth/v1/settings || exit 9; exit 7";
    let output = basalt().args(["exec", "--", "sh", "-c", script]).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(7), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    assert!(value("SUPABASE_URL").is_some_and(|url| url.starts_with("http://127.0.0.1:")), "{text}");
    assert!(value("DATABASE_URL").is_some_and(|url| url.contains("@127.0.0.1:")), "{text}");
    assert!(value("SUPABASE_JWT_SECRET").is_some());
    assert_eq!(value("VITE_SUPABASE_URL"), value("SUPABASE_URL"));
    assert_eq!(value("NEXT_PUBLIC_SUPABASE_ANON_KEY"), value("SUPABASE_ANON_KEY"));
    let secret = value("SUPABASE_SERVICE_ROLE_KEY").expect("a key");
    let public = text.lines().filter(|line| line.starts_with("VITE_") || line.starts_with("NEXT_PUBLIC_"));
    assert!(public.into_iter().all(|line| !line.contains(&secret)), "{text}");
}

#[test]
fn exec_reports_a_command_that_does_not_exist() {
    let output = run(&["exec", "--", "/nowhere/command"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("running /nowhere/command"), "{text}");
}

#[test]
fn exec_returns_128_and_the_signal_of_a_killed_command() {
    let output = run(&["exec", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(137));
}

/// Returns the data folders of test servers in a directory.
fn ephemeral_folders(directory: &TempFolder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&directory.0).expect("readable").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.to_string_lossy().contains("basalt-once-")).collect()
}

#[test]
fn data_of_a_test_server_is_in_memory_unless_another_folder_is_named() {
    let place = |server: &Basalt| server.text("database_url").replace("%2F", "/");
    let server = Basalt::start(basalt().env_remove("TMPDIR"), &["--test"]);
    let memory = std::fs::read_to_string("/proc/meminfo").expect("Linux has it");
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:")).expect("Linux has it");
    let available: u64 = available.trim().trim_end_matches(" kB").parse().expect("a number");
    let room = rustix::fs::statvfs("/dev/shm").map_or(0, |system| system.f_bavail * system.f_frsize);
    // A machine whose memory is about as large as needed may have changed meanwhile.
    if available.min(room >> 10) > 5 << 20 {
        assert!(place(&server).contains("@/dev/shm/basalt-once-"), "{}", place(&server));
    } else if available.min(room >> 10) < 3 << 20 {
        assert!(place(&server).contains("@/tmp/basalt-once-"), "{}", place(&server));
    }
    let scratch = TempFolder::new();
    let named = Basalt::start(basalt().env("TMPDIR", &scratch.0), &["--test"]);
    assert!(place(&named).contains(&format!("@{}/basalt-once-", scratch.0.display())), "{}", place(&named));
}

#[test]
fn exec_that_is_stopped_while_its_server_starts_runs_nothing_and_leaves_no_folder() {
    for (signal, delay) in
        [Signal::TERM, Signal::INT].into_iter().flat_map(|signal| [0, 10, 30, 60].map(|ms| (signal, ms)))
    {
        let scratch = TempFolder::new();
        let marker = scratch.path("marker");
        let mut exec =
            basalt().args(["exec", "--", "touch", &marker]).env("TMPDIR", &scratch.0).spawn().expect("it starts");
        eventually("the data folder exists", || !ephemeral_folders(&scratch).is_empty());
        std::thread::sleep(Duration::from_millis(delay));
        kill_process(Pid::from_child(&exec), signal).expect("it runs");
        let status = exec.wait().expect("a status");
        assert_eq!(ephemeral_folders(&scratch), Vec::<PathBuf>::new(), "{signal:?} after {delay} ms");
        if !std::path::Path::new(&marker).exists() {
            assert_eq!(status.code(), Some(128 + signal.as_raw()), "after {delay} ms");
        }
    }
}

#[test]
fn status_has_the_names_of_the_supabase_cli_and_status_3_without_a_server() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let status = |format: &str| run(&["status", "--config", &config, "-o", format]);
    assert_eq!(status("env").status.code(), Some(3));
    let server = Basalt::serve(&["--config", &config]);
    let lines = status("env");
    let text = String::from_utf8_lossy(&lines.stdout).into_owned();
    assert_eq!(lines.status.code(), Some(0), "{text}");
    assert!(text.contains(&format!("API_URL=\"{}\"\n", server.text("url"))), "{text}");
    let json: Value = serde_json::from_slice(&status("json").stdout).expect("JSON");
    assert_eq!(json["ANON_KEY"], server.announcement["anon_key"]);
    assert_eq!(json["SERVICE_ROLE_KEY"], server.announcement["service_role_key"]);
    assert!(json["DB_URL"].as_str().is_some_and(|url| url.starts_with("postgresql://")), "{json}");
    assert_eq!(json["REST_URL"], server.url("/rest/v1"));
    assert_eq!(json["STORAGE_S3_URL"], server.url("/storage/v1/s3"));
    assert_eq!(json["S3_PROTOCOL_REGION"], "local");
    // The keys of this server are its own: no key of the S3 protocol is known, and GraphQL is not served.
    for absent in ["S3_PROTOCOL_ACCESS_KEY_ID", "S3_PROTOCOL_ACCESS_KEY_SECRET", "GRAPHQL_URL", "STUDIO_URL"] {
        assert_eq!(json[absent], Value::Null, "{absent}");
    }
    assert_eq!(server.text("rest_url"), server.url("/rest/v1"));
    assert_eq!(server.text("storage_url"), server.url("/storage/v1"));
    let toml: toml::Table = String::from_utf8_lossy(&status("toml").stdout).parse().expect("TOML");
    assert_eq!(toml["API_URL"].as_str(), Some(server.text("url").as_str()));
    let renamed = run(&["status", "--config", &config, "-o", "env", "--override-name", "auth.anon_key=VITE_KEY"]);
    let renamed = String::from_utf8_lossy(&renamed.stdout).into_owned();
    assert!(renamed.contains("\nVITE_KEY=\"") && !renamed.contains("ANON_KEY="), "{renamed}");
    let refused = run(&["status", "--config", &config, "-o", "env", "--override-name", "foo.bar=XX"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("foo.bar is not known; known are api.url, "), "{text}");
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
    assert_eq!(status("json").status.code(), Some(3));
}

#[test]
fn announcements_name_the_apis_that_the_server_has_and_its_keys() {
    let scratch = TempFolder::new();
    let key = "[basalt.storage]\ns3_access_key_id = \"s3-id\"\ns3_secret_access_key = \"s3-secret-of-this-project\"\n";
    let config = scratch.write("config.toml", key);
    let server = Basalt::serve(&["--config", &config]);
    assert_eq!((&*server.text("s3_access_key_id"), &*server.text("s3_region")), ("s3-id", "local"));
    let text = String::from_utf8_lossy(&run(&["status", "--config", &config]).stdout).into_owned();
    let shown = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(&format!("{name:<12} ")));
        line.map(str::to_owned)
    };
    assert_eq!(shown("REST"), Some(server.url("/rest/v1")), "{text}");
    assert_eq!(shown("Storage"), Some(server.url("/storage/v1")), "{text}");
    assert_eq!(shown("S3"), Some(server.url("/storage/v1/s3")), "{text}");
    assert_eq!(shown("S3 key").as_deref(), Some("s3-id"), "{text}");
    assert_eq!(shown("S3 secret").as_deref(), Some("s3-secret-of-this-project"), "{text}");
    assert_eq!(shown("Publishable"), Some(server.text("publishable_key")), "{text}");
    assert_eq!(shown("Secret"), Some(server.text("secret_key")), "{text}");
    let stopped = "site_url = \"https://app.example.com\"\n[api]\nenabled = false\n[storage]\nenabled = false\n";
    let stopped = format!("[auth]\n{stopped}");
    let other = TempFolder::new();
    let config = other.write("config.toml", &stopped);
    let server = Basalt::serve(&["--config", &config]);
    for absent in ["rest_url", "storage_url", "s3_url", "s3_access_key_id", "inbox_url", "mailpit_url"] {
        assert_eq!(server.announcement[absent], Value::Null, "{absent}");
    }
    let env = run(&["status", "--config", &config, "-o", "env"]);
    let env = String::from_utf8_lossy(&env.stdout).into_owned();
    for absent in ["REST_URL", "STORAGE_S3_URL", "S3_PROTOCOL", "MAILPIT_URL", "INBUCKET_URL"] {
        assert!(!env.contains(absent), "{absent}: {env}");
    }
}
