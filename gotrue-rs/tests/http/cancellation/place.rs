//! A world in which every route succeeds, with a pool of one connection, and somebody whose writes must not be lost.

use std::time::Duration;

use gotrue_rs::testing::identity_provider::{IdentityProvider, SERVICE_KEY};
use gotrue_rs::testing::{FakeProvider, Issuer, Ledger, PASSWORD, Person, Receiver, World, WorldBuilder, with_keys};
use gotrue_rules::domain::policy::{PasswordHash, Policy, Quota};
use gotrue_rules::domain::secret::Secret;
use serde_json::json;
use tokio::time::timeout;

/// The name of the companies' identity provider.
pub const IDP: &str = "https://idp.example.com/metadata";
/// No request takes longer.
pub const PATIENCE: Duration = Duration::from_secs(10);
const COUNTER: &str = "SELECT coalesce(raw_user_meta_data ->> 'counter', '') FROM auth.users WHERE id = $1::uuid";

/// A world with what its requests need outside, and a view of its database beside its pool.
pub struct Place {
    pub world: World,
    pub provider: FakeProvider,
    pub issuer: Issuer,
    pub idp: IdentityProvider,
    pub ledger: Ledger,
    witness: Person,
    _receiver: Receiver,
}

impl Place {
    pub async fn new(differing: fn(WorldBuilder) -> WorldBuilder) -> Self {
        let provider = FakeProvider::start().await;
        let receiver = Receiver::start().await;
        let issuer = Issuer::served_by(&receiver, "/realm", "shop");
        let builder = World::builder().as_provider().with_phones().connections(1).policy(|policy| {
            everything(policy);
            for name in ["github", "twitter"] {
                provider.set_up(policy, name);
            }
            let keycloak = policy.external.providers.entry("keycloak".to_owned()).or_default();
            keycloak.enabled = true;
            keycloak.client_ids = vec![issuer.client.clone()];
            keycloak.url.clone_from(&issuer.url);
        });
        let world = differing(builder).build().await;
        let witness = confirmed(&world, "witness@example.com").await;
        let ledger = Ledger::of(&world.database).await;
        let idp = IdentityProvider::new(IDP);
        Self { world, provider, issuer, idp, ledger, witness, _receiver: receiver }
    }

    /// Somebody with a confirmed address and a session.
    pub async fn person(&self, n: usize) -> Person {
        self.world.person(&email(n)).await
    }

    /// Makes sure that a write that is acknowledged is kept.
    pub async fn write(&self, counter: usize) -> Result<(), String> {
        let body = json!({"data": {"counter": counter}});
        let writing = self.world.put_as(&self.witness.access_token, "/user", body);
        let answer = timeout(PATIENCE, writing).await.map_err(|_| "the next write hangs".to_owned())?;
        if answer.status != 200 {
            return Err(format!("the next write is answered {}: {}", answer.status, answer.text));
        }
        let kept = self.ledger.text(COUNTER, &self.witness.id).await;
        if kept == counter.to_string() { Ok(()) } else { Err(format!("write {counter} is lost: {kept:?} is kept")) }
    }
}

/// Somebody whom an administrator made, who needs no mail.
pub async fn confirmed(world: &World, email: &str) -> Person {
    let body = json!({"email": email, "password": PASSWORD, "email_confirm": true});
    world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    world.sign_in(email).await
}

/// The policy of `basalt serve` without its limits, and with hashes that cost little.
pub fn served(builder: WorldBuilder) -> WorldBuilder {
    builder.as_served().policy(|policy| {
        let usual = Policy::default().limits;
        policy.limits.key = usual.key;
        policy.limits.targets = usual.targets;
        policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
    })
}

/// The address of the person of that number.
pub fn email(n: usize) -> String {
    format!("ann{n}@example.com")
}

/// The telephone number of that person.
pub fn phone(n: usize) -> String {
    format!("1555010{n:04}")
}

/// Everything on, and no limits in the way.
fn everything(policy: &mut Policy) {
    let many = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
    policy.mail.autoconfirm = false;
    policy.api.max_request_duration = Duration::from_mins(1);
    policy.limits.email_sent = many;
    policy.limits.sms_sent = many;
    policy.sign_up.anonymous_enabled = true;
    policy.security.manual_linking_enabled = true;
    policy.experimental.scim_enabled = true;
    policy.mfa.phone.enroll_enabled = true;
    policy.mfa.phone.verify_enabled = true;
    policy.mfa.phone.max_frequency = Duration::from_micros(1);
    policy.web3.ethereum.enabled = true;
    policy.web3.solana.enabled = true;
    with_keys(policy);
    policy.saml.enabled = true;
    policy.saml.private_key = Secret::new(SERVICE_KEY);
    policy.site.redirect_allow_list =
        vec!["https://app.example.com/**".to_owned(), "https://shop.example.com/**".to_owned()];
}
