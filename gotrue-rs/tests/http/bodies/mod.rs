//! Whatever is sent to whichever route: never a failure of ours that the reference was not recorded to have, never a
//! panic, never half a write, and always an error of the documented form. The routes are those of the table, and what
//! each of them reads is found out by asking it, so that a new one is covered by itself.

mod asked;
mod door;
mod judge;
mod recorded;
mod sent;
mod usual;

use std::hash::{BuildHasher, RandomState};

use futures::stream::{self, StreamExt};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use self::door::{Door, Place};
use self::sent::Sent;

/// Bodies for all doors together, at most so many for each.
const CASES: usize = 1200;
const CASES_OF_ONE: usize = 70;
/// Fixtures per door: a body that ends the session or the account of its sender needs new ones.
const PLACES: usize = 3;

/// What came of one door.
struct Tried {
    name: String,
    members: usize,
    successes: usize,
    refusals: usize,
}

/// The same for every run, so that a change is judged by what it changes; `BODIES_SEED=random` tries others.
fn seed() -> u64 {
    match option_env!("BODIES_SEED") {
        None => 0x0ba5_a170,
        Some("random") => RandomState::new().hash_one(0),
        Some(number) => number.parse().expect("a seed is a number, or random"),
    }
}

#[tokio::test]
async fn whatever_is_asked_beside_a_body_is_answered_as_well() {
    let (seed, doors) = (seed(), door::all());
    let cases = (CASES / doors.len()).min(CASES_OF_ONE);
    let attempts = doors.into_iter().map(async |door| {
        let place = Place::new().await;
        attempt(&door, place, &asked::asked(), (seed, cases)).await
    });
    let tried: Vec<Tried> = stream::iter(attempts).buffer_unordered(3).collect().await;
    let succeeding = tried.iter().filter(|door| door.successes > 0).count();
    assert!(succeeding > 10, "seed {seed}: only {succeeding} of {} doors were ever passed", tried.len());
}

/// `BODIES_SEED=… cargo test -p gotrue-rs --test http bodies` repeats what a failure has printed.
#[tokio::test]
async fn whatever_is_sent_is_answered_well_and_changes_nothing_unless_it_succeeds() {
    let (seed, doors) = (seed(), door::taking_bodies());
    let cases = (CASES / doors.len()).min(CASES_OF_ONE);
    let attempts = doors.into_iter().map(async |door| {
        let place = Place::new().await;
        let members = place.members(&door).await;
        let tried = attempt(&door, place, &sent::bodies(&members), (seed, cases)).await;
        Tried { members: members.len(), ..tried }
    });
    let tried: Vec<Tried> = stream::iter(attempts).buffer_unordered(3).collect().await;
    assert!(tried.len() > 12, "the table is not read: {} doors", tried.len());
    let deaf: Vec<&str> =
        tried.iter().filter(|door| door.members > 0 && door.refusals == 0).map(|door| &*door.name).collect();
    assert!(deaf.is_empty(), "seed {seed}: doors that read a body and refuse none: {deaf:?}");
    let knowing = tried.iter().filter(|door| door.members > 0).count();
    assert!(knowing * 2 > tried.len(), "only {knowing} of {} doors tell what they read", tried.len());
    let succeeding = tried.iter().filter(|door| door.successes > 0).count();
    assert!(
        succeeding > 6,
        "seed {seed}: only {succeeding} doors were ever passed, the bodies are too far from good ones"
    );
}

/// Losses of the database for each door.
const LOSSES: usize = 12;

#[tokio::test]
async fn a_lost_database_is_answered_503_whatever_was_asked() {
    let seed = seed();
    let attempts = door::all().into_iter().map(async |door| {
        let mut place = Place::new().await;
        let members = place.members(&door).await;
        let bodies = sent::bodies(&members);
        let mut struck = 0;
        for case in 0..LOSSES {
            let sent = place.filled(drawn(&bodies, &door, (seed, case)), case);
            let n = if case % 2 == 0 { 1 } else { case / 2 + 1 };
            let Some(answer) = place.send_without_database(&door, &sent, n).await else { continue };
            struck += 1;
            // What is only logged, such as a notice, fails after the answer is decided.
            let is_served = answer.status.is_success() || answer.status.is_redirection();
            let is_unavailable = answer.status == 503 && answer.header("retry-after") == "1";
            let has_error = answer.header("location").contains("error=");
            assert!(
                is_unavailable || (is_served && !has_error),
                "{}, seed {seed}, case {case}, statement {n}: {} {}\n{sent}",
                door.name(),
                answer.status,
                answer.text
            );
        }
        struck
    });
    let struck: Vec<usize> = stream::iter(attempts).buffer_unordered(3).collect().await;
    let reached = struck.iter().filter(|struck| **struck > 0).count();
    assert!(reached > 35, "only {reached} of {} doors ever lost their database", struck.len());
}

async fn attempt(
    door: &Door,
    mut place: Place,
    bodies: &impl Strategy<Value = Sent>,
    (seed, cases): (u64, usize),
) -> Tried {
    let mut tried = Tried { name: door.name(), members: 0, successes: 0, refusals: 0 };
    let mut places = 1;
    for case in 0..cases {
        let sent = place.filled(drawn(bodies, door, (seed, case)), case);
        let (before, answer, after) = place.send(door, &sent).await;
        if let Err(complaint) = judge::judge(door, &sent, &answer, judge::differing(&before, &after)) {
            panic!(
                "{complaint}\nat {}, seed {seed}, case {case}\n{sent}\n{} {}",
                door.name(),
                answer.status,
                answer.text
            );
        }
        let is_refused = answer.status.is_client_error() || answer.status.is_server_error();
        *if is_refused { &mut tried.refusals } else { &mut tried.successes } += 1;
        if door::is_lost(door, &answer) {
            if places == PLACES {
                break;
            }
            places += 1;
            place = Place::new().await;
        }
    }
    tried
}

/// The body of one case: the same for the same seed, whatever other doors there are.
fn drawn(bodies: &impl Strategy<Value = Sent>, door: &Door, (seed, case): (u64, usize)) -> Sent {
    let mut start = [0; 32];
    let text = format!("{seed} {case} {}", door.name());
    start.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref());
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &start));
    bodies.new_tree(&mut runner).expect("a body").current()
}
