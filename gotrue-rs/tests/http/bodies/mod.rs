//! Sends arbitrary bodies to every route.
//!
//! Required: only failures that were recorded for GoTrue, no panic, no partial write, and always a documented error.
//! Routes come from the route table and members from probing, so that a new route is covered without changes here.

mod options;
mod recorded;
mod routes;
mod sent;
mod usual;
mod validation;

use std::hash::{BuildHasher, RandomState};

use futures::stream::{self, StreamExt};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

pub(crate) use self::routes::member_names;
use self::routes::{Fixture, RouteCase};
use self::sent::RequestBody;

/// The number of bodies for all routes together; each route has its own maximum.
const CASES: usize = 1200;
const MAX_CASES_PER_ROUTE: usize = 70;
/// Fixtures per route: a body that ends the session or deletes the user needs a new one.
const FIXTURES_PER_ROUTE: usize = 3;

/// The result of one route.
struct RouteResult {
    name: String,
    members: usize,
    successes: usize,
    refusals: usize,
}

/// The seed: the same in every run; `BODIES_SEED=random` selects another one.
fn seed() -> u64 {
    match option_env!("BODIES_SEED") {
        None => 0x0ba5_a170,
        Some("random") => RandomState::new().hash_one(0),
        Some(number) => number.parse().expect("a seed is a number, or random"),
    }
}

#[tokio::test]
async fn arbitrary_queries_and_headers_get_documented_responses() {
    let (seed, routes) = (seed(), routes::all_routes());
    let cases = (CASES / routes.len()).min(MAX_CASES_PER_ROUTE);
    let attempts = routes.into_iter().map(async |route| {
        let place = Fixture::new().await;
        attempt(&route, place, &options::request_options(), (seed, cases)).await
    });
    let tried: Vec<RouteResult> = stream::iter(attempts).buffer_unordered(3).collect().await;
    let succeeding = tried.iter().filter(|route| route.successes > 0).count();
    assert!(succeeding > 10, "seed {seed}: only {succeeding} of {} routes were ever passed", tried.len());
}

/// `BODIES_SEED=… cargo test -p gotrue-rs --test http bodies` repeats what a failure has printed.
#[tokio::test]
async fn arbitrary_bodies_get_documented_responses_and_failures_write_nothing() {
    let (seed, routes) = (seed(), routes::routes_with_bodies());
    let cases = (CASES / routes.len()).min(MAX_CASES_PER_ROUTE);
    let attempts = routes.into_iter().map(async |route_case| {
        let place = Fixture::new().await;
        let members = place.members(&route_case).await;
        let tried = attempt(&route_case, place, &sent::arbitrary_bodies(&members), (seed, cases)).await;
        RouteResult { members: members.len(), ..tried }
    });
    let tried: Vec<RouteResult> = stream::iter(attempts).buffer_unordered(3).collect().await;
    assert!(tried.len() > 12, "the table is not read: {} routes", tried.len());
    let deaf: Vec<&str> = tried
        .iter()
        .filter(|route_case| route_case.members > 0 && route_case.refusals == 0)
        .map(|route_case| &*route_case.name)
        .collect();
    assert!(deaf.is_empty(), "seed {seed}: routes that read a body and refuse none: {deaf:?}");
    let knowing = tried.iter().filter(|route_case| route_case.members > 0).count();
    assert!(knowing * 2 > tried.len(), "only {knowing} of {} routes tell what they read", tried.len());
    let succeeding = tried.iter().filter(|route_case| route_case.successes > 0).count();
    assert!(
        succeeding > 6,
        "seed {seed}: only {succeeding} routes were ever passed, the bodies are too far from good ones"
    );
}

const CONNECTION_LOSSES_PER_ROUTE: usize = 12;

#[tokio::test]
async fn lost_database_is_answered_with_503_on_every_route() {
    let seed = seed();
    let attempts = routes::all_routes().into_iter().map(async |route| {
        let mut place = Fixture::new().await;
        let members = place.members(&route).await;
        let bodies = sent::arbitrary_bodies(&members);
        let mut struck = 0;
        for case in 0..CONNECTION_LOSSES_PER_ROUTE {
            let sent = place.fill_placeholders(draw_body(&bodies, &route, (seed, case)), case);
            let n = if case % 2 == 0 { 1 } else { case / 2 + 1 };
            let Some(answer) = place.send_without_database(&route, &sent, n).await else { continue };
            struck += 1;
            // What is only logged, such as a notice, fails after the answer is decided.
            let is_served = answer.status.is_success() || answer.status.is_redirection();
            let is_unavailable = answer.status == 503 && answer.header("retry-after") == "1";
            let has_error = answer.header("location").contains("error=");
            assert!(
                is_unavailable || (is_served && !has_error),
                "{}, seed {seed}, case {case}, statement {n}: {} {}\n{sent}",
                route.name(),
                answer.status,
                answer.text
            );
        }
        struck
    });
    let struck: Vec<usize> = stream::iter(attempts).buffer_unordered(3).collect().await;
    let reached = struck.iter().filter(|struck| **struck > 0).count();
    assert!(reached > 35, "only {reached} of {} routes ever lost their database", struck.len());
}

async fn attempt(
    route_case: &RouteCase,
    mut place: Fixture,
    bodies: &impl Strategy<Value = RequestBody>,
    (seed, cases): (u64, usize),
) -> RouteResult {
    let mut tried = RouteResult { name: route_case.name(), members: 0, successes: 0, refusals: 0 };
    let mut places = 1;
    for case in 0..cases {
        let sent = place.fill_placeholders(draw_body(bodies, route_case, (seed, case)), case);
        let (before, answer, after) = place.send(route_case, &sent).await;
        if let Err(complaint) =
            validation::validate_response(route_case, &sent, &answer, validation::differing_tables(&before, &after))
        {
            panic!(
                "{complaint}\nat {}, seed {seed}, case {case}\n{sent}\n{} {}",
                route_case.name(),
                answer.status,
                answer.text
            );
        }
        let is_refused = answer.status.is_client_error() || answer.status.is_server_error();
        *if is_refused { &mut tried.refusals } else { &mut tried.successes } += 1;
        if routes::has_ended_session(route_case, &answer) {
            if places == FIXTURES_PER_ROUTE {
                break;
            }
            places += 1;
            place = Fixture::new().await;
        }
    }
    tried
}

/// The body of one case; it depends only on the seed, the route and the case number.
fn draw_body(
    bodies: &impl Strategy<Value = RequestBody>,
    route: &RouteCase,
    (seed, case): (u64, usize),
) -> RequestBody {
    let mut start = [0; 32];
    let text = format!("{seed} {case} {}", route.name());
    start.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref());
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &start));
    bodies.new_tree(&mut runner).expect("a body").current()
}
