//! Two confirmations of one change of address, and a confirmation beside another change.

use gotrue_rs::testing::TestUser;
use platform::testing::Answer;
use serde_json::json;

use super::{Scenario, Servers, explore, statuses};

/// What the two requests do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pair {
    /// Both addresses confirm.
    BothHalves,
    /// The new address confirms twice.
    SameLink,
    /// The new address confirms, and the user requests another one.
    AnotherChange,
    /// The user requests two addresses.
    TwoChanges,
}

/// A user who changes address.
struct Change {
    servers: Servers,
    pair: Pair,
}

struct PendingChange {
    ann: TestUser,
    old: String,
    new: String,
    links: [String; 2],
}

impl Scenario for Change {
    type Case = PendingChange;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> PendingChange {
        let world = self.servers.first();
        let (old, new) = (format!("{run}@old.example.com"), format!("{run}@new.example.com"));
        let ann = world.create_user(&old).await;
        world.advance(chrono::TimeDelta::seconds(1));
        let links = if self.pair == Pair::TwoChanges {
            [const { String::new() }; 2]
        } else {
            world.put_as(&ann.access_token, "/user", json!({"email": new})).await.expect(200);
            [&new, &old].map(|email| world.link(email))
        };
        world.advance(chrono::TimeDelta::seconds(1));
        PendingChange { ann, old, new, links }
    }

    async fn send(&self, case: &PendingChange, which: usize) -> Answer {
        let world = &self.servers.0[which];
        let change = async |to: String| world.put_as(&case.ann.access_token, "/user", json!({"email": to})).await;
        match (which, self.pair) {
            (0, Pair::TwoChanges) => change(case.new.clone()).await,
            (_, Pair::TwoChanges | Pair::AnotherChange) if which == 1 => change(format!("other.{}", case.new)).await,
            (1, Pair::BothHalves) => world.get(&case.links[1]).await,
            _ => world.get(&case.links[0]).await,
        }
    }

    async fn check(&self, case: PendingChange, answers: [Answer; 2], trace: &str) {
        assert!(answers.iter().all(|answer| !answer.status.is_server_error()), "{trace}\n{answers:?}");
        let world = self.servers.first();
        let id = &case.ann.id;
        let query = async |what: &str| world.database.query(&format!("SELECT {what}")).await.concat();
        let email = query(&format!("email FROM auth.users WHERE id = '{id}'")).await;
        let pending = query(&format!("email_change FROM auth.users WHERE id = '{id}'")).await;
        let columns = format!("email_change_token_new || email_change_token_current FROM auth.users WHERE id = '{id}'");
        let rows = format!(
            "string_agg(token_hash, '' ORDER BY token_type::text DESC) FROM auth.one_time_tokens WHERE user_id = '{id}'"
        );
        assert_eq!(query(&columns).await, query(&rows).await, "a secret has two homes\n{trace}");
        match self.pair {
            Pair::BothHalves => {
                assert_eq!((email.as_str(), pending.as_str()), (case.new.as_str(), ""), "{trace}\n{answers:?}");
            }
            Pair::SameLink => {
                let won = answers.iter().filter(|answer| answer.header("location").contains("access_token=")).count();
                assert_eq!((won, email.as_str()), (1, case.new.as_str()), "{trace}\n{answers:?}");
            }
            Pair::AnotherChange => {
                let other = format!("other.{}", case.new);
                let is_confirmed = answers[0].header("location").contains("access_token=");
                let expected = if is_confirmed { &case.new } else { &case.old };
                assert_eq!(&email, expected, "{trace}\n{answers:?}");
                assert!(pending == other || is_confirmed, "{pending}\n{trace}\n{answers:?}");
            }
            Pair::TwoChanges => {
                assert_eq!(statuses(&answers), [200, 200], "{trace}\n{answers:?}");
                assert_eq!(email, case.old, "{trace}");
                assert!(pending.ends_with(&case.new), "{pending}\n{trace}");
            }
        }
    }
}

#[tokio::test]
async fn email_changes_in_any_order_end_in_one_of_them() {
    for pair in [Pair::BothHalves, Pair::SameLink, Pair::AnotherChange, Pair::TwoChanges] {
        let servers = Servers::with(|policy| {
            policy.mail.secure_email_change = pair == Pair::BothHalves;
            // The clock is stopped, so that both changes are requested at the same time.
            policy.mail.max_frequency = std::time::Duration::ZERO;
        });
        explore(&Change { servers: servers.await, pair }).await;
    }
}
