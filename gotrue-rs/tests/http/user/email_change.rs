use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::Quota;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use platform::mail::MailError;
use serde_json::{Value, json};

use super::{Acting, create_user};

const NEW: &str = "new@example.com";

async fn request_change(world: &World, ann: &TestUser, new: &str) {
    let answer = ann.change(world, json!({ "email": new })).await.expect(200);
    assert_eq!((answer.str("email"), answer.str("new_email")), (ann.email.as_str(), new));
    world.advance(TimeDelta::seconds(1));
}

/// Redeems the code in the latest mail to that address.
async fn confirm(world: &World, email: &str) -> (u16, Value) {
    let code = world.code(email);
    let answer = world.post("/verify", json!({ "type": "email_change", "email": email, "token": code })).await;
    (answer.status.as_u16(), answer.json)
}

#[tokio::test]
async fn both_emails_confirm_in_either_order() {
    for first_is_new in [true, false] {
        let world = World::new().await;
        let ann = create_user(&world, "ann").await;
        request_change(&world, &ann, NEW).await;
        let (first, second) = if first_is_new { (NEW, ann.email.as_str()) } else { (ann.email.as_str(), NEW) };

        let (status, half) = confirm(&world, first).await;
        assert_eq!((status, &half["code"], half.get("access_token")), (200, &json!("200"), None));
        assert_eq!(ann.read_user(&world).await.str("email"), ann.email);

        let (status, done) = confirm(&world, second).await;
        assert_eq!((status, &done["user"]["email"]), (200, &json!(NEW)), "{done}");
        let answer = ann.read_user(&world).await;
        assert_eq!((answer.str("email"), answer.json.get("new_email")), (NEW, None));
        assert_eq!(answer.json["identities"][0]["email"], NEW);
        assert_eq!(answer.json["identities"][0]["identity_data"]["email_verified"], true);
        assert_eq!(answer.json["user_metadata"]["email"], ann.email, "as recorded");
        world.try_password(NEW, PASSWORD).await.expect(200);
        assert_eq!(world.try_password(&ann.email, PASSWORD).await.refusal(), (400, "invalid_credentials"));
    }
}

#[tokio::test]
async fn one_confirmation_does_not_count_twice() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    let link = world.link(NEW);
    for (fragment, _) in [("message=Confirmation", 1), ("error=access_denied", 2)] {
        let answer = world.get(&link).await.expect(303);
        assert!(answer.header("location").contains(fragment), "{}", answer.header("location"));
    }
    assert_eq!(ann.read_user(&world).await.str("email"), ann.email);
}

/// Two links clicked at the same moment: one is the first half, the other must not be lost.
#[tokio::test]
async fn concurrent_confirmations_complete_or_keep_one_link() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    let links = [world.link(NEW), world.link(&ann.email)];
    tokio::join!(world.get(&links[0]), world.get(&links[1]));
    for link in &links {
        world.get(link).await.expect(303);
    }
    assert_eq!(ann.read_user(&world).await.str("email"), NEW);
}

#[tokio::test]
async fn single_confirmation_uses_the_new_email_only() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    assert_eq!(world.mailbox.all().iter().filter(|mail| mail.to == ann.email).count(), 1, "the one of the sign-up");
    let (status, done) = confirm(&world, NEW).await;
    assert_eq!((status, &done["user"]["email"]), (200, &json!(NEW)));
}

#[tokio::test]
async fn mails_name_both_emails_and_use_the_redirect_target() {
    let world = World::with(|policy| policy.site.redirect_allow_list = vec!["https://app.example.com/**".into()]).await;
    let ann = create_user(&world, "ann").await;
    let path = "/user?redirect_to=https://app.example.com/done";
    world.put_as(&ann.access_token, path, json!({ "email": NEW })).await.expect(200);
    for to in [NEW, &ann.email] {
        let mail = world.mailbox.latest(to);
        let link = mail.link.expect("a link");
        assert!(link.contains("type=email_change&redirect_to=https://app.example.com/done"), "{link}");
        assert!(mail.html.contains(NEW) && mail.html.contains(&ann.email), "{}", mail.html);
    }
    assert_ne!(world.code(NEW), world.code(&ann.email));
}

#[tokio::test]
async fn request_is_one_transaction_of_few_statements() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    let expected =
        ["users.with_session", "users.email_taken", "audit_log_entries.insert", "contact_changes.store_email_change"];
    let statements = world.journal().statements();
    assert_eq!(statements[..2], expected[..2]);
    assert_eq!(statements.iter().filter(|name| **name == "contact_changes.store_email_change").count(), 1);
    assert!(statements.len() <= 5, "{statements:?}");
    assert_eq!(ann.log(&world).await[2..], ["user_modified"]);
}

#[tokio::test]
async fn taken_email_is_refused_case_insensitively() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let bob = create_user(&world, "bob").await;
    for email in ["bob@example.com", "BOB@Example.com"] {
        let answer = ann.change(&world, json!({ "email": email, "data": { "a": 1 } })).await;
        assert_eq!(answer.refusal(), (422, "email_exists"));
    }
    bob.set(&world, "email = 'elsewhere@example.com'").await;
    let by_identity = ann.change(&world, json!({ "email": "bob@example.com" })).await;
    assert_eq!(by_identity.refusal(), (422, "email_exists"), "an identity still has it");
    assert_eq!(ann.read_user(&world).await.json["user_metadata"].get("a"), None);
    assert_eq!(world.mailbox.all().len(), 2, "those of the two sign-ups");
}

#[tokio::test]
async fn email_taken_meanwhile_fails_confirmation_without_changes() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    let (code, link) = (world.code(NEW), world.link(NEW));
    let bob = create_user(&world, "bob").await;
    bob.set(&world, &format!("email = '{NEW}'")).await;

    let answer =
        world.post("/verify", json!({ "type": "email_change", "email": NEW, "token": code })).await.expect(500);
    assert_eq!(answer.json["code"], "23505");
    let followed = world.get(&link).await.expect(303);
    assert!(followed.header("location").contains("error=server_error"), "{}", followed.header("location"));
    assert_eq!(ann.read_user(&world).await.str("email"), ann.email);
}

#[tokio::test]
async fn new_change_replaces_the_pending_one() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, "first@example.com").await;
    let stale = world.code("first@example.com");
    request_change(&world, &ann, NEW).await;
    let stale = json!({ "type": "email_change", "email": "first@example.com", "token": stale });
    assert_eq!(world.post("/verify", stale).await.refusal(), (403, "otp_expired"));

    confirm(&world, NEW).await;
    request_change(&world, &ann, "third@example.com").await;
    let (_, half) = confirm(&world, "third@example.com").await;
    assert_eq!(half["code"], "200", "the confirmation of before does not count");
}

#[tokio::test]
async fn refused_mail_stores_nothing() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    world.mailbox.refuse_next(MailError::Failed("no route".into()));
    let body = json!({ "email": NEW, "password": "battery staple", "data": { "a": 1 } });
    let answer = ann.change(&world, body).await.expect(500);
    assert_eq!(answer.str("msg"), "Error sending email change email");
    let answer = ann.read_user(&world).await;
    assert_eq!((answer.json.get("new_email"), answer.json["user_metadata"].get("a")), (None, None));
    world.try_password(&ann.email, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn email_change_is_rate_limited() {
    let world = World::with(|policy| policy.mail.max_frequency = Duration::from_mins(1)).await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    let soon = ann.change(&world, json!({ "email": "other@example.com", "data": { "a": 1 } })).await;
    assert_eq!(soon.refusal(), (429, "over_email_send_rate_limit"));
    assert_eq!(ann.read_user(&world).await.json["user_metadata"].get("a"), None);
}

#[tokio::test]
async fn email_change_consumes_one_mail_of_the_quota() {
    let per = Duration::from_hours(1);
    let world = World::with(|policy| policy.limits.email_sent = Quota::Window { events: 2.0, per }).await;
    let ann = create_user(&world, "ann").await;
    request_change(&world, &ann, NEW).await;
    assert_eq!(world.mailbox.all().len(), 3);
    let third = ann.change(&world, json!({ "email": "other@example.com" })).await;
    assert_eq!(third.refusal(), (429, "over_email_send_rate_limit"));
}

#[tokio::test]
async fn pkce_flow_ends_in_a_session_of_the_requesting_user() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    let ann = create_user(&world, "ann").await;
    let verifier = "a-verifier-that-is-long-enough-to-be-a-challenge";
    let body = json!({ "email": NEW, "code_challenge": verifier, "code_challenge_method": "plain" });
    ann.change(&world, body).await.expect(200);
    let followed = world.get(&world.link(NEW)).await.expect(303);
    let location = url::Url::parse(followed.header("location")).expect("a URL");
    assert_eq!(location.fragment(), None);
    let (_, code) = location.query_pairs().find(|(name, _)| name == "code").expect("a code");
    let exchanged =
        world.post("/token?grant_type=pkce", json!({ "auth_code": code, "code_verifier": verifier })).await.expect(200);
    assert_eq!((exchanged.str("/user/email"), exchanged.str("/user/id")), (NEW, ann.id.as_str()));
}

#[tokio::test]
async fn unknown_challenge_method_sends_no_mail() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let body = json!({ "email": NEW, "code_challenge": "a".repeat(43), "code_challenge_method": "s512" });
    ann.change(&world, body).await.expect(500);
    assert_eq!(world.mailbox.all().len(), 1, "that of the sign-up");
    assert_eq!(ann.read_user(&world).await.json.get("new_email"), None);
}

#[tokio::test]
async fn email_confirmation_makes_an_anonymous_user_permanent() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let unknown = world.post("/signup", json!({ "data": { "cart": 3 } })).await.expect(200);
    let token = unknown.str("access_token");
    let body = json!({ "email": NEW, "password": PASSWORD });
    let response = world.put_as(token, "/user", body).await.expect(200);
    assert_eq!((response.json["is_anonymous"].as_bool(), response.str("email")), (Some(true), ""));
    assert_eq!(world.try_password(NEW, PASSWORD).await.refusal(), (400, "invalid_credentials"));

    let (status, done) = confirm(&world, NEW).await;
    assert_eq!((status, &done["user"]["is_anonymous"]), (200, &json!(false)), "{done}");
    assert_eq!(done["user"]["app_metadata"], json!({ "provider": "email", "providers": ["email"] }));
    assert_eq!(done["user"]["user_metadata"], json!({ "cart": 3, "email_verified": true }));
    world.try_password(NEW, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn autoconfirm_makes_an_anonymous_user_permanent() {
    let world = World::with(|policy| {
        policy.sign_up.anonymous_enabled = true;
        policy.mail.autoconfirm = true;
    })
    .await;
    let unknown = world.post("/signup", json!({})).await.expect(200);
    let body = json!({ "email": NEW, "password": PASSWORD });
    let changed = world.put_as(unknown.str("access_token"), "/user", body).await.expect(200);
    assert_eq!((changed.str("email"), &changed.json["is_anonymous"]), (NEW, &json!(false)));
    assert_eq!(changed.json["app_metadata"], json!({}), "as recorded");
    assert!(world.mailbox.all().is_empty());
    let log = "SELECT payload ->> 'action' FROM auth.audit_log_entries ORDER BY created_at";
    let log = world.database.query(log).await;
    assert_eq!(log, ["user_updated_password", "user_modified", "user_modified"]);
    world.try_password(NEW, PASSWORD).await.expect(200);
}
