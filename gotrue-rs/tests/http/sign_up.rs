//! `POST /signup`: with an address, a number, or neither.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use platform::journal::Step;
use platform::mail::MailError;
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
async fn sign_up_mails_a_code_and_opens_no_session() {
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
async fn sign_up_with_autoconfirm_opens_a_session() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    let answer = world.post("/signup", ann()).await.expect(200);
    assert_eq!(answer.str("token_type"), "bearer");
    assert!(!answer.str("user/email_confirmed_at").is_empty());
    assert!(answer.json.get("weak_password").is_none(), "only the password grant has this member");
    assert!(world.mailbox.all().is_empty());
    world.get_as(answer.str("access_token"), "/user").await.expect(200);
}

#[tokio::test]
async fn phone_is_stored_as_digits_and_confirmed_by_fixed_code() {
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
async fn sign_up_with_unreachable_phone_leaves_no_user() {
    let world = World::new().await;
    let answer = world.post("/signup", json!({"phone": "15550100", "password": PASSWORD})).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn sign_up_without_email_and_phone_creates_an_anonymous_user() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let answer = world.post("/signup", json!({"data": {"theme": "dark"}})).await.expect(200);
    assert_eq!(answer.json.pointer("/user/is_anonymous"), Some(&json!(true)));
    assert_eq!(answer.str("user/user_metadata/theme"), "dark");
    let user = world.get_as(answer.str("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("id"), answer.str("user/id"));
}

#[tokio::test]
async fn anonymous_user_without_session_is_rolled_back() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    world.faults.fail("sessions.create", 1);
    let answer = world.post("/signup", json!({})).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(answer.str("msg"), "Database error creating anonymous user");
    assert_eq!(accounts(&world).await, "0");
}

#[tokio::test]
async fn autoconfirmed_user_persists_if_the_session_fails() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.faults.fail("sessions.create", 1);
    assert_eq!(world.post("/signup", ann()).await.status, 500);
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn unsent_mail_leaves_no_user() {
    let world = World::new().await;
    world.mailbox.refuse_next(MailError::Failed("gone fishing".to_owned()));
    let answer = world.post("/signup", ann()).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
    assert_eq!(answer.str("msg"), "Error sending confirmation email");
    assert_eq!(accounts(&world).await, "0");
    world.post("/signup", ann()).await.expect(200);
}

#[tokio::test]
async fn unconfirmed_user_is_mailed_again_and_keeps_the_password() {
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
async fn second_mail_is_rate_limited() {
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
async fn taken_email_is_answered_with_an_obfuscated_user() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let mails = world.mailbox.all().len();
    let answer = world.post("/signup", ann()).await.expect(200);
    assert_eq!(answer.str("email"), ANN);
    assert_ne!(answer.str("id"), user.id);
    assert_eq!(answer.json.pointer("/identities"), Some(&json!([])));
    assert!(!answer.str("confirmation_sent_at").is_empty());
    assert!(answer.json.get("email_confirmed_at").is_none() && answer.json.get("last_sign_in_at").is_none());
    assert_eq!(world.mailbox.all().len(), mails);
}

#[tokio::test]
async fn taken_email_is_reported_with_autoconfirm() {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    world.create_user(ANN).await;
    let answer = world.post("/signup", ann()).await;
    assert_eq!(answer.refusal(), (422, "user_already_exists"));
}

#[tokio::test]
async fn email_of_another_audience_is_refused() {
    let world = World::new().await;
    world.create_user(ANN).await;
    let mails = world.mailbox.all().len();
    let headers = [("x-jwt-aud", "elsewhere")];
    let answer = world.request(http::Method::POST, "/signup", &headers, Some(ann())).await.expect(500);
    assert_eq!(answer.str("code"), "23505");
    assert_eq!(world.mailbox.all().len(), mails, "an insert that fails sends no mail");
}

#[tokio::test]
async fn pkce_sign_up_ends_in_a_single_use_code() {
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
async fn validation_errors_follow_the_documented_order() {
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
async fn disabled_provider_refuses_sign_up() {
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
async fn exhausted_mail_quota_refuses_sign_up() {
    use foundation::limits::Quota;
    let world =
        World::with(|policy| policy.limits.email_sent = Quota::Window { events: 1.0, per: Duration::from_hours(1) })
            .await;
    world.post("/signup", ann()).await.expect(200);
    let answer = world.post("/signup", json!({"email": "bob@example.com", "password": PASSWORD})).await;
    assert_eq!(answer.refusal(), (429, "over_email_send_rate_limit"));
    assert_eq!(accounts(&world).await, "1");
}

#[tokio::test]
async fn resending_confirmation_holds_no_connection() {
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
async fn unconfirmed_user_is_returned_with_its_identity() {
    let world = World::new().await;
    let body = json!({"email": ANN, "user_metadata": {"plan": "free"}});
    let made = world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    let answer = world.post("/signup", ann()).await.expect(200);
    let identity = json!({"sub": made.str("id"), "email": ANN, "email_verified": false, "phone_verified": false});
    assert_eq!(answer.json["identities"][0]["identity_data"], identity);
    assert_eq!(answer.str("user_metadata/plan"), "free");
}

#[tokio::test]
async fn autoconfirmed_user_is_returned_with_the_submitted_identity() {
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
