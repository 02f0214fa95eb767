use foundation::secret::SecretKey;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;

use super::ANN;

fn key(policy: &mut Policy, id: &str, byte: u8) {
    let encryption = &mut policy.security.encryption;
    encryption.encrypt_with = Some(id.to_owned());
    encryption.keys.insert(id.to_owned(), SecretKey::new([byte; 32]));
}

#[tokio::test]
async fn totp_secret_is_stored_encrypted_and_can_be_read() {
    let world = World::with(|policy| key(policy, "today", 1)).await;
    let (_, app) = world.create_user_with_totp(ANN).await;
    let stored = world.database.query("SELECT secret FROM auth.mfa_factors").await;
    assert!(stored[0].contains(r#""key_id":"today""#) && !stored[0].contains(&app.secret), "{stored:?}");
    let again = world.sign_in(ANN).await;
    world.elevate_session(&again, &app).await;
}

#[tokio::test]
async fn plain_totp_secret_is_encrypted_on_use() {
    let world = World::with(|policy| key(policy, "today", 1)).await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let clear = format!("UPDATE auth.mfa_factors SET secret = '{}' RETURNING secret", app.secret);
    world.database.query(&clear).await;
    world.elevate_session(&ann, &app).await;
    let stored = world.database.query("SELECT secret FROM auth.mfa_factors").await;
    assert!(stored[0].contains(r#""key_id":"today""#), "{stored:?}");
}
