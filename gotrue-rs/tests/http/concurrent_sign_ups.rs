//! Concurrent requests that create a user with the same new e-mail or phone.
//!
//! One creates the user; the others respond as for an existing user.

use std::time::Duration;

use foundation::limits::Quota;
use futures::future::join_all;
use gotrue_rs::testing::{FakeProvider, PASSWORD, World};
use gotrue_rules::domain::policy::{PasswordHash, Policy};
use platform::testing::{Answer, scaled_load};
use serde_json::{Value, json};

/// A request that creates a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    SignUp,
    Otp,
    MagicLink,
    Invite,
    AdminCreate,
    GenerateSignUp,
    GenerateMagicLink,
    Provider,
}

const BY_EMAIL: [Way; 8] = [
    Way::SignUp,
    Way::Otp,
    Way::MagicLink,
    Way::Invite,
    Way::AdminCreate,
    Way::GenerateSignUp,
    Way::GenerateMagicLink,
    Way::Provider,
];
const BY_PHONE: [Way; 3] = [Way::SignUp, Way::Otp, Way::AdminCreate];

impl Way {
    /// The statement that writes the account.
    fn insert(self) -> &'static str {
        match self {
            Self::AdminCreate => "admin.insert",
            Self::Provider => "identities.insert_user",
            _ => "accounts.insert",
        }
    }
}

/// A request, ready to be sent.
struct Ready {
    way: Way,
    path: &'static str,
    body: Value,
    /// The state of a sign-in with the provider, begun already.
    state: String,
}

impl Ready {
    async fn new(world: &World, way: Way, contact: &Value) -> Self {
        let state = if way == Way::Provider { world.start_provider_sign_in("github").await } else { String::new() };
        let (path, more) = match way {
            Way::SignUp => ("/signup", json!({"password": PASSWORD})),
            Way::Otp => ("/otp", json!({})),
            Way::MagicLink => ("/magiclink", json!({})),
            Way::Invite => ("/invite", json!({})),
            Way::AdminCreate => {
                ("/admin/users", json!({"password": PASSWORD, "email_confirm": true, "phone_confirm": true}))
            }
            Way::GenerateSignUp => ("/admin/generate_link", json!({"type": "signup", "password": PASSWORD})),
            Way::GenerateMagicLink => ("/admin/generate_link", json!({"type": "magiclink"})),
            Way::Provider => ("", json!({})),
        };
        let mut body = contact.clone();
        let members = more.as_object().cloned().unwrap_or_default();
        body.as_object_mut().expect("a contact is an object").extend(members);
        Self { way, path, body, state }
    }

    async fn send(&self, world: &World) -> Answer {
        if self.way == Way::Provider {
            return world.get(&format!("/callback?code=c&state={}", self.state)).await;
        }
        world.post_as(&world.service_token(), self.path, self.body.clone()).await
    }
}

/// The observable parts of a response: status, code and redirect target.
fn shape(answer: &Answer) -> (u16, String, String) {
    let location = answer.header("location");
    let place = location.split_once(['#', '?']).map_or("", |(_, rest)| rest.split('=').next().unwrap_or_default());
    (answer.status.as_u16(), answer.str("error_code").to_owned(), place.to_owned())
}

/// Two servers on one database.
struct Servers {
    first: World,
    second: World,
    provider: FakeProvider,
}

impl Servers {
    async fn new(autoconfirm: bool, is_served: bool) -> Self {
        let provider = FakeProvider::start().await;
        let builder = || {
            let builder = World::builder().with_phones().connections(16);
            let builder = if is_served { builder.as_served() } else { builder };
            builder.policy(|policy| {
                provider.enable_provider(policy, "github");
                policy.mail.autoconfirm = autoconfirm;
                policy.sms.autoconfirm = autoconfirm;
                policy.sign_up.phone_enabled = true;
                // Neither limits nor the time of a hash are what this is about.
                policy.limits = Policy::default().limits;
                policy.limits.email_sent = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
                policy.limits.sms_sent = policy.limits.email_sent;
                policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
                policy.mail.max_frequency = Duration::ZERO;
                policy.sms.max_frequency = Duration::ZERO;
            })
        };
        let first = builder().build().await;
        let second = builder().sharing_state_with(&first).build().await;
        Self { first, second, provider }
    }

    /// An unused e-mail or phone, which the provider also reports.
    fn contact(&self, number: usize, by_email: bool) -> Value {
        if !by_email {
            return json!({"phone": format!("1555{number:07}")});
        }
        let email = format!("{number}@example.com");
        self.provider.add_github_user(i64::try_from(number).expect("a small number"), &email, true);
        json!({"email": email})
    }

    async fn accounts(&self, contact: &Value) -> usize {
        let of = |name: &str| contact[name].as_str().unwrap_or_default().to_owned();
        let sql = format!("SELECT id FROM auth.users WHERE email = '{}' OR phone = '{}'", of("email"), of("phone"));
        self.first.database.query(&sql).await.len()
    }

    /// What the loser answers when the winner has come first.
    async fn in_a_row(&self, contact: &Value, winner: Way, loser: Way) -> (u16, String, String) {
        let winner = Ready::new(&self.first, winner, contact).await;
        let loser = Ready::new(&self.second, loser, contact).await;
        winner.send(&self.first).await;
        shape(&loser.send(&self.second).await)
    }

    /// What the loser answers when the winner comes between its look-up and its insert.
    async fn run_with_concurrent_winner(&self, contact: &Value, winner: Way, loser: Way) -> (u16, String, String) {
        let gate = self.second.faults.wait(loser.insert(), 1);
        let winner = Ready::new(&self.first, winner, contact).await;
        let loser = Ready::new(&self.second, loser, contact).await;
        let overtakes = async {
            gate.wait_until_reached().await;
            let answer = winner.send(&self.first).await;
            gate.open();
            answer
        };
        let (lost, won) = futures::future::join(loser.send(&self.second), overtakes).await;
        assert!(!won.status.is_client_error() && !won.status.is_server_error(), "{won:?}");
        assert!(!lost.text.contains("constraint") && !lost.text.contains("23505"), "{}", lost.text);
        shape(&lost)
    }
}

async fn losers_answer_like_for_an_existing_user(autoconfirm: bool, is_served: bool) {
    let servers = Servers::new(autoconfirm, is_served).await;
    let mut number = 0;
    for (ways, by_email) in [(&BY_EMAIL[..], true), (&BY_PHONE[..], false)] {
        for winner in ways {
            for loser in ways {
                number += 2;
                let expected = servers.in_a_row(&servers.contact(number, by_email), *winner, *loser).await;
                let contact = servers.contact(number + 1, by_email);
                let found = servers.run_with_concurrent_winner(&contact, *winner, *loser).await;
                assert_eq!(found, expected, "{winner:?} before {loser:?}, autoconfirm {autoconfirm}");
                assert!(found.0 < 500, "{winner:?} before {loser:?}");
                assert_eq!(servers.accounts(&contact).await, 1, "{winner:?} before {loser:?}");
            }
        }
    }
}

#[tokio::test]
async fn losing_sign_up_is_answered_like_an_existing_user() {
    losers_answer_like_for_an_existing_user(false, false).await;
}

#[tokio::test]
async fn losing_sign_up_with_autoconfirm_is_answered_like_an_existing_user() {
    losers_answer_like_for_an_existing_user(true, false).await;
}

#[tokio::test]
async fn losing_sign_up_with_hardened_policy_is_answered_like_an_existing_user() {
    losers_answer_like_for_an_existing_user(false, true).await;
}

/// All requests at once for one e-mail, repeatedly: one user each and no internal error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_sign_ups_of_one_email_create_one_user() {
    for autoconfirm in [false, true] {
        let servers = Servers::new(autoconfirm, false).await;
        for number in 0..scaled_load(6, 500) {
            for (ways, by_email) in [(&BY_EMAIL[..], true), (&BY_PHONE[..], false)] {
                let contact = servers.contact(number, by_email);
                let mut ready = Vec::new();
                for way in ways.iter().chain(ways) {
                    ready.push(Ready::new(&servers.first, *way, &contact).await);
                }
                let worlds = [&servers.first, &servers.second];
                let answers = join_all(ready.iter().enumerate().map(|(n, request)| request.send(worlds[n % 2]))).await;
                for (request, answer) in ready.iter().zip(&answers) {
                    assert!(!answer.status.is_server_error(), "{:?}: {} {}", request.way, answer.status, answer.text);
                }
                assert_eq!(servers.accounts(&contact).await, 1, "{contact}");
            }
        }
    }
}
