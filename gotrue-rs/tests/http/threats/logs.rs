//! Logs contain no secrets and no e-mail addresses.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Once;

use gotrue_rs::testing::{FakeProvider, PASSWORD, World, json_response};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

const ANN: &str = "ann.lovelace@example.com";

thread_local! {
    /// The log records of this thread while a recording is active.
    static RECORDED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records every level on threads with an active recording.
struct RecordingSubscriber;

/// Writes every field down.
struct RecordedText;

impl Visit for RecordedText {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        RECORDED.with_borrow_mut(|received| {
            if let Some(received) = received {
                let _ = writeln!(received, "{field}={value:?}");
            }
        });
    }
}

impl Subscriber for RecordingSubscriber {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        RECORDED.with_borrow(Option::is_some)
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut RecordedText);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut RecordedText);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut RecordedText);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Keeps what this thread logs from now on.
pub fn listen() {
    // For the whole process: a subscriber of one thread alone may miss what another thread has logged first.
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(RecordingSubscriber).expect("no other subscriber is set");
    });
    RECORDED.set(Some(String::new()));
}

/// The log records of this thread while a recording is active.
pub fn logged() -> String {
    RECORDED.take().unwrap_or_default()
}

#[tokio::test]
async fn a6_no_secret_and_no_address_is_logged() {
    listen();
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let world = World::with(|policy| provider.enable_provider(policy, "github")).await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let (link, code) = (world.link(ANN), world.code(ANN));
    world.get(&link.replace("token=", "token=x")).await.expect(303);
    let redirect = world.get(&link).await.expect(303).header("location").to_owned();
    world.get(&link).await.expect(303);
    let user = world.sign_in(ANN).await;
    let refreshed = world.refresh(&user.refresh_token).await.expect(200);
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

    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    provider.respond("/github/api/v3/user", |_| json_response(500, &json!({"token": "github-access"})));
    world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    provider.respond("/github/login/oauth/access_token", |_| {
        json_response(200, &json!({"error": {"code": "c0de-from-upstream"}}))
    });
    world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;

    let text = RECORDED.take().unwrap_or_default();
    assert!(text.contains("/token"), "nothing was logged: {text}");
    assert!(text.contains("users.by_email"), "a failure is logged with its cause: {text}");
    assert!(text.contains("returned status 500"), "what a provider does wrong is logged: {text}");
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
        ("an access token", &*user.access_token),
        ("a refresh token", &*user.refresh_token),
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
