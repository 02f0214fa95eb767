//! `basalt gotrue admin`: accounts made and deleted as the reference's commands do it.

use std::process::Output;

use serde_json::{Value, json};

use super::support::{Basalt, basalt};

/// A database with a server beside it.
struct Place {
    server: Basalt,
}

impl Place {
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

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test]
async fn an_account_is_made_signs_in_and_is_deleted() {
    let place = Place::new();
    let made = place.admin(&["createuser", "Ann@Example.com", "correct horse", "editor", "--confirm"]);
    assert!(made.status.success(), "{}", said(&made));
    assert_eq!(String::from_utf8_lossy(&made.stdout), "Created user: Ann@Example.com\n");
    let (status, session) = place.sign_in("ann@example.com", "correct horse").await;
    assert_eq!((status, session["user"]["role"].as_str()), (200, Some("editor")), "{session}");
    assert_eq!(session["user"]["user_metadata"], json!({"email_verified": true}));
    let again = place.admin(&["createuser", "ann@example.com", "another"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again).contains("user already exists"), "{}", said(&again));
    let gone = place.admin(&["deleteuser", "ANN@example.com"]);
    assert!(gone.status.success(), "{}", said(&gone));
    assert_eq!(place.sign_in("ann@example.com", "correct horse").await.0, 400);
}

#[tokio::test]
async fn without_a_confirmation_the_account_waits_and_the_audience_keeps_accounts_apart() {
    let place = Place::new();
    assert!(place.admin(&["createuser", "--admin", "bob@example.com", "correct horse"]).status.success());
    assert_eq!(place.sign_in("bob@example.com", "correct horse").await.1["error_code"], "email_not_confirmed");
    let elsewhere = place.admin(&["deleteuser", "-a", "elsewhere", "bob@example.com"]);
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(said(&elsewhere).contains("Error finding user (bob@example.com)"), "{}", said(&elsewhere));
    let id = place
        .server
        .client
        .get(place.server.url("/auth/v1/admin/users"))
        .header("apikey", place.server.text("secret_key"));
    let users: Value = id.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(users["users"][0]["role"], "admin");
    let id = users["users"][0]["id"].as_str().expect("an id").to_owned();
    assert!(place.admin(&["deleteuser", &id]).status.success());
    assert_eq!(place.admin(&["deleteuser", &id]).status.code(), Some(1));
}

#[test]
fn a_missing_argument_is_told_before_anything_is_read() {
    for (arguments, expected) in [
        (&["createuser", "ann@example.com"][..], "Expected at least email and password values"),
        (&["deleteuser"], "Expected at least ID or email"),
    ] {
        let told = basalt().args(["gotrue", "admin"]).args(arguments).env_clear().output().expect("the program starts");
        assert_eq!(told.status.code(), Some(1));
        assert!(said(&told).contains(expected), "{}", said(&told));
    }
}
