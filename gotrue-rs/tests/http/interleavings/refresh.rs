//! Two refreshes with one token, and a refresh beside what ends its session.

use std::time::Duration;

use gotrue_rs::testing::{PASSWORD, TestUser};
use platform::testing::Answer;
use serde_json::json;

use super::{Scenario, Servers, explore, statuses};

/// Two refreshes with one token.
struct SameTokenTwice {
    servers: Servers,
    version: u8,
}

impl SameTokenTwice {
    async fn new(version: u8, reuse_interval: u64, has_fast_lane: bool) -> Self {
        let servers = Servers::with(|policy| {
            policy.refresh.algorithm_version = version;
            policy.refresh.reuse_interval = Duration::from_secs(reuse_interval);
            // Has no effect without factors, but disables the fast path.
            policy.sessions.allow_low_aal = (!has_fast_lane).then(|| Duration::from_hours(1_000_000));
        });
        Self { servers: servers.await, version }
    }
}

impl Scenario for SameTokenTwice {
    type Case = TestUser;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> TestUser {
        self.servers.first().create_user(&format!("{run}@example.com")).await
    }

    async fn send(&self, ann: &TestUser, which: usize) -> Answer {
        self.servers.0[which].refresh(&ann.refresh_token).await
    }

    async fn check(&self, ann: TestUser, answers: [Answer; 2], trace: &str) {
        assert_eq!(statuses(&answers), [200, 200], "{trace}\n{answers:?}");
        let [first, second] = answers.each_ref().map(|answer| answer.str("refresh_token"));
        assert_eq!(first, second, "{trace}");
        let live = format!("SELECT id FROM auth.refresh_tokens WHERE NOT revoked AND session_id = '{}'", ann.session);
        let live = self.servers.first().database.query(&live).await.len();
        assert_eq!(live, usize::from(self.version == 1), "{trace}");
        self.servers.first().refresh(first).await.expect(200);
    }
}

#[tokio::test]
async fn two_refreshes_in_any_order_have_one_successor() {
    for reuse_interval in [0, 10] {
        for (version, has_fast_lane) in [(1, true), (1, false), (2, true), (2, false)] {
            let runs = explore(&SameTokenTwice::new(version, reuse_interval, has_fast_lane).await).await;
            // The fast path of version 1 is one statement: there are only two orders.
            assert!(runs > usize::from(!has_fast_lane || version == 2) * 4 + 1, "{runs} orders are too few");
        }
    }
}

/// What happens beside a refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConcurrentChange {
    /// The session signs out.
    Logout,
    /// All sessions sign out.
    LogoutEverywhere,
    /// Another session of the user sets a new password.
    NewPassword,
    /// An administrator deletes the user.
    Deletion,
    /// The other session refreshes.
    OtherRefresh,
}

/// A refresh of one session beside something that another session or the administrator does.
struct Refresh {
    servers: Servers,
    beside: ConcurrentChange,
}

/// Two sessions of one user.
struct Sessions {
    refreshed: TestUser,
    other: TestUser,
}

impl Scenario for Refresh {
    type Case = Sessions;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> Sessions {
        let email = format!("{run}@example.com");
        let refreshed = self.servers.first().create_user(&email).await;
        let other = self.servers.first().sign_in(&email).await;
        Sessions { refreshed, other }
    }

    async fn send(&self, case: &Sessions, which: usize) -> Answer {
        let world = &self.servers.0[which];
        if which == 0 {
            return world.refresh(&case.refreshed.refresh_token).await;
        }
        match self.beside {
            ConcurrentChange::Logout => {
                world.post_as(&case.refreshed.access_token, "/logout?scope=local", json!({})).await
            }
            ConcurrentChange::LogoutEverywhere => world.post_as(&case.other.access_token, "/logout", json!({})).await,
            ConcurrentChange::NewPassword => {
                let body = json!({"password": format!("new {PASSWORD}")});
                world.put_as(&case.other.access_token, "/user", body).await
            }
            ConcurrentChange::Deletion => {
                let path = format!("/admin/users/{}", case.refreshed.id);
                let bearer = format!("Bearer {}", world.service_token());
                world.request(http::Method::DELETE, &path, &[("authorization", &bearer)], None).await
            }
            ConcurrentChange::OtherRefresh => world.refresh(&case.other.refresh_token).await,
        }
    }

    async fn check(&self, case: Sessions, answers: [Answer; 2], trace: &str) {
        let [refreshed, beside] = &answers;
        assert!(beside.status.is_success(), "{trace}\n{beside:?}");
        if self.beside == ConcurrentChange::OtherRefresh {
            assert_eq!(refreshed.status, 200, "{trace}\n{refreshed:?}");
            return;
        }
        assert!(matches!(refreshed.status.as_u16(), 200 | 400), "{trace}\n{refreshed:?}");
        let left = format!(
            "SELECT id FROM auth.sessions WHERE id = '{0}' UNION ALL
             SELECT session_id FROM auth.refresh_tokens WHERE session_id = '{0}'",
            case.refreshed.session
        );
        assert!(self.servers.first().database.query(&left).await.is_empty(), "the session goes on\n{trace}");
    }
}

#[tokio::test]
async fn refresh_concurrent_with_revocation_does_not_revive_the_session() {
    for beside in [
        ConcurrentChange::Logout,
        ConcurrentChange::LogoutEverywhere,
        ConcurrentChange::NewPassword,
        ConcurrentChange::Deletion,
        ConcurrentChange::OtherRefresh,
    ] {
        for version in [1, 2] {
            for has_fast_lane in [true, false] {
                let servers = Servers::with(|policy| {
                    policy.refresh.algorithm_version = version;
                    policy.sessions.allow_low_aal = (!has_fast_lane).then(|| Duration::from_hours(1_000_000));
                });
                explore(&Refresh { servers: servers.await, beside }).await;
            }
        }
    }
}
