//! Keys of refresh tokens of version 2, encrypted in the database like passwords.

use gotrue_rs::testing::{TestUser, World};
use gotrue_rules::domain::policy::Policy;
use platform::sealing;
use serde_json::{Value, json};
use uuid::Uuid;

use super::encryption;

const ANN: &str = "ann@example.com";

fn signed_tokens(policy: &mut Policy) {
    policy.mail.autoconfirm = true;
    policy.refresh.algorithm_version = 2;
    policy.security.encryption = encryption(Some("new"));
}

async fn stored(world: &World, user: &TestUser) -> String {
    let sql = format!("SELECT refresh_token_hmac_key FROM auth.sessions WHERE id = '{}'", user.session);
    world.database.query(&sql).await.concat()
}

async fn store(world: &World, user: &TestUser, key: &str) {
    let sql = format!("UPDATE auth.sessions SET refresh_token_hmac_key = '{key}' WHERE id = '{}'", user.session);
    world.database.query(&sql).await;
}

fn key_id(stored: &str) -> Value {
    serde_json::from_str::<Value>(stored).unwrap_or_default()["key_id"].clone()
}

#[tokio::test]
async fn session_key_is_encrypted_and_tokens_stay_valid() {
    let world = World::with(signed_tokens).await;
    let user = world.create_user(ANN).await;
    let sealed = stored(&world, &user).await;
    assert_eq!(key_id(&sealed), json!("new"), "{sealed}");
    let next = world.refresh(&user.refresh_token).await.expect(200);
    // The database does not have the key that decrypts the key of the session.
    assert_eq!(world.journal().statements(), ["sessions.with_account", "sessions.advance_fast"]);
    world.refresh(next.str("refresh_token")).await.expect(200);
    assert_eq!(stored(&world, &user).await, sealed, "it is sealed once");
}

#[tokio::test]
async fn refresh_reencrypts_outdated_session_key() {
    let world = World::with(signed_tokens).await;
    let user = world.create_user(ANN).await;
    let session = Uuid::parse_str(&user.session).expect("an id");
    let sealed = stored(&world, &user).await;
    let key = sealing::unseal(&sealed, session, &encryption(None)).expect("it opens").plain.into_owned();
    let mut token = user.refresh_token.clone();
    for before in [key.clone(), sealing::seal(&key, session, &encryption(Some("old")), &world.app.entropy)] {
        store(&world, &user, &before).await;
        token = world.refresh(&token).await.expect(200).str("refresh_token").to_owned();
        assert_eq!(world.journal().statements(), ["sessions.with_account", "sessions.advance_fast"]);
        let after = stored(&world, &user).await;
        assert_eq!(key_id(&after), json!("new"), "{after}");
        let opened = sealing::unseal(&after, session, &encryption(None)).expect("it opens");
        assert_eq!(opened.plain, key, "the same key");
    }
}

#[tokio::test]
async fn session_upgraded_to_version_2_gets_an_encrypted_key() {
    let world = World::with(|policy| {
        signed_tokens(policy);
        policy.refresh.upgrade_percentage = 100;
    })
    .await;
    let user = world.create_user(ANN).await;
    // The session as the first version made it.
    world.database.query("UPDATE auth.sessions SET refresh_token_hmac_key = NULL, refresh_token_counter = NULL").await;
    let insert = format!(
        "INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
         VALUES ('{:032x}', 'abcdefgh2345', '{}', false, now(), now(), '{}')",
        0, user.id, user.session
    );
    world.database.query(&insert).await;
    let upgraded = world.refresh("abcdefgh2345").await.expect(200);
    assert_eq!(key_id(&stored(&world, &user).await), json!("new"));
    world.refresh(upgraded.str("refresh_token")).await.expect(200);
}

#[tokio::test]
async fn session_with_encrypted_key_is_elevated() {
    let world = World::with(signed_tokens).await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    assert_eq!(key_id(&stored(&world, &ann).await), json!("new"));
    let next = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(world.decode_claims(next.str("access_token"))["aal"], "aal2");
}

#[tokio::test]
async fn session_key_copied_from_another_session_is_refused() {
    let world = World::with(signed_tokens).await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    let of_bob = stored(&world, &bob).await;
    store(&world, &ann, &of_bob).await;
    let answer = world.refresh(&ann.refresh_token).await.expect(500);
    assert!(!answer.text.contains("key"), "{}", answer.text);
}
