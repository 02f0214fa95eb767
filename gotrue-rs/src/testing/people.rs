//! People of a test's world: signed up through the public door, confirmed by the code that was mailed.

use serde_json::{Value, json};

use super::answer::Answer;
use super::world::World;

/// The password of everybody who does not choose one.
pub const PASSWORD: &str = "correct horse";

/// Somebody with an account and a session.
#[derive(Debug, Clone)]
pub struct Person {
    /// The account's id.
    pub id: String,
    /// The address; empty for somebody without one.
    pub email: String,
    /// The access token.
    pub access_token: String,
    /// The refresh token.
    pub refresh_token: String,
    /// The id of the session.
    pub session: String,
}

impl Person {
    /// Who an answer with a session belongs to.
    #[track_caller]
    pub fn of(answer: &Answer) -> Self {
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
    /// Somebody who signed up with that address and confirmed it, if that was asked.
    pub async fn person(&self, email: &str) -> Person {
        let answer = self.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
        if !answer.str("access_token").is_empty() {
            return Person::of(&answer);
        }
        let verified = self.post("/verify", json!({"type": "signup", "email": email, "token": self.code(email)})).await;
        Person::of(&verified)
    }

    /// The same account with one session more.
    pub async fn sign_in(&self, email: &str) -> Person {
        Person::of(&self.try_password(email, PASSWORD).await)
    }

    /// A sign-in by password, however it ends.
    pub async fn try_password(&self, email: &str, password: &str) -> Answer {
        self.post("/token?grant_type=password", json!({"email": email, "password": password})).await
    }

    /// A refresh, however it ends.
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

    /// A token signed by the server's own key, with any claims.
    pub fn signed(&self, claims: &Value) -> String {
        self.app.keys.sign(claims).expect("the world's key signs")
    }

    /// A token of the service role, an hour valid.
    pub fn service_token(&self) -> String {
        self.signed(&json!({"role": "service_role", "exp": self.now().timestamp() + 3600}))
    }
}
