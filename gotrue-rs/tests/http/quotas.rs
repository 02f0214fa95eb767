//! Concurrent requests on two servers respect limits on the number of rows.
//!
//! Exactly the allowed number is stored; the others are refused as in sequence.

use std::time::Duration;

use foundation::limits::Quota;
use futures::future::join_all;
use gotrue_rs::testing::{World, enable_webauthn, new_authenticator};
use gotrue_rules::domain::policy::Policy;
use http::Method;
use platform::software_authenticator::Authenticator;
use platform::testing::{Answer, scaled_load};
use serde_json::json;

const ANN: &str = "ann@example.com";

/// Two servers on one database.
async fn servers(change: impl Fn(&mut Policy)) -> [World; 2] {
    let change = |policy: &mut Policy| {
        policy.limits.email_sent = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
        change(policy);
    };
    let first = World::builder().connections(24).policy(change).build().await;
    let second = World::builder().connections(24).policy(change).sharing_state_with(&first).build().await;
    [first, second]
}

/// How many were stored, and that each of the others had this answer.
#[track_caller]
fn stored(answers: &[Answer], status: u16, refusal: (u16, &str)) -> usize {
    let (done, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == status);
    for answer in refused {
        assert_eq!(answer.refusal(), refusal, "{}", answer.text);
    }
    done.len()
}

/// Repeats a request that found no connection, as clients do: on a busy machine the last ones wait longer than a request may.
async fn repeat_while_unavailable<F: Future<Output = Answer>>(send: impl Fn() -> F) -> Answer {
    for _ in 0..20 {
        let answer = send().await;
        if answer.status != 503 {
            return answer;
        }
    }
    send().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_enrollments_respect_the_limit() {
    let worlds = servers(|policy| policy.mfa.max_enrolled_factors = 10).await;
    for round in 0..scaled_load(1, 50) {
        let ann = worlds[0].create_user(&format!("{round}.{ANN}")).await;
        let enroll = |n: usize| {
            let body = json!({"factor_type": "totp", "friendly_name": format!("{n}")});
            let (world, token) = (&worlds[n % 2], &ann.access_token);
            repeat_while_unavailable(move || world.enroll(token, body.clone()))
        };
        let answers = join_all((0..60).map(enroll)).await;
        assert_eq!(stored(&answers, 200, (422, "too_many_enrolled_mfa_factors")), 10);
        let rows = format!("SELECT id FROM auth.mfa_factors WHERE user_id = '{}'", ann.id);
        assert_eq!(worlds[0].database.query(&rows).await.len(), 10);
    }
}

/// A session without a second factor sets none up beside one that was verified a moment ago.
#[tokio::test]
async fn enrollment_losing_to_a_verification_requires_aal2() {
    let [first, second] = servers(|_| {}).await;
    let ann = first.create_user(ANN).await;
    let app = first.enroll_totp(&ann, "app").await;
    let gate = second.faults.wait("factors.lock_owner", 1);
    let body = json!({"factor_type": "totp", "friendly_name": "late"});
    let overtakes = async {
        gate.wait_until_reached().await;
        first.elevate_session(&ann, &app).await;
        gate.open();
    };
    let (late, ()) = futures::future::join(second.enroll(&ann.access_token, body), overtakes).await;
    assert_eq!(late.refusal(), (403, "insufficient_aal"), "{}", late.text);
}

#[tokio::test]
async fn enrollment_losing_to_the_last_allowed_factor_is_refused() {
    let [first, second] = servers(|policy| policy.mfa.max_verified_factors = 1).await;
    let ann = first.create_user(ANN).await;
    let app = first.enroll_totp(&ann, "app").await;
    let gate = second.faults.wait("factors.lock_owner", 1);
    let body = json!({"factor_type": "totp", "friendly_name": "late"});
    let overtakes = async {
        gate.wait_until_reached().await;
        first.elevate_session(&ann, &app).await;
        gate.open();
    };
    let (late, ()) = futures::future::join(second.enroll(&ann.access_token, body), overtakes).await;
    assert_eq!(late.refusal(), (422, "too_many_enrolled_mfa_factors"), "{}", late.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_passkeys_respect_the_limit() {
    let worlds = servers(|policy| {
        enable_webauthn(policy);
        policy.passkeys.max_per_user = 3;
    })
    .await;
    let ann = worlds[0].create_user(ANN).await;
    let mut made = Vec::new();
    for n in 0..12 {
        let response =
            worlds[0].post_as(&ann.access_token, "/passkeys/registration/options", json!({})).await.expect(200);
        let mut device = Authenticator { id: vec![n; 16], ..new_authenticator() };
        let credential = device.create(&response.json["options"]);
        made.push(json!({"challenge_id": response.str("challenge_id"), "credential": credential}));
    }
    let verify = |(n, body): (usize, serde_json::Value)| {
        worlds[n % 2].post_as(&ann.access_token, "/passkeys/registration/verify", body)
    };
    let answers = join_all(made.into_iter().enumerate().map(verify)).await;
    assert_eq!(stored(&answers, 200, (422, "too_many_passkeys")), 3);
    assert_eq!(worlds[0].database.query("SELECT id FROM auth.webauthn_credentials").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_custom_providers_respect_the_limit() {
    let worlds = servers(|policy| policy.custom_oauth.max_providers = Some(3)).await;
    let create = |n: usize| {
        let body = json!({
            "provider_type": "oauth2", "identifier": format!("custom:acme{n}"), "name": "Acme", "client_id": "web",
            "client_secret": "s3cret-of-acme", "authorization_url": "https://203.0.113.10/authorize",
            "token_url": "https://203.0.113.10/token", "userinfo_url": "https://203.0.113.10/me"
        });
        let world = &worlds[n % 2];
        async move { world.post_as(&world.service_token(), "/admin/custom-providers", body).await }
    };
    let answers = join_all((0..24).map(create)).await;
    assert_eq!(stored(&answers, 201, (400, "over_custom_provider_quota")), 3);
    assert_eq!(worlds[0].database.query("SELECT id FROM auth.custom_oauth_providers").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_unlinkings_keep_one_identity() {
    let worlds = servers(|policy| policy.security.manual_linking_enabled = true).await;
    let ann = worlds[0].create_user(ANN).await;
    for provider in ["github", "google", "gitlab"] {
        let address = format!("{provider}@example.com");
        crate::linking::give_identity(&worlds[0], &ann.id, provider, Some(&address), true).await;
    }
    let ids = format!("SELECT id FROM auth.identities WHERE user_id = '{}'", ann.id);
    let identities = worlds[0].database.query(&ids).await;
    let bearer = format!("Bearer {}", ann.access_token);
    let unlink = async |(n, id): (usize, &String)| {
        let path = format!("/user/identities/{id}");
        worlds[n % 2].request(Method::DELETE, &path, &[("authorization", &bearer)], None).await
    };
    let answers = join_all(identities.iter().enumerate().map(unlink)).await;
    assert_eq!(stored(&answers, 200, (422, "single_identity_not_deletable")), 3);
    assert_eq!(worlds[0].database.query(&ids).await.len(), 1);
}
