//! A6: what the logs hold.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Once;

use gotrue_rs::testing::{FakeProvider, PASSWORD, World, said};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

const ANN: &str = "ann.lovelace@example.com";

thread_local! {
    /// What this thread logs while somebody listens. Tests run on threads of their own.
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Hears everything, at every level, on the threads where somebody listens.
struct Ear;

/// Writes every field down.
struct Words;

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        HEARD.with_borrow_mut(|heard| {
            if let Some(heard) = heard {
                let _ = writeln!(heard, "{field}={value:?}");
            }
        });
    }
}

impl Subscriber for Ear {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        HEARD.with_borrow(Option::is_some)
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Words);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Words);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Words);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Keeps what this thread logs from now on.
pub fn listen() {
    // For the whole process: a subscriber of one thread alone may miss what another thread has logged first.
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Ear).expect("no other subscriber is set"));
    HEARD.set(Some(String::new()));
}

/// What this thread has logged since [`listen`].
pub fn logged() -> String {
    HEARD.take().unwrap_or_default()
}

#[tokio::test]
async fn a6_no_secret_and_no_address_is_logged() {
    listen();
    let provider = FakeProvider::start().await;
    provider.knows_on_github(4711, ANN, true);
    let world = World::with(|policy| provider.set_up(policy, "github")).await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let (link, code) = (world.link(ANN), world.code(ANN));
    world.get(&link.replace("token=", "token=x")).await.expect(303);
    let redirect = world.get(&link).await.expect(303).header("location").to_owned();
    world.get(&link).await.expect(303);
    let person = world.sign_in(ANN).await;
    let refreshed = world.refresh(&person.refresh_token).await.expect(200);
    world.try_password(ANN, "a wrong password").await.expect(400);
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    world.faults.fail("users.by_email", 1);
    world.try_password(ANN, PASSWORD).await.expect(500);
    world.faults.panic("users.by_email", 1);
    world.try_password(ANN, PASSWORD).await.expect(500);
    let elsewhere = [("x-jwt-aud", "elsewhere")];
    let taken = json!({"email": ANN, "password": PASSWORD});
    world.request(http::Method::POST, "/signup", &elsewhere, Some(taken)).await.expect(500);
    world.get_as("not.a.token", "/user").await.expect(403);

    let to = world.finish(&world.begin("github").await).await;
    provider.respond("/github/api/v3/user", |_| said(500, &json!({"token": "github-access"})));
    world.finish(&world.begin("github").await).await;
    provider
        .respond("/github/login/oauth/access_token", |_| said(200, &json!({"error": {"code": "c0de-from-upstream"}})));
    world.finish(&world.begin("github").await).await;

    let text = HEARD.take().unwrap_or_default();
    assert!(text.contains("/token"), "nothing was logged: {text}");
    assert!(text.contains("users.by_email"), "a failure is logged with its cause: {text}");
    assert!(text.contains("answered with status 500"), "what a provider does wrong is logged: {text}");
    let hash =
        link.split_once("token=").map(|(_, rest)| rest.split('&').next().unwrap_or_default()).unwrap_or_default();
    let in_fragment = redirect.split_once("refresh_token=").map(|(_, rest)| &rest[..12]).unwrap_or_default();
    for (what, secret) in [
        ("the address", ANN),
        ("the password", PASSWORD),
        ("a wrong password", "a wrong password"),
        ("the code", &*format!("\"{code}\"")),
        ("the link's hash", hash),
        ("the link's refresh token", in_fragment),
        ("an access token", &*person.access_token),
        ("a refresh token", &*person.refresh_token),
        ("its successor", refreshed.str("refresh_token")),
        ("a bad token", "not.a.token"),
        ("a provider's code", "c0de-from-upstream"),
        ("a provider's access token", "github-access"),
        ("a provider's refresh token", "github-refresh"),
        ("our secret at a provider", "github-secret"),
        ("an access token by a provider", to.fragment("access_token")),
        ("the signing secret", gotrue_rs::testing::SECRET),
    ] {
        assert!(secret.len() >= 8, "{what} was not made");
        assert!(!text.contains(secret), "{what} is logged");
    }
}
