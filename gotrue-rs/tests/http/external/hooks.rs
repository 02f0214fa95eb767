//! The operator's hooks around a sign-in through a provider.

use gotrue_rs::testing::{FakeProvider, HookServer, World, json_response};
use gotrue_rules::domain::policy::Hook;
use serde_json::json;

use super::{ANN, builder};

const SECRET: &str = "v1,whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHM=";

async fn hooked(before: impl Fn(&HookServer) -> Option<Hook>, after: bool) -> (World, HookServer) {
    let (provider, receiver) = (FakeProvider::start().await, HookServer::start().await);
    provider.add_github_user(4711, ANN, true);
    let world = builder(&provider)
        .policy(|policy| {
            policy.hooks.before_user_created = before(&receiver);
            policy.hooks.after_user_created = after.then(|| receiver.hook("/after", &[SECRET]));
        })
        .build()
        .await;
    (world, receiver)
}

#[tokio::test]
async fn before_user_created_hook_rejects_before_any_write() {
    let (world, receiver) = hooked(|receiver| Some(receiver.hook("/before", &[SECRET])), true).await;
    receiver.respond("/before", |_| json_response(200, &json!({"error": {"http_code": 403, "message": "Not you"}})));
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!((to.query("error"), to.query("error_description")), ("access_denied", "Not you"));
    assert_eq!(to.query.get("error_code").map(String::as_str), Some(""));
    assert!(!to.fragment.contains_key("error_code"), "{to:?}");
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["0"]);
    assert!(receiver.bodies("/after").is_empty());
}

#[tokio::test]
async fn token_hook_is_called_for_sign_ins_but_not_for_linking() {
    let (world, receiver) = hooked(|_| None, true).await;
    for times in 1..=2 {
        let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
        assert!(!to.fragment("access_token").is_empty(), "{to:?}");
        receiver.wait_for_calls(times).await;
        let bodies = receiver.bodies("/after");
        assert_eq!(bodies.len(), times);
        assert!(bodies[times - 1]["user"]["last_sign_in_at"].is_string(), "{}", bodies[times - 1]);
    }
    receiver.respond("/after", |_| json_response(500, &json!({})));
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!(to.query("error"), "server_error", "the account stays, the answer is the hook's: {to:?}");
}
