use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::MailKind;

use super::ANN;

#[tokio::test]
async fn mails_tell_of_a_factor_where_that_is_wanted() {
    let world = World::with(|policy| {
        policy.mail.notifications.extend([MailKind::MfaFactorEnrolled, MailKind::MfaFactorUnenrolled]);
    })
    .await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let before = world.mailbox.all().len();
    let ann = world.step_up(&ann, &app).await;
    assert_eq!(world.mailbox.latest(ANN).subject, "A new verification method was added to your account");
    let ann = world.step_up(&ann, &app).await;
    assert_eq!(world.mailbox.all().len(), before + 1, "only the first verification is told");
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(world.mailbox.latest(ANN).subject, "A verification method was removed from your account");
}

#[tokio::test]
async fn nobody_is_told_where_that_is_not_wanted() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let before = world.mailbox.all().len();
    let app = world.app_factor(&ann, "").await;
    let ann = world.step_up(&ann, &app).await;
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(world.mailbox.all().len(), before);
}
