//! Table tests of every linking decision and its changes.

mod manual;
mod outcome;

use foundation::time::Time;
use serde_json::{Map, json};
use uuid::Uuid;

use super::*;
use crate::domain::external::profile::Claims;

const ANN: &str = "ann@example.com";
const WORK: &str = "ann@work.example";
const NOW: Time = Time::UNIX_EPOCH;

fn email(address: &str, verified: bool, primary: bool) -> ProviderEmail {
    ProviderEmail { address: address.into(), verified, primary }
}

fn profile(subject: &str, emails: Vec<ProviderEmail>) -> ProviderProfile {
    ProviderProfile { emails, claims: Claims { subject: subject.into(), name: "Ann".into(), ..Claims::default() } }
        .with_primary_email()
}

fn external_user<'a>(provider: &'a str, profile: &'a ProviderProfile) -> ExternalUser<'a> {
    ExternalUser { provider, profile, email_optional: false }
}

fn identity(provider: &str, subject: &str, email: Option<&str>, verified: bool) -> Identity {
    let mut data = Map::from_iter([("email_verified".to_owned(), json!(verified))]);
    data.extend(email.map(|email| ("email".to_owned(), json!(email))));
    Identity {
        id: Uuid::from_u128(subject.bytes().fold(1, |all, byte| all * 31 + u128::from(byte))),
        provider: provider.into(),
        provider_id: subject.into(),
        email: email.map(str::to_owned),
        identity_data: data,
        ..Identity::default()
    }
}

fn user(id: u128, email: Option<&str>, identities: Vec<Identity>) -> User {
    User {
        id: Uuid::from_u128(id),
        aud: "authenticated".into(),
        email: email.map(str::to_owned),
        email_confirmed_at: Some(NOW),
        encrypted_password: Some("hash".into()),
        identities,
        ..User::default()
    }
}

/// A user with email address and password.
fn password_account(id: u128, email: &str, confirmed: bool) -> User {
    let mut user = user(id, Some(email), vec![identity("email", &id.to_string(), Some(email), confirmed)]);
    user.email_confirmed_at = confirmed.then_some(NOW);
    user
}

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    policy.experimental.provider_linking_domains =
        [("gitlab", "work"), ("keycloak", "work")].map(|(name, domain)| (name.to_owned(), domain.to_owned())).into();
    change(&mut policy);
    policy
}

fn decision_text(provider: &str, emails: Vec<ProviderEmail>, known: Vec<User>, policy: &Policy) -> String {
    let profile = profile("7", emails);
    match decide(&external_user(provider, &profile), known, "authenticated", policy) {
        LinkingDecision::AccountExists(user) => format!("exists {}", user.id.as_u128()),
        LinkingDecision::AccountExistsWithoutEmail(user) => format!("beside {}", user.id.as_u128()),
        LinkingDecision::MoveIdentity { to, from, .. } => format!("move {} to {}", from.as_u128(), to.id.as_u128()),
        LinkingDecision::LinkAccount(user) => format!("link {}", user.id.as_u128()),
        LinkingDecision::CreateAccount { email } => format!("create {}", email.as_deref().unwrap_or("-")),
        LinkingDecision::CreateAccountWithoutEmail => "without".to_owned(),
        LinkingDecision::MultipleAccounts => "several".to_owned(),
    }
}

#[test]
fn linking_domain_per_provider() {
    let policy = policy(|_| {});
    let domains = &policy.experimental.provider_linking_domains;
    for (provider, expected) in
        [("github", "default"), ("email", "default"), ("gitlab", "work"), ("GitLab", "default"), ("sso:1", "sso:1")]
    {
        assert_eq!(linking_domain(provider, domains), expected);
    }
}

#[test]
fn decision_table() {
    let default_policy = policy(|_| {});
    let verified = || vec![email("Ann@example.com", true, true)];
    let unverified = || vec![email(ANN, false, true)];
    let second = |is_verified| vec![email("new@example.com", true, true), email(ANN, is_verified, false)];
    let existing = |id, provider: &str| user(id, Some(ANN), vec![identity(provider, "7", Some(ANN), true)]);
    let elsewhere = |id, provider: &str| user(id, None, vec![identity(provider, "8", Some(ANN), true)]);
    let managed = |id| User { is_sso_user: true, ..user(id, Some(ANN), Vec::new()) };
    let other_audience = || User { aud: "other".into(), ..password_account(1, ANN, true) };
    #[rustfmt::skip]
    let cases = [
        // A known identity wins over everything else.
        ("github", verified(), vec![existing(1, "github")], "exists 1"),
        ("github", unverified(), vec![existing(1, "github")], "exists 1"),
        ("github", vec![], vec![existing(1, "github")], "exists 1"),
        ("github", vec![email("moved@example.com", true, true)], vec![password_account(2, "moved@example.com", true), existing(1, "github")], "exists 1"),
        // The subject is compared per provider, and provider names are case-sensitive.
        ("google", unverified(), vec![existing(1, "github")], "without"),
        ("GitHub", verified(), vec![existing(1, "github")], "link 1"),
        // No user has the address.
        ("github", verified(), vec![], "create ann@example.com"),
        ("github", unverified(), vec![], "create ann@example.com"),
        ("github", vec![], vec![], "create -"),
        ("github", vec![email(ANN, true, false)], vec![], "create -"),
        ("github", vec![email("", true, true)], vec![], "create -"),
        // Provider's address verified or not, combined with the local address confirmed or not.
        ("github", verified(), vec![password_account(1, ANN, true)], "link 1"),
        ("github", verified(), vec![password_account(1, ANN, false)], "link 1"),
        ("github", unverified(), vec![password_account(1, ANN, true)], "without"),
        ("github", unverified(), vec![password_account(1, ANN, false)], "without"),
        // A verified non-primary address links too.
        ("github", second(true), vec![password_account(1, ANN, true)], "link 1"),
        ("github", second(false), vec![password_account(1, ANN, true)], "create new@example.com"),
        ("github", vec![email(ANN, false, true), email(WORK, true, false)], vec![password_account(1, WORK, true)], "link 1"),
        ("github", vec![email(ANN, false, true), email(WORK, true, false)], vec![password_account(1, ANN, true)], "without"),
        // An identity has the address, the user does not: the identity's user is linked.
        ("github", verified(), vec![elsewhere(1, "google")], "link 1"),
        ("github", verified(), vec![elsewhere(1, "google"), user(2, Some(ANN), vec![])], "link 1"),
        ("github", verified(), vec![user(2, Some(ANN), vec![])], "link 2"),
        // Several users.
        ("github", verified(), vec![elsewhere(1, "google"), password_account(2, ANN, true)], "several"),
        ("github", second(true), vec![password_account(1, ANN, true), password_account(2, "new@example.com", true)], "several"),
        ("github", verified(), vec![user(1, Some(ANN), vec![]), user(2, Some(ANN), vec![])], "several"),
        // Linking domains are separate in both directions.
        ("gitlab", verified(), vec![password_account(1, ANN, true)], "create ann@example.com"),
        ("gitlab", unverified(), vec![password_account(1, ANN, true)], "without"),
        ("gitlab", verified(), vec![password_account(1, ANN, true), elsewhere(2, "keycloak")], "link 2"),
        ("github", verified(), vec![elsewhere(2, "keycloak")], "create ann@example.com"),
        ("github", unverified(), vec![elsewhere(2, "keycloak")], "create ann@example.com"),
        // So are SSO providers.
        ("sso:1", verified(), vec![password_account(1, ANN, true), elsewhere(2, "sso:2")], "create ann@example.com"),
        ("sso:1", verified(), vec![elsewhere(2, "sso:1")], "link 2"),
        ("sso:1", verified(), vec![elsewhere(2, "sso:1"), elsewhere(3, "sso:1")], "several"),
        ("github", verified(), vec![managed(1)], "create ann@example.com"),
        ("github", unverified(), vec![managed(1)], "create ann@example.com"),
        // A user with another audience does not keep an unverified address.
        ("github", unverified(), vec![other_audience()], "create ann@example.com"),
        ("github", verified(), vec![other_audience()], "link 1"),
        ("web3", vec![], vec![password_account(1, ANN, true)], "create -"),
    ];
    for (at, (provider, emails, known, expected)) in cases.into_iter().enumerate() {
        assert_eq!(decision_text(provider, emails, known, &default_policy), expected, "case {at}");
    }
}

/// B1: unverified addresses and auto-confirmed addresses link nothing with `strict_linking`.
#[test]
fn b1_strict_linking_ignores_unverified_emails() {
    let claimed = || user(1, None, vec![identity("google", "8", Some(ANN), false)]);
    let claimed_as_own = || password_account(1, ANN, false);
    let both = || vec![claimed(), password_account(2, ANN, true)];
    let verified = || vec![email(ANN, true, true)];
    let unverified = || vec![email(ANN, false, true)];
    #[rustfmt::skip]
    let cases = [
        (verified(), vec![claimed()], "link 1", "create ann@example.com"),
        (verified(), both(), "several", "link 2"),
        (verified(), vec![claimed_as_own()], "link 1", "link 1"),
        (unverified(), vec![password_account(1, ANN, true)], "without", "without"),
    ];
    for autoconfirm in [false, true] {
        for (at, (emails, known, expected, strict)) in cases.clone().into_iter().enumerate() {
            let policies = [false, true].map(|is_strict| {
                policy(|policy| {
                    policy.mail.autoconfirm = autoconfirm;
                    policy.security.is_linking_strict = is_strict;
                })
            });
            let expected = if at == 3 && autoconfirm { "link 1" } else { expected };
            assert_eq!(decision_text("github", emails.clone(), known.clone(), &policies[0]), expected, "case {at}");
            assert_eq!(decision_text("github", emails, known, &policies[1]), strict, "strict case {at}");
        }
    }
}

/// An identity created with an unverified address does not block its owner later.
#[test]
fn identity_moves_to_email_owner_once_verified() {
    let waiting = || user(7, None, vec![identity("github", "7", Some(ANN), false)]);
    let used = || User { last_sign_in_at: Some(NOW), ..waiting() };
    let ann = || password_account(1, ANN, true);
    let also = || user(2, Some(WORK), vec![identity("gitlab", "2", Some(ANN), true)]);
    let (proved, claimed) = (vec![email(ANN, true, true)], vec![email(ANN, false, true)]);
    let strict = policy(|policy| {
        policy.security.is_linking_strict = true;
        policy.experimental.provider_linking_domains = BTreeMap::new();
    });
    for (emails, known, expected) in [
        (&proved, vec![waiting(), ann()], "move 7 to 1"),
        (&proved, vec![ann(), waiting(), also()], "move 7 to 1"),
        (&proved, vec![used(), ann()], "beside 7"),
        (&proved, vec![User { phone: Some("15550100".into()), ..waiting() }, ann()], "beside 7"),
        (&proved, vec![waiting()], "exists 7"),
        (&claimed, vec![waiting(), ann()], "exists 7"),
    ] {
        assert_eq!(decision_text("github", emails.clone(), known.clone(), &strict), expected);
        let recorded = policy(|_| {});
        assert_eq!(decision_text("github", emails.clone(), known, &recorded), "exists 7");
    }
    // A second user with the same address does not make the decision ambiguous.
    let beside = user(7, None, vec![identity("github", "8", Some(ANN), true)]);
    assert_eq!(decision_text("github", proved, vec![beside, ann()], &strict), "link 1");
}
