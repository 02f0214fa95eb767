//! Two verifications of one code or link, and a verification beside what replaces the code.

use gotrue_rs::testing::PASSWORD;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{Scenario, Servers, explore};

/// What a code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SignUp,
    Recovery,
    MagicLink,
    Invite,
}

/// One code, given twice: by its digits, and by its link.
struct SameCodeTwice {
    servers: Servers,
    kind: Kind,
    /// Whether the second follows the link.
    by_link: bool,
}

/// A code that was mailed.
struct Mailed {
    email: String,
    body: Value,
    link: String,
}

impl SameCodeTwice {
    async fn mailed_code(&self, email: &str) -> &'static str {
        let world = self.servers.first();
        match self.kind {
            Kind::SignUp => {
                world.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
                "signup"
            }
            Kind::Recovery => {
                world.create_user(email).await;
                world.post("/recover", json!({"email": email})).await.expect(200);
                "recovery"
            }
            Kind::MagicLink => {
                world.create_user(email).await;
                world.post("/otp", json!({"email": email})).await.expect(200);
                "magiclink"
            }
            Kind::Invite => {
                world.post_as(&world.service_token(), "/invite", json!({"email": email})).await.expect(200);
                "invite"
            }
        }
    }
}

impl Scenario for SameCodeTwice {
    type Case = Mailed;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> Mailed {
        let world = self.servers.first();
        world.advance(chrono::TimeDelta::seconds(1));
        let email = format!("{run}@example.com");
        let kind = self.mailed_code(&email).await;
        let body = json!({"type": kind, "email": email, "token": world.code(&email)});
        let link = world.link(&email);
        Mailed { email, body, link }
    }

    async fn send(&self, case: &Mailed, which: usize) -> Answer {
        let world = &self.servers.0[which];
        if which == 1 && self.by_link {
            return world.get(&case.link).await;
        }
        world.post("/verify", case.body.clone()).await
    }

    async fn check(&self, case: Mailed, answers: [Answer; 2], trace: &str) {
        let won = answers.iter().filter(|answer| is_in(answer)).count();
        assert_eq!(won, 1, "{trace}\n{answers:?}");
        let lost = answers.iter().find(|answer| !is_in(answer)).expect("the other");
        assert!(matches!(lost.status.as_u16(), 403 | 303), "{trace}\n{lost:?}");
        let world = self.servers.first();
        let of_user = format!("user_id = (SELECT id FROM auth.users WHERE email = '{}')", case.email);
        let pending = format!("SELECT id FROM auth.one_time_tokens WHERE {of_user}");
        assert!(world.database.query(&pending).await.is_empty(), "{trace}");
    }
}

/// Whether a response contains a session: as JSON, or in the fragment of a redirect.
fn is_in(answer: &Answer) -> bool {
    !answer.str("access_token").is_empty() || answer.header("location").contains("access_token=")
}

#[tokio::test]
async fn one_code_used_twice_in_any_order_signs_in_once() {
    for kind in [Kind::SignUp, Kind::Recovery, Kind::MagicLink, Kind::Invite] {
        for by_link in [false, true] {
            let scenario = SameCodeTwice { servers: Servers::with(|_| {}).await, kind, by_link };
            let runs = explore(&scenario).await;
            assert!(runs > 5, "{runs} orders are too few to have interrupted anything");
        }
    }
}

/// A code beside the request for a new one, or beside a new password.
struct CodeAndReplacement {
    servers: Servers,
    by: Replacement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replacement {
    /// Another code is requested.
    AnotherCode,
    /// The administrator sets a password.
    Password,
}

impl Scenario for CodeAndReplacement {
    type Case = (String, Value, String);

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> Self::Case {
        let world = self.servers.first();
        let email = format!("{run}@example.com");
        let ann = world.create_user(&email).await;
        world.advance(chrono::TimeDelta::seconds(1));
        world.post("/recover", json!({"email": email})).await.expect(200);
        world.advance(chrono::TimeDelta::seconds(1));
        let body = json!({"type": "recovery", "email": email, "token": world.code(&email)});
        (email, body, ann.id)
    }

    async fn send(&self, (email, body, id): &Self::Case, which: usize) -> Answer {
        let world = &self.servers.0[which];
        match (which, self.by) {
            (0, _) => world.post("/verify", body.clone()).await,
            (_, Replacement::AnotherCode) => world.post("/recover", json!({"email": email})).await,
            (_, Replacement::Password) => {
                let path = format!("/admin/users/{id}");
                world.put_as(&world.service_token(), &path, json!({"password": "another password"})).await
            }
        }
    }

    async fn check(&self, (email, body, id): Self::Case, answers: [Answer; 2], trace: &str) {
        let [verified, other] = &answers;
        assert_eq!(other.status, 200, "{trace}\n{other:?}");
        assert!(matches!(verified.status.as_u16(), 200 | 403), "{trace}\n{verified:?}");
        let world = self.servers.first();
        // Whichever came first, the old code is worth nothing any more.
        assert_eq!(world.post("/verify", body).await.status, 403, "{trace}");
        let columns = format!("SELECT recovery_token FROM auth.users WHERE id = '{id}'");
        let rows = format!("SELECT token_hash FROM auth.one_time_tokens WHERE user_id = '{id}'");
        let (columns, rows) =
            (world.database.query(&columns).await.concat(), world.database.query(&rows).await.concat());
        assert_eq!(columns, rows, "a secret has two homes, and {email} one in one of them\n{trace}");
    }
}

#[tokio::test]
async fn code_concurrent_with_its_replacement_counts_at_most_once() {
    for by in [Replacement::AnotherCode, Replacement::Password] {
        explore(&CodeAndReplacement { servers: Servers::with(|_| {}).await, by }).await;
    }
}
