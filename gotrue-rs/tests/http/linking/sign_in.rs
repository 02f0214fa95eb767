use std::time::Duration;

use gotrue_rs::services::linking::Arrival;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::external::profile::ProviderEmail;
use gotrue_rules::domain::policy::Quota;
use serde_json::json;

use super::{ANN, arrive, arrive_by, is_in, is_refused, profile, with_emails};

async fn accounts(world: &World) -> Vec<String> {
    world.database.query("SELECT coalesce(email, '-') FROM auth.users ORDER BY created_at, email").await
}

async fn log(world: &World) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', payload ->> 'action', payload -> 'traits' ->> 'provider') \
               FROM auth.audit_log_entries ORDER BY created_at";
    world.database.query(sql).await
}

#[tokio::test]
async fn a_new_person_gets_an_account_and_finds_it_again() {
    let world = World::new().await;
    let account = is_in(arrive(&world, "github", &profile("7", "Ann@Example.com", true)).await);
    assert_eq!(account.email.as_deref(), Some(ANN));
    assert_eq!(world.database.query("SELECT raw_user_meta_data ->> 'email' FROM auth.users").await, [ANN]);
    let sql = "SELECT concat_ws(' ', provider, provider_id, email, user_id) FROM auth.identities";
    assert_eq!(world.database.query(sql).await, [format!("github 7 {ANN} {}", account.id)]);
    let again = is_in(arrive(&world, "github", &profile("7", "moved@example.com", false)).await);
    assert_eq!((again.id, again.email.as_deref()), (account.id, Some(ANN)));
    assert_eq!(log(&world).await, ["user_signedup github", "login github"]);
}

#[tokio::test]
async fn a_verified_address_joins_the_account_that_has_it() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let account = is_in(arrive(&world, "github", &profile("7", "ANN@example.com", true)).await);
    assert_eq!(account.id.to_string(), ann.id);
    assert_eq!(account.app_metadata["providers"], json!(["email", "github"]));
    world.try_password(ANN, PASSWORD).await.expect(200);
    world.get_as(&ann.access_token, "/user").await.expect(200);
    let linked = "SELECT ip_address FROM auth.audit_log_entries WHERE payload ->> 'action' = 'identity_linked'";
    assert_eq!(world.database.query(linked).await.len(), 1);
}

#[tokio::test]
async fn an_unverified_address_of_somebody_else_is_left_alone() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let refused = is_refused(arrive(&world, "github", &profile("7", ANN, false)).await);
    assert_eq!((refused.0, refused.1.as_str()), (422, "provider_email_needs_verification"));
    assert_eq!(accounts(&world).await, [ANN, "-"]);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.json["identities"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_unverified_address_is_confirmed_by_mail() {
    let world = World::new().await;
    let (status, _, message) = is_refused(arrive(&world, "github", &profile("7", ANN, false)).await);
    let told = "Unverified email with github. A confirmation email has been sent to your github email";
    assert_eq!((status, message.as_str()), (422, told));
    world.get(&world.link(ANN)).await.expect(303);
    let account = is_in(arrive(&world, "github", &profile("7", ANN, false)).await);
    assert_eq!(account.email.as_deref(), Some(ANN));
}

#[tokio::test]
async fn a_mail_that_cannot_be_sent_leaves_no_account() {
    let none = Quota::Window { events: 0.0, per: Duration::from_hours(1) };
    let world = World::with(|policy| policy.limits.email_sent = none).await;
    let error = arrive(&world, "github", &profile("7", ANN, false)).await.expect_err("no mail may be sent");
    assert_eq!(error.code(), "over_email_send_rate_limit");
    assert!(accounts(&world).await.is_empty());
}

/// B1: whoever signed up with the address before its owner came keeps no way in.
#[tokio::test]
async fn b1_the_owner_of_an_address_takes_an_unconfirmed_account_over() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD, "data": {"planted": 1}})).await.expect(200);
    let account = is_in(arrive(&world, "github", &profile("7", ANN, true)).await);
    assert_eq!(account.identities.len(), 1);
    assert!(!account.user_metadata.contains_key("planted"));
    assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "invalid_credentials"));
    let code = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
    assert_eq!(accounts(&world).await, [ANN]);
}

/// B4: a provider that gives no id gives it to everybody.
#[tokio::test]
async fn b4_an_empty_subject_is_refused() {
    let world = World::new().await;
    let error = arrive(&world, "github", &profile("", ANN, true)).await.expect_err("nobody is let in");
    assert_eq!(error.message(), "error missing provider id");
    assert!(accounts(&world).await.is_empty());
}

/// F4: where nobody may sign up, nobody does so through a provider.
#[tokio::test]
async fn f4_with_sign_up_off_only_known_people_come_in() {
    let world = World::new().await;
    world.person(ANN).await;
    is_in(arrive(&world, "gitlab", &profile("9", "bob@example.com", true)).await);
    let closed = World::with(|policy| policy.sign_up.disabled = true).await;
    for address in ["new@example.com", ANN] {
        let error = arrive(&closed, "github", &profile("7", address, true)).await.expect_err("nobody is known there");
        assert_eq!((error.status(), error.code()), (422, "signup_disabled"));
    }
    assert!(accounts(&closed).await.is_empty());
}

#[tokio::test]
async fn somebody_banned_is_turned_away_and_nothing_is_written() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let sql = format!("UPDATE auth.users SET banned_until = '2099-01-01' WHERE id = '{}'", ann.id);
    world.database.query(&sql).await;
    let error = arrive(&world, "github", &profile("7", ANN, true)).await.expect_err("a ban holds");
    assert_eq!((error.status(), error.code()), (403, "user_banned"));
    assert_eq!(world.database.query("SELECT provider FROM auth.identities").await, ["email"]);
}

#[tokio::test]
async fn addresses_of_two_accounts_are_not_joined() {
    let world = World::new().await;
    world.person(ANN).await;
    world.person("bob@example.com").await;
    let email = |address: &str, primary| ProviderEmail { address: address.into(), verified: true, primary };
    let both = with_emails("7", vec![email(ANN, true), email("bob@example.com", false)]);
    let error = arrive(&world, "github", &both).await.expect_err("whose account is it");
    let told = "Multiple accounts with the same email address in the same linking domain detected: default";
    assert_eq!((error.status(), error.message()), (500, told));
}

#[tokio::test]
async fn people_of_a_company_are_kept_apart_from_everybody_else() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let sso = "sso:8d1b3f0e-0d9d-4d7c-8f0e-111111111111";
    let account = is_in(arrive(&world, sso, &profile("ann", ANN, true)).await);
    assert!(account.is_sso_user && account.id.to_string() != ann.id);
    let other = "sso:8d1b3f0e-0d9d-4d7c-8f0e-222222222222";
    assert_ne!(is_in(arrive(&world, other, &profile("ann", ANN, true)).await).id, account.id);
    assert_eq!(is_in(arrive(&world, "github", &profile("7", ANN, true)).await).id.to_string(), ann.id);
    assert_eq!(is_in(arrive(&world, sso, &profile("new name id", ANN, true)).await).id, account.id);
}

#[tokio::test]
async fn who_needs_no_address_is_in_without_one() {
    let world = World::new().await;
    let nobody = with_emails("7", Vec::new());
    let account = is_in(arrive_by(&world, Arrival { provider: "web3", profile: &nobody, email_optional: true }).await);
    assert!(account.email.is_none());
    world.person(ANN).await;
    let claimed = profile("8", ANN, false);
    let arrival = Arrival { provider: "twitter", profile: &claimed, email_optional: true };
    assert!(is_in(arrive_by(&world, arrival).await).email.is_none());
}

#[tokio::test]
async fn a_sign_in_is_one_statement_to_read_and_one_to_write() {
    let world = World::new().await;
    for _ in 0..2 {
        is_in(arrive(&world, "github", &profile("7", ANN, true)).await);
        let statements = world.journal().statements();
        assert!(statements.len() <= 2, "{statements:?}");
    }
}

/// A provider that vouches for somebody whose address it does not tell, as Apple may.
#[tokio::test]
async fn who_is_vouched_for_without_an_address_is_let_in() {
    for is_served in [false, true] {
        let world = if is_served { World::builder().as_served().build().await } else { World::new().await };
        let (ann, bob) = (profile("7", "", true), profile("8", "", true));
        let first = is_in(arrive(&world, "apple", &ann).await);
        assert!(first.email.is_none() && first.is_email_confirmed(), "{is_served}");
        let again = is_in(arrive(&world, "apple", &ann).await);
        let other = is_in(arrive(&world, "apple", &bob).await);
        assert!(again.id == first.id && other.id != first.id, "{is_served}");
        let refused = is_refused(arrive(&world, "apple", &profile("9", "", false)).await);
        assert_eq!((refused.0, refused.1.as_str()), (422, "provider_email_needs_verification"), "{is_served}");
    }
}

/// An address that is not told proves none that was claimed.
#[tokio::test]
async fn where_joining_is_strict_a_claimed_address_is_not_confirmed_by_none() {
    let world = World::builder().as_served().build().await;
    is_refused(arrive(&world, "github", &profile("7", ANN, false)).await);
    world.advance(chrono::TimeDelta::minutes(5));
    is_refused(arrive(&world, "github", &profile("7", "", true)).await);
}

#[tokio::test]
async fn whoever_signs_up_with_the_address_of_a_waiting_account_is_its_only_provider_at_once() {
    for path in ["/signup", "/otp", "/magiclink"] {
        let world = World::new().await;
        is_refused(arrive(&world, "github", &profile("7", ANN, false)).await);
        let body = json!({"email": ANN, "password": "correct horse"});
        world.advance(chrono::TimeDelta::minutes(5));
        let answer = world.post(path, body).await.expect(200);
        let kept = "SELECT raw_app_meta_data::text FROM auth.users";
        let kept: serde_json::Value = serde_json::from_str(&world.database.query(kept).await[0]).expect("it is JSON");
        assert_eq!(kept, json!({"provider": "email", "providers": ["email"]}), "{path}");
        if path == "/signup" {
            assert_eq!(answer.str("app_metadata/provider"), "email");
        }
    }
}
