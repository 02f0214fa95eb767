//! A world in which every route succeeds, with a pool of one connection.

use std::time::Duration;

use foundation::limits::Quota;
use foundation::secret::Secret;
use gotrue_rs::testing::identity_provider::{IdentityProvider, SERVICE_KEY};
use gotrue_rs::testing::{FakeProvider, HookServer, Issuer, PASSWORD, TestUser, World, WorldBuilder, enable_webauthn};
use gotrue_rules::domain::policy::{PasswordHash, Policy};
use platform::testing::DatabaseInspector;
use serde_json::json;
use tokio::time::timeout;

/// The entity id of the identity provider.
pub(super) const IDP: &str = "https://idp.example.com/metadata";
/// The most time that a request takes.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const COUNTER: &str = "SELECT coalesce(raw_user_meta_data ->> 'counter', '') FROM auth.users WHERE id = $1::uuid";

/// A world with external services and an inspector of its database.
pub(super) struct Fixture {
    pub world: World,
    pub provider: FakeProvider,
    pub issuer: Issuer,
    pub idp: IdentityProvider,
    pub ledger: DatabaseInspector,
    witness: TestUser,
    _receiver: HookServer,
}

impl Fixture {
    pub(super) async fn new(differing: fn(WorldBuilder) -> WorldBuilder) -> Self {
        let provider = FakeProvider::start().await;
        let receiver = HookServer::start().await;
        let issuer = Issuer::served_by(&receiver, "/realm", "shop");
        let builder = World::builder().with_oauth_server().with_phones().connections(1).policy(|policy| {
            enable_everything(policy);
            for name in ["github", "twitter"] {
                provider.enable_provider(policy, name);
            }
            let keycloak = policy.external.providers.entry("keycloak".to_owned()).or_default();
            keycloak.enabled = true;
            keycloak.client_ids = vec![issuer.client.clone()];
            keycloak.url.clone_from(&issuer.url);
        });
        let world = differing(builder).build().await;
        let witness = create_confirmed_user(&world, "witness@example.com").await;
        let ledger = DatabaseInspector::connect(&world.database).await;
        let idp = IdentityProvider::new(IDP);
        Self { world, provider, issuer, idp, ledger, witness, _receiver: receiver }
    }

    /// Creates a user with a confirmed e-mail address and a session.
    pub(super) async fn create_user(&self, n: usize) -> TestUser {
        self.world.create_user(&email(n)).await
    }

    /// Asserts that an acknowledged write persists.
    pub(super) async fn assert_write_persists(&self, counter: usize) -> Result<(), String> {
        let body = json!({"data": {"counter": counter}});
        let writing = self.world.put_as(&self.witness.access_token, "/user", body);
        let answer = timeout(REQUEST_TIMEOUT, writing).await.map_err(|_| "the next write hangs".to_owned())?;
        if answer.status != 200 {
            return Err(format!("the next write is answered {}: {}", answer.status, answer.text));
        }
        let kept = self.ledger.select_text(COUNTER, &self.witness.id).await;
        if kept == counter.to_string() { Ok(()) } else { Err(format!("write {counter} is lost: {kept:?} is kept")) }
    }
}

/// Creates a confirmed user as an administrator, without mail.
pub(super) async fn create_confirmed_user(world: &World, email: &str) -> TestUser {
    let body = json!({"email": email, "password": PASSWORD, "email_confirm": true});
    world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
    world.sign_in(email).await
}

/// The policy of `basalt serve` without rate limits and with cheap hashes.
pub(super) fn hardened_policy(builder: WorldBuilder) -> WorldBuilder {
    builder.as_served().policy(|policy| {
        let usual = Policy::default().limits;
        policy.limits.key = usual.key;
        policy.limits.targets = usual.targets;
        policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
    })
}

/// The e-mail address of the user with that number.
pub(super) fn email(n: usize) -> String {
    format!("ann{n}@example.com")
}

/// The phone number of the user with that number.
pub(super) fn phone(n: usize) -> String {
    format!("1555010{n:04}")
}

/// Enables all features and disables rate limits.
fn enable_everything(policy: &mut Policy) {
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
    policy.mfa.recovery_codes.enroll_enabled = true;
    policy.mfa.recovery_codes.verify_enabled = true;
    policy.mfa.phone.max_frequency = Duration::from_micros(1);
    policy.web3.ethereum.enabled = true;
    policy.web3.solana.enabled = true;
    enable_webauthn(policy);
    policy.saml.enabled = true;
    policy.saml.private_key = Secret::new(SERVICE_KEY);
    policy.site.redirect_allow_list =
        vec!["https://app.example.com/**".to_owned(), "https://shop.example.com/**".to_owned()];
}
