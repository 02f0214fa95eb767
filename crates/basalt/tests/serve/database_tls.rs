//! TLS connections to the database: which authorities are trusted.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, Row};

use super::support::{Basalt, run_with};

/// Certificates of `localhost` and of their authority.
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gotrue-rs/tests/http/ports/mail/tls");

/// A server whose PostgreSQL has a certificate for `localhost`.
///
/// The system does not trust its authority.
struct TlsDatabase {
    _server: Basalt,
    url: String,
}

impl TlsDatabase {
    async fn new() -> Self {
        let server = Basalt::serve(&["--test"]);
        let own = server.text("database_url");
        let mut db = PgConnection::connect(&own).await.expect("connected");
        let row = db.fetch_one("SELECT current_setting('data_directory')").await.expect("a folder");
        let folder: String = row.get(0);
        let owner = fs::metadata(&folder).expect("the folder is readable");
        for (from, to) in [("localhost.pem", "server.crt"), ("localhost.key", "server.key")] {
            let path = Path::new(&folder).join(to);
            fs::copy(Path::new(CERTIFICATES).join(from), &path).expect("copied");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file is ours");
            chown(&path, Some(owner.uid()), Some(owner.gid())).expect("the file is ours");
        }
        db.execute("ALTER SYSTEM SET ssl = on").await.expect("a setting");
        db.execute("SELECT pg_reload_conf()").await.expect("reloaded");
        // The reload happens after the answer.
        for _ in 0..200 {
            let row = db.fetch_one("SHOW ssl").await.expect("a setting");
            if row.get::<String, _>(0) == "on" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The URL names the socket, whose number is that of the TCP port.
        let (user, address) = own.rsplit_once('@').expect("a user");
        let (_, port) = address.rsplit_once(':').expect("a port");
        let url = format!("{user}@localhost:{port}");
        Self { _server: server, url }
    }

    /// Lists users over a connection with these parameters; returns the error, or an empty text.
    fn error(&self, parameters: &str, variables: &[(&str, &str)]) -> String {
        let url = format!("{}?{parameters}", self.url);
        let output = run_with(&["users", "list", "--database-url", &url], variables);
        if output.status.success() { String::new() } else { String::from_utf8_lossy(&output.stderr).into_owned() }
    }
}

fn certificate(name: &str) -> String {
    format!("{CERTIFICATES}/{name}")
}

#[tokio::test]
async fn named_authority_verifies_the_database() {
    let database = TlsDatabase::new().await;
    let (right, wrong) = (certificate("roots.pem"), certificate("elsewhere.example.com.pem"));
    for mode in ["require", "verify-ca", "verify-full"] {
        assert_eq!(database.error(&format!("sslmode={mode}&sslrootcert={right}"), &[]), "");
        let refused = database.error(&format!("sslmode={mode}&sslrootcert={wrong}"), &[]);
        assert!(refused.contains("UnknownIssuer"), "{mode}: {refused}");
        let refused = database.error(&format!("sslmode={mode}"), &[("PGSSLROOTCERT", &wrong)]);
        assert!(refused.contains("UnknownIssuer"), "{mode}: {refused}");
    }
    assert_eq!(database.error("sslmode=require", &[]), "");
}

#[tokio::test]
async fn roots_of_the_system_verify_the_database_if_none_is_named() {
    let database = TlsDatabase::new().await;
    let (right, wrong) = (certificate("roots.pem"), certificate("elsewhere.example.com.pem"));
    for mode in ["verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}");
        assert_eq!(database.error(&parameters, &[("SSL_CERT_FILE", &right)]), "");
        assert!(database.error(&parameters, &[("SSL_CERT_FILE", &wrong)]).contains("UnknownIssuer"));
        let none = database.error(&parameters, &[("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/dev/null")]);
        assert!(none.contains("no trusted roots"), "{none}");
    }
}

#[tokio::test]
async fn parameters_without_effect_are_logged_without_their_values() {
    let database = TlsDatabase::new().await;
    let url = format!("{}?sslpassword=topsecret", database.url);
    let output = run_with(&["users", "list", "--database-url", &url], &[]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !printed.contains("topsecret"), "{printed}");
}
