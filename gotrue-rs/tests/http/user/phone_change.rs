use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::{Acting, create_user};

const NUMBER: &str = "15550100001";

fn with_test_number(policy: &mut Policy) {
    policy.sms.test_otp.insert(NUMBER.into(), "111222".into());
}

#[tokio::test]
async fn phone_is_changed_by_its_code() {
    let world = World::with(with_test_number).await;
    let ann = create_user(&world, "ann").await;
    let response = ann.change(&world, json!({ "phone": "+1 555 010 0001" })).await.expect(200);
    assert_eq!((response.str("phone"), response.str("new_phone")), ("", NUMBER));
    assert!(response.json["phone_change_sent_at"].is_string());

    let code = json!({ "type": "phone_change", "phone": NUMBER, "token": "111222" });
    let done = world.post("/verify", code.clone()).await.expect(200);
    assert_eq!((done.str("/user/phone"), done.json["user"].get("new_phone")), (NUMBER, None));
    assert_eq!(done.json["user"]["app_metadata"]["providers"], json!(["email", "phone"]));
    let identity = &ann.read_user(&world).await.json["identities"][1]["identity_data"];
    assert_eq!((&identity["phone"], &identity["phone_verified"]), (&json!(NUMBER), &json!(true)));
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
    assert_eq!(ann.log(&world).await[2..], ["user_modified", "user_modified"]);
}

#[tokio::test]
async fn autoconfirm_changes_the_phone_immediately() {
    let world = World::with(|policy| policy.sms.autoconfirm = true).await;
    let ann = create_user(&world, "ann").await;
    let changed = ann.change(&world, json!({ "phone": NUMBER })).await.expect(200);
    assert_eq!(changed.str("phone"), NUMBER);
    assert_eq!(changed.json["app_metadata"]["providers"], json!(["email"]), "as recorded");
    let by_number = json!({ "phone": NUMBER, "password": PASSWORD });
    world.post("/token?grant_type=password", by_number).await.expect(200);

    let again = ann.change(&world, json!({ "phone": "15550100002" })).await.expect(200);
    let phones =
        again.json["identities"].as_array().expect("a list").iter().filter(|identity| identity["provider"] == "phone");
    assert_eq!(phones.map(|identity| &identity["identity_data"]["phone"]).collect::<Vec<_>>(), [&json!("15550100002")]);
}

#[tokio::test]
async fn missing_sms_provider_stores_nothing() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let answer = ann.change(&world, json!({ "phone": NUMBER, "data": { "a": 1 }, "password": "battery staple" })).await;
    assert_eq!(answer.expect(500).str("msg"), "Unable to get SMS provider");
    let answer = ann.read_user(&world).await;
    assert_eq!((answer.json.get("new_phone"), answer.json["user_metadata"].get("a")), (None, None));
}

#[tokio::test]
async fn taken_phone_is_refused() {
    let world = World::with(with_test_number).await;
    let ann = create_user(&world, "ann").await;
    create_user(&world, "bob").await.set(&world, &format!("phone = '{NUMBER}'")).await;
    assert_eq!(ann.change(&world, json!({ "phone": "+15550100001" })).await.refusal(), (422, "phone_exists"));
}

#[tokio::test]
async fn email_and_phone_change_atomically() {
    let world = World::with(with_test_number).await;
    let ann = create_user(&world, "ann").await;
    let both = json!({ "email": "new@example.com", "phone": NUMBER });
    let response = ann.change(&world, both).await.expect(200);
    assert_eq!((response.str("new_email"), response.str("new_phone")), ("new@example.com", NUMBER));
    let pending = ann.read_user(&world).await;
    assert_eq!((pending.str("new_email"), pending.str("new_phone")), ("new@example.com", NUMBER));
}

/// As recorded, the column is checked: the code survives the deletion of one-time token rows.
#[tokio::test]
async fn pending_code_survives_other_confirmations() {
    for event in ["an administrator", "a recovery", "a change of address"] {
        let world = World::builder().with_phones().build().await;
        let ann = create_user(&world, "ann").await;
        ann.change(&world, json!({ "phone": NUMBER })).await.expect(200);
        let code = world.phones.latest(NUMBER).code;
        world.advance(TimeDelta::seconds(2));
        match event {
            "an administrator" => {
                let path = format!("/admin/users/{}", ann.id);
                let token = world.service_token();
                world.put_as(&token, &path, json!({"email_confirm": true})).await.expect(200);
            }
            "a recovery" => {
                world.post("/recover", json!({"email": ann.email})).await.expect(200);
                world.get(&world.link(&ann.email)).await.expect(303);
            }
            _ => {
                ann.change(&world, json!({"email": "new@example.com"})).await.expect(200);
                for to in [ann.email.as_str(), "new@example.com"] {
                    world.get(&world.link(to)).await.expect(303);
                }
            }
        }
        assert!(world.database.query("SELECT token_type FROM auth.one_time_tokens").await.is_empty(), "{event}");
        let given = json!({ "type": "phone_change", "phone": NUMBER, "token": code });
        let verified = world.post("/verify", given.clone()).await;
        assert_eq!((verified.status.as_u16(), verified.str("user/phone")), (200, NUMBER), "{event}: {}", verified.text);
        assert_eq!(world.post("/verify", given).await.refusal(), (403, "otp_expired"), "{event}");
    }
}

#[tokio::test]
async fn changed_phone_shows_the_update_time_of_its_identity() {
    for autoconfirm in [true, false] {
        let world = World::with(|policy| {
            policy.sms.autoconfirm = autoconfirm;
            policy.sms.test_otp.insert(NUMBER.into(), "111222".into());
        })
        .await;
        let ann = create_user(&world, "ann").await;
        let path = format!("/admin/users/{}", ann.id);
        world.put_as(&world.service_token(), &path, json!({ "phone": "15550100002" })).await.expect(200);
        world.advance(TimeDelta::minutes(1));
        let changed = ann.change(&world, json!({ "phone": NUMBER })).await.expect(200);
        let shown = if autoconfirm {
            changed.json
        } else {
            let code = json!({ "type": "phone_change", "phone": NUMBER, "token": "111222" });
            world.post("/verify", code).await.expect(200).json["user"].clone()
        };
        let stored = ann.read_user(&world).await.json;
        assert_eq!(shown["identities"], stored["identities"], "autoconfirm {autoconfirm}");
        assert_ne!(shown["identities"][1]["updated_at"], shown["identities"][1]["created_at"]);
    }
}
