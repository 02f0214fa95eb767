//! No span field and no event contains a secret or an address, at any level.

use std::collections::BTreeSet;

use gotrue_rs::testing::{FakeProvider, HookServer, RedirectTarget, TestUser, World};
use gotrue_rules::domain::policy::Policy;
use platform::testing::Recording;
use serde_json::{Value, json};

/// Values that must not be recorded, with what they are.
#[derive(Default)]
struct Secrets(Vec<(String, String)>);

impl Secrets {
    fn add(&mut self, what: &str, value: &str) {
        assert!(value.len() >= 6, "{what} was not created: {value:?}");
        self.0.push((what.to_owned(), value.to_owned()));
    }

    fn add_session(&mut self, what: &str, user: &TestUser) {
        self.add(&format!("access token of {what}"), &user.access_token);
        self.add(&format!("refresh token of {what}"), &user.refresh_token);
    }

    /// A value may be recorded as it is, or as Rust, JSON or a URL escapes it.
    fn assert_absent(&self, text: &str) {
        let words: BTreeSet<&str> = text.split(|character: char| !character.is_alphanumeric()).collect();
        for (what, value) in &self.0 {
            if value.chars().all(char::is_alphanumeric) && value.len() < 12 {
                assert!(!words.contains(&**value), "{what} is recorded");
                continue;
            }
            let url: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            let (rust, json) = (format!("{value:?}"), Value::from(value.as_str()).to_string());
            for form in [value.as_str(), rust.trim_matches('"'), json.trim_matches('"'), &*url] {
                assert!(!text.contains(form), "{what} is recorded");
            }
        }
    }
}

fn parameter<'a>(link: &'a str, name: &str) -> &'a str {
    let (_, rest) = link.split_once(&format!("{name}=")).expect("the link has the parameter");
    rest.split('&').next().unwrap_or_default()
}

/// Signs up, follows the link, signs in, refreshes, and uses wrong passwords and tokens.
async fn use_passwords(world: &World, email: &str, password: &str, secrets: &mut Secrets) -> TestUser {
    let account = json!({"email": email, "password": password, "data": {"note": "a private note"}});
    world.post("/signup", account.clone()).await.expect(200);
    secrets.add("code", &world.code(email));
    let link = world.link(email);
    secrets.add("link", parameter(&link, "token"));
    let redirect = RedirectTarget::from_response(&world.get(&link).await.expect(303));
    secrets.add("access token of the link", redirect.fragment("access_token"));
    world.get(&link).await.expect(303);
    let answer = world.post("/token?grant_type=password", json!({"email": email, "password": password})).await;
    let user = TestUser::from_session(&answer.expect(200));
    secrets.add_session("the sign-in", &user);
    let refreshed = world.refresh(&user.refresh_token).await.expect(200);
    secrets.add("successor of a refresh token", refreshed.str("refresh_token"));
    world.refresh("unknown-refresh-token").await.expect(400);
    secrets.add("unknown refresh token", "unknown-refresh-token");
    world.post("/token?grant_type=password", json!({"email": email, "password": "wrong-password"})).await.expect(400);
    secrets.add("wrong password", "wrong-password");
    world.get_as("not.a.token", "/user").await.expect(403);
    secrets.add("malformed token", "not.a.token");
    world.post("/recover", json!({"email": email})).await.expect(200);
    secrets.add("recovery code", &world.code(email));
    let code = json!({"type": "recovery", "email": email, "token": world.code(email)});
    world.post("/verify", code.clone()).await.expect(200);
    world.post("/verify", code).await.expect(403);
    user
}

/// Enrolls a second factor and verifies it with a wrong and the right code.
async fn use_factor(world: &World, user: &TestUser, secrets: &mut Secrets) {
    let factor = world.enroll_totp(user, "app").await;
    secrets.add("secret of the factor", &factor.secret);
    let challenge = world.create_challenge(&user.access_token, &factor.id).await.expect(200).str("id").to_owned();
    world.verify_challenge(&user.access_token, &factor.id, &challenge, "987654").await;
    secrets.add("wrong code of the factor", "987654");
    secrets.add("code of the factor", &world.totp_code(&factor));
    secrets.add_session("the second factor", &world.elevate_session(user, &factor).await);
}

/// Signs in through the provider, once with success and once with an answer that quotes a secret.
async fn use_provider(world: &World, provider: &FakeProvider, secrets: &mut Secrets) {
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    secrets.add("access token of the provider sign-in", to.fragment("access_token"));
    for secret in ["github-access", "github-refresh", "github-secret"] {
        secrets.add("secret of the provider", secret);
    }
    provider.answer("/github/login/oauth/access_token", json!({"error": {"code": "quoted-upstream-code"}}));
    world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    secrets.add("answer of the provider", "quoted-upstream-code");
}

/// Makes statements fail before and after the password is known to be right.
async fn use_failing_database(world: &World, email: &str, password: &str) {
    for n in 1..6 {
        world.faults.fail_any(n);
        world.post("/token?grant_type=password", json!({"email": email, "password": password})).await;
        world.faults.clear_pending();
    }
    world.faults.panic_any(2);
    world.post("/token?grant_type=password", json!({"email": email, "password": password})).await;
    world.faults.clear_pending();
}

fn policy(policy: &mut Policy, provider: &FakeProvider, receiver: &HookServer) {
    provider.enable_provider(policy, "github");
    let hook =
        receiver.hook("/hook?key=key-in-a-hook-url", &["v1,whsec_cmVwbGF5LWhvb2stc2VjcmV0LW51bWJlci1vbmUtMDAwMQ=="]);
    policy.hooks.password_verification_attempt = Some(hook);
}

#[tokio::test]
async fn no_secret_and_no_address_is_recorded() {
    let accounts = [
        ("ann.lovelace@example.com", "correct horse battery"),
        ("ben+shop@sub.example.org", "quote\"back\\slash/ünïcode"),
        ("o'neil_c@example.net", "tab\there&there=1 + 2"),
    ];
    for (email, password) in accounts {
        let provider = FakeProvider::start().await;
        provider.add_github_user(4711, "external.user@example.com", true);
        let receiver = HookServer::start().await;
        receiver.answer("/hook", json!({"decision": "continue"}));
        let world = World::with(|settings| policy(settings, &provider, &receiver)).await;
        let mut secrets = Secrets::default();
        secrets.add("address", email);
        secrets.add("password", password);
        secrets.add("address at the provider", "external.user@example.com");
        secrets.add("secret of the hook", "cmVwbGF5LWhvb2stc2VjcmV0LW51bWJlci1vbmUtMDAwMQ");
        secrets.add("URL of the hook", "key-in-a-hook-url");
        secrets.add("signing secret", gotrue_rs::testing::SECRET);
        secrets.add("user data", "a private note");
        Recording::start();
        let user = use_passwords(&world, email, password, &mut secrets).await;
        use_factor(&world, &user, &mut secrets).await;
        use_provider(&world, &provider, &mut secrets).await;
        use_failing_database(&world, email, password).await;
        let recording = Recording::stop();
        assert!(recording.spans_named("request").len() > 20, "too few requests were recorded");
        assert!(recording.spans_named("outbound_call").len() > 5, "too few calls were recorded");
        assert!(recording.spans_named("statement").len() > 40, "too few statements were recorded");
        secrets.assert_absent(&recording.text());
    }
}
