//! A span per outbound call, inside that of the request.

use gotrue_rs::testing::{FakeProvider, HookServer, World, json_response};
use platform::testing::Recording;
use serde_json::json;

const FIELDS: [&str; 5] =
    ["peer.service", "http.request.method", "server.address", "http.response.status_code", "error.type"];

/// The fields of all calls in order; all are inside the span of a request and name no path.
fn calls(recording: &Recording) -> Vec<[String; 5]> {
    let spans = recording.spans_named("outbound_call");
    for span in &spans {
        assert_eq!(recording.parent(span).map(|parent| parent.name), Some("request"), "{span:?}");
        assert!(!span.fields.values().any(|value| value.contains('/')), "{span:?}");
    }
    spans.into_iter().map(|span| FIELDS.map(|name| span.fields.get(name).to_owned())).collect()
}

#[tokio::test]
async fn hook_call_has_a_span_with_its_name_and_status() {
    let receiver = HookServer::start().await;
    let hook = receiver.hook("/hook?key=a-secret-of-the-url", &[]);
    let world = World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.hooks.password_verification_attempt = Some(hook);
    })
    .await;
    world.create_user("ann@example.com").await;
    receiver.answer("/hook", json!({"decision": "continue"}));
    Recording::start();
    world.sign_in("ann@example.com").await;
    assert_eq!(calls(&Recording::stop()), [["password-verification", "POST", "127.0.0.1", "200", ""]]);
    receiver.respond("/hook", |_| json_response(500, &json!({})));
    Recording::start();
    world.try_password("ann@example.com", "wrong").await;
    assert_eq!(calls(&Recording::stop()), [["password-verification", "POST", "127.0.0.1", "500", ""]]);
}

#[tokio::test]
async fn unreachable_provider_is_a_call_with_an_error_type() {
    let provider = FakeProvider::start().await;
    let world = World::with(|policy| {
        provider.enable_provider(policy, "github");
        let github = policy.external.providers.get_mut("github").expect("it is enabled");
        github.url = "http://127.0.0.1:9/github".to_owned();
    })
    .await;
    let state = world.start_provider_sign_in("github").await;
    Recording::start();
    world.finish_provider_sign_in(&state).await;
    let recording = Recording::stop();
    // The credentials are sent in a header, then in the form.
    assert_eq!(calls(&recording), [["github", "POST", "127.0.0.1", "", "connect"]; 2]);
    let failures = recording.events.iter().filter(|event| event.level < tracing::Level::DEBUG);
    let failures = failures.filter(|event| !event.fields.get("cause").is_empty());
    let causes: Vec<&str> = failures.map(|event| event.fields.get("cause")).collect();
    let [cause] = causes[..] else { panic!("the failure is not logged once: {causes:?}") };
    assert!(cause.contains("request to the provider failed: no answer: error sending request: "), "{cause}");
}

#[tokio::test]
async fn requests_to_a_provider_have_spans_with_its_name() {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, "ann@example.com", true);
    let world = World::with(|policy| provider.enable_provider(policy, "github")).await;
    let state = world.start_provider_sign_in("github").await;
    Recording::start();
    world.finish_provider_sign_in(&state).await;
    let calls = calls(&Recording::stop());
    assert_eq!(calls.iter().map(|call| &*call[1]).collect::<Vec<_>>(), ["POST", "GET", "GET"]);
    assert!(calls.iter().all(|call| call[0] == "github" && call[3] == "200"), "{calls:?}");
}
