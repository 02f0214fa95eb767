//! The recording proxy.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;

use super::application::{settings, sign_up, use_everything};
use super::support::{Application, Folder, Program, World, printed, run};

/// Starts a recorder in front of a world.
pub(crate) fn start(world: &World, out: &str) -> Program {
    Program::start(&["record", "--upstream", &world.text("url"), "--port", "0", "--out", out, "--json"])
}

#[tokio::test]
async fn recorded_flows_are_replayed_without_a_difference() {
    let (world, folder) = (World::create(settings()).await, Folder::new());
    let out = folder.path("flows");
    let proxy = start(&world, &out);
    use_everything(&world, proxy.text("url")).await;
    assert!(proxy.end(Signal::INT), "it finishes when it is interrupted");

    let mut recorded = String::new();
    for name in ["sign-up", "magic-link", "social"] {
        recorded.push_str(&folder.read(&format!("flows/{name}.json")));
    }
    let texts = ["corp.example", "Zanzibar", "My$ecretPassw0rd", "Lower Saxony", "Zoe", "sb_publishable_"];
    let numbers = ["52.52", "13.40", "4711", "64250", "10115", "1985", "482371200", "98123", "737", "12345"];
    for secret in texts.into_iter().chain(numbers) {
        assert!(!recorded.contains(secret), "{secret} is in the files");
    }
    for compared in ["\"lat\": \"<number", "\"pin\": \"<number", "\"expires_in\": 3600", "\"/pay\""] {
        assert!(recorded.contains(compared), "{compared} is not in the files: {recorded}");
    }
    let replayed = run(&["replay", &out]);
    assert!(replayed.status.success(), "{}", printed(&replayed));
    assert!(printed(&replayed).contains("3 passed, 0 failed"), "{}", printed(&replayed));

    // The world itself is a server like any other.
    let (url, key) = (world.text("url"), world.text("publishable_key"));
    let messages = format!("{url}/_dev/messages");
    let against =
        ["replay", &out, "--only", "*i*-*", "--against", &url, "--publishable-key", &key, "--messages", &messages];
    let replayed = run(&against);
    assert!(replayed.status.success(), "{}", printed(&replayed));
}

#[tokio::test]
async fn recording_that_was_killed_is_replayed() {
    let (world, folder) = (World::create(settings()).await, Folder::new());
    let out = folder.path("flows");
    let recorder = start(&world, &out);
    let app = Application { world: &world, url: recorder.text("url") };
    sign_up(&app, "zoe@corp.example").await;
    for _ in 0..500 {
        // The recorder creates the file after the answer.
        let written = std::fs::read_to_string(folder.path("flows/signup.json")).unwrap_or_default();
        if written.contains("grant_type=refresh_token") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(!recorder.end(Signal::KILL));
    let replayed = run(&["replay", &folder.path("flows/signup.json")]);
    assert!(replayed.status.success(), "{}", printed(&replayed));
}

#[tokio::test]
async fn large_bodies_and_other_paths_pass_through() {
    let (world, folder) = (World::create(settings()).await, Folder::new());
    let recorder = start(&world, &folder.path("flows"));
    let url = recorder.text("url");
    let other = |url: &str| world.client.get(format!("{url}/graphql/v1/items?select=id")).send();
    let (proxied, direct) =
        (other(&url).await.expect("an answer"), other(&world.text("url")).await.expect("an answer"));
    assert_eq!(proxied.status(), direct.status());
    assert_eq!(proxied.text().await.expect("text"), direct.text().await.expect("text"));
    let large = json!({ "email": "zoe@corp.example", "password": "x".repeat(3 << 20) });
    let app = Application { world: &world, url: url.clone() };
    let direct = Application { world: &world, url: world.text("url") };
    let proxied = app.send(Method::POST, "/signup", Some(large.clone()), None).await.status();
    assert_eq!(proxied, direct.send(Method::POST, "/signup", Some(large), None).await.status());
    assert!(recorder.end(Signal::INT));
    let text = folder.read("flows/signup.json");
    assert!(!text.contains("/items"), "{text}");
    assert!(text.contains("which is too large for a recording") && text.len() < 8192, "{}", text.len());
}

#[test]
fn server_that_is_not_there_is_reported() {
    let folder = Folder::new();
    let output = run(&["record", "--upstream", "http://127.0.0.1:9", "--out", &folder.path("flows")]);
    assert!(!output.status.success());
    assert!(printed(&output).contains("give the URL of the project"), "{}", printed(&output));
}

#[test]
fn server_with_user_name_is_refused_without_printing_the_password() {
    let folder = Folder::new();
    let upstream = "http://ann:hunter2@127.0.0.1:9";
    let output = run(&["record", "--upstream", upstream, "--out", &folder.path("flows"), "--port", "0"]);
    assert!(!output.status.success());
    let printed = printed(&output);
    assert!(printed.contains("leave it out") && !printed.contains("hunter2"), "{printed}");
}
