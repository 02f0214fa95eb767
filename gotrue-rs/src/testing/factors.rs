//! Second factors of a test's people: an app in hand, a challenge, the code that the app shows.

use gotrue_rules::domain::mfa::totp;
use http::Method;
use serde_json::{Value, json};

use super::answer::Answer;
use super::people::Person;
use super::world::World;

/// An app that was set up.
#[derive(Debug, Clone)]
pub struct AppFactor {
    /// The factor's id.
    pub id: String,
    /// The secret that the app keeps.
    pub secret: String,
}

impl World {
    /// Sets a factor up, however that ends.
    pub async fn enroll(&self, token: &str, body: Value) -> Answer {
        self.post_as(token, "/factors", body).await
    }

    /// An app of that name, set up but not verified.
    pub async fn app_factor(&self, person: &Person, name: &str) -> AppFactor {
        let body = json!({ "factor_type": "totp", "friendly_name": name });
        let made = self.enroll(&person.access_token, body).await.expect(200);
        AppFactor { id: made.str("id").to_owned(), secret: made.str("totp/secret").to_owned() }
    }

    /// The code that the app shows now.
    pub fn app_code(&self, app: &AppFactor) -> String {
        totp::code(&app.secret, self.now()).expect("the secret is base32")
    }

    /// A challenge of a factor, however that ends.
    pub async fn challenge(&self, token: &str, factor: &str) -> Answer {
        self.post_as(token, &format!("/factors/{factor}/challenge"), json!({})).await
    }

    /// An answer to a challenge, however that ends.
    pub async fn answer(&self, token: &str, factor: &str, challenge: &str, code: &str) -> Answer {
        let body = json!({ "challenge_id": challenge, "code": code });
        self.post_as(token, &format!("/factors/{factor}/verify"), body).await
    }

    /// The code that the app shows now, given for a new challenge, however that ends.
    pub async fn try_app(&self, person: &Person, app: &AppFactor) -> Answer {
        let asked = self.challenge(&person.access_token, &app.id).await.expect(200);
        self.answer(&person.access_token, &app.id, asked.str("id"), &self.app_code(app)).await
    }

    /// The person, in the same session, once the app's code was given.
    pub async fn step_up(&self, person: &Person, app: &AppFactor) -> Person {
        let lifted = Person::of(&self.try_app(person, app).await);
        Person { session: person.session.clone(), ..lifted }
    }

    /// Somebody with a verified app, signed in with it.
    pub async fn protected(&self, email: &str) -> (Person, AppFactor) {
        let person = self.person(email).await;
        let app = self.app_factor(&person, "app").await;
        (self.step_up(&person, &app).await, app)
    }

    /// Takes a factor away, however that ends.
    pub async fn unenroll(&self, token: &str, factor: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        self.request(Method::DELETE, &format!("/factors/{factor}"), &[("authorization", &bearer)], None).await
    }

    /// The claims of an access token.
    pub fn claims(&self, token: &str) -> Value {
        Value::Object(self.app.keys.verify(token, self.now()).expect("the world's key has signed it"))
    }
}
