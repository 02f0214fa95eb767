//! Guards that parameters of handlers bring to their routes.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rs::guards::{CALLER, LIMIT_USER, NOT_ANONYMOUS};
use gotrue_rs::http::reply::Reply;
use gotrue_rs::http::router::{RouteEntry, RouteTable, dispatch, route, route_group};
use gotrue_rs::request_context::{Caller, CallerFactor, ReadOnlyCaller, RequestContext};
use gotrue_rs::testing::World;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use platform::journal::Step;
use platform::request_body::RequestBody;
use platform::request_info::RequestInfo;

const ANN: &str = "ann@example.com";

async fn return_caller(_: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    Ok(Reply::json(&caller.user.id))
}

async fn return_read_only_caller(_: RequestContext, caller: Arc<ReadOnlyCaller>) -> Result<Reply> {
    Ok(Reply::json(&caller.user.id))
}

async fn return_factor(_: RequestContext, caller: Arc<Caller>, factor: Arc<CallerFactor>) -> Result<Reply> {
    Ok(Reply::json(&(caller.user.id, factor.0.id)))
}

/// The status of the answer, and the guards that ran.
async fn send(world: &World, entry: RouteEntry, path: &str, token: Option<&str>) -> (u16, Vec<&'static str>) {
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().expect("a header"));
    }
    let info = RequestInfo { method: Method::GET, path: path.into(), headers, ..RequestInfo::internal() };
    let cx = RequestContext::new(world.app.clone(), info, RequestBody::empty());
    let journal = Arc::clone(&cx.journal);
    let answer = dispatch(&RouteTable::new(vec![entry]), cx).await;
    let status = answer.map_or_else(|error| error.status(), |_| 200);
    let name = |step| if let Step::Guard(name) = step { Some(name) } else { None };
    (status, journal.steps().into_iter().filter_map(name).collect())
}

#[tokio::test]
async fn parameter_brings_its_guard_to_a_route_without_guards() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let entry = || route(Method::GET, "/me", return_caller);
    assert_eq!(send(&world, entry(), "/me", None).await, (401, vec!["Caller"]));
    assert_eq!(send(&world, entry(), "/me", Some("nonsense")).await, (403, vec!["Caller"]));
    assert_eq!(send(&world, entry(), "/me", Some(&ann.access_token)).await, (200, vec!["Caller"]));
}

#[tokio::test]
async fn guard_of_a_parameter_and_of_the_group_runs_once() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let token = Some(ann.access_token.as_str());
    let entry = || route_group("/me", &[CALLER, NOT_ANONYMOUS], [route(Method::GET, "/", return_caller)]);
    assert_eq!(send(&world, entry(), "/me", None).await, (401, vec!["Caller"]));
    assert_eq!(send(&world, entry(), "/me", token).await, (200, vec!["Caller", "NotAnonymous"]));

    let listed = route(Method::GET, "/me", return_caller).with_guards(&[CALLER, LIMIT_USER]);
    assert_eq!(send(&world, listed, "/me", token).await, (200, vec!["Caller", "Limit(User)"]));
}

#[tokio::test]
async fn guards_of_a_route_run_before_those_of_its_parameters() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let entry = route(Method::GET, "/me", return_caller).with_guards(&[LIMIT_USER]);
    let answer = send(&world, entry, "/me", Some(&ann.access_token)).await;
    assert_eq!(answer, (200, vec!["Limit(User)", "Caller"]));
}

#[tokio::test]
async fn guard_of_a_parameter_runs_in_the_place_of_the_usual_one() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let entry =
        route_group("/me", &[CALLER], [route(Method::GET, "/", return_read_only_caller).with_guards(&[LIMIT_USER])]);
    let answer = send(&world, entry, "/me", Some(&ann.access_token)).await;
    assert_eq!(answer, (200, vec!["Caller", "Limit(User)"]));
}

#[tokio::test]
async fn factor_is_found_after_its_owner() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let entry = || route(Method::GET, "/{factor_id}", return_factor);
    assert_eq!(send(&world, entry(), "/nonsense", None).await, (401, vec!["Caller"]));
    let answer = send(&world, entry(), "/nonsense", Some(&ann.access_token)).await;
    assert_eq!(answer, (404, vec!["Caller", "Factor"]));
}
