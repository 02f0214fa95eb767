use chrono::TimeDelta;
use gotrue_rs::testing::{HookServer, World, WorldBuilder};
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::{SECRET, accounts, with_hook};

fn both(receiver: &HookServer) -> WorldBuilder {
    let (before, after) = (receiver.hook("/before", &[SECRET]), receiver.hook("/after", &[SECRET]));
    World::builder().policy(|policy| {
        policy.hooks.before_user_created = Some(before);
        policy.hooks.after_user_created = Some(after);
        policy.sign_up.anonymous_enabled = true;
    })
}

fn ann() -> Value {
    json!({"email": "ann@example.com", "password": "correct horse", "data": {"name": "Ann"}})
}

#[tokio::test]
async fn sign_up_calls_both_hooks_and_repeated_sign_up_calls_the_second() {
    let receiver = HookServer::start().await;
    let world = both(&receiver).build().await;
    let answer = world.post("/signup", ann()).await.expect(200);
    let (before, after) = (receiver.bodies("/before").remove(0), receiver.bodies("/after").remove(0));
    assert_eq!((&before["user"]["id"], &after["user"]["id"]), (&answer.json["id"], &answer.json["id"]));
    assert_eq!(before["user"]["user_metadata"], json!({"name": "Ann"}));
    assert_eq!((&before["user"]["role"], &before["user"]["identities"]), (&json!(""), &json!([])));
    assert_eq!(before["user"]["created_at"], "0001-01-01T00:00:00Z");
    assert_eq!(after["user"], answer.json);
    world.advance(TimeDelta::seconds(1));
    world.post("/signup", ann()).await.expect(200);
    assert_eq!((receiver.bodies("/before").len(), receiver.bodies("/after").len()), (1, 2));
}

#[tokio::test]
async fn rejected_user_is_neither_stored_nor_mailed() {
    let receiver = HookServer::start().await;
    let world = both(&receiver).build().await;
    receiver.answer("/before", json!({"error": {"http_code": 422, "message": "Members only"}}));
    for body in [ann(), json!({})] {
        let answer = world.post("/signup", body).await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (422, "Members only"));
    }
    let answer = world.post("/otp", json!({"email": "bob@example.com"})).await;
    assert_eq!((answer.status.as_u16(), answer.str("msg")), (422, "Members only"));
    assert_eq!(accounts(&world).await, "0");
    assert!(world.mailbox.all().is_empty() && receiver.bodies("/after").is_empty());
}

#[tokio::test]
async fn user_persists_if_the_after_created_hook_fails() {
    let receiver = HookServer::start().await;
    let world = both(&receiver).build().await;
    receiver.answer("/after", json!({"error": {"http_code": 409, "message": "Too late"}}));
    let answer = world.post("/signup", ann()).await;
    assert_eq!((answer.status.as_u16(), answer.str("msg")), (500, "Error invoking hook"));
    let anonymous = world.post("/signup", json!({})).await;
    assert_eq!((anonymous.status.as_u16(), anonymous.str("msg")), (409, "Too late"));
    assert_eq!(accounts(&world).await, "2");
}

#[tokio::test]
async fn autoconfirmed_user_calls_only_the_before_hook() {
    let receiver = HookServer::start().await;
    let world = both(&receiver).policy(|policy| policy.mail.autoconfirm = true).build().await;
    world.post("/signup", ann()).await.expect(200);
    assert_eq!((receiver.bodies("/before").len(), receiver.bodies("/after").len()), (1, 0));
}

#[tokio::test]
async fn admin_created_user_calls_no_hook() {
    let receiver = HookServer::start().await;
    let world = both(&receiver).build().await;
    world.post_as(&world.service_token(), "/admin/users", json!({"email": "ann@example.com"})).await.expect(200);
    assert!(receiver.calls().is_empty());
}

#[tokio::test]
async fn sign_up_of_invited_user_omits_the_invitation_metadata() {
    let receiver = HookServer::start().await;
    let world = with_hook(&receiver, HookKind::AfterUserCreated).build().await;
    world.post("/signup", ann()).await.expect(200);
    world.database.query("UPDATE auth.users SET invited_at = now()").await;
    world.advance(TimeDelta::seconds(1));
    world.post("/signup", ann()).await.expect(200);
    let shown = &receiver.bodies("/hook")[1]["user"];
    assert_eq!((&shown["user_metadata"], &shown["identities"]), (&json!({}), &json!([])));
}
