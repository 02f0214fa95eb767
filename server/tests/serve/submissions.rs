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
    let second = submit(&server, json!({ "description": "=1+1, in green" })).await;

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
    commands.run_successfully(&["export", &file]);
    let exported = std::fs::read_to_string(&file).expect("written");
    assert!(exported.contains("\"'=1+1, in green\"\r\n"), "{exported}");
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
