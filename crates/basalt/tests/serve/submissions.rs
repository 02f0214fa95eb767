//! `basalt submissions`, with and without a running server.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::support::{Basalt, TempFolder, basalt};

const SHOP: &str = "[basalt.shop]\nowner = \"owner@example.com\"\n\n[functions.send-submission]\nverify_jwt = false\n";

struct SubmissionCommands {
    scratch: TempFolder,
}

impl SubmissionCommands {
    fn new() -> Self {
        let scratch = TempFolder::new();
        scratch.write("config.toml", SHOP);
        Self { scratch }
    }

    fn serve(&self) -> Basalt {
        Basalt::serve(&["--config", &self.scratch.path("config.toml"), "--data", &self.scratch.path("data")])
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let (config, data) = (self.scratch.path("config.toml"), self.scratch.path("data"));
        let place = ["submissions", "--config", &config, "--data", &data];
        basalt().args(place).args(arguments).stdin(Stdio::null()).output().expect("the program starts")
    }

    /// Runs a command that must succeed; returns its output and error output.
    #[track_caller]
    fn run_successfully(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let (text, errors) = (text_of(&output.stdout), text_of(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {text}{errors}");
        (text, errors)
    }

    /// Runs a command that must fail; returns its error output.
    #[track_caller]
    fn run_failing(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} succeeded: {}", text_of(&output.stdout));
        text_of(&output.stderr)
    }

    fn list(&self, arguments: &[&str]) -> Vec<Value> {
        let (text, _) = self.run_successfully(&[&["list", "--json"], arguments].concat());
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn submit(server: &Basalt, body: Value) -> String {
    let request = server.client.post(server.url("/functions/v1/send-submission"));
    let answer = request.header("apikey", server.text("publishable_key")).json(&body).send().await.expect("an answer");
    let answer: Value = answer.json().await.expect("JSON");
    answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn submissions_are_listed_shown_exported_and_deleted() {
    let commands = SubmissionCommands::new();
    let server = commands.serve();
    let long = format!("Blue, please. \u{1b}[2J {} Write to ada@example.com", "Many words follow. ".repeat(30));
    let first = submit(&server, json!({ "description": long, "template": 9 })).await;
    let second = submit(&server, json!({ "description": "=1+1, in green;=A1" })).await;

    let (text, _) = commands.run_successfully(&["list"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
    assert_eq!(text.lines().count(), 4);
    assert!(text.starts_with(&second) && text.contains("ada@example.com: Blue, please."), "{text}");
    let listed = commands.list(&["--template", "9"]);
    assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!(first)));
    assert!(commands.list(&["--status", "spam"]).is_empty() && commands.list(&["--to", "2020-01-01"]).is_empty());
    assert!(commands.run_successfully(&["list", "--limit", "1"]).1.contains("There are more"));

    let (found, _) = commands.run_successfully(&["search", "blu", "example.com"]);
    assert!(found.contains(&first) && !found.contains(&second), "{found}");
    let (shown, _) = commands.run_successfully(&["show", &first]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("Status:    new") && shown.contains("Confirmation to ada@example.com"), "{shown}");
    let (details, _) = commands.run_successfully(&["show", "--json", &first]);
    let details: Value = serde_json::from_str(&details).expect("JSON");
    assert_eq!((&details["senders"], &details["description"]), (&json!(["ada@example.com"]), &json!(long.trim())));

    let file = commands.scratch.path("all.csv");
    let other = commands.scratch.write("other", "notes");
    std::os::unix::fs::symlink(&other, commands.scratch.path("all.csv.part")).expect("a link");
    commands.run_successfully(&["export", &file]);
    let exported = std::fs::read_to_string(&file).expect("written");
    assert!(exported.contains("\"'=1+1, in green;'=A1\"\r\n"), "{exported}");
    assert_eq!(std::fs::read_to_string(other).expect("a text"), "notes", "a left link is not followed");
    assert!(commands.run_failing(&["export", &file]).contains("--force writes over it"));
    let (exported, _) = commands.run_successfully(&["export", "-", "--format", "json", "--search", "green"]);
    let exported: Value = serde_json::from_str(&exported).expect("JSON");
    assert_eq!((exported.as_array().map(Vec::len), &exported[0]["id"]), (Some(1), &json!(second)));

    assert!(commands.run_failing(&["delete", &first]).contains("--yes does not ask"));
    assert!(commands.run_successfully(&["delete", "--yes", &first, &second]).0.contains("Deleted 2 submissions."));
    assert!(commands.run_failing(&["delete", "--yes", &first]).contains("no submission with such an id"));
    assert!(commands.run_failing(&["show", &first]).contains("no submission with this id"));
}

#[test]
fn commands_work_without_a_running_server() {
    let commands = SubmissionCommands::new();
    let (text, errors) = commands.run_successfully(&["list"]);
    assert_eq!((text.as_str(), errors.trim()), ("", "No submissions."));
    assert!(commands.run_failing(&["list", "--from", "yesterday"]).contains("--from must be a day"));
    assert!(commands.run_failing(&["search", "&"]).contains("a letter or a digit"));
}

/// Sends a form as a browser without JavaScript does; returns status, comparable headers, and body.
async fn send_form(server: &Basalt, form: &str) -> (u16, Vec<(String, String)>, String) {
    let request = server.client.post(server.url("/submit")).header("content-type", "application/x-www-form-urlencoded");
    let answer = request.body(form.to_owned()).send().await.expect("an answer");
    let of_request = ["date", "x-request-id", "sb-request-id"];
    let headers = answer.headers().iter().filter(|(name, _)| !of_request.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), text_of(value.as_bytes()))).collect();
    (answer.status().as_u16(), headers, answer.text().await.expect("a text"))
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn spam_of_the_plain_form_is_answered_alike_and_quarantined() {
    let commands = SubmissionCommands::new();
    let server = commands.serve();
    let link = "%5Burl%3Dhttp%3A%2F%2Fa.example%5D";
    let trapped = send_form(&server, "description=Hello+bob%40example.com&website=x").await;
    let by_itself = send_form(&server, &format!("description=first{link}&website=")).await;
    assert_eq!(trapped, by_itself);
    assert!(trapped.0 == 200 && trapped.2.contains("Submission Received!"), "{}", trapped.2);
    let page = server.client.get(server.url("/submit")).send().await.expect("an answer");
    assert_eq!(page.status(), 200);
    assert_eq!(send_form(&server, &format!("description=second{link}")).await, by_itself);
    let of = |status: &str| -> Vec<(String, i64)> {
        let found = commands.list(&["--status", status]).into_iter();
        found
            .map(|submission| {
                (
                    submission["excerpt"].as_str().unwrap_or_default().chars().take(5).collect(),
                    submission["spam_score"].as_i64().unwrap_or_default(),
                )
            })
            .collect()
    };
    assert_eq!(of("spam"), [("secon".to_owned(), 90), ("Hello".to_owned(), 100)]);
    assert_eq!(of("new"), [("first".to_owned(), 50)]);
    let messages: Value =
        server.client.get(server.url("/_dev/messages")).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(messages["messages"].as_array().map(Vec::len), Some(1), "{messages}");
}

/// The base64 of `secret-secret-secret-secr`.
const SECRET: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=";

#[tokio::test]
async fn new_submission_is_sent_to_the_webhook() {
    use aws_lc_rs::hmac;
    use axum::extract::State;
    use axum::http::{HeaderMap, StatusCode};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    type Calls = UnboundedSender<(HeaderMap, String)>;
    async fn receive(State(calls): State<Calls>, headers: HeaderMap, body: String) -> StatusCode {
        calls.send((headers, body)).expect("the test reads it");
        StatusCode::NO_CONTENT
    }
    let (calls, mut seen) = unbounded_channel();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let router = axum::Router::new().route("/hook", axum::routing::post(receive)).with_state(calls);
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });

    let commands = SubmissionCommands::new();
    let webhook = format!("submission_webhook = \"{url}\"\nsubmission_webhook_secret = \"v1,whsec_{SECRET}\"\n");
    commands.scratch.write("config.toml", &SHOP.replace("\n\n[functions", &format!("\n{webhook}\n[functions")));
    let server = commands.serve();
    let id = submit(&server, json!({ "description": "Blue, please" })).await;
    let (headers, body) =
        tokio::time::timeout(std::time::Duration::from_secs(20), seen.recv()).await.expect("in time").expect("a call");
    let header = |name: &str| headers[name].to_str().expect("a text").to_owned();
    let signed = format!("{}.{}.{body}", header("webhook-id"), header("webhook-timestamp"));
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(SECRET).expect("base64"));
    let signature = format!("v1,{}", STANDARD.encode(hmac::sign(&key, signed.as_bytes()).as_ref()));
    assert_eq!(header("webhook-signature"), signature);
    let payload: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((&payload["type"], &payload["data"]["id"]), (&json!("submission.created"), &json!(id)));
    serving.abort();
}
