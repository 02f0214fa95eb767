//! Second factors of test users: TOTP enrollment, challenge, verification.

use std::sync::Arc;

use gotrue_rules::domain::mfa::totp;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::users::TestUser;
use super::world::World;

/// An enrolled TOTP factor.
#[derive(Debug, Clone)]
pub struct TotpFactor {
    /// The factor id.
    pub id: String,
    /// The TOTP secret in base32.
    pub secret: String,
}

impl World {
    /// Attempts to enroll a factor.
    pub async fn enroll(&self, token: &str, body: Value) -> Answer {
        self.post_as(token, "/factors", body).await
    }

    /// Enrolls a TOTP factor without verifying it.
    pub async fn enroll_totp(&self, user: &TestUser, name: &str) -> TotpFactor {
        let body = json!({ "factor_type": "totp", "friendly_name": name });
        let made = self.enroll(&user.access_token, body).await.expect(200);
        TotpFactor { id: made.str("id").to_owned(), secret: made.str("totp/secret").to_owned() }
    }

    /// The current code of the factor.
    pub fn totp_code(&self, app: &TotpFactor) -> String {
        totp::generate_code(&app.secret, self.now()).expect("the secret is base32")
    }

    /// Attempts to create a challenge.
    pub async fn create_challenge(&self, token: &str, factor: &str) -> Answer {
        self.post_as(token, &format!("/factors/{factor}/challenge"), json!({})).await
    }

    /// Attempts to verify a challenge with a code.
    pub async fn verify_challenge(&self, token: &str, factor: &str, challenge: &str, code: &str) -> Answer {
        let body = json!({ "challenge_id": challenge, "code": code });
        self.post_as(token, &format!("/factors/{factor}/verify"), body).await
    }

    /// Attempts to verify a new challenge with the current code.
    pub async fn verify_totp(&self, user: &TestUser, app: &TotpFactor) -> Answer {
        let response = self.create_challenge(&user.access_token, &app.id).await.expect(200);
        self.verify_challenge(&user.access_token, &app.id, response.str("id"), &self.totp_code(app)).await
    }

    /// Verifies the factor: the user in the same session at AAL2.
    pub async fn elevate_session(&self, user: &TestUser, app: &TotpFactor) -> TestUser {
        let lifted = TestUser::from_session(&self.verify_totp(user, app).await);
        TestUser { session: user.session.clone(), ..lifted }
    }

    /// A user with a verified TOTP factor and a session at AAL2.
    pub async fn create_user_with_totp(&self, email: &str) -> (TestUser, TotpFactor) {
        let user = self.create_user(email).await;
        let app = self.enroll_totp(&user, "app").await;
        (self.elevate_session(&user, &app).await, app)
    }

    /// Attempts to unenroll a factor.
    pub async fn unenroll(&self, token: &str, factor: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        self.request(Method::DELETE, &format!("/factors/{factor}"), &[("authorization", &bearer)], None).await
    }

    /// The claims of an access token.
    pub fn decode_claims(&self, token: &str) -> Value {
        let claims = self.app.keys.verify(token, self.now()).expect("the world's key has signed it");
        Value::Object(Arc::unwrap_or_clone(claims))
    }
}
