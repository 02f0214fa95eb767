//! `POST /admin/generate_link`, and what comes of its links.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, account};

const NEW: &str = "new@example.com";
/// The S256 challenge of [`VERIFIER`] (RFC 7636, appendix B).
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

async fn link(world: &World, kind: &str, more: Value) -> Answer {
    let usual = json!({"type": kind, "email": ANN});
    let members = [usual, more].into_iter().flat_map(|body| body.as_object().cloned().unwrap_or_default());
    world.post_as(&world.service_token(), "/admin/generate_link", Value::Object(members.collect())).await
}

/// Where the link of the answer leads.
async fn followed(world: &World, made: &Answer) -> String {
    let path = made.str("action_link").strip_prefix("http://auth.example.com").expect("the link leads to the server");
    world.get(path).await.expect(303).header("location").to_owned()
}

async fn session_by_code(world: &World, kind: &str, made: &Answer) -> Answer {
    world.post("/verify", json!({"type": kind, "email": ANN, "token": made.str("email_otp")})).await
}

async fn session_by_hash(world: &World, kind: &str, made: &Answer) -> Answer {
    world.post("/verify", json!({"type": kind, "token_hash": made.str("hashed_token")})).await
}

#[tokio::test]
async fn signup_link_creates_a_user_and_confirms_it() {
    let world = World::new().await;
    let made = link(&world, "signup", json!({"password": PASSWORD, "data": {"name": "Ann"}})).await.expect(200);
    assert_eq!(made.str("verification_type"), "signup");
    assert_eq!(made.json["user_metadata"], json!({"name": "Ann"}));
    assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "email_not_confirmed"));
    assert!(followed(&world, &made).await.contains("type=signup"));
    world.try_password(ANN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn every_kind_of_link_can_be_redeemed_by_link_by_code_and_by_hash() {
    for (kind, more) in [
        ("signup", json!({"password": PASSWORD})),
        ("invite", json!({})),
        ("magiclink", json!({})),
        ("recovery", json!({})),
    ] {
        let world = World::new().await;
        if matches!(kind, "magiclink" | "recovery") {
            account(&world, ANN).await;
        }
        let made = link(&world, kind, more.clone()).await.expect(200);
        assert!(followed(&world, &made).await.contains("#access_token="), "{kind}");
        let world = World::new().await;
        if matches!(kind, "magiclink" | "recovery") {
            account(&world, ANN).await;
        }
        let made = link(&world, kind, more.clone()).await.expect(200);
        session_by_code(&world, kind, &made).await.expect(200);
        assert_eq!(session_by_hash(&world, kind, &made).await.refusal(), (403, "otp_expired"), "{kind}");
    }
}

#[tokio::test]
async fn generated_links_send_no_mail_and_have_no_rate_limit() {
    let world = World::with(|policy| policy.mail.max_frequency = std::time::Duration::from_mins(1)).await;
    account(&world, ANN).await;
    let first = link(&world, "magiclink", json!({})).await.expect(200);
    let second = link(&world, "magiclink", json!({})).await.expect(200);
    assert!(world.mailbox.all().is_empty());
    assert_eq!(session_by_hash(&world, "magiclink", &first).await.refusal(), (403, "otp_expired"));
    session_by_hash(&world, "magiclink", &second).await.expect(200);
}

#[tokio::test]
async fn magic_link_for_unknown_email_creates_a_user() {
    let world = World::new().await;
    let made = link(&world, "magiclink", json!({"data": {"name": "Ann"}})).await.expect(200);
    assert_eq!(made.str("verification_type"), "signup");
    let session = session_by_hash(&world, "signup", &made).await.expect(200);
    assert_eq!(session.str("user/user_metadata/name"), "Ann");
}

#[tokio::test]
async fn email_change_returns_links_for_both_addresses() {
    let world = World::with(|policy| policy.mail.secure_email_change = true).await;
    account(&world, ANN).await;
    let current = link(&world, "email_change_current", json!({"new_email": NEW})).await.expect(200);
    let new = link(&world, "email_change_new", json!({"new_email": NEW})).await.expect(200);
    assert_eq!(new.str("new_email"), NEW);
    assert!(followed(&world, &current).await.contains("message="));
    let by_code = json!({"type": "email_change", "email": NEW, "token": new.str("email_otp")});
    let session = world.post("/verify", by_code).await.expect(200);
    assert_eq!(session.str("user/email"), NEW);
}

#[tokio::test]
async fn single_confirmation_returns_no_link_for_the_current_email() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    account(&world, ANN).await;
    let refused = link(&world, "email_change_current", json!({"new_email": NEW})).await;
    assert_eq!(refused.str("msg"), "Enable secure email change to generate link for current email");
    let new = link(&world, "email_change_new", json!({"new_email": NEW})).await.expect(200);
    assert!(followed(&world, &new).await.contains("access_token="));
    assert_eq!(world.database.query("SELECT email FROM auth.users").await, [NEW]);
}

#[tokio::test]
async fn email_change_link_confirms_only_its_own_new_email() {
    let world = World::with(|policy| policy.mail.secure_email_change = true).await;
    account(&world, ANN).await;
    let first = link(&world, "email_change_new", json!({"new_email": "first@example.com"})).await.expect(200);
    let current = link(&world, "email_change_current", json!({"new_email": NEW})).await.expect(200);
    assert!(followed(&world, &current).await.contains("message="));
    assert!(followed(&world, &first).await.contains("otp_expired"));
    assert_eq!(world.database.query("SELECT email FROM auth.users").await, [ANN]);
}

#[tokio::test]
async fn email_change_to_a_taken_email_is_refused() {
    let world = World::new().await;
    account(&world, ANN).await;
    account(&world, "bob@example.com").await;
    for taken in ["bob@example.com", ANN, "Bob@Example.com"] {
        let answer = link(&world, "email_change_new", json!({"new_email": taken})).await;
        assert_eq!(answer.refusal(), (422, "email_exists"), "{taken}");
    }
    let answer = link(&world, "email_change_new", json!({})).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn signup_link_merges_metadata_of_unconfirmed_user_and_invite_keeps_it() {
    let world = World::new().await;
    link(&world, "invite", json!({"data": {"team": "red", "name": "Ann"}})).await.expect(200);
    link(&world, "invite", json!({"data": {"team": "blue"}})).await.expect(200);
    let made = link(&world, "signup", json!({"data": {"team": "green"}})).await.expect(200);
    assert_eq!(made.json["user_metadata"], json!({"team": "green", "name": "Ann"}));
    assert_eq!(session_by_hash(&world, "signup", &made).await.expect(200).str("user/user_metadata/team"), "green");
}

#[tokio::test]
async fn link_redirects_to_the_body_target_if_allowed() {
    let world = World::with(|policy| policy.site.redirect_allow_list = vec!["https://app.example.com/*".into()]).await;
    account(&world, ANN).await;
    for (requested, target) in [
        ("https://app.example.com/a?b=c", "https://app.example.com/a?b=c"),
        ("https://evil.example/", "http://shop.example.com"),
        ("javascript:alert(1)", "http://shop.example.com"),
        ("", "http://shop.example.com"),
    ] {
        let made = link(&world, "magiclink", json!({"redirect_to": requested})).await.expect(200);
        assert_eq!(made.str("redirect_to"), target);
        assert!(followed(&world, &made).await.starts_with(target), "{requested}");
    }
}

#[tokio::test]
async fn generated_link_returns_a_session_despite_an_open_pkce_flow() {
    let world = World::new().await;
    account(&world, ANN).await;
    let challenge = json!({"email": ANN, "code_challenge": CHALLENGE, "code_challenge_method": "s256"});
    world.post("/recover", challenge).await.expect(200);
    let mailed = world.link(ANN);
    let made = link(&world, "recovery", json!({})).await.expect(200);
    assert!(!made.str("hashed_token").starts_with("pkce_"));
    assert!(world.get(&mailed).await.header("location").contains("otp_expired"));
    assert!(followed(&world, &made).await.contains("#access_token="));
}

#[tokio::test]
async fn later_mailed_pkce_link_replaces_generated_link() {
    let world = World::new().await;
    account(&world, ANN).await;
    let made = link(&world, "recovery", json!({})).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let challenge = json!({"email": ANN, "code_challenge": CHALLENGE, "code_challenge_method": "s256"});
    world.post("/recover", challenge).await.expect(200);
    assert!(followed(&world, &made).await.contains("otp_expired"));
    let location = world.get(&world.link(ANN)).await.expect(303).header("location").to_owned();
    let (_, code) = location.split_once("code=").expect("the flow ends with a code");
    let exchange = json!({"auth_code": code, "code_verifier": VERIFIER});
    world.post("/token?grant_type=pkce", exchange).await.expect(200);
}

#[tokio::test]
async fn link_sends_two_statements_for_existing_and_three_for_new_user() {
    let world = World::new().await;
    link(&world, "signup", json!({"password": PASSWORD})).await.expect(200);
    assert_eq!(
        world.journal().statements(),
        ["users.by_email", "accounts.insert", "one_time_tokens.issue_confirmation"]
    );
    link(&world, "recovery", json!({})).await.expect(200);
    assert_eq!(world.journal().statements(), ["users.by_email", "one_time_tokens.issue_recovery"]);
}

#[tokio::test]
async fn validation_errors_follow_the_documented_order() {
    let world = World::new().await;
    for (kind, more, refusal) in [
        ("signup", json!({"email": "ann"}), (400, "validation_failed")),
        ("signup", json!({}), (400, "validation_failed")),
        ("signup", json!({"password": "short"}), (422, "weak_password")),
        ("recovery", json!({}), (404, "user_not_found")),
        ("email_change_new", json!({"new_email": "no address"}), (404, "user_not_found")),
        ("sms", json!({}), (400, "validation_failed")),
        ("invite", json!({"data": []}), (400, "bad_json")),
    ] {
        assert_eq!(link(&world, kind, more).await.refusal(), refusal, "{kind}");
    }
    assert!(world.database.query("SELECT 1 FROM auth.users").await.is_empty());
}
