//! `basalt db upgrade`, from PostgreSQL 15 and 16 to 17.

mod application;
mod fixture;
mod interruptions;
mod releases;

use gotrue_rules::domain::mfa::totp::generate_code;
use platform::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::support::{Basalt, free_port};
use fixture::{UpgradeProject, execute, output, sign_in, sign_up, stop, texts};

/// Sends a request of a user to the auth API; returns the body of a successful answer.
async fn auth_as(server: &Basalt, session: &Value, path: &str, body: Value) -> Value {
    let request = server.client.post(server.url(&format!("/auth/v1{path}"))).json(&body);
    let request = request.header("apikey", server.text("publishable_key"));
    let answer =
        request.bearer_auth(session["access_token"].as_str().expect("a token")).send().await.expect("an answer");
    let status = answer.status();
    let text = answer.text().await.expect("a body");
    assert!(status.is_success(), "{path}: {status} {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// Verifies a factor with the code of its secret; `step` keeps single-use codes apart.
async fn verify_factor(server: &Basalt, session: &Value, factor: &Value, step: i64) -> Value {
    let id = factor["id"].as_str().expect("an id");
    let challenge = auth_as(server, session, &format!("/factors/{id}/challenge"), json!({})).await;
    let secret = factor["totp"]["secret"].as_str().expect("a secret");
    let code = generate_code(secret, SystemClock.now() + chrono::TimeDelta::seconds(30 * step)).expect("a code");
    let body = json!({ "challenge_id": challenge["id"], "code": code });
    auth_as(server, session, &format!("/factors/{id}/verify"), body).await
}

async fn submit(server: &Basalt, description: &str) {
    let body = json!({ "description": description });
    let request = server.client.post(server.url("/functions/v1/send-submission")).json(&body);
    let answer = request.header("apikey", server.text("publishable_key")).send().await.expect("an answer");
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap_or_default());
}

async fn pay(server: &Basalt, email: &str) {
    let form = [("template", "1"), ("provider", "stripe"), ("delivery", "once"), ("email", email), ("locale", "en")];
    let answer = server.client.post(server.url("/_dev/payment/pay")).form(&form).send().await.expect("an answer");
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap_or_default());
}

async fn orders(server: &Basalt) -> Vec<String> {
    texts(server, "SELECT to_jsonb(o)::text FROM basalt.orders o ORDER BY 1").await
}

#[tokio::test(flavor = "multi_thread")]
async fn users_sessions_factors_submissions_and_orders_are_as_before() {
    let port = free_port();
    let products = concat!(env!("CARGO_MANIFEST_DIR"), "/../orders/tests/products");
    let config = format!(
        "[api]\nport = {port}\n[auth.mfa.totp]\nenroll_enabled = true\nverify_enabled = true\n\
         [basalt.shop]\nowner = \"owner@example.com\"\n[basalt.shop.payment]\nproducts = \"{products}\"\n\
         [functions.send-submission]\nverify_jwt = false\n"
    );
    let Some(project) = UpgradeProject::new(15, &config) else { return };
    let port = port.to_string();
    let server = project.serve(&project.old, &["--port", &port]);
    assert_eq!(texts(&server, "SHOW server_version_num").await[0][..2], *"15");
    let session = sign_up(&server, "ann").await;
    let factor =
        auth_as(&server, &session, "/factors", json!({ "factor_type": "totp", "friendly_name": "phone" })).await;
    let elevated = verify_factor(&server, &session, &factor, 0).await;
    let other = sign_up(&server, "bob").await;
    submit(&server, "A page in blue, please.").await;
    pay(&server, "dave@example.com").await;
    let before = orders(&server).await;
    assert_eq!(before.len(), 1);
    let settings = "SELECT concat_ws(' ', rolname, setconfig::text) FROM pg_db_role_setting JOIN pg_roles r ON r.oid = setrole ORDER BY 1";
    let role_settings = texts(&server, settings).await;
    let keys = server.text("secret_key");
    stop(server);

    let (_, refused) = project.run(&project.new, &["serve", "--port", "0"]);
    assert!(refused.contains("made by PostgreSQL 15") && refused.contains("run `basalt db upgrade`"), "{refused}");
    let text = project.upgrade_successfully();
    assert!(text.contains("The database is now of PostgreSQL 17") && !text.contains("pg_dump"), "{text}");
    assert_eq!(project.release_of("cluster").as_deref(), Some("17"));
    assert_eq!(project.release_of("cluster-before-upgrade-17").as_deref(), Some("15"));
    assert!(project.list_home().iter().all(|name| name != "upgrade" && name != "cluster.upgraded"));

    let server = project.serve(&project.new, &["--port", &port]);
    assert_eq!(texts(&server, "SHOW server_version_num").await[0][..2], *"17");
    assert_eq!(server.text("secret_key"), keys);
    assert_eq!(orders(&server).await, before);
    assert_eq!(texts(&server, settings).await, role_settings);
    assert_eq!(texts(&server, "SELECT description FROM basalt.submissions").await, ["A page in blue, please."]);
    let body = json!({ "refresh_token": other["refresh_token"] });
    let (status, refreshed) = server.auth("/token?grant_type=refresh_token", Some(body)).await;
    assert_eq!(status, 200, "{refreshed}");
    let body = json!({ "refresh_token": elevated["refresh_token"] });
    assert_eq!(server.auth("/token?grant_type=refresh_token", Some(body)).await.0, 200);
    let (status, session) = sign_in(&server, "ann").await;
    assert_eq!(status, 200, "{session}");
    let elevated = verify_factor(&server, &session, &factor, 1).await;
    assert!(elevated["access_token"].is_string());
    sign_up(&server, "eve").await;
    submit(&server, "A page in red, please.").await;
    stop(server);

    let again = project.upgrade_successfully();
    assert!(again.contains("no newer release was found: nothing was changed"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrade_is_refused_without_database_programs_or_while_a_server_runs() {
    let Some(project) = UpgradeProject::new(15, "") else { return };
    let refused = |text: &str| {
        let (is_successful, output) = output(&mut project.upgrade());
        assert!(!is_successful && output.contains(text), "{output}");
    };
    refused("has no embedded database");
    let server = project.serve(&project.old, &[]);
    sign_up(&server, "ann").await;
    refused("is using the folder");
    stop(server);
    let (is_successful, text) = output(project.upgrade().env("DATABASE_URL", "postgresql://localhost/x"));
    assert!(!is_successful && text.contains("DATABASE_URL names an external database"), "{text}");
    for programs in [&project.new, "/nowhere"] {
        let (is_successful, text) = project.run(&project.new, &["db", "upgrade", "--old-binaries", programs]);
        assert!(!is_successful && text.contains("cannot be used") && text.contains("PostgreSQL 15"), "{text}");
    }
    let server = project.serve(&project.old, &[]);
    assert_eq!(sign_in(&server, "ann").await.0, 200);
    execute(&server, "CREATE DATABASE another").await;
    stop(server);
    refused("does not copy: another. Copy them with pg_dump");
    assert_eq!(project.list_home().iter().filter(|name| name.starts_with("cluster")).count(), 1);
    let server = project.serve(&project.old, &[]);
    assert_eq!(sign_in(&server, "ann").await.0, 200);
    stop(server);
}
