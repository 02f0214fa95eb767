use gotrue_rs::testing::World;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{IdTokenFixture, PATH, body};

const ANN: &str = "ann@example.com";
const WORK: &str = "work@example.com";

async fn link(setting: &IdTokenFixture, bearer: &str, token: &str) -> Answer {
    setting.world.post_as(bearer, PATH, body(token, &json!({"link_identity": true}))).await
}

#[tokio::test]
async fn id_token_links_an_identity_to_the_signed_in_user() {
    let setting = IdTokenFixture::new().await;
    let ann = setting.world.create_user(ANN).await;
    let token = setting.user_token(WORK);
    let answer = link(&setting, &ann.access_token, &token).await.expect(200);
    assert_eq!(answer.str("user/id"), ann.id);
    let user = setting.world.get_as(&ann.access_token, "/user").await;
    assert_eq!(user.json["identities"].as_array().map(Vec::len), Some(2));
    assert_eq!(user.json["app_metadata"]["providers"], json!(["email", "keycloak"]));
    let signed_in = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(signed_in.str("user/id"), ann.id);
}

#[tokio::test]
async fn identity_is_linked_once() {
    let setting = IdTokenFixture::new().await;
    let (ann, bob) = (setting.world.create_user(ANN).await, setting.world.create_user("bob@example.com").await);
    let token = setting.user_token(WORK);
    link(&setting, &ann.access_token, &token).await.expect(200);
    for (bearer, words) in [
        (&ann.access_token, "Identity is already linked"),
        (&bob.access_token, "Identity is already linked to another user"),
    ] {
        let answer = link(&setting, bearer, &token).await;
        assert_eq!((answer.refusal(), answer.str("msg")), ((422, "identity_already_exists"), words));
    }
}

#[tokio::test]
async fn linking_requires_a_session() {
    let setting = IdTokenFixture::new().await;
    let requested = body(&setting.user_token(WORK), &json!({"link_identity": true}));
    let unknown = setting.world.post(PATH, requested.clone()).await.expect(400);
    assert_eq!(unknown.str("error_description"), "Linking requires a valid user access token in Authorization");
    assert_eq!(setting.world.post_as("abc", PATH, requested).await.refusal(), (403, "bad_jwt"));
}

#[tokio::test]
async fn token_with_invalid_signature_links_nothing() {
    let setting = IdTokenFixture::new().await;
    let ann = setting.world.create_user(ANN).await;
    let forged = setting.issuer.with_new_key("key-1").user_token(setting.world.now(), WORK);
    let answer = link(&setting, &ann.access_token, &forged).await.expect(400);
    assert_eq!(answer.str("error_description"), "Bad ID token");
}

#[tokio::test]
async fn hardened_policy_links_only_if_manual_linking_is_enabled() {
    for (is_served, allowed, status) in [(false, false, 200), (true, true, 200), (true, false, 404)] {
        let builder = if is_served { World::builder().as_served() } else { World::builder() };
        let setting =
            IdTokenFixture::of(builder.policy(|policy| policy.security.manual_linking_enabled = allowed)).await;
        let ann = setting.world.create_user(ANN).await;
        let answer = link(&setting, &ann.access_token, &setting.user_token(WORK)).await.expect(status);
        let code = if status == 404 { json!("manual_linking_disabled") } else { Value::Null };
        assert_eq!(answer.json["error_code"], code);
    }
}
