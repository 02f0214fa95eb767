//! Joining where the server is safer than the reference.

use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;

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
