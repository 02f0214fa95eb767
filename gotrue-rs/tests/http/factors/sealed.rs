use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use gotrue_rules::domain::secret::SecretKey;

use super::ANN;

fn key(policy: &mut Policy, id: &str, byte: u8) {
    let encryption = &mut policy.security.encryption;
    encryption.encrypt_with = Some(id.to_owned());
    encryption.keys.insert(id.to_owned(), SecretKey::new([byte; 32]));
}

#[tokio::test]
async fn a_secret_is_stored_sealed_and_read_again() {
    let world = World::with(|policy| key(policy, "today", 1)).await;
    let (_, app) = world.protected(ANN).await;
    let stored = world.database.query("SELECT secret FROM auth.mfa_factors").await;
    assert!(stored[0].contains(r#""key_id":"today""#) && !stored[0].contains(&app.secret), "{stored:?}");
    let again = world.sign_in(ANN).await;
    world.step_up(&again, &app).await;
}

#[tokio::test]
async fn a_secret_in_the_clear_is_sealed_when_it_is_used() {
    let world = World::with(|policy| key(policy, "today", 1)).await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let clear = format!("UPDATE auth.mfa_factors SET secret = '{}' RETURNING secret", app.secret);
    world.database.query(&clear).await;
    world.step_up(&ann, &app).await;
    let stored = world.database.query("SELECT secret FROM auth.mfa_factors").await;
    assert!(stored[0].contains(r#""key_id":"today""#), "{stored:?}");
}
