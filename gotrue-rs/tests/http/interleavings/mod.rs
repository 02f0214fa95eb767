//! Runs two requests concurrently in every order of their statements.
//!
//! Each request has its own server on one shared database and stops before each statement, `BEGIN` and `COMMIT`. A
//! scheduler resumes one of them at a time and explores all choices, depth first. A request that waits for a lock or
//! sleeps before a retry is skipped.

mod email_change;
mod factors;
mod recovery_codes;
mod refresh;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::Quota;
use futures::future::join3;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use platform::testing::{Answer, Stepper, scaled_load};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::sync::watch;
use tokio::time::timeout;

/// Two servers on one database.
struct Servers([World; 2]);

impl Servers {
    async fn with(change: impl Fn(&mut Policy)) -> Self {
        let change = |policy: &mut Policy| {
            // Each run has a user of its own, who confirms an address.
            policy.limits.email_sent = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
            change(policy);
        };
        let first = World::with(change).await;
        let second = World::builder().policy(change).sharing_state_with(&first).build().await;
        Self([first, second])
    }

    /// The one that users are prepared on.
    fn first(&self) -> &World {
        &self.0[0]
    }
}

/// Two concurrent requests and the expected state afterwards.
trait Scenario {
    /// What the two requests are about: a user of its own in each run.
    type Case;

    fn servers(&self) -> &Servers;

    /// Prepares a run. Nothing stops meanwhile.
    async fn prepare(&self, run: usize) -> Self::Case;

    /// Sends the request of that number to its server.
    async fn send(&self, case: &Self::Case, which: usize) -> Answer;

    /// Looks at what came of it; `trace` says in which order.
    async fn check(&self, case: Self::Case, answers: [Answer; 2], trace: &str);
}

/// Whether to switch from one request to the other, choice by choice.
#[derive(Debug, Default)]
struct Schedule {
    /// What was chosen, and out of how many.
    choices: Vec<(usize, usize)>,
    depth: usize,
    /// How often a request may still be interrupted that could go on.
    interruptions: usize,
}

/// The number of preemptions in an ordinary run. A blocked request may always be skipped.
const INTERRUPTIONS: usize = 2;

impl Schedule {
    fn start(&mut self) {
        self.depth = 0;
        self.interruptions = scaled_load(INTERRUPTIONS, usize::MAX);
    }

    /// Chooses among requests that can take a step. The current one comes first.
    fn choose(&mut self, able: &[usize], current: Option<usize>) -> usize {
        let can_go_on = current.filter(|racer| able.contains(racer));
        let mut options: Vec<usize> = can_go_on.into_iter().collect();
        if can_go_on.is_none() || self.interruptions > 0 {
            options.extend(able.iter().filter(|racer| Some(**racer) != can_go_on));
        }
        if self.depth == self.choices.len() {
            self.choices.push((0, options.len()));
        }
        let (choice, _) = self.choices[self.depth];
        self.depth += 1;
        let chosen = options[choice.min(options.len() - 1)];
        if can_go_on.is_some_and(|racer| racer != chosen) {
            self.interruptions -= 1;
        }
        chosen
    }

    /// Goes on to the next order; false if there is none.
    fn advance(&mut self) -> bool {
        self.choices.truncate(self.depth);
        while let Some((choice, options)) = self.choices.pop() {
            if choice + 1 < options {
                self.choices.push((choice + 1, options));
                return true;
            }
        }
        false
    }
}

/// Runs a scenario in every order and answers in how many that was.
async fn explore<S: Scenario>(scenario: &S) -> usize {
    let mut schedule = Schedule::default();
    let options = scenario.servers().first().database.admin_options();
    let mut observer = PgConnection::connect_with(&options).await.expect("the test server answers");
    let mut runs = 0;
    loop {
        let case = scenario.prepare(runs).await;
        schedule.start();
        let (answers, trace) = run(scenario, &case, &mut schedule, &mut observer).await;
        scenario.check(case, answers, &trace).await;
        runs += 1;
        if !schedule.advance() {
            break;
        }
    }
    runs
}

async fn run<S: Scenario>(
    scenario: &S,
    case: &S::Case,
    schedule: &mut Schedule,
    observer: &mut PgConnection,
) -> ([Answer; 2], String) {
    let servers = scenario.servers();
    let racers = servers
        .0
        .each_ref()
        .map(|world| RunningRequest { stepper: world.faults.step_by_step(), is_done: watch::Sender::new(false) });
    let request = async |which: usize| {
        let answer = scenario.send(case, which).await;
        racers[which].is_done.send_replace(true);
        answer
    };
    let race = Race { racers: &racers, world: servers.first(), observer, slept: servers.first().clock.sleeps() };
    let (first, second, trace) = join3(request(0), request(1), race.run(schedule)).await;
    servers.0.iter().for_each(|world| world.faults.run_freely());
    ([first, second], trace)
}

/// One of the two requests.
struct RunningRequest {
    stepper: Arc<Stepper>,
    is_done: watch::Sender<bool>,
}

impl RunningRequest {
    fn is_done(&self) -> bool {
        *self.is_done.borrow()
    }

    /// Whether it neither stands before a step nor has ended.
    fn is_under_way(&self) -> bool {
        !self.is_done() && self.stepper.stopped_at().is_none()
    }
}

/// What the scheduler sees of two requests.
struct Race<'a> {
    racers: &'a [RunningRequest; 2],
    world: &'a World,
    observer: &'a mut PgConnection,
    /// How many sleeps have been begun and ended.
    slept: usize,
}

impl Race<'_> {
    async fn run(mut self, schedule: &mut Schedule) -> String {
        let mut trace = Vec::new();
        let mut current = None;
        loop {
            self.settle().await;
            let stopped = |racer: &usize| self.racers[*racer].stepper.stopped_at().is_some();
            let able: Vec<usize> = (0..2).filter(stopped).collect();
            if able.is_empty() {
                if self.racers.iter().all(RunningRequest::is_done) {
                    return trace.join("\n");
                }
                self.wake();
                continue;
            }
            let chosen = schedule.choose(&able, current);
            let racer = &self.racers[chosen];
            trace.push(format!("{chosen}: {}", racer.stepper.stopped_at().unwrap_or_default()));
            racer.stepper.resume();
            current = Some(chosen);
            self.wake_after_progress();
        }
    }

    /// Waits until each request stands before a step, has ended, waits for a lock or sleeps.
    async fn settle(&mut self) {
        for _ in 0..1000 {
            let under_way: Vec<&RunningRequest> = self.racers.iter().filter(|racer| racer.is_under_way()).collect();
            if under_way.is_empty() {
                return;
            }
            let moved = futures::future::select_all(under_way.iter().map(|racer| Box::pin(moved(racer))));
            if timeout(Duration::from_millis(3), moved).await.is_ok() {
                continue;
            }
            let under_way = self.racers.iter().filter(|racer| racer.is_under_way()).count();
            if under_way == self.blocked().await + self.asleep() {
                return;
            }
        }
        panic!("a request neither moves nor waits for a lock");
    }

    /// How many requests wait for a lock that the other holds.
    async fn blocked(&mut self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0";
        let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut *self.observer).await.expect("statistics");
        usize::try_from(row.get::<i64, _>(0)).expect("a number of requests")
    }

    fn asleep(&self) -> usize {
        self.world.clock.sleeps() - self.slept
    }

    /// Ends the sleeps of those who try again.
    fn wake(&mut self) {
        self.slept = self.world.clock.sleeps();
        self.world.clock.advance(TimeDelta::milliseconds(31));
    }

    /// Ends the sleep of a request after the other one has taken a step; before, nothing has changed.
    fn wake_after_progress(&mut self) {
        if self.asleep() > 0 {
            self.wake();
        }
    }
}

/// Completes when the request stands before a step or has ended.
async fn moved(racer: &RunningRequest) {
    let mut is_done = racer.is_done.subscribe();
    let done = is_done.wait_for(|is_done| *is_done);
    tokio::select! {
        () = racer.stepper.wait_until_stopped() => {}
        _ = done => {}
    }
}

/// The statuses of both answers, the smaller first.
fn statuses(answers: &[Answer; 2]) -> [u16; 2] {
    let mut statuses = answers.each_ref().map(|answer| answer.status.as_u16());
    statuses.sort_unstable();
    statuses
}
