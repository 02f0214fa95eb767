//! What the operator's hooks hear of people whom an administrator lets in.

use gotrue_rs::testing::{Answer, Receiver, World};
use serde_json::{Value, json};

use super::ANN;

async fn world(receiver: &Receiver) -> World {
    let (before, after) = (receiver.hook("/before", &[]), receiver.hook("/after", &[]));
    World::with(|policy| {
        policy.hooks.before_user_created = Some(before);
        policy.hooks.after_user_created = Some(after);
    })
    .await
}

async fn asked(world: &World, path: &str, body: Value) -> Answer {
    world.post_as(&world.service_token(), path, body).await
}

fn heard(receiver: &Receiver) -> (usize, usize) {
    (receiver.bodies("/before").len(), receiver.bodies("/after").len())
}

#[tokio::test]
async fn of_an_invitation_both_hear_and_the_second_also_of_one_that_is_repeated() {
    let receiver = Receiver::start().await;
    let world = world(&receiver).await;
    let body = json!({"email": ANN, "data": {"team": "red"}});
    let invited = asked(&world, "/invite", body.clone()).await.expect(200);
    assert_eq!(receiver.bodies("/before")[0]["user"]["user_metadata"], json!({"team": "red"}));
    assert_eq!(receiver.bodies("/after")[0]["user"], invited.json);
    asked(&world, "/invite", body).await.expect(200);
    assert_eq!(heard(&receiver), (1, 2));
}

#[tokio::test]
async fn of_a_link_both_hear_if_it_makes_an_account() {
    let receiver = Receiver::start().await;
    let world = world(&receiver).await;
    asked(&world, "/admin/generate_link", json!({"type": "magiclink", "email": ANN})).await.expect(200);
    assert_eq!(heard(&receiver), (1, 1));
    asked(&world, "/admin/generate_link", json!({"type": "recovery", "email": ANN})).await.expect(200);
    assert_eq!(heard(&receiver), (1, 1));
}

#[tokio::test]
async fn who_is_turned_away_is_neither_stored_nor_mailed_nor_given_a_link() {
    let receiver = Receiver::start().await;
    let world = world(&receiver).await;
    receiver.answer("/before", json!({"error": {"http_code": 422, "message": "Members only"}}));
    for (path, body) in [
        ("/invite", json!({"email": ANN})),
        ("/admin/generate_link", json!({"type": "invite", "email": ANN})),
        ("/admin/generate_link", json!({"type": "signup", "email": ANN, "password": "correct horse"})),
    ] {
        let answer = asked(&world, path, body).await;
        assert_eq!((answer.status.as_u16(), answer.str("msg")), (422, "Members only"), "{path}");
    }
    assert!(world.database.query("SELECT 1 FROM auth.users").await.is_empty());
    assert!(world.mailbox.all().is_empty());
    assert_eq!(heard(&receiver), (3, 0));
}
