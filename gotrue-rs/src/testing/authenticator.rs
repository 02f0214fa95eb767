//! Passkeys and security keys of test users.

use gotrue_rules::domain::policy::{Policy, RelyingParty};
use platform::software_authenticator::Authenticator;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::users::TestUser;
use super::world::World;

/// The origin of a correct browser.
pub const ORIGIN: &str = "https://shop.example.com";
/// The relying party id that [`enable_webauthn`] sets.
pub(super) const RELYING_PARTY: &str = "example.com";

/// Enables passkeys and security keys.
pub fn enable_webauthn(policy: &mut Policy) {
    policy.passkeys.enabled = true;
    policy.mfa.webauthn_enroll_enabled = true;
    policy.mfa.webauthn_verify_enabled = true;
    policy.webauthn.relying_party = Some(RelyingParty {
        id: RELYING_PARTY.to_owned(),
        display_name: "The Shop".to_owned(),
        origins: vec![ORIGIN.to_owned()],
    });
}

/// Creates an authenticator for the origin and the relying party of [`enable_webauthn`].
pub fn new_authenticator() -> Authenticator {
    Authenticator::new(ORIGIN, RELYING_PARTY).expect("a key can be made")
}

impl World {
    /// Attempts to register a passkey.
    pub async fn register_passkey(&self, user: &TestUser, device: &mut Authenticator) -> Answer {
        let response = self.post_as(&user.access_token, "/passkeys/registration/options", json!({})).await.expect(200);
        let credential = device.create(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        self.post_as(&user.access_token, "/passkeys/registration/verify", body).await
    }

    /// Registers a passkey: its id and its authenticator.
    pub async fn create_passkey(&self, user: &TestUser) -> (String, Authenticator) {
        let mut device = new_authenticator();
        let made = self.register_passkey(user, &mut device).await.expect(200);
        (made.str("id").to_owned(), device)
    }

    /// Enrolls and verifies a security key: the user at AAL2, the factor id and the authenticator.
    pub async fn enroll_security_key(&self, user: &TestUser, name: &str) -> (TestUser, String, Authenticator) {
        let body = json!({"factor_type": "webauthn", "friendly_name": name});
        let factor = self.enroll(&user.access_token, body).await.expect(200).str("id").to_owned();
        let mut device = new_authenticator();
        let response = self.create_challenge(&user.access_token, &factor).await.expect(200);
        let made = device.create(&response.json["webauthn"]["credential_options"]["publicKey"]);
        let answer = self.verify_webauthn_challenge(user, &factor, response.str("id"), ("create", made)).await;
        (TestUser { session: user.session.clone(), ..TestUser::from_session(&answer) }, factor, device)
    }

    /// Attempts to verify a new challenge with a security key.
    pub async fn verify_security_key(&self, user: &TestUser, factor: &str, device: &mut Authenticator) -> Answer {
        let response = self.create_challenge(&user.access_token, factor).await.expect(200);
        let credential = device.get(&response.json["webauthn"]["credential_options"]["publicKey"]);
        self.verify_webauthn_challenge(user, factor, response.str("id"), ("request", credential)).await
    }

    /// Attempts to verify a challenge with the credential response of a ceremony (`create` or `request`).
    pub async fn verify_webauthn_challenge(
        &self,
        user: &TestUser,
        factor: &str,
        challenge: &str,
        response: (&str, Value),
    ) -> Answer {
        let (kind, credential) = response;
        let webauthn = json!({"type": kind, "credential_response": credential});
        let body = json!({"challenge_id": challenge, "webauthn": webauthn});
        self.post_as(&user.access_token, &format!("/factors/{factor}/verify"), body).await
    }

    /// Attempts a sign-in by passkey.
    pub async fn sign_in_with_passkey(&self, device: &mut Authenticator) -> Answer {
        let response = self.post("/passkeys/authentication/options", json!({})).await.expect(200);
        let credential = device.get(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
        self.post("/passkeys/authentication/verify", body).await
    }
}
