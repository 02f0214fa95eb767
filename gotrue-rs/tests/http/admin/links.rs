//! `POST /admin/generate_link`, and what comes of its links.

use chrono::TimeDelta;
use gotrue_rs::testing::{Answer, PASSWORD, World};
use serde_json::{Value, json};

use super::{ANN, account};

const NEW: &str = "new@example.com";
/// The S256 challenge of [`VERIFIER`] (RFC 7636, appendix B).
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

async fn link(world: &World, kind: &str, more: Value) -> Answer {
    let usual = json!({"type": kind, "email": ANN});
    let members = [usual, more].into_iter().flat_map(|it| it.as_object().cloned().unwrap_or_default());
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
async fn a_sign_up_link_makes_an_account_that_its_link_confirms() {
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
async fn nothing_is_sent_and_nothing_keeps_a_gap() {
    let world = World::with(|policy| policy.mail.max_frequency = std::time::Duration::from_mins(1)).await;
    account(&world, ANN).await;
    let first = link(&world, "magiclink", json!({})).await.expect(200);
    let second = link(&world, "magiclink", json!({})).await.expect(200);
    assert!(world.mailbox.all().is_empty());
    assert_eq!(session_by_hash(&world, "magiclink", &first).await.refusal(), (403, "otp_expired"));
    session_by_hash(&world, "magiclink", &second).await.expect(200);
}

#[tokio::test]
async fn a_sign_in_link_for_nobody_signs_up() {
    let world = World::new().await;
    let made = link(&world, "magiclink", json!({"data": {"name": "Ann"}})).await.expect(200);
    assert_eq!(made.str("verification_type"), "signup");
    let session = session_by_hash(&world, "signup", &made).await.expect(200);
    assert_eq!(session.str("user/user_metadata/name"), "Ann");
}

#[tokio::test]
async fn both_halves_of_a_change_of_address_are_handed_over() {
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
async fn where_only_the_new_address_confirms_the_old_one_has_no_half() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    account(&world, ANN).await;
    let refused = link(&world, "email_change_current", json!({"new_email": NEW})).await;
    assert_eq!(refused.str("msg"), "Enable secure email change to generate link for current email");
    let new = link(&world, "email_change_new", json!({"new_email": NEW})).await.expect(200);
    assert!(followed(&world, &new).await.contains("access_token="));
    assert_eq!(world.database.query("SELECT email FROM auth.users").await, [NEW]);
}

#[tokio::test]
async fn a_link_to_one_new_address_does_not_put_another_in_place() {
    let world = World::with(|policy| policy.mail.secure_email_change = true).await;
    account(&world, ANN).await;
    let first = link(&world, "email_change_new", json!({"new_email": "first@example.com"})).await.expect(200);
    let current = link(&world, "email_change_current", json!({"new_email": NEW})).await.expect(200);
    assert!(followed(&world, &current).await.contains("message="));
    assert!(followed(&world, &first).await.contains("otp_expired"));
    assert_eq!(world.database.query("SELECT email FROM auth.users").await, [ANN]);
}

#[tokio::test]
async fn an_address_that_is_somebody_s_is_not_changed_to() {
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
async fn metadata_of_a_waiting_account_is_merged_by_a_sign_up_link_and_left_by_an_invitation() {
    let world = World::new().await;
    link(&world, "invite", json!({"data": {"team": "red", "name": "Ann"}})).await.expect(200);
    link(&world, "invite", json!({"data": {"team": "blue"}})).await.expect(200);
    let made = link(&world, "signup", json!({"data": {"team": "green"}})).await.expect(200);
    assert_eq!(made.json["user_metadata"], json!({"team": "green", "name": "Ann"}));
    assert_eq!(session_by_hash(&world, "signup", &made).await.expect(200).str("user/user_metadata/team"), "green");
}

#[tokio::test]
async fn a_link_leads_where_the_body_says_if_that_is_allowed() {
    let world = World::with(|policy| policy.site.redirect_allow_list = vec!["https://app.example.com/*".into()]).await;
    account(&world, ANN).await;
    for (asked, target) in [
        ("https://app.example.com/a?b=c", "https://app.example.com/a?b=c"),
        ("https://evil.example/", "http://shop.example.com"),
        ("javascript:alert(1)", "http://shop.example.com"),
        ("", "http://shop.example.com"),
    ] {
        let made = link(&world, "magiclink", json!({"redirect_to": asked})).await.expect(200);
        assert_eq!(made.str("redirect_to"), target);
        assert!(followed(&world, &made).await.starts_with(target), "{asked}");
    }
}

#[tokio::test]
async fn a_link_handed_over_ends_in_a_session_also_while_a_pkce_flow_is_open() {
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
async fn a_pkce_link_that_was_mailed_later_takes_the_place_of_one_handed_over() {
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
async fn a_link_for_an_account_that_is_there_is_two_statements_and_a_new_one_three() {
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
async fn the_first_complaint_wins() {
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
