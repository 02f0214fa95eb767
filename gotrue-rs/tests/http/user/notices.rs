use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::{MailKind, Policy};
use platform::mail::{EmailMessage, MailError};
use serde_json::json;

use super::{Acting, create_user};

const NEW: &str = "new@example.com";
const NUMBER: &str = "15550100001";

fn all_on(policy: &mut Policy) {
    policy.mail.notifications = MailKind::ALL.into_iter().filter(|kind| kind.is_notification()).collect();
    policy.mail.secure_email_change = false;
    policy.sms.autoconfirm = true;
}

fn notices(world: &World) -> Vec<EmailMessage> {
    world.mailbox.all().into_iter().filter(|mail| mail.purpose.ends_with("_notification")).collect()
}

#[tokio::test]
async fn new_password_is_notified() {
    let world = World::with(all_on).await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "password": "battery staple" })).await.expect(200);
    let [notice] = &*notices(&world) else { panic!("one notice") };
    assert_eq!((notice.to.as_str(), notice.subject.as_str()), ("ann@example.com", "Your password was changed"));
    assert_eq!((&notice.code, &notice.link), (&None, &None));
}

#[tokio::test]
async fn old_email_is_notified_after_the_change() {
    let world = World::with(all_on).await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "email": NEW })).await.expect(200);
    assert_eq!(notices(&world).len(), 0, "nothing has changed yet");
    world.get(&world.link(NEW)).await.expect(303);
    let [notice] = &*notices(&world) else { panic!("one notice") };
    assert_eq!((notice.to.as_str(), &*notice.purpose), ("ann@example.com", "email_changed_notification"));
}

#[tokio::test]
async fn first_phone_notifies_linking_and_second_a_change() {
    let world = World::with(all_on).await;
    let ann = create_user(&world, "ann").await;
    for phone in [NUMBER, "15550100002"] {
        ann.change(&world, json!({ "phone": phone })).await.expect(200);
    }
    let reported: Vec<_> = notices(&world).into_iter().map(|notice| (notice.to, notice.purpose.into_owned())).collect();
    let to = |purpose: &str| ("ann@example.com".to_owned(), purpose.to_owned());
    assert_eq!(reported, [to("identity_linked_notification"), to("phone_changed_notification")]);
}

#[tokio::test]
async fn number_of_a_user_without_its_identity_notifies_change_and_linking() {
    let world = World::with(all_on).await;
    let ann = create_user(&world, "ann").await;
    let path = format!("/admin/users/{}", ann.id);
    world.put_as(&world.service_token(), &path, json!({"phone": NUMBER})).await.expect(200);
    world.database.query("DELETE FROM auth.identities WHERE provider = 'phone' RETURNING id::text").await;
    ann.change(&world, json!({ "phone": "15550100002" })).await.expect(200);
    let purposes: Vec<_> = notices(&world).into_iter().map(|notice| notice.purpose.into_owned()).collect();
    assert_eq!(purposes, ["phone_changed_notification", "identity_linked_notification"]);
}

#[tokio::test]
async fn notifications_are_off_by_default_and_skip_metadata() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "password": "battery staple" })).await.expect(200);
    let talkative = World::with(all_on).await;
    let bob = create_user(&talkative, "bob").await;
    bob.change(&talkative, json!({ "data": { "a": 1 } })).await.expect(200);
    assert_eq!((notices(&world).len(), notices(&talkative).len()), (0, 0));
}

#[tokio::test]
async fn failed_notification_changes_nothing() {
    let world = World::with(all_on).await;
    let ann = create_user(&world, "ann").await;
    world.mailbox.refuse_next(MailError::Failed("no route".into()));
    ann.change(&world, json!({ "password": "battery staple" })).await.expect(200);
    world.try_password(&ann.email, "battery staple").await.expect(200);
}
