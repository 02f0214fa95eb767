//! A span per request, and one error line per failure.

use gotrue_rs::testing::World;
use http::Method;
use platform::store::PoolOptions;
use platform::testing::{RecordedEvent, Recording};
use tracing::Level;

/// A world that takes the request id from a header.
async fn world() -> World {
    World::with(|policy| policy.api.request_id_header = "x-request-id".into()).await
}

/// What the only request span of a request records.
async fn fields_of_request(world: &World, path: &str, token: Option<&str>, names: &[&str]) -> Vec<String> {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("x-request-id", "request-1")];
    headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
    Recording::start();
    world.request(Method::GET, path, &headers, None).await;
    let recording = Recording::stop();
    let [span] = recording.spans_named("request")[..] else { panic!("not one request span: {recording:?}") };
    assert_eq!((span.fields.get("http.request.method"), span.fields.get("request.id")), ("GET", "request-1"));
    names.iter().map(|name| span.fields.get(name).to_owned()).collect()
}

#[tokio::test]
async fn request_span_names_route_user_and_status() {
    let world = world().await;
    let ann = world.create_user("ann@example.com").await;
    let fields = ["http.route", "user.id", "http.response.status_code", "error.code"];
    let of = fields_of_request(&world, "/user", Some(&ann.access_token), &fields).await;
    assert_eq!(of, ["/user", &ann.id, "200", ""]);
    let path = format!("/admin/users/{}/factors", ann.id);
    let of = fields_of_request(&world, &path, Some(&world.service_token()), &fields).await;
    assert_eq!(of, ["/admin/users/{user_id}/factors", "", "200", ""]);
}

#[tokio::test]
async fn request_span_of_a_refused_request_names_code_and_no_user() {
    let world = world().await;
    let fields = ["http.route", "user.id", "http.response.status_code", "error.code"];
    assert_eq!(fields_of_request(&world, "/user", None, &fields).await, ["/user", "", "401", "no_authorization"]);
    let path = "/admin/users/not-a-uuid";
    let of = fields_of_request(&world, path, Some(&world.service_token()), &fields).await;
    assert_eq!(of, ["/admin/users/{user_id}", "", "404", "validation_failed"]);
    assert_eq!(fields_of_request(&world, "/nowhere", None, &fields).await, ["", "", "404", ""]);
}

#[tokio::test]
async fn request_span_of_a_sign_in_names_the_user() {
    let world = world().await;
    let ann = world.create_user("ann@example.com").await;
    Recording::start();
    world.sign_in(&ann.email).await;
    let recording = Recording::stop();
    let [span] = recording.spans_named("request")[..] else { panic!("not one request span: {recording:?}") };
    assert_eq!((span.fields.get("http.route"), span.fields.get("user.id")), ("/token", &*ann.id));
}

fn messages(recording: &Recording, level: Level) -> Vec<&str> {
    let at_level = |event: &&RecordedEvent| event.level == level && event.target.starts_with("gotrue");
    recording.events.iter().filter(at_level).map(|event| event.fields.get("message")).collect()
}

#[tokio::test]
async fn request_is_logged_once_with_the_fields_of_the_access_log() {
    let world = world().await;
    Recording::start();
    world.request(Method::GET, "/settings", &[("x-request-id", "request-1")], None).await.expect(200);
    let recording = Recording::stop();
    assert_eq!(messages(&recording, Level::INFO), ["request answered"]);
    let line = recording.events.iter().find(|event| event.fields.get("message") == "request answered");
    let fields = &line.expect("it is logged").fields;
    let values = ["request.id", "method", "path", "status"].map(|name| fields.get(name));
    assert_eq!(values, ["request-1", "GET", "/settings", "200"]);
    assert!(fields.get("duration_ms").parse::<i64>().is_ok());
}

#[tokio::test]
async fn failed_request_is_logged_once_with_all_causes() {
    let unreachable = |usual: PoolOptions| PoolOptions { connect: usual.connect.clone().database("nowhere"), ..usual };
    let world = World::builder().pool(unreachable).build().await;
    Recording::start();
    world.try_password("ann@example.com", "wrong").await.expect(503);
    let recording = Recording::stop();
    assert_eq!(messages(&recording, Level::ERROR), ["request failed"]);
    assert_eq!(messages(&recording, Level::WARN), [""; 0]);
    let line = recording.events.iter().find(|event| event.level == Level::ERROR).expect("it is logged");
    let cause = line.fields.get("cause");
    assert!(cause.starts_with("users.by_email"), "{cause}");
    assert!(cause.contains("database \"nowhere\" does not exist"), "{cause}");
    assert_eq!(cause.matches("does not exist").count(), 1, "a cause is not repeated: {cause}");
}

#[tokio::test]
async fn lost_connection_and_panic_are_logged_once() {
    let world = World::new().await;
    world.create_user("ann@example.com").await;
    world.faults.disconnect(1);
    Recording::start();
    world.try_password("ann@example.com", "wrong").await.expect(503);
    assert_eq!(messages(&Recording::stop(), Level::ERROR), ["request failed"]);
    world.faults.panic("users.by_email", 1);
    Recording::start();
    world.try_password("ann@example.com", "wrong").await.expect(500);
    assert_eq!(messages(&Recording::stop(), Level::ERROR), ["request failed"]);
}
