//! `POST /invite`.

use std::time::Duration;

use gotrue_rs::testing::{PASSWORD, World};
use platform::mail::MailError;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, account};

async fn invite(world: &World, body: Value) -> Answer {
    world.post_as(&world.service_token(), "/invite", body).await
}

#[tokio::test]
async fn invitation_link_signs_in_and_allows_setting_a_password() {
    let world = World::new().await;
    let invited = invite(&world, json!({"email": "Ann@Example.com", "data": {"team": "red"}})).await.expect(200);
    assert_eq!(invited.str("email"), ANN);
    assert_eq!(invited.json["user_metadata"], json!({"team": "red"}));
    assert!(!invited.str("invited_at").is_empty() && !invited.str("confirmation_sent_at").is_empty());
    let location = world.get(&world.link(ANN)).await.expect(303).header("location").to_owned();
    let token = location.split(['=', '&']).nth(1).expect("the fragment begins with the token").to_owned();
    world.put_as(&token, "/user", json!({"password": PASSWORD})).await.expect(200);
    world.try_password(ANN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn invitation_redirects_to_the_requested_url() {
    let world = World::with(|policy| policy.site.redirect_allow_list = vec!["https://app.example.com/*".into()]).await;
    let (service, body) = (world.service_token(), json!({"email": ANN}));
    world.post_as(&service, "/invite?redirect_to=https://app.example.com/welcome", body).await.expect(200);
    let location = world.get(&world.link(ANN)).await.expect(303).header("location").to_owned();
    assert!(location.starts_with("https://app.example.com/welcome#"), "{location}");
}

#[tokio::test]
async fn concurrent_invitations_send_two_mails_and_one_valid_link() {
    let world = World::with(|policy| policy.mail.max_frequency = Duration::from_mins(1)).await;
    invite(&world, json!({"email": ANN, "data": {"team": "red"}})).await.expect(200);
    let first = world.link(ANN);
    let again = invite(&world, json!({"email": ANN, "data": {"team": "blue"}})).await.expect(200);
    assert_eq!(again.json["user_metadata"], json!({"team": "red"}));
    assert!(world.get(&first).await.header("location").contains("otp_expired"));
    assert!(world.get(&world.link(ANN)).await.header("location").contains("access_token="));
    assert_eq!(world.mailbox.all().len(), 2);
}

#[tokio::test]
async fn existing_user_is_not_invited() {
    let world = World::new().await;
    account(&world, ANN).await;
    assert_eq!(invite(&world, json!({"email": ANN})).await.refusal(), (422, "email_exists"));
    assert!(world.mailbox.all().is_empty());
}

#[tokio::test]
async fn refused_mail_leaves_no_user() {
    let world = World::new().await;
    world.mailbox.refuse_next(MailError::Refused("no such mailbox".to_owned()));
    let answer = invite(&world, json!({"email": ANN})).await.expect(500);
    assert_eq!(answer.str("msg"), "Error sending invite email");
    assert!(world.database.query("SELECT 1 FROM auth.users").await.is_empty());
    assert!(world.database.query("SELECT 1 FROM auth.audit_log_entries").await.is_empty());
}

#[tokio::test]
async fn invitation_mail_is_written_in_the_same_transaction() {
    let world = World::builder().with_outbox().build().await;
    invite(&world, json!({"email": ANN})).await.expect(200);
    let statements = world.journal().statements();
    assert_eq!(statements, ["users.by_email", "accounts.insert", "outbox.insert", "one_time_tokens.issue_invitation"]);
}

#[tokio::test]
async fn inviting_an_unconfirmed_user_sends_two_statements() {
    let world = World::new().await;
    invite(&world, json!({"email": ANN})).await.expect(200);
    invite(&world, json!({"email": ANN})).await.expect(200);
    assert_eq!(world.journal().statements(), ["users.by_email", "one_time_tokens.issue_invitation"]);
}

#[tokio::test]
async fn accepted_invitation_revokes_earlier_tokens() {
    let world = World::new().await;
    invite(&world, json!({"email": ANN})).await.expect(200);
    let invitation = world.link(ANN);
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    let recovery = world.link(ANN);
    world.get(&invitation).await.expect(303);
    assert!(world.get(&recovery).await.header("location").contains("otp_expired"));
    let columns = "SELECT recovery_token, confirmation_token FROM auth.users";
    let left =
        world.database.query(&format!("SELECT u.recovery_token || u.confirmation_token FROM ({columns}) u")).await;
    assert_eq!(left, [""]);
}

#[tokio::test]
async fn audit_log_names_administrator_and_invited_user() {
    let world = World::new().await;
    let invited = invite(&world, json!({"email": ANN})).await.expect(200);
    let rows = world.database.query("SELECT payload::text FROM auth.audit_log_entries").await;
    let row: Value = serde_json::from_str(&rows[0]).unwrap();
    assert_eq!((&row["action"], &row["actor_username"]), (&json!("user_invited"), &json!("service_role")));
    assert_eq!(row["traits"], json!({"user_id": invited.str("id"), "user_email": ANN}));
}

#[tokio::test]
async fn invalid_email_and_invalid_json_are_reported() {
    let world = World::new().await;
    for (body, refusal) in [
        (json!({}), (400, "validation_failed")),
        (json!({"email": "ann"}), (400, "validation_failed")),
        (json!({"email": 1}), (400, "bad_json")),
        (json!({"email": ANN, "data": "red"}), (400, "bad_json")),
        (json!([]), (400, "bad_json")),
    ] {
        assert_eq!(invite(&world, body.clone()).await.refusal(), refusal, "{body}");
    }
}
