//! Two verifications of one challenge, or one beside a refresh, an enrollment or an unenrollment.

use gotrue_rs::testing::{TestUser, TotpFactor};
use http::Method;
use platform::testing::Answer;
use serde_json::json;

use super::{Scenario, Servers, explore, statuses};

/// What happens beside an answer to a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConcurrentAction {
    /// The same answer to the same challenge.
    SameAnswer,
    /// The same code for another challenge.
    SameCode,
    /// The session refreshes.
    Refresh,
    /// The factor is taken away by the administrator.
    Removal,
    /// Another session of the user refreshes, which the first verification ends.
    OtherRefresh,
}

/// An answer to a challenge beside something else.
struct Verification {
    servers: Servers,
    beside: ConcurrentAction,
    version: u8,
}

struct Challenged {
    ann: TestUser,
    other: TestUser,
    app: TotpFactor,
    challenges: [String; 2],
    code: String,
}

impl Scenario for Verification {
    type Case = Challenged;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> Challenged {
        let world = self.servers.first();
        let email = format!("{run}@example.com");
        let ann = world.create_user(&email).await;
        let other = world.sign_in(&email).await;
        let app = world.enroll_totp(&ann, "app").await;
        let mut challenges = [const { String::new() }; 2];
        for challenge in &mut challenges {
            world.advance(chrono::TimeDelta::microseconds(1));
            world.create_challenge(&ann.access_token, &app.id).await.expect(200).str("id").clone_into(challenge);
        }
        let code = world.totp_code(&app);
        Challenged { ann, other, app, challenges, code }
    }

    async fn send(&self, case: &Challenged, which: usize) -> Answer {
        let world = &self.servers.0[which];
        let [first, second] = &case.challenges;
        let token = &case.ann.access_token;
        match (which, self.beside) {
            (0, _) | (_, ConcurrentAction::SameAnswer) => {
                world.verify_challenge(token, &case.app.id, first, &case.code).await
            }
            (_, ConcurrentAction::SameCode) => world.verify_challenge(token, &case.app.id, second, &case.code).await,
            (_, ConcurrentAction::Refresh) => world.refresh(&case.ann.refresh_token).await,
            (_, ConcurrentAction::OtherRefresh) => world.refresh(&case.other.refresh_token).await,
            (_, ConcurrentAction::Removal) => {
                let path = format!("/admin/users/{}/factors/{}", case.ann.id, case.app.id);
                let bearer = format!("Bearer {}", world.service_token());
                world.request(Method::DELETE, &path, &[("authorization", &bearer)], None).await
            }
        }
    }

    async fn check(&self, case: Challenged, answers: [Answer; 2], trace: &str) {
        assert!(answers.iter().all(|answer| !answer.status.is_server_error()), "{trace}\n{answers:?}");
        let world = self.servers.first();
        let session = format!("SELECT aal FROM auth.sessions WHERE id = '{}'", case.ann.session);
        let aal = world.database.query(&session).await.concat();
        let live =
            format!("SELECT id FROM auth.refresh_tokens WHERE NOT revoked AND session_id = '{}'", case.ann.session);
        let live = world.database.query(&live).await.len();
        assert_eq!(live, usize::from(self.version == 1), "{trace}\n{answers:?}");
        match self.beside {
            ConcurrentAction::SameAnswer | ConcurrentAction::SameCode => {
                let [won, lost] = statuses(&answers);
                assert!(won == 200 && lost >= 400, "{won} {lost}\n{trace}\n{answers:?}");
                assert_eq!(aal, "aal2", "{trace}");
            }
            ConcurrentAction::Refresh | ConcurrentAction::OtherRefresh => {
                assert_eq!(answers[0].status, 200, "{trace}\n{answers:?}");
                assert_eq!(aal, "aal2", "{trace}");
                assert_eq!(world.refresh(answers[0].str("refresh_token")).await.status, 200, "{trace}");
            }
            ConcurrentAction::Removal => assert_eq!(aal, "aal1", "no factor is left\n{trace}"),
        }
    }
}

#[tokio::test]
async fn factor_verification_in_any_order_succeeds_once() {
    for beside in [
        ConcurrentAction::SameAnswer,
        ConcurrentAction::SameCode,
        ConcurrentAction::Refresh,
        ConcurrentAction::OtherRefresh,
        ConcurrentAction::Removal,
    ] {
        for version in [1, 2] {
            let servers = Servers::with(|policy| {
                policy.refresh.algorithm_version = version;
                policy.mfa.is_totp_replay_rejected = true;
                // A token of version 2 from before a step-up is two behind.
                policy.refresh.reuse_interval = std::time::Duration::from_secs(10);
            });
            explore(&Verification { servers: servers.await, beside, version }).await;
        }
    }
}

/// Two enrollments where there is room for one.
struct Enrollments(Servers);

impl Scenario for Enrollments {
    type Case = TestUser;

    fn servers(&self) -> &Servers {
        &self.0
    }

    async fn prepare(&self, run: usize) -> TestUser {
        self.0.first().create_user(&format!("{run}@example.com")).await
    }

    async fn send(&self, ann: &TestUser, which: usize) -> Answer {
        let body = json!({"factor_type": "totp", "friendly_name": format!("app {which}")});
        self.0.0[which].enroll(&ann.access_token, body).await
    }

    async fn check(&self, _: TestUser, answers: [Answer; 2], trace: &str) {
        assert_eq!(statuses(&answers), [200, 422], "{trace}\n{answers:?}");
        let lost = answers.iter().find(|answer| answer.status != 200).expect("the other");
        assert_eq!(lost.refusal(), (422, "too_many_enrolled_mfa_factors"), "{trace}");
    }
}

#[tokio::test]
async fn two_enrollments_in_any_order_respect_the_limit() {
    let servers = Servers::with(|policy| policy.mfa.max_enrolled_factors = 1).await;
    explore(&Enrollments(servers)).await;
}
