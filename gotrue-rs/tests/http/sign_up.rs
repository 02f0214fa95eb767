//! `POST /signup`: with an address, a number, or neither.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::journal::Step;
use gotrue_rs::ports::mail::MailError;
use gotrue_rs::testing::{PASSWORD, World};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn ann() -> Value {
    json!({"email": ANN, "password": PASSWORD})
}

async fn accounts(world: &World) -> String {
    world.database.query("SELECT count(*) FROM auth.users").await.concat()
}

#[tokio::test]
async fn a_newcomer_is_mailed_a_code_and_waits_without_a_session() {
    let world = World::new().await;
    let body = json!({"email": "Ann@Example.com", "password": PASSWORD, "data": {"name": "Ann"}});
    let answer = world.post("/signup", body).await.expect(200);
    assert_eq!(answer.str("email"), ANN);
    assert_eq!(answer.str("role"), "authenticated");
    assert_eq!(answer.str("user_metadata/name"), "Ann");
    assert_eq!(answer.str("identities/0/provider"), "email");
    assert!(answer.json.get("access_token").is_none() && answer.json.get("email_confirmed_at").is_none());
    assert_eq!(world.code(ANN).len(), 6);
    let link = world.link(ANN);
    assert!(link.starts_with("/verify?") && link.contains("type=signup"), "{link}");
}

#[tokio::test]
async fn where_addresses_need_no_confirmation_a_sign_up_is_a_sign_in() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    let answer = world.post("/signup", ann()).await.expect(200);
    assert_eq!(answer.str("token_type"), "bearer");
    assert!(!answer.str("user/email_confirmed_at").is_empty());
    assert!(answer.json.get("weak_password").is_none(), "only the password grant has this member");
    assert!(world.mailbox.all().is_empty());
    world.get_as(answer.str("access_token"), "/user").await.expect(200);
}

#[tokio::test]
async fn a_number_is_kept_as_digits_and_confirmed_by_its_fixed_code() {
    let world = World::with(|policy| {
        policy.sms.test_otp.insert("15550100".to_owned(), "424242".to_owned());
    })
    .await;
    let body = json!({"phone": "+1 555 0100", "password": PASSWORD});
    let answer = world.post("/signup", body).await.expect(200);
    assert_eq!(answer.str("phone"), "15550100");
    assert_eq!(answer.str("identities/0/provider"), "phone");
    let code = json!({"type": "sms", "phone": "+15550100", "token": "424242"});
    let session = world.post("/verify", code).await.expect(200);
    assert!(!session.str("user/phone_confirmed_at").is_empty());
}

#[tokio::test]
async fn a_number_that_nobody_can_text_leaves_no_account() {
    let world = World::new().await;
    let answer = world.post("/signup", json!({"phone": "15550100", "password": PASSWORD})).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn somebody_without_address_and_number_gets_an_anonymous_account() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let answer = world.post("/signup", json!({"data": {"theme": "dark"}})).await.expect(200);
    assert_eq!(answer.json.pointer("/user/is_anonymous"), Some(&json!(true)));
    assert_eq!(answer.str("user/user_metadata/theme"), "dark");
    let user = world.get_as(answer.str("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("id"), answer.str("user/id"));
}

#[tokio::test]
async fn an_anonymous_account_whose_session_cannot_be_opened_is_not_kept() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    world.faults.fail("sessions.open", 1);
    let answer = world.post("/signup", json!({})).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(answer.str("msg"), "Database error creating anonymous user");
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn an_account_confirmed_at_once_stays_when_its_session_cannot_be_opened() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.faults.fail("sessions.open", 1);
    assert_eq!(world.post("/signup", ann()).await.status, 500);
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn a_mail_that_cannot_be_sent_leaves_no_account() {
    let world = World::new().await;
    world.mailbox.refuse_next(MailError::Failed("gone fishing".to_owned()));
    let answer = world.post("/signup", ann()).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(answer.str("msg"), "Error sending confirmation email");
    assert_eq!(accounts(&world).await, "0");
    world.post("/signup", ann()).await.expect(200);
}

#[tokio::test]
async fn an_account_that_waits_is_mailed_again_and_keeps_its_password() {
    let world = World::new().await;
    world.post("/signup", ann()).await.expect(200);
    let first = world.code(ANN);
    world.advance(TimeDelta::minutes(2));
    let again = json!({"email": ANN, "password": "another password", "data": {"name": "Eve"}});
    let answer = world.post("/signup", again).await.expect(200);
    assert!(answer.json.pointer("/user_metadata/name").is_none());
    assert_ne!(world.code(ANN), first);
    let verify = |code: String| json!({"type": "signup", "email": ANN, "token": code});
    assert_eq!(world.post("/verify", verify(first)).await.refusal(), (403, "otp_expired"));
    world.post("/verify", verify(world.code(ANN))).await.expect(200);
    world.sign_in(ANN).await;
    assert_eq!(accounts(&world).await, "1");
}

#[tokio::test]
async fn a_second_mail_waits_for_the_gap() {
    let world = World::with(|policy| policy.mail.max_frequency = Duration::from_mins(1)).await;
    world.post("/signup", ann()).await.expect(200);
    world.advance(TimeDelta::seconds(18));
    let early = world.post("/signup", ann()).await;
    assert_eq!(early.refusal(), (429, "over_email_send_rate_limit"));
    assert_eq!(early.str("msg"), "For security purposes, you can only request this after 42 seconds.");
    world.advance(TimeDelta::seconds(42));
    world.post("/signup", ann()).await.expect(200);
}

#[tokio::test]
async fn a_taken_address_is_answered_by_a_stand_in() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let mails = world.mailbox.all().len();
    let answer = world.post("/signup", ann()).await.expect(200);
    assert_eq!(answer.str("email"), ANN);
    assert_ne!(answer.str("id"), person.id);
    assert_eq!(answer.json.pointer("/identities"), Some(&json!([])));
    assert!(!answer.str("confirmation_sent_at").is_empty());
    assert!(answer.json.get("email_confirmed_at").is_none() && answer.json.get("last_sign_in_at").is_none());
    assert_eq!(world.mailbox.all().len(), mails);
}

#[tokio::test]
async fn a_taken_address_is_told_where_nothing_is_confirmed_anyway() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.person(ANN).await;
    let answer = world.post("/signup", ann()).await;
    assert_eq!(answer.refusal(), (422, "user_already_exists"));
}

#[tokio::test]
async fn an_address_of_another_audience_is_not_given_twice() {
    let world = World::new().await;
    world.person(ANN).await;
    let mails = world.mailbox.all().len();
    let headers = [("x-jwt-aud", "elsewhere")];
    let answer = world.request(http::Method::POST, "/signup", &headers, Some(ann())).await.expect(500);
    assert_eq!(answer.str("code"), "23505");
    assert_eq!(world.mailbox.all().len(), mails, "an insert that fails mails nobody");
}

#[tokio::test]
async fn a_sign_up_with_a_challenge_ends_in_a_code_that_its_verifier_redeems_once() {
    let world = World::new().await;
    let body =
        json!({"email": ANN, "password": PASSWORD, "code_challenge": CHALLENGE, "code_challenge_method": "S256"});
    world.post("/signup", body).await.expect(200);
    let location = world.get(&world.link(ANN)).await.expect(303).header("location").to_owned();
    let code = location.split_once("code=").map(|(_, code)| code.to_owned()).expect("the page gets a code");
    assert!(!location.contains("access_token"), "{location}");
    let grant = |verifier: &str| json!({"auth_code": code, "code_verifier": verifier});
    let wrong = world.post("/token?grant_type=pkce", grant("not the verifier")).await;
    assert_eq!(wrong.refusal(), (400, "bad_code_verifier"));
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let session = world.post("/token?grant_type=pkce", grant(verifier)).await.expect(200);
    assert_eq!(session.str("user/email"), ANN);
    let again = world.post("/token?grant_type=pkce", grant(verifier)).await;
    assert_eq!(again.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn the_first_complaint_about_a_sign_up_wins() {
    let world = World::new().await;
    for (body, refusal, message) in [
        (json!({}), (422, "anonymous_provider_disabled"), "Anonymous sign-ins are disabled"),
        (json!({"email": ANN}), (400, "validation_failed"), "Signup requires a valid password"),
        (
            json!({"email": ANN, "phone": "15550100", "password": "12345"}),
            (422, "weak_password"),
            "Password should be at least 6 characters.",
        ),
        (
            json!({"email": ANN, "password": "é".repeat(37)}),
            (400, "validation_failed"),
            "Password cannot be longer than 72 characters",
        ),
        (
            json!({"email": ANN, "phone": "15550100", "password": PASSWORD}),
            (400, "validation_failed"),
            "Only an email address or phone number should be provided on signup.",
        ),
        (
            json!({"email": "no address", "password": PASSWORD}),
            (400, "validation_failed"),
            "Unable to validate email address: invalid format",
        ),
        (
            json!({"phone": "call me", "password": PASSWORD}),
            (400, "validation_failed"),
            "Invalid phone number format (E.164 required)",
        ),
        (
            json!({"phone": "15550100", "password": PASSWORD, "code_challenge": CHALLENGE}),
            (400, "validation_failed"),
            "PKCE not supported for phone signups",
        ),
        (
            json!({"email": ANN, "password": PASSWORD, "code_challenge": CHALLENGE}),
            (400, "validation_failed"),
            "PKCE flow requires code_challenge_method and code_challenge",
        ),
    ] {
        let answer = world.post("/signup", body.clone()).await;
        assert_eq!((answer.refusal(), answer.str("msg")), (refusal, message), "{body}");
    }
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn a_provider_that_is_off_takes_nobody() {
    let world = World::with(|policy| {
        policy.sign_up.email_enabled = false;
        policy.sign_up.phone_enabled = false;
    })
    .await;
    assert_eq!(world.post("/signup", ann()).await.refusal(), (400, "email_provider_disabled"));
    let phone = json!({"phone": "15550100", "password": PASSWORD});
    assert_eq!(world.post("/signup", phone).await.refusal(), (400, "phone_provider_disabled"));
}

#[tokio::test]
async fn mails_end_when_the_quota_is_used_up() {
    use gotrue_rules::domain::policy::Quota;
    let world =
        World::with(|policy| policy.limits.email_sent = Quota::Window { events: 1.0, per: Duration::from_hours(1) })
            .await;
    world.post("/signup", ann()).await.expect(200);
    let answer = world.post("/signup", json!({"email": "bob@example.com", "password": PASSWORD})).await;
    assert_eq!(answer.refusal(), (429, "over_email_send_rate_limit"));
    assert_eq!(accounts(&world).await, "1");
}

#[tokio::test]
async fn nothing_is_held_while_a_waiting_account_is_mailed_again() {
    let world = World::new().await;
    world.post("/signup", ann()).await.expect(200);
    world.advance(TimeDelta::minutes(2));
    world.post("/signup", ann()).await.expect(200);
    let steps = world.journal().steps();
    let at = |step| steps.iter().position(|taken| *taken == step);
    let (sent, begun) = (at(Step::Call("mail.send")), at(Step::Transaction("BEGIN")));
    assert!(sent.is_some() && sent < begun, "{steps:?}");
}

#[tokio::test]
async fn an_account_that_waits_is_shown_with_its_own_identity() {
    let world = World::new().await;
    let body = json!({"email": ANN, "user_metadata": {"plan": "free"}});
    let made = world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    let answer = world.post("/signup", ann()).await.expect(200);
    let identity = json!({"sub": made.str("id"), "email": ANN, "email_verified": false, "phone_verified": false});
    assert_eq!(answer.json["identities"][0]["identity_data"], identity);
    assert_eq!(answer.str("user_metadata/plan"), "free");
}

#[tokio::test]
async fn an_account_that_is_confirmed_by_signing_up_shows_the_identity_that_was_meant() {
    let world = World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.sign_up.phone_enabled = true;
    })
    .await;
    let body = json!({"email": ANN, "phone": "15550100001"});
    world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    let answer = world.post("/signup", ann()).await.expect(200);
    let identities = answer.json["user"]["identities"].as_array().expect("a list");
    assert_eq!(identities.len(), 1);
    assert_eq!(identities[0]["identity_data"]["email"], ANN);
}
