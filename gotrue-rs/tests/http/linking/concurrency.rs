//! Concurrent sign-ins of one external identity.

use std::collections::BTreeSet;

use futures::future::join_all;
use gotrue_rs::services::linking::ExternalUser;
use gotrue_rs::testing::World;

use super::{ANN, expect_signed_in, profile, sign_in_with_profile, sign_in_with_provider, with_emails};

#[tokio::test]
async fn concurrent_sign_ins_of_one_identity_create_one_user() {
    let world = World::new().await;
    let user = profile("7", ANN, true);
    let external_users = join_all((0..6).map(|_| sign_in_with_provider(&world, "github", &user))).await;
    let ids: BTreeSet<_> = external_users.into_iter().map(|joined| expect_signed_in(joined).id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["1"]);
}

#[tokio::test]
async fn concurrent_sign_ins_without_email_create_one_user() {
    let world = World::new().await;
    let user = with_emails("7", Vec::new());
    let external_user = ExternalUser { provider: "web3", profile: &user, email_optional: true };
    let external_users = join_all((0..6).map(|_| sign_in_with_profile(&world, external_user))).await;
    let ids: BTreeSet<_> = external_users.into_iter().map(|joined| expect_signed_in(joined).id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["1"]);
}

#[tokio::test]
async fn concurrent_sign_ins_through_two_providers_create_one_user() {
    let world = World::new().await;
    let (here, there) = (profile("7", ANN, true), profile("9", ANN, true));
    let (one, two) =
        tokio::join!(sign_in_with_provider(&world, "github", &here), sign_in_with_provider(&world, "google", &there));
    assert_eq!(expect_signed_in(one).id, expect_signed_in(two).id);
    let identities = "SELECT provider FROM auth.identities ORDER BY provider";
    assert_eq!(world.database.query(identities).await, ["github", "google"]);
}
