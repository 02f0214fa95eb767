use chrono::TimeDelta;
use gotrue_rs::testing::{Receiver, World, WorldBuilder};
use gotrue_rules::domain::policy::HookKind;
use serde_json::{Value, json};

use super::{SECRET, accounts, with_hook};

fn both(receiver: &Receiver) -> WorldBuilder {
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
async fn both_hear_of_a_sign_up_and_the_second_of_one_that_is_repeated() {
    let receiver = Receiver::start().await;
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
async fn who_is_turned_away_is_neither_stored_nor_mailed() {
    let receiver = Receiver::start().await;
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
async fn an_account_stays_when_the_hook_after_it_fails() {
    let receiver = Receiver::start().await;
    let world = both(&receiver).build().await;
    receiver.answer("/after", json!({"error": {"http_code": 409, "message": "Too late"}}));
    let answer = world.post("/signup", ann()).await;
    assert_eq!((answer.status.as_u16(), answer.str("msg")), (500, "Error invoking hook"));
    let anonymous = world.post("/signup", json!({})).await;
    assert_eq!((anonymous.status.as_u16(), anonymous.str("msg")), (409, "Too late"));
    assert_eq!(accounts(&world).await, "2");
}

#[tokio::test]
async fn an_account_confirmed_at_once_is_announced_before_and_not_after() {
    let receiver = Receiver::start().await;
    let world = both(&receiver).policy(|policy| policy.mail.autoconfirm = true).build().await;
    world.post("/signup", ann()).await.expect(200);
    assert_eq!((receiver.bodies("/before").len(), receiver.bodies("/after").len()), (1, 0));
}

#[tokio::test]
async fn an_account_that_an_administrator_makes_is_not_announced() {
    let receiver = Receiver::start().await;
    let world = both(&receiver).build().await;
    world.post_as(&world.service_token(), "/admin/users", json!({"email": "ann@example.com"})).await.expect(200);
    assert!(receiver.calls().is_empty());
}

#[tokio::test]
async fn an_invited_account_that_signs_up_is_announced_without_the_inviters_words() {
    let receiver = Receiver::start().await;
    let world = with_hook(&receiver, HookKind::AfterUserCreated).build().await;
    world.post("/signup", ann()).await.expect(200);
    world.database.query("UPDATE auth.users SET invited_at = now()").await;
    world.advance(TimeDelta::seconds(1));
    world.post("/signup", ann()).await.expect(200);
    let shown = &receiver.bodies("/hook")[1]["user"];
    assert_eq!((&shown["user_metadata"], &shown["identities"]), (&json!({}), &json!([])));
}
