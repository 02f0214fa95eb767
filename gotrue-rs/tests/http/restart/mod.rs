//! Two servers in sequence on one database, as before and after a restart or an update.
//!
//! The second continues what the first began. They share only the database, and the schema does not change.

mod accounts;
mod factors;
mod federation;
mod mails;
mod schema;
mod sessions;

use foundation::secret::{Secret, SecretKey};
use gotrue_rs::testing::identity_provider::SERVICE_KEY;
use gotrue_rs::testing::{FakeProvider, World, WorldBuilder, clone_migrated, enable_webauthn};
use gotrue_rules::domain::policy::Policy;
use serde_json::{Map, Value};

/// The first server starts an operation, the second completes it.
struct Turn<'a> {
    first: &'a World,
    second: &'a World,
    /// GitHub, to both.
    github: &'a FakeProvider,
    /// Different in each turn of a database.
    number: i64,
}

impl Turn<'_> {
    /// An e-mail address that is unused in this database.
    fn new_address(&self) -> String {
        format!("ann{}@example.com", self.number)
    }
}

/// How a server is set up.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// As the reference is without more.
    Plain,
    /// As `basalt serve`, with secrets encrypted at rest and refresh tokens of version 2.
    Sealed,
}

/// What each server had on before it gave way to the other.
const PAIRS: [(Kind, Kind); 3] =
    [(Kind::Plain, Kind::Plain), (Kind::Sealed, Kind::Sealed), (Kind::Plain, Kind::Sealed)];

/// Runs the test for each of [`PAIRS`] in both orders and compares the schema afterwards.
async fn in_turns(test: impl AsyncFn(Turn<'_>)) {
    for (before, after) in PAIRS {
        let github = FakeProvider::start().await;
        let one = builder(before, &github).build().await;
        let other = builder(after, &github).sharing_state_with(&one).build().await;
        let untouched = schema::described(&clone_migrated().await).await;
        for (number, first, second) in [(1, &one, &other), (2, &other, &one)] {
            test(Turn { first, second, github: &github, number }).await;
        }
        assert_eq!(schema::described(&one.database).await, untouched, "{before:?}, {after:?}");
    }
}

/// A server with all features whose flows span several requests.
fn builder(kind: Kind, github: &FakeProvider) -> WorldBuilder {
    let builder = match kind {
        Kind::Plain => World::builder(),
        Kind::Sealed => World::builder().as_served(),
    };
    builder.with_oauth_server().keys(vec![key()]).with_phones().policy(enable_webauthn).policy(|policy| {
        policy.mail.autoconfirm = false;
        policy.sign_up.anonymous_enabled = true;
        policy.security.manual_linking_enabled = true;
        policy.site.redirect_allow_list = vec!["https://shop.example.com/**".to_owned()];
        policy.mfa.phone.enroll_enabled = true;
        policy.mfa.phone.verify_enabled = true;
        policy.mfa.phone.max_frequency = std::time::Duration::from_micros(1);
        policy.web3.ethereum.enabled = true;
        policy.security.update_password_require_reauthentication = true;
        policy.saml.enabled = true;
        policy.saml.private_key = Secret::new(SERVICE_KEY);
        github.enable_provider(policy, "github");
        encrypted(policy, kind);
    })
}

/// Both kinds of server know the key; one of them uses it.
fn encrypted(policy: &mut Policy, kind: Kind) {
    policy.security.encryption.keys.insert("today".to_owned(), SecretKey::new([1; 32]));
    if let Kind::Sealed = kind {
        policy.security.encryption.encrypt_with = Some("today".to_owned());
        policy.refresh.algorithm_version = 2;
    }
}

/// The key that both sign with, and that others can check.
fn key() -> Map<String, Value> {
    serde_json::from_str(include_str!("../ports/rsa_key.json")).expect("a key")
}
