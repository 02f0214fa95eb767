//! Linking rules of the hardened policy.

use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::{ANN, expect_refused, expect_signed_in, give_identity, profile, sign_in_with_provider};

async fn served(change: impl FnOnce(&mut Policy)) -> World {
    World::builder().as_served().policy(change).build().await
}

/// With autoconfirm an unverified provider e-mail does not give access to an existing user.
#[tokio::test]
async fn b1_autoconfirm_does_not_link_unverified_emails() {
    let world = served(|policy| policy.mail.autoconfirm = true).await;
    let ann = world.create_user(ANN).await;
    let refused = expect_refused(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
    assert_eq!(refused.1, "provider_email_needs_verification");
    assert_eq!(
        expect_signed_in(sign_in_with_provider(&world, "github", &profile("8", ANN, true)).await).id.to_string(),
        ann.id
    );
    let new = expect_signed_in(sign_in_with_provider(&world, "github", &profile("9", "new@example.com", false)).await);
    assert!(new.is_email_confirmed(), "an address without a user is free there");
}

/// An unverified identity does not prevent the owner from signing up.
#[tokio::test]
async fn b1_unverified_identity_does_not_capture_the_owner() {
    let world = served(|policy| policy.sign_up.anonymous_enabled = true).await;
    let mallory = world.create_user("mallory@example.com").await;
    give_identity(&world, &mallory.id, "gitlab", Some(ANN), false).await;
    let ann = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await);
    assert_ne!(ann.id.to_string(), mallory.id);
}

/// Pre-hijack: a session, a factor and a number that were there before the owner came are gone.
#[tokio::test]
async fn b1_takeover_removes_credentials_of_the_unconfirmed_user() {
    for (is_strict, status) in [(true, 403), (false, 200)] {
        let world = World::with(|policy| policy.security.is_linking_strict = is_strict).await;
        let mallory = world.create_user("mallory@example.com").await;
        let claim = format!(
            "UPDATE auth.users SET email = '{ANN}', email_confirmed_at = NULL, phone = '15550100', \
             phone_confirmed_at = now() WHERE id = '{}'",
            mallory.id
        );
        world.database.query(&claim).await;
        let ann = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await);
        assert_eq!(ann.id.to_string(), mallory.id);
        assert_eq!(ann.phone.is_none(), is_strict);
        world.get_as(&mallory.access_token, "/user").await.expect(status);
        let refreshed = world.refresh(&mallory.refresh_token).await.status.as_u16();
        assert_eq!(refreshed == 200, !is_strict);
    }
}

/// Pre-hijack: nor is what they allowed an OAuth client.
#[tokio::test]
async fn b1_takeover_revokes_oauth_grants_of_the_unconfirmed_user() {
    let world = World::builder().as_served().with_oauth_server().build().await;
    let mallory = world.create_user("mallory@example.com").await;
    let app = world.create_oauth_client(json!({})).await;
    let code = world.obtain_code(&app, &mallory, "email").await;
    let claim = format!("UPDATE auth.users SET email = '{ANN}', email_confirmed_at = NULL WHERE id = '{}'", mallory.id);
    world.database.query(&claim).await;
    expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await);
    assert_eq!(world.exchange_code(&app, &code).await.str("error"), "invalid_grant");
    assert_eq!(world.database.query("SELECT count(*)::text FROM auth.oauth_consents").await, ["0"]);
}

/// A user who verifies the e-mail address at the provider later is linked to the existing user.
///
/// The same holds for a third provider.
#[tokio::test]
async fn email_verified_later_at_the_provider_links_to_the_user() {
    let world = served(|_| {}).await;
    let ann = world.create_user(ANN).await;
    for _ in 0..2 {
        let refused = expect_refused(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
        assert_eq!(refused.1, "provider_email_needs_verification");
    }
    for (provider, subject) in [("github", "7"), ("github", "7"), ("gitlab", "8")] {
        let account = expect_signed_in(sign_in_with_provider(&world, provider, &profile(subject, ANN, true)).await);
        assert_eq!(account.id.to_string(), ann.id, "{provider}");
    }
    let owners = world.database.query("SELECT DISTINCT user_id::text FROM auth.identities").await;
    assert_eq!(owners, [ann.id]);
}

/// A user with sign-ins is kept, without the e-mail address of another user.
#[tokio::test]
async fn used_account_is_kept_without_the_email_of_another_user() {
    let world = served(|policy| policy.mail.allow_unverified_sign_ins = true).await;
    let ann = world.create_user(ANN).await;
    let other = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
    world.database.query("UPDATE auth.users SET last_sign_in_at = now()").await;
    for _ in 0..2 {
        let again = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await);
        assert_eq!((again.id, again.email), (other.id, None));
    }
    let third = expect_signed_in(sign_in_with_provider(&world, "gitlab", &profile("8", ANN, true)).await);
    assert_eq!(third.id.to_string(), ann.id);
}
