use futures::future::join_all;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use gotrue_rules::domain::policy::MailKind;
use http::Method;
use platform::testing::Answer;

use crate::linking::give_identity;
use crate::user::{Acting, create_user};

const WORK: &str = "ann@work.example";

async fn world() -> World {
    World::with(|policy| policy.security.manual_linking_enabled = true).await
}

async fn unlink(world: &World, user: &TestUser, identity: &str) -> Answer {
    let bearer = format!("Bearer {}", user.access_token);
    world.request(Method::DELETE, &format!("/user/identities/{identity}"), &[("authorization", &bearer)], None).await
}

async fn identity(world: &World, user: &TestUser, provider: &str) -> String {
    let sql = format!("SELECT id FROM auth.identities WHERE user_id = '{}' AND provider = '{provider}'", user.id);
    world.database.query(&sql).await.remove(0)
}

/// A user with an e-mail identity and a GitHub identity.
async fn ann(world: &World) -> TestUser {
    let ann = create_user(world, "ann").await;
    give_identity(world, &ann.id, "github", Some(WORK), true).await;
    ann
}

#[tokio::test]
async fn last_identity_cannot_be_unlinked() {
    let world = world().await;
    let ann = ann(&world).await;
    let github = identity(&world, &ann, "github").await;
    let answer = unlink(&world, &ann, &github).await.expect(200);
    assert_eq!(answer.text.trim(), "{}");
    let shown = ann.read_user(&world).await;
    assert_eq!((shown.str("email"), shown.str("app_metadata/providers/0")), (ann.email.as_str(), "email"));
    assert_eq!(shown.json["identities"].as_array().map(Vec::len), Some(1));
    assert_eq!(ann.log(&world).await.last().map(String::as_str), Some("identity_unlinked"));
    let email = identity(&world, &ann, "email").await;
    assert_eq!(unlink(&world, &ann, &email).await.refusal(), (422, "single_identity_not_deletable"));
}

#[tokio::test]
async fn user_takes_the_email_of_the_remaining_identity() {
    let world = world().await;
    let ann = ann(&world).await;
    world.post("/recover", serde_json::json!({ "email": ann.email })).await.expect(200);
    let code = world.code(&ann.email);
    unlink(&world, &ann, &identity(&world, &ann, "email").await).await.expect(200);
    assert_eq!(ann.read_user(&world).await.str("email"), WORK);
    world.try_password(&ann.email, PASSWORD).await.expect(400);
    world.try_password(WORK, PASSWORD).await.expect(200);
    let recovery = serde_json::json!({ "type": "recovery", "email": ann.email, "token": code });
    world.post("/verify", recovery).await.expect(403);
}

#[tokio::test]
async fn unlinking_is_refused_if_the_remaining_email_is_taken() {
    let world = world().await;
    world.create_user(WORK).await;
    let ann = ann(&world).await;
    let email = identity(&world, &ann, "email").await;
    assert_eq!(unlink(&world, &ann, &email).await.refusal(), (422, "email_conflict_identity_not_deletable"));
    assert_eq!(ann.read_user(&world).await.json["identities"].as_array().map(Vec::len), Some(2));
}

/// Identities of other users are not found.
#[tokio::test]
async fn f2_only_own_identities_are_unlinked() {
    let world = world().await;
    let ann = ann(&world).await;
    let bob = create_user(&world, "bob").await;
    let of_bob = identity(&world, &bob, "email").await;
    assert_eq!(unlink(&world, &ann, &of_bob).await.refusal(), (422, "identity_not_found"));
    assert_eq!(unlink(&world, &ann, "first").await.refusal(), (404, "validation_failed"));
    bob.read_user(&world).await;
}

#[tokio::test]
async fn other_audience_is_refused_before_any_lookup() {
    let world = world().await;
    let ann = ann(&world).await;
    let bearer = format!("Bearer {}", ann.access_token);
    let headers = [("authorization", bearer.as_str()), ("x-jwt-aud", "other")];
    let path = format!("/user/identities/{}", ann.id);
    assert_eq!(world.request(Method::DELETE, &path, &headers, None).await.refusal(), (403, "unexpected_audience"));
}

#[tokio::test]
async fn unlinking_is_off_by_default() {
    let world = World::new().await;
    let ann = ann(&world).await;
    let github = identity(&world, &ann, "github").await;
    assert_eq!(unlink(&world, &ann, &github).await.refusal(), (404, "manual_linking_disabled"));
}

#[tokio::test]
async fn unlinking_the_phone_identity_removes_the_phone() {
    let world = world().await;
    let ann = create_user(&world, "ann").await;
    ann.set(&world, "phone = '15550100', phone_confirmed_at = now()").await;
    give_identity(&world, &ann.id, "phone", None, false).await;
    unlink(&world, &ann, &identity(&world, &ann, "phone").await).await.expect(200);
    let shown = ann.read_user(&world).await;
    assert_eq!((shown.str("phone"), shown.str("email")), ("", ann.email.as_str()));
}

#[tokio::test]
async fn previous_email_is_notified() {
    let kinds = [MailKind::IdentityUnlinked];
    let world = World::with(|policy| {
        policy.security.manual_linking_enabled = true;
        policy.mail.notifications = kinds.into_iter().collect();
    })
    .await;
    let ann = ann(&world).await;
    unlink(&world, &ann, &identity(&world, &ann, "email").await).await.expect(200);
    let mail = world.mailbox.latest(&ann.email);
    assert!(mail.html.contains("email"), "{}", mail.html);
}

#[tokio::test]
async fn concurrent_unlinking_keeps_one_identity() {
    let world = world().await;
    let ann = ann(&world).await;
    let ids = [identity(&world, &ann, "email").await, identity(&world, &ann, "github").await];
    let answers = join_all(ids.iter().map(|id| unlink(&world, &ann, id))).await;
    let done = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(done, 1, "{:?}", answers.iter().map(|answer| &answer.text).collect::<Vec<_>>());
    assert_eq!(world.database.query("SELECT count(*) FROM auth.identities").await, ["1"]);
}
