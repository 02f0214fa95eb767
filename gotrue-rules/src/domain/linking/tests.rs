//! Every case there is: whose account it is, what becomes of it, what is refused.

mod by_hand;
mod joining;

use serde_json::{Map, json};
use uuid::Uuid;

use super::*;
use crate::domain::external::profile::Claims;
use crate::domain::user::Time;

const ANN: &str = "ann@example.com";
const WORK: &str = "ann@work.example";
const NOW: Time = Time::UNIX_EPOCH;

fn email(address: &str, verified: bool, primary: bool) -> ProviderEmail {
    ProviderEmail { address: address.into(), verified, primary }
}

fn profile(subject: &str, emails: Vec<ProviderEmail>) -> Profile {
    Profile { emails, claims: Claims { subject: subject.into(), name: "Ann".into(), ..Claims::default() } }.settled()
}

fn arrival<'a>(provider: &'a str, profile: &'a Profile) -> Arrival<'a> {
    Arrival { provider, profile, email_optional: false }
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

fn account(id: u128, email: Option<&str>, identities: Vec<Identity>) -> Account {
    Account {
        id: Uuid::from_u128(id),
        aud: "authenticated".into(),
        email: email.map(str::to_owned),
        email_confirmed_at: Some(NOW),
        encrypted_password: Some("hash".into()),
        identities,
        ..Account::default()
    }
}

/// An account by e-mail and password.
fn local(id: u128, email: &str, confirmed: bool) -> Account {
    let mut account = account(id, Some(email), vec![identity("email", &id.to_string(), Some(email), confirmed)]);
    account.email_confirmed_at = confirmed.then_some(NOW);
    account
}

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    policy.experimental.provider_linking_domains =
        [("gitlab", "work"), ("keycloak", "work")].map(|(name, domain)| (name.to_owned(), domain.to_owned())).into();
    change(&mut policy);
    policy
}

fn decided(provider: &str, emails: Vec<ProviderEmail>, known: Vec<Account>, policy: &Policy) -> String {
    let profile = profile("7", emails);
    match decide(&arrival(provider, &profile), known, "authenticated", policy) {
        Decision::Exists(account) => format!("exists {}", account.id.as_u128()),
        Decision::Beside(account) => format!("beside {}", account.id.as_u128()),
        Decision::Move { to, from, .. } => format!("move {} to {}", from.as_u128(), to.id.as_u128()),
        Decision::Link(account) => format!("link {}", account.id.as_u128()),
        Decision::Create { email } => format!("create {}", email.as_deref().unwrap_or("-")),
        Decision::CreateWithoutEmail => "without".to_owned(),
        Decision::Several => "several".to_owned(),
    }
}

#[test]
fn each_provider_has_its_domain() {
    let policy = policy(|_| {});
    let domains = &policy.experimental.provider_linking_domains;
    for (provider, expected) in
        [("github", "default"), ("email", "default"), ("gitlab", "work"), ("GitLab", "default"), ("sso:1", "sso:1")]
    {
        assert_eq!(domain(provider, domains), expected);
    }
}

#[test]
fn whose_account_it_is() {
    let usual = policy(|_| {});
    let verified = || vec![email("Ann@example.com", true, true)];
    let unverified = || vec![email(ANN, false, true)];
    let second = |is_verified| vec![email("new@example.com", true, true), email(ANN, is_verified, false)];
    let here = |id, provider: &str| account(id, Some(ANN), vec![identity(provider, "7", Some(ANN), true)]);
    let elsewhere = |id, provider: &str| account(id, None, vec![identity(provider, "8", Some(ANN), true)]);
    let managed = |id| Account { is_sso_user: true, ..account(id, Some(ANN), Vec::new()) };
    let other_audience = || Account { aud: "other".into(), ..local(1, ANN, true) };
    #[rustfmt::skip]
    let cases = [
        // The person has been here: nothing else matters.
        ("github", verified(), vec![here(1, "github")], "exists 1"),
        ("github", unverified(), vec![here(1, "github")], "exists 1"),
        ("github", vec![], vec![here(1, "github")], "exists 1"),
        ("github", vec![email("moved@example.com", true, true)], vec![local(2, "moved@example.com", true), here(1, "github")], "exists 1"),
        // The subject counts at its own provider alone, and so does the spelling of its name.
        ("google", unverified(), vec![here(1, "github")], "without"),
        ("GitHub", verified(), vec![here(1, "github")], "link 1"),
        // Nobody has the address.
        ("github", verified(), vec![], "create ann@example.com"),
        ("github", unverified(), vec![], "create ann@example.com"),
        ("github", vec![], vec![], "create -"),
        ("github", vec![email(ANN, true, false)], vec![], "create -"),
        ("github", vec![email("", true, true)], vec![], "create -"),
        // provider verified x local verified
        ("github", verified(), vec![local(1, ANN, true)], "link 1"),
        ("github", verified(), vec![local(1, ANN, false)], "link 1"),
        ("github", unverified(), vec![local(1, ANN, true)], "without"),
        ("github", unverified(), vec![local(1, ANN, false)], "without"),
        // An address beside the primary one joins if it is verified.
        ("github", second(true), vec![local(1, ANN, true)], "link 1"),
        ("github", second(false), vec![local(1, ANN, true)], "create new@example.com"),
        ("github", vec![email(ANN, false, true), email(WORK, true, false)], vec![local(1, WORK, true)], "link 1"),
        ("github", vec![email(ANN, false, true), email(WORK, true, false)], vec![local(1, ANN, true)], "without"),
        // An identity has the address, not the account; then it is the identity's account.
        ("github", verified(), vec![elsewhere(1, "google")], "link 1"),
        ("github", verified(), vec![elsewhere(1, "google"), account(2, Some(ANN), vec![])], "link 1"),
        ("github", verified(), vec![account(2, Some(ANN), vec![])], "link 2"),
        // More than one.
        ("github", verified(), vec![elsewhere(1, "google"), local(2, ANN, true)], "several"),
        ("github", second(true), vec![local(1, ANN, true), local(2, "new@example.com", true)], "several"),
        ("github", verified(), vec![account(1, Some(ANN), vec![]), account(2, Some(ANN), vec![])], "several"),
        // Other domains stay apart in both directions.
        ("gitlab", verified(), vec![local(1, ANN, true)], "create ann@example.com"),
        ("gitlab", unverified(), vec![local(1, ANN, true)], "without"),
        ("gitlab", verified(), vec![local(1, ANN, true), elsewhere(2, "keycloak")], "link 2"),
        ("github", verified(), vec![elsewhere(2, "keycloak")], "create ann@example.com"),
        ("github", unverified(), vec![elsewhere(2, "keycloak")], "create ann@example.com"),
        // So do companies.
        ("sso:1", verified(), vec![local(1, ANN, true), elsewhere(2, "sso:2")], "create ann@example.com"),
        ("sso:1", verified(), vec![elsewhere(2, "sso:1")], "link 2"),
        ("sso:1", verified(), vec![elsewhere(2, "sso:1"), elsewhere(3, "sso:1")], "several"),
        ("github", verified(), vec![managed(1)], "create ann@example.com"),
        ("github", unverified(), vec![managed(1)], "create ann@example.com"),
        // Another audience does not keep an address that is not vouched for.
        ("github", unverified(), vec![other_audience()], "create ann@example.com"),
        ("github", verified(), vec![other_audience()], "link 1"),
        ("web3", vec![], vec![local(1, ANN, true)], "create -"),
    ];
    for (at, (provider, emails, known, expected)) in cases.into_iter().enumerate() {
        assert_eq!(decided(provider, emails, known, &usual), expected, "case {at}");
    }
}

/// B1: an identity's unverified address, and an address nobody confirms, join nothing where joining is strict.
#[test]
fn b1_strict_joining_believes_nobody() {
    let claimed = || account(1, None, vec![identity("google", "8", Some(ANN), false)]);
    let claimed_as_own = || local(1, ANN, false);
    let both = || vec![claimed(), local(2, ANN, true)];
    let verified = || vec![email(ANN, true, true)];
    let unverified = || vec![email(ANN, false, true)];
    #[rustfmt::skip]
    let cases = [
        (verified(), vec![claimed()], "link 1", "create ann@example.com"),
        (verified(), both(), "several", "link 2"),
        (verified(), vec![claimed_as_own()], "link 1", "link 1"),
        (unverified(), vec![local(1, ANN, true)], "without", "without"),
    ];
    for autoconfirm in [false, true] {
        for (at, (emails, known, expected, strict)) in cases.clone().into_iter().enumerate() {
            let policies = [false, true].map(|is_strict| {
                policy(|policy| {
                    policy.mail.autoconfirm = autoconfirm;
                    policy.security.strict_linking = is_strict;
                })
            });
            let expected = if at == 3 && autoconfirm { "link 1" } else { expected };
            assert_eq!(decided("github", emails.clone(), known.clone(), &policies[0]), expected, "case {at}");
            assert_eq!(decided("github", emails, known, &policies[1]), strict, "strict case {at}");
        }
    }
}

/// An identity whose address was nobody's word when it first came keeps its owner from nothing later.
#[test]
fn who_comes_back_with_a_proved_address_gets_to_their_account() {
    let waiting = || account(7, None, vec![identity("github", "7", Some(ANN), false)]);
    let used = || Account { last_sign_in_at: Some(NOW), ..waiting() };
    let ann = || local(1, ANN, true);
    let also = || account(2, Some(WORK), vec![identity("gitlab", "2", Some(ANN), true)]);
    let (proved, claimed) = (vec![email(ANN, true, true)], vec![email(ANN, false, true)]);
    let strict = policy(|policy| {
        policy.security.strict_linking = true;
        policy.experimental.provider_linking_domains = BTreeMap::new();
    });
    for (emails, known, expected) in [
        (&proved, vec![waiting(), ann()], "move 7 to 1"),
        (&proved, vec![ann(), waiting(), also()], "move 7 to 1"),
        (&proved, vec![used(), ann()], "beside 7"),
        (&proved, vec![Account { phone: Some("15550100".into()), ..waiting() }, ann()], "beside 7"),
        (&proved, vec![waiting()], "exists 7"),
        (&claimed, vec![waiting(), ann()], "exists 7"),
    ] {
        assert_eq!(decided("github", emails.clone(), known.clone(), &strict), expected);
        let recorded = policy(|_| {});
        assert_eq!(decided("github", emails.clone(), known, &recorded), "exists 7");
    }
    // Nor does an account beside it, with the same address, make two of one.
    let beside = account(7, None, vec![identity("github", "8", Some(ANN), true)]);
    assert_eq!(decided("github", proved, vec![beside, ann()], &strict), "link 1");
}
