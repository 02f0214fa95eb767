use std::time::Duration;

use foundation::limits::Quota;
use gotrue_rs::services::linking::ExternalUser;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::external::profile::ProviderEmail;
use serde_json::json;

use super::{ANN, expect_refused, expect_signed_in, profile, sign_in_with_profile, sign_in_with_provider, with_emails};

async fn accounts(world: &World) -> Vec<String> {
    world.database.query("SELECT coalesce(email, '-') FROM auth.users ORDER BY created_at, email").await
}

async fn log(world: &World) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', payload ->> 'action', payload -> 'traits' ->> 'provider') \
               FROM auth.audit_log_entries ORDER BY created_at";
    world.database.query(sql).await
}

#[tokio::test]
async fn unknown_identity_creates_a_user_and_signs_in_again() {
    let world = World::new().await;
    let account =
        expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", "Ann@Example.com", true)).await);
    assert_eq!(account.email.as_deref(), Some(ANN));
    assert_eq!(world.database.query("SELECT raw_user_meta_data ->> 'email' FROM auth.users").await, [ANN]);
    let sql = "SELECT concat_ws(' ', provider, provider_id, email, user_id) FROM auth.identities";
    assert_eq!(world.database.query(sql).await, [format!("github 7 {ANN} {}", account.id)]);
    let again =
        expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", "moved@example.com", false)).await);
    assert_eq!((again.id, again.email.as_deref()), (account.id, Some(ANN)));
    assert_eq!(log(&world).await, ["user_signedup github", "login github"]);
}

#[tokio::test]
async fn verified_email_links_to_the_existing_user() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let account =
        expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", "ANN@example.com", true)).await);
    assert_eq!(account.id.to_string(), ann.id);
    assert_eq!(account.app_metadata["providers"], json!(["email", "github"]));
    world.try_password(ANN, PASSWORD).await.expect(200);
    world.get_as(&ann.access_token, "/user").await.expect(200);
    let linked = "SELECT ip_address FROM auth.audit_log_entries WHERE payload ->> 'action' = 'identity_linked'";
    assert_eq!(world.database.query(linked).await.len(), 1);
}

#[tokio::test]
async fn unverified_email_does_not_link_to_the_existing_user() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let refused = expect_refused(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
    assert_eq!((refused.0, refused.1.as_str()), (422, "provider_email_needs_verification"));
    assert_eq!(accounts(&world).await, [ANN, "-"]);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.json["identities"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn unverified_email_is_confirmed_by_mail() {
    let world = World::new().await;
    let (status, _, message) = expect_refused(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
    let reported = "Unverified email with github. A confirmation email has been sent to your github email";
    assert_eq!((status, message.as_str()), (422, reported));
    world.get(&world.link(ANN)).await.expect(303);
    let account = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
    assert_eq!(account.email.as_deref(), Some(ANN));
}

#[tokio::test]
async fn unsent_mail_leaves_no_user() {
    let none = Quota::Window { events: 0.0, per: Duration::from_hours(1) };
    let world = World::with(|policy| policy.limits.email_sent = none).await;
    let error =
        sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await.expect_err("no mail may be sent");
    assert_eq!(error.code().as_str(), "over_email_send_rate_limit");
    assert!(accounts(&world).await.is_empty());
}

/// An unconfirmed sign-up with the e-mail address of a later user keeps no access.
#[tokio::test]
async fn b1_verified_identity_takes_over_an_unconfirmed_user() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD, "data": {"planted": 1}})).await.expect(200);
    let account = expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await);
    assert_eq!(account.identities.len(), 1);
    assert!(!account.user_metadata.contains_key("planted"));
    assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "invalid_credentials"));
    let code = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
    assert_eq!(accounts(&world).await, [ANN]);
}

/// An empty subject would give every user of the provider the same identity.
#[tokio::test]
async fn b4_empty_subject_is_refused() {
    let world = World::new().await;
    let error =
        sign_in_with_provider(&world, "github", &profile("", ANN, true)).await.expect_err("the sign-in is refused");
    assert_eq!(error.message(), "error missing provider id");
    assert!(accounts(&world).await.is_empty());
}

/// Disabled sign-up also applies to providers.
#[tokio::test]
async fn f4_disabled_sign_up_accepts_only_existing_users() {
    let world = World::new().await;
    world.create_user(ANN).await;
    expect_signed_in(sign_in_with_provider(&world, "gitlab", &profile("9", "bob@example.com", true)).await);
    let closed = World::with(|policy| policy.sign_up.disabled = true).await;
    for address in ["new@example.com", ANN] {
        let error = sign_in_with_provider(&closed, "github", &profile("7", address, true))
            .await
            .expect_err("no user is known there");
        assert_eq!((error.status(), error.code().as_str()), (422, "signup_disabled"));
    }
    assert!(accounts(&closed).await.is_empty());
}

#[tokio::test]
async fn banned_user_is_refused_without_writes() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let sql = format!("UPDATE auth.users SET banned_until = '2099-01-01' WHERE id = '{}'", ann.id);
    world.database.query(&sql).await;
    let error = sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await.expect_err("a ban holds");
    assert_eq!((error.status(), error.code().as_str()), (403, "user_banned"));
    assert_eq!(world.database.query("SELECT provider FROM auth.identities").await, ["email"]);
}

#[tokio::test]
async fn emails_of_two_users_are_not_linked() {
    let world = World::new().await;
    world.create_user(ANN).await;
    world.create_user("bob@example.com").await;
    let email = |address: &str, primary| ProviderEmail { address: address.into(), verified: true, primary };
    let both = with_emails("7", vec![email(ANN, true), email("bob@example.com", false)]);
    let error = sign_in_with_provider(&world, "github", &both).await.expect_err("whose account is it");
    let reported = "Multiple accounts with the same email address in the same linking domain detected: default";
    assert_eq!((error.status(), error.message()), (500, reported));
}

#[tokio::test]
async fn sso_users_are_separate_from_other_users() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let sso = "sso:8d1b3f0e-0d9d-4d7c-8f0e-111111111111";
    let account = expect_signed_in(sign_in_with_provider(&world, sso, &profile("ann", ANN, true)).await);
    assert!(account.is_sso_user && account.id.to_string() != ann.id);
    let other = "sso:8d1b3f0e-0d9d-4d7c-8f0e-222222222222";
    assert_ne!(expect_signed_in(sign_in_with_provider(&world, other, &profile("ann", ANN, true)).await).id, account.id);
    assert_eq!(
        expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await).id.to_string(),
        ann.id
    );
    assert_eq!(
        expect_signed_in(sign_in_with_provider(&world, sso, &profile("new name id", ANN, true)).await).id,
        account.id
    );
}

#[tokio::test]
async fn sign_in_without_email_succeeds_if_optional() {
    let world = World::new().await;
    let unknown = with_emails("7", Vec::new());
    let account = expect_signed_in(
        sign_in_with_profile(&world, ExternalUser { provider: "web3", profile: &unknown, email_optional: true }).await,
    );
    assert!(account.email.is_none());
    world.create_user(ANN).await;
    let claimed = profile("8", ANN, false);
    let external_user = ExternalUser { provider: "twitter", profile: &claimed, email_optional: true };
    assert!(expect_signed_in(sign_in_with_profile(&world, external_user).await).email.is_none());
}

#[tokio::test]
async fn sign_in_takes_one_read_and_one_write_statement() {
    let world = World::new().await;
    for _ in 0..2 {
        expect_signed_in(sign_in_with_provider(&world, "github", &profile("7", ANN, true)).await);
        let statements = world.journal().statements();
        assert!(statements.len() <= 2, "{statements:?}");
    }
}

/// A verified identity whose e-mail address is not disclosed, as Apple allows.
#[tokio::test]
async fn verified_identity_without_email_is_signed_in() {
    for is_served in [false, true] {
        let world = if is_served { World::builder().as_served().build().await } else { World::new().await };
        let (ann, bob) = (profile("7", "", true), profile("8", "", true));
        let first = expect_signed_in(sign_in_with_provider(&world, "apple", &ann).await);
        assert!(first.email.is_none() && first.is_email_confirmed(), "{is_served}");
        let again = expect_signed_in(sign_in_with_provider(&world, "apple", &ann).await);
        let other = expect_signed_in(sign_in_with_provider(&world, "apple", &bob).await);
        assert!(again.id == first.id && other.id != first.id, "{is_served}");
        let refused = expect_refused(sign_in_with_provider(&world, "apple", &profile("9", "", false)).await);
        assert_eq!((refused.0, refused.1.as_str()), (422, "provider_email_needs_verification"), "{is_served}");
    }
}

/// An undisclosed e-mail address confirms no claimed one.
#[tokio::test]
async fn strict_linking_confirms_no_email_without_a_verified_one() {
    let world = World::builder().as_served().build().await;
    expect_refused(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
    world.advance(chrono::TimeDelta::minutes(5));
    expect_refused(sign_in_with_provider(&world, "github", &profile("7", "", true)).await);
}

#[tokio::test]
async fn sign_up_with_email_of_unconfirmed_user_replaces_its_provider() {
    for path in ["/signup", "/otp", "/magiclink"] {
        let world = World::new().await;
        expect_refused(sign_in_with_provider(&world, "github", &profile("7", ANN, false)).await);
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
