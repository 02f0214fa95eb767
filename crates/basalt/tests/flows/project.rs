//! Recordings of a configured server, replayed with and without its project.

use reqwest::Client;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{Folder, Program, printed, run};

const CONFIG: &str = r#"project_id = "recorded"

[auth]
site_url = "http://localhost:4100"

[auth.email]
enable_confirmations = false

[auth.hook.custom_access_token]
enabled = true
uri = "pg-functions://postgres/public/add_plan"
"#;

/// A function that is a hook.
const MIGRATION: &str = r#"CREATE FUNCTION public.add_plan(event jsonb) RETURNS jsonb LANGUAGE sql AS
    $$ SELECT jsonb_set(event, '{claims,plan}', '"gold"') $$;
GRANT EXECUTE ON FUNCTION public.add_plan(jsonb) TO supabase_auth_admin;
"#;

const PASSWORD: &str = "correct horse battery";

/// A server of a project, and a recorder in front of it.
struct Recorded {
    folder: Folder,
    server: Program,
    recorder: Program,
    client: Client,
}

impl Recorded {
    fn start() -> Self {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
        std::fs::write(folder.0.join("supabase/config.toml"), CONFIG).expect("written");
        std::fs::write(folder.0.join("supabase/migrations/20260101000000_plan.sql"), MIGRATION).expect("written");
        let config = folder.path("supabase/config.toml");
        let server = Program::start(&["serve", "--ephemeral", "--json", "--port", "0", "--config", &config]);
        let (url, out) = (server.text("url"), folder.path("flows"));
        let recorder = Program::start(&["record", "--upstream", &url, "--port", "0", "--out", &out, "--json"]);
        let client = Client::builder().no_proxy().build().expect("a client");
        Self { folder, server, recorder, client }
    }

    /// Calls the auth API of a URL and returns the response.
    async fn post(&self, url: &str, path: &str) -> Value {
        let body = json!({ "email": "zoe@corp.example", "password": PASSWORD });
        let request = self.client.post(format!("{url}/auth/v1{path}")).json(&body);
        let response = request.header("apikey", self.server.text("publishable_key")).send().await.expect("a response");
        assert!(response.status().is_success(), "{}", response.status());
        response.json().await.expect("JSON")
    }

    /// Ends the recorder and the server; returns the folder of the project.
    fn end(self) -> Folder {
        assert!(self.recorder.end(Signal::INT));
        assert!(self.server.end(Signal::TERM));
        self.folder
    }
}

#[tokio::test]
async fn flow_of_a_configured_server_is_replayed_with_its_project() {
    let recorded = Recorded::start();
    recorded.post(&recorded.recorder.text("url"), "/signup").await;
    let folder = recorded.end();
    let (flows, config) = (folder.path("flows"), folder.path("supabase/config.toml"));

    let replayed = run(&["replay", &flows, "--config", &config]);
    let text = printed(&replayed);
    assert_eq!(replayed.status.code(), Some(0), "{text}");
    let first = text.lines().next().expect("a line");
    assert!(first.contains("config.toml; 1 migration; hooks custom_access_token"), "{text}");

    let isolated = run(&["replay", &flows, "--isolated"]);
    let text = printed(&isolated);
    assert_eq!(isolated.status.code(), Some(1), "{text}");
    assert!(text.starts_with("Replaying without a project") && text.contains("claims.plan"), "{text}");
}

#[tokio::test]
async fn user_from_before_the_recording_is_named_and_created() {
    let recorded = Recorded::start();
    recorded.post(&recorded.server.text("url"), "/signup").await;
    recorded.post(&recorded.recorder.text("url"), "/token?grant_type=password").await;
    let folder = recorded.end();
    let (flows, config) = (folder.path("flows"), folder.path("supabase/config.toml"));

    let replayed = run(&["replay", &flows, "--config", &config]);
    let text = printed(&replayed);
    assert_eq!(replayed.status.code(), Some(1), "{text}");
    for said in [
        "signs in {{email1}} in step",
        "does not create it",
        "--seed-users",
        "--set email1=VALUE --set password1=VALUE",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let seeded = run(&["replay", &flows, "--config", &config, "--seed-users"]);
    assert_eq!(seeded.status.code(), Some(0), "{}", printed(&seeded));
}
