//! Users of a test: signed up through the API and confirmed with the mailed code.

use platform::testing::Answer;
use serde_json::{Value, json};

use super::world::World;

/// The default password.
pub const PASSWORD: &str = "correct horse";

/// A user with a session.
#[derive(Debug, Clone)]
pub struct TestUser {
    /// The user id.
    pub id: String,
    /// The e-mail address; empty if the user has none.
    pub email: String,
    pub access_token: String,
    pub refresh_token: String,
    /// The id of the session.
    pub session: String,
}

impl TestUser {
    /// The user of a session response.
    #[track_caller]
    pub fn from_session(answer: &Answer) -> Self {
        assert!(!answer.str("access_token").is_empty(), "no session: {} {}", answer.status, answer.text);
        Self {
            id: answer.str("user/id").to_owned(),
            email: answer.str("user/email").to_owned(),
            access_token: answer.str("access_token").to_owned(),
            refresh_token: answer.str("refresh_token").to_owned(),
            session: answer.header("sb-auth-session-id").to_owned(),
        }
    }
}

impl World {
    /// Signs a user up and confirms the e-mail address if the policy requires it.
    pub async fn create_user(&self, email: &str) -> TestUser {
        let answer = self.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
        if !answer.str("access_token").is_empty() {
            return TestUser::from_session(&answer);
        }
        let verified = self.post("/verify", json!({"type": "signup", "email": email, "token": self.code(email)})).await;
        TestUser::from_session(&verified)
    }

    /// Signs in by password: a new session of the same user.
    pub async fn sign_in(&self, email: &str) -> TestUser {
        TestUser::from_session(&self.try_password(email, PASSWORD).await)
    }

    /// Attempts a sign-in by password.
    pub async fn try_password(&self, email: &str, password: &str) -> Answer {
        self.post("/token?grant_type=password", json!({"email": email, "password": password})).await
    }

    /// Attempts a refresh.
    pub async fn refresh(&self, token: &str) -> Answer {
        self.post("/token?grant_type=refresh_token", json!({"refresh_token": token})).await
    }

    /// The code in the latest mail to that address.
    #[track_caller]
    pub fn code(&self, email: &str) -> String {
        self.mailbox.latest(email).code.expect("the mail has a code")
    }

    /// The path and query of the link in the latest mail to that address.
    #[track_caller]
    pub fn link(&self, email: &str) -> String {
        let link = self.mailbox.latest(email).link.expect("the mail has a link");
        link.strip_prefix(&self.app.policy.site.external_url).expect("the link leads to the server").to_owned()
    }

    /// A token with these claims, signed by the key of the server.
    pub fn sign_claims(&self, claims: &Value) -> String {
        self.app.keys.sign(claims).expect("the world's key signs")
    }

    /// A token of the service role, valid for an hour.
    pub fn service_token(&self) -> String {
        self.sign_claims(&json!({"role": "service_role", "exp": self.now().timestamp() + 3600}))
    }
}
