//! The provider simulator, held to the recorded contracts.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use gotrue_rs::testing::{RedirectTarget, World};
use gotrue_rules::domain::policy::ExternalProviderSettings;
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::testing::FakeClock;
use provider_simulator::{NextSignIn, Simulator, SimulatorOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{ANN, PICTURE};

const AUTH_URL: &str = "http://auth.example.com";

/// Asserts that a sign-in at the simulator makes an identity of the same form as a recorded one.
///
/// Issuer, id and address are the same, and so are the names of the claims. `claims` completes the profile.
pub(super) async fn assert_same_form(provider: &str, recorded: &Value, claims: &Value) {
    let (world, simulator) = simulated_world(provider, recorded["iss"].as_str().unwrap_or_default()).await;
    let mut profile = json!({"name": "Ann Example", "picture": PICTURE, "preferred_username": "ann"});
    for (name, claim) in claims.as_object().expect("claims are an object") {
        profile[name] = claim.clone();
    }
    let verified = if provider == "spotify" { Value::Null } else { json!(true) };
    let subject = recorded["sub"].as_str().and_then(|id| id.rsplit(':').next()).expect("an id");
    let next = json!({"sub": subject, "email": ANN, "email_verified": verified, "claims": profile});
    simulator.set_next(provider, NextSignIn::parse(&next).expect("a sign-in")).expect("a provider");

    let start = world.get(&format!("/authorize?provider={provider}&prompt=none")).await.expect(302);
    let request = Request::get(path_and_query(start.header("location"))).body(Body::empty()).expect("a request");
    let response = simulator.answer(request).await;
    let location = response.headers()["location"].to_str().expect("text").to_owned();
    let back = world.get(location.strip_prefix(AUTH_URL).expect("the callback")).await.expect(302);
    let token = RedirectTarget::from_response(&back).fragment("access_token").to_owned();
    assert!(!token.is_empty(), "{provider}: {}", back.header("location"));
    let user = world.get_as(&token, "/user").await.expect(200);
    let mut identity = user.json["identities"][0]["identity_data"].clone();
    identity.as_object_mut().expect("data are an object").shift_remove("phone_verified");
    for name in ["iss", "sub", "provider_id", "email", "email_verified"] {
        assert_eq!(identity[name], recorded[name], "{provider}: {name} of {identity}");
    }
    assert_eq!(member_names(&identity), member_names(recorded), "{provider}: {identity}");
}

/// A world with this provider, simulated; the issuer of Keycloak is its URL.
async fn simulated_world(provider: &str, issuer: &str) -> (World, Arc<Simulator>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let options = SimulatorOptions {
        base_url: format!("http://{}", listener.local_addr().expect("an address")),
        auth_url: AUTH_URL.to_owned(),
        page: "",
    };
    let clock: SharedClock = Arc::new(FakeClock::at("2026-06-01T12:00:00Z".parse().expect("a time")));
    let simulator = Arc::new(Simulator::new(options, clock, Entropy::from_seed(1)).expect("a simulator"));
    let answering = simulator.clone();
    let router = axum::Router::new().fallback(move |request: Request| {
        let simulator = answering.clone();
        async move { simulator.answer(request).await }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let world = World::builder().policy(|policy| {
        // Spotify verifies no address.
        policy.mail.autoconfirm = true;
        let url = if provider == "keycloak" { issuer.to_owned() } else { String::new() };
        let settings = ExternalProviderSettings { enabled: true, url, ..ExternalProviderSettings::default() };
        policy.external.providers.insert(provider.to_owned(), settings);
        simulator.apply(policy, [provider]);
    });
    (world.build().await, simulator)
}

fn member_names(identity: &Value) -> BTreeSet<&str> {
    identity.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

fn path_and_query(url: &str) -> &str {
    let (_, rest) = url.split_once("://").expect("a URL");
    &rest[rest.find('/').expect("a path")..]
}
