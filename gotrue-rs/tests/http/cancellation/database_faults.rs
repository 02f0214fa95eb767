//! Faults of the database during every route: ended, read-only and silent sessions.
//!
//! The response is 503 with `Retry-After`, nothing is written, and the same request succeeds once the database works:
//! no token and no code is consumed.

use std::process::Command;
use std::time::Duration;

use gotrue_rs::testing::WorldBuilder;
use platform::journal::Step;
use platform::store::PoolOptions;
use platform::testing::{Answer, RowSnapshot, diff_rows};

use super::cases::AREAS;
use super::request::TestRequest;
use super::run::{Case, CaseRun, outcome};

/// The limit of a statement in the tests of silent sessions.
const SILENCE: Duration = Duration::from_millis(1500);

/// The requests that are sent to a silent database, by route and variant.
const SILENT: [(&str, &str); 12] = [
    ("POST /signup", "with an address"),
    ("POST /token", "password"),
    ("POST /token", "refresh_token"),
    ("POST /token", "pkce"),
    ("POST /verify", "signup"),
    ("POST /verify", "recovery"),
    ("GET /verify", "in a flow"),
    ("GET /callback", "a new user"),
    ("GET /callback", "in a flow"),
    ("POST /logout", "global"),
    ("POST /admin/users", ""),
    ("PUT /admin/users/{user_id}", ""),
];

/// What happens to the sessions of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionFault {
    /// They end, as in a failover.
    Ended,
    /// Their processes stop: connections stay open and nothing is answered.
    Silent,
}

impl CaseRun<'_> {
    /// Applies the fault before each statement of the request, then sends it once more.
    async fn lose_sessions_at_every_statement(&mut self, fault: SessionFault) {
        let mut request = self.arrange().await;
        for n in 1..=self.count_statements() {
            let before = self.place.ledger.rows().await;
            let Some(answer) = self.send_with_fault(fault, n, &request).await else { break };
            let is_unchanged = self.check_answer(&format!("{fault:?} at statement {n}"), &answer, &before).await;
            if !is_unchanged {
                request = self.arrange().await;
            }
        }
        self.check_success(&format!("after {fault:?} sessions"), &request).await;
    }

    /// Sends the request to a database that refuses writes, and again when it accepts them.
    async fn send_to_read_only_database(&mut self) {
        let request = self.arrange().await;
        self.set_read_only(true).await;
        let before = self.place.ledger.rows().await;
        let answer = self.place.world.send(request.request()).await;
        self.check_answer("read-only", &answer, &before).await;
        self.set_read_only(false).await;
        if answer.status == 503 {
            self.check_success("after the read-only database", &request).await;
        }
    }

    async fn set_read_only(&self, is_read_only: bool) {
        let ledger = &self.place.ledger;
        ledger.set_read_only(is_read_only).await;
        ledger.replace_connection(&self.place.world.app.pool).await.expect("a new session");
    }

    fn count_statements(&self) -> usize {
        let is_counted = |step: &&Step| matches!(step, Step::Statement(_) | Step::Transaction("BEGIN" | "COMMIT"));
        self.complete.steps.iter().filter(is_counted).count()
    }

    /// Returns the response; `None` if the request has fewer statements.
    async fn send_with_fault(&self, fault: SessionFault, n: usize, request: &TestRequest) -> Option<Answer> {
        let (world, ledger) = (&self.place.world, &self.place.ledger);
        let gate = world.faults.wait_any(n);
        let sending = world.send(request.request());
        let breaking = async {
            gate.wait_until_reached().await;
            let pids = ledger.session_pids().await;
            match fault {
                SessionFault::Ended => ledger.terminate(&pids).await,
                SessionFault::Silent => signal("STOP", &pids),
            }
            gate.open();
            pids
        };
        let (mut sending, mut breaking) = (std::pin::pin!(sending), std::pin::pin!(breaking));
        let pids = tokio::select! {
            _ = &mut sending => {
                world.faults.clear_pending();
                return None;
            }
            pids = &mut breaking => pids,
        };
        let answer = sending.await;
        if fault == SessionFault::Silent {
            // Ended first, so that they do not execute what they have received.
            ledger.terminate(&pids).await;
            signal("CONT", &pids);
        }
        // The first statement may detect a session that has ended.
        drop(ledger.wait_until_idle(&world.app.pool).await);
        Some(answer)
    }

    /// Checks that the response is a 503 or complete; returns whether nothing was written.
    async fn check_answer(&mut self, place: &str, answer: &Answer, before: &RowSnapshot) -> bool {
        let changes = diff_rows(before, &self.place.ledger.rows().await);
        let text = outcome(answer);
        if text == self.complete.outcome {
            if changes != self.complete.written {
                self.faults.push(format!("{place}: acknowledged, but written {changes:?}"));
            }
            return changes.is_empty();
        }
        if answer.status != 503 || answer.header("retry-after").is_empty() {
            let location = answer.header("location");
            self.faults.push(format!("{place}: {text} instead of 503 with Retry-After: {} {location}", answer.text));
        }
        if !changes.is_empty() && !self.case.steps.iter().any(|step| *step == changes) {
            self.faults.push(format!("{place}: written in spite of {text}: {changes:?}"));
        }
        changes.is_empty()
    }

    /// Sends the request to a database that works again.
    async fn check_success(&mut self, place: &str, request: &TestRequest) {
        self.place.world.advance(chrono::TimeDelta::milliseconds(2));
        let mut answer = self.place.world.send(request.request()).await;
        // The first one may get a session that has ended.
        if answer.status == 503 {
            answer = self.place.world.send(request.request()).await;
        }
        let text = outcome(&answer);
        if text != self.complete.outcome {
            self.faults.push(format!("{place}: {text} instead of {}: {}", self.complete.outcome, answer.text));
        }
    }
}

/// Sends a signal to processes of PostgreSQL.
fn signal(name: &str, pids: &[i32]) {
    let status = Command::new("kill").arg(format!("-{name}")).args(pids.iter().map(i32::to_string)).status();
    assert!(status.expect("kill starts").success(), "{name} {pids:?}");
}

/// Runs all cases of an area with a fault; the failures name the case.
async fn test_area(area: &str) {
    let (_, cases) = AREAS.iter().find(|(name, _)| *name == area).expect("an area");
    let mut faults = Vec::new();
    for case in cases() {
        let mut run = CaseRun::new(&case).await;
        run.lose_sessions_at_every_statement(SessionFault::Ended).await;
        run.send_to_read_only_database().await;
        faults.extend(describe_faults(&run));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn describe_faults(run: &CaseRun<'_>) -> Vec<String> {
    run.faults.iter().map(|fault| format!("{} {}: {fault}", run.case.route, run.case.variant)).collect()
}

macro_rules! areas {
    ($($area:ident),+) => {$(
        #[tokio::test]
        async fn $area() {
            // Boxed, so that the futures of tests stay small.
            Box::pin(test_area(stringify!($area))).await;
        }
    )+
        const TESTED: &[&str] = &[$(stringify!($area)),+];
    };
}

areas!(accounts, admin, entry, factors, federation, messages, oauth_server, passkeys);

#[test]
fn every_area_is_tested() {
    assert_eq!(AREAS.map(|(name, _)| name), TESTED);
}

fn with_short_statements(builder: WorldBuilder) -> WorldBuilder {
    builder.pool(|usual| PoolOptions { statement_timeout: SILENCE, ..usual })
}

#[tokio::test]
async fn silent_sessions_are_left_and_nothing_is_consumed() {
    let mut cases: Vec<Case> = AREAS.iter().flat_map(|(_, cases)| cases()).collect();
    cases.retain(|case| SILENT.contains(&(case.route, case.variant)));
    assert_eq!(cases.len(), SILENT.len(), "each is a case");
    for case in &mut cases {
        case.differing = with_short_statements;
    }
    let runs = cases.iter().map(|case| async move {
        let mut run = CaseRun::new(case).await;
        run.lose_sessions_at_every_statement(SessionFault::Silent).await;
        describe_faults(&run)
    });
    let faults = futures::future::join_all(runs).await.concat();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
