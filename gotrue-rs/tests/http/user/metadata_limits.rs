//! Metadata limits: enforced by the hardened policy, absent in `gotrue` mode.

use std::time::{Duration, Instant};

use gotrue_rs::testing::{PASSWORD, World};
use platform::testing::Answer;
use serde_json::{Map, Value, json};

const ANN: &str = "ann@example.com";

/// An object of so many members.
fn members(count: usize, value: &Value) -> Value {
    Value::Object((0..count).map(|number| (format!("m{number}"), value.clone())).collect::<Map<_, _>>())
}

async fn served() -> World {
    World::builder().as_served().with_outbox().policy(|policy| policy.mail.autoconfirm = true).build().await
}

#[tokio::test]
async fn oversized_metadata_is_refused_on_every_route() {
    let world = served().await;
    let ann = world.create_user(ANN).await;
    let admin = world.service_token();
    let user = format!("/admin/users/{}", ann.id);
    for (data, reported) in [
        (members(1_001, &json!(1)), "cannot have more than 1000 members"),
        (json!({"list": vec![0; 1_000]}), "cannot have more than 1000 members"),
        (json!({"picture": "x".repeat(256 << 10)}), "cannot be larger than 262144 bytes"),
    ] {
        let new = "new@example.com";
        let answers: Vec<Answer> = vec![
            world.post("/signup", json!({"email": new, "password": PASSWORD, "data": data})).await,
            world.post("/otp", json!({"email": new, "data": data})).await,
            world.post("/otp", json!({"email": ANN, "data": data})).await,
            world.post("/magiclink", json!({"email": ANN, "data": data})).await,
            world.put_as(&ann.access_token, "/user", json!({"data": data})).await,
            world.post_as(&admin, "/admin/users", json!({"email": new, "user_metadata": data})).await,
            world.post_as(&admin, "/admin/users", json!({"email": new, "app_metadata": data})).await,
            world.put_as(&admin, &user, json!({"user_metadata": data})).await,
            world.put_as(&admin, &user, json!({"app_metadata": data})).await,
            world.post_as(&admin, "/invite", json!({"email": new, "data": data})).await,
            world.post_as(&admin, "/admin/generate_link", json!({"type": "signup", "email": new, "data": data})).await,
        ];
        for answer in answers {
            assert_eq!(answer.refusal(), (400, "validation_failed"), "{}", answer.text);
            assert!(answer.str("msg").ends_with(reported), "{}", answer.text);
        }
    }
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["1"]);
}

#[tokio::test]
async fn merged_metadata_is_limited() {
    let world = served().await;
    let ann = world.create_user(ANN).await;
    let update = |data: Value| world.put_as(&ann.access_token, "/user", json!({"data": data}));
    update(members(990, &json!(1))).await.expect(200);
    update(json!({"a": {"b": {"c": 1}}})).await.expect(200);
    assert_eq!(update(members(1_000, &json!(1))).await.refusal(), (400, "validation_failed"));
    update(members(980, &Value::Null)).await.expect(200);
    update(json!({"a": null})).await.expect(200);
}

/// Adding and removing 70,000 members takes linear time, for a user and for an administrator.
#[tokio::test]
async fn gotrue_mode_handles_many_members_in_linear_time() {
    let world = World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.api.max_request_duration = Duration::ZERO;
    })
    .await;
    let ann = world.create_user(ANN).await;
    let (set, removed) = (members(70_000, &json!(1)), members(70_000, &Value::Null));
    let admin = world.service_token();
    let by_admin = format!("/admin/users/{}", ann.id);
    for (token, path, name) in [(&ann.access_token, "/user", "data"), (&admin, &*by_admin, "user_metadata")] {
        let started = Instant::now();
        world.put_as(token, path, json!({name: set})).await.expect(200);
        let setting = started.elapsed();
        let started = Instant::now();
        let left = world.put_as(token, path, json!({name: removed})).await.expect(200);
        let removing = started.elapsed();
        assert!(left.json["user_metadata"].get("m1").is_none());
        assert!(removing < setting * 5, "{path}: set in {setting:?}, removed in {removing:?}");
    }
}
