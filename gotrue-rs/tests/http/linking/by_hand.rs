//! Manual linking, and invitations accepted through a provider.

use foundation::error::Result;
use gotrue_rs::services::linking::{self, ExternalUser, LinkOutcome};
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use gotrue_rules::domain::external::profile::ProviderProfile;
use gotrue_rules::domain::policy::MailKind;
use serde_json::json;
use uuid::Uuid;

use super::{
    ANN, expect_refused, expect_signed_in, give_identity, profile, request, sign_in_with_provider, with_emails,
};
use crate::user::Acting;

const WORK: &str = "ann@work.example";

async fn world() -> World {
    World::with(|policy| {
        policy.sign_up.anonymous_enabled = true;
        policy.mail.notifications = [MailKind::IdentityLinked].into_iter().collect();
    })
    .await
}

async fn link(world: &World, linking_user: &TestUser, profile: &ProviderProfile) -> Result<LinkOutcome> {
    let cx = request(world);
    let external_user = ExternalUser { provider: "github", profile, email_optional: false };
    let owner = gotrue_rules::domain::user::User {
        id: Uuid::parse_str(&linking_user.id).unwrap_or_default(),
        ..Default::default()
    };
    let mut db = linking::begin_sign_in(&cx, &external_user).await?;
    let joined = linking::link_to_user(&cx, &mut db, &owner, &external_user).await?;
    db.commit().await?;
    if let LinkOutcome::SignedIn { user, .. } = &joined {
        linking::notify_identity_linked(&cx, user, external_user.provider).await;
    }
    Ok(joined)
}

async fn anonymous(world: &World) -> TestUser {
    TestUser::from_session(&world.post("/signup", json!({})).await)
}

#[tokio::test]
async fn linking_an_identity_leaves_the_user_unchanged() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let account = expect_signed_in(link(&world, &ann, &profile("7", WORK, false)).await);
    // The response shows the identities before linking; later requests show all.
    assert_eq!((account.email.as_deref(), account.identities.len()), (Some(ANN), 1));
    let shown = ann.read_user(&world).await;
    assert_eq!(shown.json["identities"].as_array().map(Vec::len), Some(2));
    assert_eq!((shown.str("user_metadata/name"), shown.str("app_metadata/providers/1")), ("", "github"));
    assert_eq!(ann.log(&world).await.last().map(String::as_str), Some("identity_linked"));
    assert!(world.mailbox.latest(ANN).html.contains("github"));
    let same = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", WORK, false)).await);
    assert_eq!(same.id, account.id);
}

#[tokio::test]
async fn identity_belongs_to_one_user() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    let identity = profile("7", WORK, true);
    expect_signed_in(link(&world, &ann, &identity).await);
    for (user, message) in [(&ann, "Identity is already linked"), (&bob, "Identity is already linked to another user")]
    {
        let error = link(&world, user, &identity).await.expect_err("it is linked");
        assert_eq!((error.code().as_str(), error.message()), ("identity_already_exists", message));
    }
}

#[tokio::test]
async fn concurrent_linking_of_one_identity_succeeds_once() {
    let world = world().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    let identity = profile("7", WORK, true);
    let (one, two) = tokio::join!(link(&world, &ann, &identity), link(&world, &bob, &identity));
    let refused: Vec<_> = [one, two].into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.iter().map(|error| error.code().as_str()).collect::<Vec<_>>(), ["identity_already_exists"]);
}

#[tokio::test]
async fn linking_makes_an_anonymous_user_permanent() {
    let world = world().await;
    let user = anonymous(&world).await;
    expect_signed_in(link(&world, &user, &profile("7", WORK, true)).await);
    let shown = user.read_user(&world).await;
    assert_eq!((shown.str("email"), &shown.json["is_anonymous"]), (WORK, &json!(false)));
    assert_ne!(shown.str("email_confirmed_at"), "");
    // The entry is that of the user before the change, as in the reference.
    let named = "SELECT payload FROM auth.audit_log_entries WHERE payload ->> 'action' = 'identity_linked'
                 AND payload ->> 'actor_username' = ''";
    assert_eq!(world.database.query(named).await.len(), 1);

    let other = anonymous(&world).await;
    let error = link(&world, &other, &profile("8", WORK, true)).await.expect_err("another user has the address");
    assert_eq!((error.status(), error.code().as_str()), (400, "email_exists"));
    assert_eq!(other.read_user(&world).await.json["is_anonymous"], true);

    let nameless = anonymous(&world).await;
    expect_signed_in(link(&world, &nameless, &with_emails("9", Vec::new())).await);
    assert_eq!(nameless.read_user(&world).await.json["is_anonymous"], false);
}

#[tokio::test]
async fn unverified_email_must_be_confirmed_first() {
    let world = world().await;
    let user = anonymous(&world).await;
    let refused = expect_refused(link(&world, &user, &profile("7", WORK, false)).await);
    assert_eq!((refused.0, refused.1.as_str()), (422, "email_not_confirmed"));
    let shown = user.read_user(&world).await;
    assert_eq!((shown.str("email"), &shown.json["is_anonymous"]), (WORK, &json!(true)));
    world.get(&world.link(WORK)).await.expect(303);
    assert_ne!(user.read_user(&world).await.str("email_confirmed_at"), "");
}

/// An e-mail address claimed by an anonymous user does not give access to a later owner's user.
#[tokio::test]
async fn b1_unconfirmed_email_of_anonymous_user_grants_no_access() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
    let mallory = anonymous(&world).await;
    expect_refused(link(&world, &mallory, &profile("666", ANN, false)).await);
    let ann = expect_signed_in(sign_in_with_provider(&world, "google", &profile("7", ANN, true)).await);
    assert!(ann.is_email_confirmed());
    world.get_as(&mallory.access_token, "/user").await.expect(403);
    let again = sign_in_with_provider(&world, "github", &profile("666", ANN, false)).await;
    assert!(!matches!(again, Ok(LinkOutcome::SignedIn { .. })), "{again:?}");
}

async fn accept_invitation(world: &World, token: &str, profile: &ProviderProfile) -> Result<LinkOutcome> {
    let cx = request(world);
    let external_user = ExternalUser { provider: "github", profile, email_optional: false };
    let mut db = linking::begin_sign_in(&cx, &external_user).await?;
    let joined = linking::accept_invitation(&cx, &mut db, token, &external_user).await?;
    db.commit().await?;
    Ok(joined)
}

#[tokio::test]
async fn invitation_is_accepted_once_by_the_invited_email() {
    let world = world().await;
    world.post_as(&world.service_token(), "/invite", json!({ "email": ANN })).await.expect(200);
    let token = "SELECT confirmation_token FROM auth.users";
    let token = world.database.query(token).await.remove(0);
    for other in [WORK, "Ann@example.com"] {
        let error =
            accept_invitation(&world, &token, &profile("7", other, true)).await.expect_err("it is for another address");
        assert_eq!((error.status(), error.code().as_str()), (400, "validation_failed"));
    }
    let account = expect_signed_in(accept_invitation(&world, &token, &profile("7", ANN, true)).await);
    assert!(account.is_email_confirmed() && account.identities.len() == 1);
    let error = accept_invitation(&world, &token, &profile("7", ANN, true)).await.expect_err("it is used up");
    assert_eq!((error.status(), error.code().as_str()), (404, "invite_not_found"));
    world.try_password(ANN, PASSWORD).await.expect(400);
}

/// Gives the account a number in the place of an address, or a wallet.
async fn user_without_email(world: &World, user: &TestUser, provider: &str) {
    let sql = format!(
        "UPDATE auth.users SET is_anonymous = false, phone = '15550100', phone_confirmed_at = now() WHERE id = '{}'",
        user.id
    );
    world.database.query(&sql).await;
    give_identity(world, &user.id, provider, None, false).await;
}

#[tokio::test]
async fn phone_or_wallet_user_gets_an_unused_email() {
    for provider in ["phone", "web3"] {
        let world = world().await;
        let user = anonymous(&world).await;
        user_without_email(&world, &user, provider).await;
        expect_signed_in(link(&world, &user, &profile("7", WORK, true)).await);
        let shown = user.read_user(&world).await;
        assert_eq!(shown.str("email"), WORK, "{provider}");
        assert_ne!(shown.str("email_confirmed_at"), "", "{provider}");
    }
}

#[tokio::test]
async fn phone_or_wallet_user_is_linked_without_a_taken_email() {
    for provider in ["phone", "web3"] {
        let world = world().await;
        let owner = world.create_user(WORK).await;
        let user = anonymous(&world).await;
        user_without_email(&world, &user, provider).await;
        expect_signed_in(link(&world, &user, &profile("7", WORK, true)).await);
        let shown = user.read_user(&world).await;
        assert_eq!((shown.str("email"), shown.str("app_metadata/providers/1")), ("", "github"), "{provider}");
        assert_eq!(shown.json["user_metadata"]["email_verified"], true, "as recorded, it counts as confirmed");
        let same = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", WORK, true)).await);
        assert_eq!(same.id.to_string(), user.id, "{provider}");
        assert_eq!(owner.read_user(&world).await.str("email"), WORK);
    }
}

#[tokio::test]
async fn strict_linking_does_not_confirm_an_omitted_email() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
    world.create_user(WORK).await;
    let user = anonymous(&world).await;
    user_without_email(&world, &user, "phone").await;
    expect_signed_in(link(&world, &user, &profile("7", WORK, true)).await);
    let shown = user.read_user(&world).await;
    assert_eq!((shown.str("email"), shown.str("email_confirmed_at")), ("", ""));
}
