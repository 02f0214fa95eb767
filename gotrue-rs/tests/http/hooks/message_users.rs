//! The user that the message hooks receive.

use chrono::TimeDelta;
use gotrue_rs::testing::{HookServer, PASSWORD, TestUser, World};
use serde_json::{Value, json};

use super::SECRET;

/// A world whose mails and texts go to the hooks `/mail` and `/text`.
async fn world_with_message_hooks(receiver: &HookServer) -> World {
    let (mail, text) = (receiver.hook("/mail", &[SECRET]), receiver.hook("/text", &[SECRET]));
    World::builder()
        .policy(|policy| {
            policy.hooks.send_email = Some(mail);
            policy.hooks.send_sms = Some(text);
            policy.sign_up.phone_enabled = true;
        })
        .build()
        .await
}

fn latest_user(receiver: &HookServer, path: &str) -> Value {
    receiver.bodies(path).pop().expect("the hook was called")["user"].clone()
}

/// A user with a confirmed address, ten minutes after the confirmation.
async fn confirmed_user(world: &World, receiver: &HookServer) -> TestUser {
    world.post("/signup", json!({"email": "ann@example.com", "password": PASSWORD})).await.expect(200);
    let code = receiver.bodies("/mail").pop().expect("the hook was called")["email_data"]["token"].clone();
    let given = json!({"type": "signup", "email": "ann@example.com", "token": code});
    let ann = TestUser::from_session(&world.post("/verify", given).await);
    world.advance(TimeDelta::minutes(10));
    ann
}

#[tokio::test]
async fn identity_of_a_new_user_has_no_null_members() {
    let receiver = HookServer::start().await;
    let world = world_with_message_hooks(&receiver).await;
    let data = json!({"gone": null, "kept": {"inner": null}});
    for (route, hook, contact) in [
        ("/signup", "/mail", json!({"email": "ann@example.com", "password": PASSWORD})),
        ("/signup", "/text", json!({"phone": "15550100001", "password": PASSWORD})),
        ("/otp", "/mail", json!({"email": "bob@example.com"})),
        ("/otp", "/text", json!({"phone": "15550100002"})),
    ] {
        let mut body = contact;
        body["data"] = data.clone();
        world.post(route, body).await.expect(200);
        let user = latest_user(&receiver, hook);
        let shown = &user["identities"][0]["identity_data"];
        assert_eq!((shown.get("gone"), &shown["kept"]), (None, &data["kept"]), "{route} {hook}");
    }
    let stored = "SELECT count(*) FROM auth.identities WHERE identity_data -> 'gone' = 'null'";
    assert_eq!(world.database.query(stored).await, ["4"]);
}

#[tokio::test]
async fn contact_change_shows_the_update_time_of_the_preceding_change() {
    let receiver = HookServer::start().await;
    let world = world_with_message_hooks(&receiver).await;
    let ann = confirmed_user(&world, &receiver).await;
    let (email, phone) = (|at: u8| format!("new{at}@example.com"), |at: u8| format!("1555010010{at}"));
    for (at, body, is_mail_new, is_text_new) in [
        (1, json!({"email": email(1)}), Some(false), None),
        (2, json!({"phone": phone(2)}), None, Some(false)),
        (3, json!({"email": email(3), "phone": phone(3)}), Some(false), Some(true)),
        (4, json!({"phone": phone(4), "data": {"plan": "pro"}}), None, Some(true)),
        (5, json!({"email": email(5), "password": "another horse"}), Some(true), None),
    ] {
        let before = world.get_as(&ann.access_token, "/user").await.expect(200);
        world.advance(TimeDelta::minutes(2));
        let answer = world.put_as(&ann.access_token, "/user", body).await.expect(200);
        assert_ne!(answer.str("updated_at"), before.str("updated_at"));
        for (hook, is_new) in [("/mail", is_mail_new), ("/text", is_text_new)] {
            let Some(is_new) = is_new else { continue };
            let shown = if is_new { answer.str("updated_at") } else { before.str("updated_at") };
            assert_eq!(latest_user(&receiver, hook)["updated_at"], shown, "{hook} of change {at}");
        }
    }
}
