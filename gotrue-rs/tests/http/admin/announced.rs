//! Calls of the user-created hooks for users that an administrator invites or creates.

use gotrue_rs::testing::{HookServer, World};
use platform::testing::Answer;
use serde_json::{Value, json};

use super::ANN;

async fn world(receiver: &HookServer) -> World {
    let (before, after) = (receiver.hook("/before", &[]), receiver.hook("/after", &[]));
    World::with(|policy| {
        policy.hooks.before_user_created = Some(before);
        policy.hooks.after_user_created = Some(after);
    })
    .await
}

async fn admin_post(world: &World, path: &str, body: Value) -> Answer {
    world.post_as(&world.service_token(), path, body).await
}

fn hook_call_counts(receiver: &HookServer) -> (usize, usize) {
    (receiver.bodies("/before").len(), receiver.bodies("/after").len())
}

#[tokio::test]
async fn invite_calls_both_created_hooks_and_repeated_invite_calls_second_only() {
    let receiver = HookServer::start().await;
    let world = world(&receiver).await;
    let body = json!({"email": ANN, "data": {"team": "red"}});
    let invited = admin_post(&world, "/invite", body.clone()).await.expect(200);
    assert_eq!(receiver.bodies("/before")[0]["user"]["user_metadata"], json!({"team": "red"}));
    assert_eq!(receiver.bodies("/after")[0]["user"], invited.json);
    admin_post(&world, "/invite", body).await.expect(200);
    assert_eq!(hook_call_counts(&receiver), (1, 2));
}

#[tokio::test]
async fn generated_link_calls_both_hooks_only_for_new_user() {
    let receiver = HookServer::start().await;
    let world = world(&receiver).await;
    admin_post(&world, "/admin/generate_link", json!({"type": "magiclink", "email": ANN})).await.expect(200);
    assert_eq!(hook_call_counts(&receiver), (1, 1));
    admin_post(&world, "/admin/generate_link", json!({"type": "recovery", "email": ANN})).await.expect(200);
    assert_eq!(hook_call_counts(&receiver), (1, 1));
}

#[tokio::test]
async fn rejected_user_is_not_stored_mailed_or_given_a_link() {
    let receiver = HookServer::start().await;
    let world = world(&receiver).await;
    receiver.answer("/before", json!({"error": {"http_code": 422, "message": "Members only"}}));
    for (path, body) in [
        ("/invite", json!({"email": ANN})),
        ("/admin/generate_link", json!({"type": "invite", "email": ANN})),
        ("/admin/generate_link", json!({"type": "signup", "email": ANN, "password": "correct horse"})),
    ] {
        let answer = admin_post(&world, path, body).await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (422, "Members only"), "{path}");
    }
    assert!(world.database.query("SELECT 1 FROM auth.users").await.is_empty());
    assert!(world.mailbox.all().is_empty());
    assert_eq!(hook_call_counts(&receiver), (3, 0));
}
