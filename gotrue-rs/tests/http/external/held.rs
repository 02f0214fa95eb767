//! What is held while a provider thinks, and what several who come back at once come to.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use gotrue_rs::testing::{FakeProvider, said};
use serde_json::json;
use tokio::sync::Notify;

use super::{ANN, builder, challenge, world};

#[tokio::test]
async fn no_connection_is_held_while_a_provider_thinks() {
    for path in ["/github/login/oauth/access_token", "/github/api/v3/user"] {
        let provider = FakeProvider::start().await;
        provider.knows_on_github(4711, ANN, true);
        let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (was_asked, may_go) = (asked.clone(), go.clone());
        provider.respond_after(path, move |_| {
            was_asked.notify_one();
            let may_go = may_go.clone();
            Box::pin(async move {
                may_go.notified().await;
                said(200, &json!({"id": 4711, "access_token": "a"}))
            })
        });
        let world = builder(&provider).connections(1).build().await;
        let state = world.begin("github").await;
        let meanwhile = async {
            asked.notified().await;
            world.begin("github").await;
            go.notify_one();
        };
        let (to, ()) = tokio::join!(world.finish(&state), meanwhile);
        assert!(!to.fragment("access_token").is_empty(), "{to:?}");
    }
}

#[tokio::test]
async fn of_several_who_come_back_to_one_flow_one_gets_in() {
    for (query, parameter) in [(String::new(), "access_token"), (challenge(), "code")] {
        let (world, _) = world().await;
        let state = world.begin(&format!("github{query}")).await;
        let back = format!("/callback?state={state}&code=c");
        let answers = join_all((0..5).map(|_| world.get(&back))).await;
        let mut outcomes = BTreeMap::<String, usize>::new();
        for answer in answers {
            let to = gotrue_rs::testing::Sent::by(&answer);
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
async fn what_fails_at_the_end_leaves_nothing_and_can_be_tried_again() {
    for (query, statement) in [(String::new(), "sessions.open"), (challenge(), "flow_state.settle")] {
        let (world, _) = world().await;
        let state = world.begin(&format!("github{query}")).await;
        world.faults.fail(statement, 1);
        let to = world.finish(&state).await;
        assert_eq!((to.query("error"), to.query.contains_key("error_code")), ("server_error", false), "{to:?}");
        assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["0"]);
        let to = world.finish(&state).await;
        assert!(!to.query.contains_key("error"), "{to:?}");
    }
}
