//! Identities linked by their owner, and invitations accepted through a provider.

use gotrue_rs::services::linking::{self, Arrival, Joined};
use gotrue_rs::testing::{PASSWORD, Person, World};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::external::profile::Profile;
use gotrue_rules::domain::policy::MailKind;
use serde_json::json;
use uuid::Uuid;

use super::{ANN, arrive, give_identity, is_in, is_refused, profile, request, with_emails};
use crate::user::Acting;

const WORK: &str = "ann@work.example";

async fn world() -> World {
    World::with(|policy| {
        policy.sign_up.anonymous_enabled = true;
        policy.mail.notifications = [MailKind::IdentityLinked].into_iter().collect();
    })
    .await
}

async fn link(world: &World, person: &Person, profile: &Profile) -> Result<Joined> {
    let cx = request(world);
    let arrival = Arrival { provider: "github", profile, email_optional: false };
    let owner = gotrue_rules::domain::user::Account {
        id: Uuid::parse_str(&person.id).unwrap_or_default(),
        ..Default::default()
    };
    let mut db = linking::begin(&cx, &arrival).await?;
    let joined = linking::link(&cx, &mut db, &owner, &arrival).await?;
    db.commit().await?;
    if let Joined::In { account, .. } = &joined {
        linking::tell_of_link(&cx, account, arrival.provider).await;
    }
    Ok(joined)
}

async fn anonymous(world: &World) -> Person {
    Person::of(&world.post("/signup", json!({})).await)
}

#[tokio::test]
async fn a_linked_identity_leaves_the_account_as_it_was() {
    let world = world().await;
    let ann = world.person(ANN).await;
    let account = is_in(link(&world, &ann, &profile("7", WORK, false)).await);
    // Who links is shown the identities as they were; whoever asks later, all of them.
    assert_eq!((account.email.as_deref(), account.identities.len()), (Some(ANN), 1));
    let shown = ann.look(&world).await;
    assert_eq!(shown.json["identities"].as_array().map(Vec::len), Some(2));
    assert_eq!((shown.str("user_metadata/name"), shown.str("app_metadata/providers/1")), ("", "github"));
    assert_eq!(ann.log(&world).await.last().map(String::as_str), Some("identity_linked"));
    assert!(world.mailbox.latest(ANN).html.contains("github"));
    let same = is_in(arrive(&world, "github", &profile("7", WORK, false)).await);
    assert_eq!(same.id, account.id);
}

#[tokio::test]
async fn an_identity_belongs_to_one_account() {
    let world = world().await;
    let (ann, bob) = (world.person(ANN).await, world.person("bob@example.com").await);
    let identity = profile("7", WORK, true);
    is_in(link(&world, &ann, &identity).await);
    for (person, message) in
        [(&ann, "Identity is already linked"), (&bob, "Identity is already linked to another user")]
    {
        let error = link(&world, person, &identity).await.expect_err("it is linked");
        assert_eq!((error.code(), error.message()), ("identity_already_exists", message));
    }
}

#[tokio::test]
async fn of_two_who_link_an_identity_at_once_one_has_it() {
    let world = world().await;
    let (ann, bob) = (world.person(ANN).await, world.person("bob@example.com").await);
    let identity = profile("7", WORK, true);
    let (one, two) = tokio::join!(link(&world, &ann, &identity), link(&world, &bob, &identity));
    let refused: Vec<_> = [one, two].into_iter().filter_map(Result::err).collect();
    assert_eq!(
        refused.iter().map(gotrue_rules::domain::error::Error::code).collect::<Vec<_>>(),
        ["identity_already_exists"]
    );
}

#[tokio::test]
async fn an_anonymous_person_becomes_a_known_one() {
    let world = world().await;
    let person = anonymous(&world).await;
    is_in(link(&world, &person, &profile("7", WORK, true)).await);
    let shown = person.look(&world).await;
    assert_eq!((shown.str("email"), &shown.json["is_anonymous"]), (WORK, &json!(false)));
    assert_ne!(shown.str("email_confirmed_at"), "");

    let other = anonymous(&world).await;
    let error = link(&world, &other, &profile("8", WORK, true)).await.expect_err("somebody has the address");
    assert_eq!((error.status(), error.code()), (400, "email_exists"));
    assert_eq!(other.look(&world).await.json["is_anonymous"], true);

    let nameless = anonymous(&world).await;
    is_in(link(&world, &nameless, &with_emails("9", Vec::new())).await);
    assert_eq!(nameless.look(&world).await.json["is_anonymous"], false);
}

#[tokio::test]
async fn an_unverified_address_must_be_confirmed_first() {
    let world = world().await;
    let person = anonymous(&world).await;
    let refused = is_refused(link(&world, &person, &profile("7", WORK, false)).await);
    assert_eq!((refused.0, refused.1.as_str()), (422, "email_not_confirmed"));
    let shown = person.look(&world).await;
    assert_eq!((shown.str("email"), &shown.json["is_anonymous"]), (WORK, &json!(true)));
    world.get(&world.link(WORK)).await.expect(303);
    assert_ne!(person.look(&world).await.str("email_confirmed_at"), "");
}

/// B1: an anonymous account that claims an address is not the way into what its owner has later.
#[tokio::test]
async fn b1_a_claimed_address_is_no_way_in() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
    let mallory = anonymous(&world).await;
    is_refused(link(&world, &mallory, &profile("666", ANN, false)).await);
    let ann = is_in(arrive(&world, "google", &profile("7", ANN, true)).await);
    assert!(ann.is_email_confirmed());
    world.get_as(&mallory.access_token, "/user").await.expect(403);
    let again = arrive(&world, "github", &profile("666", ANN, false)).await;
    assert!(!matches!(again, Ok(Joined::In { .. })), "{again:?}");
}

async fn accept(world: &World, token: &str, profile: &Profile) -> Result<Joined> {
    let cx = request(world);
    let arrival = Arrival { provider: "github", profile, email_optional: false };
    let mut db = linking::begin(&cx, &arrival).await?;
    let joined = linking::accept_invitation(&cx, &mut db, token, &arrival).await?;
    db.commit().await?;
    Ok(joined)
}

#[tokio::test]
async fn an_invitation_is_accepted_once_by_whom_it_is_for() {
    let world = world().await;
    world.post_as(&world.service_token(), "/invite", json!({ "email": ANN })).await.expect(200);
    let token = "SELECT confirmation_token FROM auth.users";
    let token = world.database.query(token).await.remove(0);
    for other in [WORK, "Ann@example.com"] {
        let error = accept(&world, &token, &profile("7", other, true)).await.expect_err("it is for another address");
        assert_eq!((error.status(), error.code()), (400, "validation_failed"));
    }
    let account = is_in(accept(&world, &token, &profile("7", ANN, true)).await);
    assert!(account.is_email_confirmed() && account.identities.len() == 1);
    let error = accept(&world, &token, &profile("7", ANN, true)).await.expect_err("it is used up");
    assert_eq!((error.status(), error.code()), (404, "invite_not_found"));
    world.try_password(ANN, PASSWORD).await.expect(400);
}

/// Gives the account a number in the place of an address, or a wallet.
async fn without_address(world: &World, person: &Person, provider: &str) {
    let sql = format!(
        "UPDATE auth.users SET is_anonymous = false, phone = '15550100', phone_confirmed_at = now() WHERE id = '{}'",
        person.id
    );
    world.database.query(&sql).await;
    give_identity(world, &person.id, provider, None, false).await;
}

#[tokio::test]
async fn an_account_of_a_number_or_wallet_gets_the_address_that_nobody_has() {
    for provider in ["phone", "web3"] {
        let world = world().await;
        let person = anonymous(&world).await;
        without_address(&world, &person, provider).await;
        is_in(link(&world, &person, &profile("7", WORK, true)).await);
        let shown = person.look(&world).await;
        assert_eq!(shown.str("email"), WORK, "{provider}");
        assert_ne!(shown.str("email_confirmed_at"), "", "{provider}");
    }
}

#[tokio::test]
async fn an_account_of_a_number_or_wallet_is_linked_without_an_address_that_somebody_has() {
    for provider in ["phone", "web3"] {
        let world = world().await;
        let owner = world.person(WORK).await;
        let person = anonymous(&world).await;
        without_address(&world, &person, provider).await;
        is_in(link(&world, &person, &profile("7", WORK, true)).await);
        let shown = person.look(&world).await;
        assert_eq!((shown.str("email"), shown.str("app_metadata/providers/1")), ("", "github"), "{provider}");
        assert_eq!(shown.json["user_metadata"]["email_verified"], true, "as recorded, it counts as confirmed");
        let same = is_in(arrive(&world, "github", &profile("7", WORK, true)).await);
        assert_eq!(same.id.to_string(), person.id, "{provider}");
        assert_eq!(owner.look(&world).await.str("email"), WORK);
    }
}

#[tokio::test]
async fn where_joining_is_strict_an_address_that_is_left_out_is_not_confirmed() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
    world.person(WORK).await;
    let person = anonymous(&world).await;
    without_address(&world, &person, "phone").await;
    is_in(link(&world, &person, &profile("7", WORK, true)).await);
    let shown = person.look(&world).await;
    assert_eq!((shown.str("email"), shown.str("email_confirmed_at")), ("", ""));
}
