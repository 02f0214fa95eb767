//! Two verifications of one recovery code, or one beside another change of codes or factors.

use gotrue_rs::testing::{TestUser, TotpFactor, World};
use http::Method;
use platform::testing::Answer;
use serde_json::json;

use super::{Scenario, Servers, explore, statuses};

const CODES: &str = "/factors/recovery-codes";

/// A stored code and its hash, and the hash of another.
const CODE: &str = "abcd-efgh-jklm-np27";
const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$8ZJg6pqgcNMFLBqIH6RRVf7AYNmfqY8cc/dBGJ8LORs";
const OTHER_HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$kePtIZ0RIixXKHsMaX4v08gjIFwMLNl9PjC+hyllE1o";

/// What happens beside the verification of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConcurrentAction {
    /// The same code in another session.
    SameCode,
    /// A wrong code, which locks verification.
    WrongCode,
    /// The codes are replaced.
    Regeneration,
    /// The codes are deleted.
    Deletion,
}

struct Redemption {
    servers: Servers,
    beside: ConcurrentAction,
}

struct Prepared {
    /// A session at `aal2`.
    strong: TestUser,
    /// Sessions at `aal1`.
    weak: [TestUser; 2],
}

async fn delete(servers: &Servers, which: usize, token: &str, path: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    servers.0[which].request(Method::DELETE, path, &[("authorization", &bearer)], None).await
}

/// Stores two codes, hashed with the least parameters, so that many runs are quick.
async fn store_codes(world: &World, user: &str) {
    for sql in [
        format!(
            "INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, secret, created_at, updated_at)
             VALUES (gen_random_uuid(), '{user}', 'codes', 'recovery_code', 'verified', '', now(), now())"
        ),
        format!(
            "INSERT INTO auth.mfa_recovery_code_sets (id, user_id, mfa_factor_id)
             SELECT gen_random_uuid(), user_id, id FROM auth.mfa_factors
             WHERE user_id = '{user}' AND factor_type = 'recovery_code'"
        ),
        format!(
            "INSERT INTO auth.mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash)
             SELECT gen_random_uuid(), s.id, h.hash FROM auth.mfa_recovery_code_sets s
             CROSS JOIN (VALUES ('{HASH}'), ('{OTHER_HASH}')) AS h (hash)
             WHERE s.user_id = '{user}'"
        ),
    ] {
        world.database.query(&sql).await;
    }
}

impl Scenario for Redemption {
    type Case = Prepared;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn prepare(&self, run: usize) -> Prepared {
        let world = self.servers.first();
        let email = format!("{run}@example.com");
        let (strong, _) = world.create_user_with_totp(&email).await;
        store_codes(world, &strong.id).await;
        let weak = [world.sign_in(&email).await, world.sign_in(&email).await];
        if self.beside == ConcurrentAction::WrongCode {
            for _ in 0..2 {
                let wrong = json!({"code": "aaaaaaaaaaaaaaaa"});
                let refused = world.post_as(&weak[0].access_token, &format!("{CODES}/verify"), wrong).await;
                assert_eq!(refused.refusal(), (422, "mfa_verification_failed"));
            }
        }
        Prepared { strong, weak }
    }

    async fn send(&self, case: &Prepared, which: usize) -> Answer {
        let world = &self.servers.0[which];
        let verify = format!("{CODES}/verify");
        let body = json!({"code": CODE});
        match (which, self.beside) {
            (0, _) | (_, ConcurrentAction::SameCode) => {
                world.post_as(&case.weak[which].access_token, &verify, body).await
            }
            (_, ConcurrentAction::WrongCode) => {
                let wrong = json!({"code": "bbbbbbbbbbbbbbbb"});
                world.post_as(&case.weak[1].access_token, &verify, wrong).await
            }
            (_, ConcurrentAction::Regeneration) => {
                world.post_as(&case.strong.access_token, &format!("{CODES}/regenerate"), json!({})).await
            }
            (_, ConcurrentAction::Deletion) => delete(&self.servers, which, &case.strong.access_token, CODES).await,
        }
    }

    async fn check(&self, case: Prepared, answers: [Answer; 2], trace: &str) {
        assert!(answers.iter().all(|answer| !answer.status.is_server_error()), "{trace}\n{answers:?}");
        let world = self.servers.first();
        let user = &case.strong.id;
        let query = async |sql: String| world.database.query(&sql).await.concat();
        let unused = query(format!(
            "SELECT count(*) FROM auth.mfa_recovery_codes c
             JOIN auth.mfa_recovery_code_sets s ON s.id = c.mfa_recovery_code_set_id
             WHERE s.user_id = '{user}' AND c.consumed_at IS NULL"
        ))
        .await;
        match self.beside {
            ConcurrentAction::SameCode => {
                let won = answers.iter().filter(|answer| answer.status == 200).count();
                assert_eq!((won, unused.as_str()), (1, "1"), "{trace}\n{answers:?}");
                let lost = answers.iter().find(|answer| answer.status != 200).expect("the other");
                // The winner ends the sessions below `aal2`, that of the other included.
                let is_refused =
                    [(422, "mfa_verification_failed"), (403, "session_not_found")].contains(&lost.refusal());
                assert!(is_refused, "{trace}\n{answers:?}");
            }
            ConcurrentAction::WrongCode => {
                let locked = query(format!(
                    "SELECT verification_locked_until IS NOT NULL FROM auth.mfa_recovery_code_sets
                                   WHERE user_id = '{user}'"
                ))
                .await;
                if answers[0].status == 200 {
                    assert_eq!(unused, "1", "{trace}\n{answers:?}");
                } else {
                    assert_eq!(answers[0].refusal(), (429, "mfa_recovery_codes_locked"), "{trace}\n{answers:?}");
                    assert_eq!((unused.as_str(), locked.as_str()), ("2", "true"), "{trace}\n{answers:?}");
                }
            }
            ConcurrentAction::Regeneration => {
                let statuses = statuses(&answers);
                assert_eq!(answers[1].status, 200, "{statuses:?} {trace}\n{answers:?}");
                assert_eq!(unused, "4", "no old code stays\n{trace}\n{answers:?}");
            }
            ConcurrentAction::Deletion => {
                assert_eq!(answers[1].status, 200, "{trace}\n{answers:?}");
                let raised = query(format!(
                    "SELECT count(*) FROM auth.sessions WHERE user_id = '{user}' AND aal = 'aal2'
                     AND factor_id NOT IN (SELECT id FROM auth.mfa_factors WHERE user_id = '{user}')"
                ))
                .await;
                assert_eq!((unused.as_str(), raised.as_str()), ("0", "0"), "{trace}\n{answers:?}");
            }
        }
    }
}

fn enable(policy: &mut gotrue_rules::domain::policy::Policy) {
    policy.mfa.recovery_codes.enroll_enabled = true;
    policy.mfa.recovery_codes.verify_enabled = true;
    policy.mfa.recovery_codes.count = 4;
    policy.mfa.recovery_codes.max_verify_attempts = 3;
    policy.refresh.algorithm_version = 1;
}

#[tokio::test]
async fn recovery_code_in_any_order_raises_one_session() {
    for beside in [
        ConcurrentAction::SameCode,
        ConcurrentAction::WrongCode,
        ConcurrentAction::Regeneration,
        ConcurrentAction::Deletion,
    ] {
        explore(&Redemption { servers: Servers::with(enable).await, beside }).await;
    }
}

/// Codes are generated while the last other factor is unenrolled.
struct Generation(Servers);

impl Scenario for Generation {
    type Case = (TestUser, TotpFactor);

    fn servers(&self) -> &Servers {
        &self.0
    }

    async fn prepare(&self, run: usize) -> Self::Case {
        self.0.first().create_user_with_totp(&format!("{run}@example.com")).await
    }

    async fn send(&self, (ann, app): &Self::Case, which: usize) -> Answer {
        match which {
            0 => self.0.0[0].post_as(&ann.access_token, CODES, json!({})).await,
            _ => self.0.0[1].unenroll(&ann.access_token, &app.id).await,
        }
    }

    async fn check(&self, (ann, _): Self::Case, answers: [Answer; 2], trace: &str) {
        assert!(answers.iter().all(|answer| !answer.status.is_server_error()), "{trace}\n{answers:?}");
        let factors = format!(
            "SELECT string_agg(factor_type::text, ' ' ORDER BY factor_type::text) FROM auth.mfa_factors
             WHERE user_id = '{}' AND status = 'verified'",
            ann.id
        );
        let factors = self.0.first().database.query(&factors).await.concat();
        assert!(["", "recovery_code totp"].contains(&factors.as_str()), "{factors}\n{trace}\n{answers:?}");
    }
}

#[tokio::test]
async fn recovery_codes_in_any_order_are_never_the_only_factor() {
    explore(&Generation(Servers::with(enable).await)).await;
}
