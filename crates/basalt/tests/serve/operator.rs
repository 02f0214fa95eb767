//! `basalt gotrue admin`: creates and deletes accounts as GoTrue's commands do.

use std::process::Output;

use serde_json::{Value, json};

use super::support::{Basalt, basalt};

/// A database with a running server.
struct OperatorTest {
    server: Basalt,
}

impl OperatorTest {
    fn new() -> Self {
        Self { server: Basalt::serve(&["--ephemeral"]) }
    }

    fn admin(&self, arguments: &[&str]) -> Output {
        basalt()
            .args(["gotrue", "admin"])
            .args(arguments)
            .env("GOTRUE_DB_DRIVER", "postgres")
            .env("DATABASE_URL", self.server.text("database_url"))
            .env("GOTRUE_SITE_URL", "http://localhost:3000")
            .env("API_EXTERNAL_URL", "http://localhost:9999")
            .env("GOTRUE_JWT_SECRET", self.server.text("jwt_secret"))
            .env("GOTRUE_JWT_AUD", "authenticated")
            .output()
            .expect("the program starts")
    }

    async fn sign_in(&self, email: &str, password: &str) -> (u16, Value) {
        self.server.auth("/token?grant_type=password", Some(json!({"email": email, "password": password}))).await
    }
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test]
async fn created_account_signs_in_and_is_deleted() {
    let test = OperatorTest::new();
    let made = test.admin(&["createuser", "Ann@Example.com", "correct horse", "editor", "--confirm"]);
    assert!(made.status.success(), "{}", output_text(&made));
    assert_eq!(String::from_utf8_lossy(&made.stdout), "Created user: Ann@Example.com\n");
    let (status, session) = test.sign_in("ann@example.com", "correct horse").await;
    assert_eq!((status, session["user"]["role"].as_str()), (200, Some("editor")), "{session}");
    assert_eq!(session["user"]["user_metadata"], json!({"email_verified": true}));
    let again = test.admin(&["createuser", "ann@example.com", "another"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(output_text(&again).contains("user already exists"), "{}", output_text(&again));
    let gone = test.admin(&["deleteuser", "ANN@example.com"]);
    assert!(gone.status.success(), "{}", output_text(&gone));
    assert_eq!(test.sign_in("ann@example.com", "correct horse").await.0, 400);
}

#[tokio::test]
async fn unconfirmed_account_cannot_sign_in_and_audience_separates_accounts() {
    let test = OperatorTest::new();
    assert!(test.admin(&["createuser", "--admin", "bob@example.com", "correct horse"]).status.success());
    assert_eq!(test.sign_in("bob@example.com", "correct horse").await.1["error_code"], "email_not_confirmed");
    let elsewhere = test.admin(&["deleteuser", "-a", "elsewhere", "bob@example.com"]);
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(output_text(&elsewhere).contains("Error finding user (bob@example.com)"), "{}", output_text(&elsewhere));
    let id = test
        .server
        .client
        .get(test.server.url("/auth/v1/admin/users"))
        .header("apikey", test.server.text("secret_key"));
    let users: Value = id.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(users["users"][0]["role"], "admin");
    let id = users["users"][0]["id"].as_str().expect("an id").to_owned();
    assert!(test.admin(&["deleteuser", &id]).status.success());
    assert_eq!(test.admin(&["deleteuser", &id]).status.code(), Some(1));
}

#[test]
fn missing_argument_is_reported_before_settings() {
    for (arguments, expected) in [
        (&["createuser", "ann@example.com"][..], "Expected at least email and password values"),
        (&["deleteuser"], "Expected at least ID or email"),
    ] {
        let output =
            basalt().args(["gotrue", "admin"]).args(arguments).env_clear().output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1));
        assert!(output_text(&output).contains(expected), "{}", output_text(&output));
    }
}
