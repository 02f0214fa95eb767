//! Joining where the server is safer than the reference.

use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::{ANN, arrive, give_identity, is_in, is_refused, profile};

async fn served(change: impl FnOnce(&mut Policy)) -> World {
    World::builder().as_served().policy(change).build().await
}

/// B1: where nobody confirms addresses, a provider's unverified one still opens nobody's account.
#[tokio::test]
async fn b1_autoconfirm_does_not_hand_accounts_over() {
    let world = served(|policy| policy.mail.autoconfirm = true).await;
    let ann = world.person(ANN).await;
    let refused = is_refused(arrive(&world, "github", &profile("7", ANN, false)).await);
    assert_eq!(refused.1, "provider_email_needs_verification");
    assert_eq!(is_in(arrive(&world, "github", &profile("8", ANN, true)).await).id.to_string(), ann.id);
    let new = is_in(arrive(&world, "github", &profile("9", "new@example.com", false)).await);
    assert!(new.is_email_confirmed(), "an address that nobody has is free there");
}

/// B1: what an identity claims without proof keeps its owner from nothing.
#[tokio::test]
async fn b1_an_unproved_identity_does_not_catch_the_owner() {
    let world = served(|policy| policy.sign_up.anonymous_enabled = true).await;
    let mallory = world.person("mallory@example.com").await;
    give_identity(&world, &mallory.id, "gitlab", Some(ANN), false).await;
    let ann = is_in(arrive(&world, "github", &profile("7", ANN, true)).await);
    assert_ne!(ann.id.to_string(), mallory.id);
}

/// Pre-hijack: a session, a factor and a number that were there before the owner came are gone.
#[tokio::test]
async fn b1_nothing_of_an_unconfirmed_account_s_maker_stays() {
    for (is_strict, status) in [(true, 403), (false, 200)] {
        let world = World::with(|policy| policy.security.strict_linking = is_strict).await;
        let mallory = world.person("mallory@example.com").await;
        let claim = format!(
            "UPDATE auth.users SET email = '{ANN}', email_confirmed_at = NULL, phone = '15550100', \
             phone_confirmed_at = now() WHERE id = '{}'",
            mallory.id
        );
        world.database.query(&claim).await;
        let ann = is_in(arrive(&world, "github", &profile("7", ANN, true)).await);
        assert_eq!(ann.id.to_string(), mallory.id);
        assert_eq!(ann.phone.is_none(), is_strict);
        world.get_as(&mallory.access_token, "/user").await.expect(status);
        let refreshed = world.refresh(&mallory.refresh_token).await.status.as_u16();
        assert_eq!(refreshed == 200, !is_strict);
    }
}

/// Pre-hijack: nor is what they allowed an OAuth client.
#[tokio::test]
async fn b1_no_client_that_an_unconfirmed_account_s_maker_trusted_comes_in() {
    let world = World::builder().as_served().as_provider().build().await;
    let mallory = world.person("mallory@example.com").await;
    let app = world.oauth_app(json!({})).await;
    let code = world.code_for(&app, &mallory, "email").await;
    let claim = format!("UPDATE auth.users SET email = '{ANN}', email_confirmed_at = NULL WHERE id = '{}'", mallory.id);
    world.database.query(&claim).await;
    is_in(arrive(&world, "github", &profile("7", ANN, true)).await);
    assert_eq!(world.exchange(&app, &code).await.str("error"), "invalid_grant");
    assert_eq!(world.database.query("SELECT count(*)::text FROM auth.oauth_consents").await, ["0"]);
}

/// Who was told to verify the address at the provider, and does, comes into the account that has it: so does who comes by
/// a third provider.
#[tokio::test]
async fn who_verifies_an_address_at_the_provider_comes_into_the_account_that_has_it() {
    let world = served(|_| {}).await;
    let ann = world.person(ANN).await;
    for _ in 0..2 {
        let refused = is_refused(arrive(&world, "github", &profile("7", ANN, false)).await);
        assert_eq!(refused.1, "provider_email_needs_verification");
    }
    for (provider, subject) in [("github", "7"), ("github", "7"), ("gitlab", "8")] {
        let account = is_in(arrive(&world, provider, &profile(subject, ANN, true)).await);
        assert_eq!(account.id.to_string(), ann.id, "{provider}");
    }
    let owners = world.database.query("SELECT DISTINCT user_id::text FROM auth.identities").await;
    assert_eq!(owners, [ann.id]);
}

/// An account that somebody was in stays theirs, without the address that is another's.
#[tokio::test]
async fn an_account_that_was_used_stays_beside_the_one_that_has_its_address() {
    let world = served(|policy| policy.mail.allow_unverified_sign_ins = true).await;
    let ann = world.person(ANN).await;
    let other = is_in(arrive(&world, "github", &profile("7", ANN, false)).await);
    world.database.query("UPDATE auth.users SET last_sign_in_at = now()").await;
    for _ in 0..2 {
        let again = is_in(arrive(&world, "github", &profile("7", ANN, true)).await);
        assert_eq!((again.id, again.email), (other.id, None));
    }
    let third = is_in(arrive(&world, "gitlab", &profile("8", ANN, true)).await);
    assert_eq!(third.id.to_string(), ann.id);
}
