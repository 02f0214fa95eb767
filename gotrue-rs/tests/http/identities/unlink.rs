use futures::future::join_all;
use gotrue_rs::testing::{Answer, PASSWORD, Person, World};
use gotrue_rules::domain::policy::MailKind;
use http::Method;

use crate::linking::give_identity;
use crate::user::{Acting, person};

const WORK: &str = "ann@work.example";

async fn world() -> World {
    World::with(|policy| policy.security.manual_linking_enabled = true).await
}

async fn unlink(world: &World, person: &Person, identity: &str) -> Answer {
    let bearer = format!("Bearer {}", person.access_token);
    world.request(Method::DELETE, &format!("/user/identities/{identity}"), &[("authorization", &bearer)], None).await
}

async fn identity(world: &World, person: &Person, provider: &str) -> String {
    let sql = format!("SELECT id FROM auth.identities WHERE user_id = '{}' AND provider = '{provider}'", person.id);
    world.database.query(&sql).await.remove(0)
}

/// Somebody with an identity by e-mail and one at GitHub.
async fn ann(world: &World) -> Person {
    let ann = person(world, "ann").await;
    give_identity(world, &ann.id, "github", Some(WORK), true).await;
    ann
}

#[tokio::test]
async fn an_identity_is_unlinked_until_one_remains() {
    let world = world().await;
    let ann = ann(&world).await;
    let github = identity(&world, &ann, "github").await;
    let answer = unlink(&world, &ann, &github).await.expect(200);
    assert_eq!(answer.text.trim(), "{}");
    let shown = ann.look(&world).await;
    assert_eq!((shown.str("email"), shown.str("app_metadata/providers/0")), (ann.email.as_str(), "email"));
    assert_eq!(shown.json["identities"].as_array().map(Vec::len), Some(1));
    assert_eq!(ann.log(&world).await.last().map(String::as_str), Some("identity_unlinked"));
    let email = identity(&world, &ann, "email").await;
    assert_eq!(unlink(&world, &ann, &email).await.refusal(), (422, "single_identity_not_deletable"));
}

#[tokio::test]
async fn the_account_takes_the_address_of_what_remains() {
    let world = world().await;
    let ann = ann(&world).await;
    world.post("/recover", serde_json::json!({ "email": ann.email })).await.expect(200);
    let code = world.code(&ann.email);
    unlink(&world, &ann, &identity(&world, &ann, "email").await).await.expect(200);
    assert_eq!(ann.look(&world).await.str("email"), WORK);
    world.try_password(&ann.email, PASSWORD).await.expect(400);
    world.try_password(WORK, PASSWORD).await.expect(200);
    let recovery = serde_json::json!({ "type": "recovery", "email": ann.email, "token": code });
    world.post("/verify", recovery).await.expect(403);
}

#[tokio::test]
async fn an_address_of_somebody_else_keeps_the_identity() {
    let world = world().await;
    world.person(WORK).await;
    let ann = ann(&world).await;
    let email = identity(&world, &ann, "email").await;
    assert_eq!(unlink(&world, &ann, &email).await.refusal(), (422, "email_conflict_identity_not_deletable"));
    assert_eq!(ann.look(&world).await.json["identities"].as_array().map(Vec::len), Some(2));
}

/// F2: what belongs to somebody else is not there.
#[tokio::test]
async fn f2_only_own_identities_are_unlinked() {
    let world = world().await;
    let ann = ann(&world).await;
    let bob = person(&world, "bob").await;
    let of_bob = identity(&world, &bob, "email").await;
    assert_eq!(unlink(&world, &ann, &of_bob).await.refusal(), (422, "identity_not_found"));
    assert_eq!(unlink(&world, &ann, "first").await.refusal(), (404, "validation_failed"));
    bob.look(&world).await;
}

#[tokio::test]
async fn another_audience_is_refused_before_anything_is_looked_for() {
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
async fn the_number_goes_with_its_identity() {
    let world = world().await;
    let ann = person(&world, "ann").await;
    ann.set(&world, "phone = '15550100', phone_confirmed_at = now()").await;
    give_identity(&world, &ann.id, "phone", None, false).await;
    unlink(&world, &ann, &identity(&world, &ann, "phone").await).await.expect(200);
    let shown = ann.look(&world).await;
    assert_eq!((shown.str("phone"), shown.str("email")), ("", ann.email.as_str()));
}

#[tokio::test]
async fn the_address_before_is_told() {
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
async fn of_two_at_once_one_remains() {
    let world = world().await;
    let ann = ann(&world).await;
    let ids = [identity(&world, &ann, "email").await, identity(&world, &ann, "github").await];
    let answers = join_all(ids.iter().map(|id| unlink(&world, &ann, id))).await;
    let done = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(done, 1, "{:?}", answers.iter().map(|answer| &answer.text).collect::<Vec<_>>());
    assert_eq!(world.database.query("SELECT count(*) FROM auth.identities").await, ["1"]);
}
