//! Several arrivals at once.

use std::collections::BTreeSet;

use futures::future::join_all;
use gotrue_rs::services::linking::Arrival;
use gotrue_rs::testing::World;

use super::{ANN, arrive, arrive_by, is_in, profile, with_emails};

#[tokio::test]
async fn arrivals_of_one_person_at_once_make_one_account() {
    let world = World::new().await;
    let person = profile("7", ANN, true);
    let arrivals = join_all((0..6).map(|_| arrive(&world, "github", &person))).await;
    let ids: BTreeSet<_> = arrivals.into_iter().map(|joined| is_in(joined).id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["1"]);
}

#[tokio::test]
async fn arrivals_of_one_person_without_an_address_make_one_account() {
    let world = World::new().await;
    let person = with_emails("7", Vec::new());
    let arrival = Arrival { provider: "web3", profile: &person, email_optional: true };
    let arrivals = join_all((0..6).map(|_| arrive_by(&world, arrival))).await;
    let ids: BTreeSet<_> = arrivals.into_iter().map(|joined| is_in(joined).id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await, ["1"]);
}

#[tokio::test]
async fn arrivals_through_two_providers_at_once_make_one_account() {
    let world = World::new().await;
    let (here, there) = (profile("7", ANN, true), profile("9", ANN, true));
    let (one, two) = tokio::join!(arrive(&world, "github", &here), arrive(&world, "google", &there));
    assert_eq!(is_in(one).id, is_in(two).id);
    let identities = "SELECT provider FROM auth.identities ORDER BY provider";
    assert_eq!(world.database.query(identities).await, ["github", "google"]);
}
