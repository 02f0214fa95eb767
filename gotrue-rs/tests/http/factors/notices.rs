use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::MailKind;

use super::ANN;

#[tokio::test]
async fn factor_notifications_are_mailed_if_enabled() {
    let world = World::with(|policy| {
        policy.mail.notifications.extend([MailKind::MfaFactorEnrolled, MailKind::MfaFactorUnenrolled]);
    })
    .await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let before = world.mailbox.all().len();
    let ann = world.elevate_session(&ann, &app).await;
    assert_eq!(world.mailbox.latest(ANN).subject, "A new verification method was added to your account");
    let ann = world.elevate_session(&ann, &app).await;
    assert_eq!(world.mailbox.all().len(), before + 1, "only the first verification is reported");
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(world.mailbox.latest(ANN).subject, "A verification method was removed from your account");
}

#[tokio::test]
async fn factor_notifications_are_not_mailed_if_disabled() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let before = world.mailbox.all().len();
    let app = world.enroll_totp(&ann, "").await;
    let ann = world.elevate_session(&ann, &app).await;
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(world.mailbox.all().len(), before);
}
