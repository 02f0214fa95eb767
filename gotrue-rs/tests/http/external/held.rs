//! What is held while a provider thinks, and what several who come back at once come to.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use gotrue_rs::testing::{FakeProvider, json_response};
use serde_json::json;
use tokio::sync::Notify;

use super::{ANN, builder, challenge, world};

#[tokio::test]
async fn provider_requests_hold_no_database_connection() {
    for path in ["/github/login/oauth/access_token", "/github/api/v3/user"] {
        let provider = FakeProvider::start().await;
        provider.add_github_user(4711, ANN, true);
        let (requested, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (request_received, may_go) = (requested.clone(), go.clone());
        provider.respond_after(path, move |_| {
            request_received.notify_one();
            let may_go = may_go.clone();
            Box::pin(async move {
                may_go.notified().await;
                json_response(200, &json!({"id": 4711, "access_token": "a"}))
            })
        });
        let world = builder(&provider).connections(1).build().await;
        let state = world.start_provider_sign_in("github").await;
        let meanwhile = async {
            requested.notified().await;
            world.start_provider_sign_in("github").await;
            go.notify_one();
        };
        let (to, ()) = tokio::join!(world.finish_provider_sign_in(&state), meanwhile);
        assert!(!to.fragment("access_token").is_empty(), "{to:?}");
    }
}

#[tokio::test]
async fn concurrent_callbacks_of_one_flow_sign_in_once() {
    for (query, parameter) in [(String::new(), "access_token"), (challenge(), "code")] {
        let (world, _) = world().await;
        let state = world.start_provider_sign_in(&format!("github{query}")).await;
        let back = format!("/callback?state={state}&code=c");
        let answers = join_all((0..5).map(|_| world.get(&back))).await;
        let mut outcomes = BTreeMap::<String, usize>::new();
        for answer in answers {
            let to = gotrue_rs::testing::RedirectTarget::from_response(&answer);
            let is_in = to.fragment.contains_key(parameter) || to.query.contains_key(parameter);
            *outcomes.entry(if is_in { "in".to_owned() } else { to.query("error").to_owned() }).or_default() += 1;
        }
        assert_eq!(outcomes.remove("in"), Some(1), "{outcomes:?}");
        assert_eq!(outcomes.into_values().sum::<usize>(), 4);
        assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["1"]);
        let sessions = usize::from(query.is_empty()).to_string();
        assert_eq!(world.database.query("SELECT count(*) FROM auth.sessions").await, [sessions]);
    }
}

#[tokio::test]
async fn failed_callback_writes_nothing_and_can_be_retried() {
    for (query, statement) in [(String::new(), "sessions.create"), (challenge(), "flow_state.complete")] {
        let (world, _) = world().await;
        let state = world.start_provider_sign_in(&format!("github{query}")).await;
        world.faults.fail(statement, 1);
        let to = world.finish_provider_sign_in(&state).await;
        assert_eq!((to.query("error"), to.query.contains_key("error_code")), ("server_error", false), "{to:?}");
        assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["0"]);
        let to = world.finish_provider_sign_in(&state).await;
        assert!(!to.query.contains_key("error"), "{to:?}");
    }
}
