//! Two servers in turn on one database, as before and after a restart or an update: each goes on with what the other began.
//! Nothing passes between them but what the database holds, and none of it changes the schema.

mod accounts;
mod factors;
mod federation;
mod mails;
mod schema;
mod sessions;

use gotrue_rs::testing::identity_provider::SERVICE_KEY;
use gotrue_rs::testing::{FakeProvider, TestDatabase, World, WorldBuilder, with_keys};
use gotrue_rules::domain::policy::Policy;
use gotrue_rules::domain::secret::{Secret, SecretKey};
use serde_json::{Map, Value};

/// One server begins, the other goes on.
struct Turn<'a> {
    first: &'a World,
    second: &'a World,
    /// GitHub, to both.
    github: &'a FakeProvider,
    /// Different in each turn of a database.
    number: i64,
}

impl Turn<'_> {
    /// An address that nobody has on this database.
    fn newcomer(&self) -> String {
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

/// Runs the test on a database for each of [`PAIRS`], with the one server first and then with the other, and looks at what
/// became of the schema.
async fn in_turns(test: impl AsyncFn(Turn<'_>)) {
    for (before, after) in PAIRS {
        let github = FakeProvider::start().await;
        let one = builder(before, &github).build().await;
        let other = builder(after, &github).on(&one).build().await;
        let untouched = schema::described(&TestDatabase::migrated().await).await;
        for (number, first, second) in [(1, &one, &other), (2, &other, &one)] {
            test(Turn { first, second, github: &github, number }).await;
        }
        assert_eq!(schema::described(&one.database).await, untouched, "{before:?}, {after:?}");
    }
}

/// A server with everything on that people can begin at one server and end at another.
fn builder(kind: Kind, github: &FakeProvider) -> WorldBuilder {
    let builder = match kind {
        Kind::Plain => World::builder(),
        Kind::Sealed => World::builder().as_served(),
    };
    builder.as_provider().keys(vec![key()]).with_phones().policy(with_keys).policy(|policy| {
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
        github.set_up(policy, "github");
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
