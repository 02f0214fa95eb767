//! The user that the message hooks receive.

use gotrue_rs::testing::{HookServer, PASSWORD, World};
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
