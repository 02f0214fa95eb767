//! Rate limits per client and message quotas.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::{LimitKey, Quota};
use foundation::limits_policy::TargetLimits;
use gotrue_rs::testing::{PASSWORD, World};
use http::Method;
use serde_json::json;

use super::{ANN, NUMBER, retry_after_seconds, served};

#[tokio::test]
async fn refusal_names_the_limit_and_exact_retry_after() {
    let world = served(|policy| policy.limits.targets = TargetLimits::default()).await;
    let token = world.create_user(ANN).await.access_token;
    let bearer = format!("Bearer {token}");
    for (method, path, words) in [
        (Method::POST, "/otp", "one-time codes"),
        (Method::POST, "/magiclink", "magic links"),
        (Method::POST, "/recover", "password recoveries"),
        (Method::POST, "/resend", "messages sent again"),
        (Method::POST, "/token?grant_type=password", "sign-ins and refreshes"),
        (Method::GET, "/verify?type=signup&token=x", "verifications"),
        (Method::PUT, "/user", "changes of accounts"),
    ] {
        let body = (method != Method::GET).then(|| json!({"email": "", "phone": ""}));
        let headers = [("authorization", &*bearer)];
        let send = || world.request(method.clone(), path, &headers, body.clone());
        let mut refused = send().await;
        for _ in 0..30 {
            refused = send().await;
        }
        let seconds = retry_after_seconds(&refused, "over_request_rate_limit");
        assert!(refused.str("msg").contains(&format!("too many {words} from your network")), "{}", refused.text);
        world.advance(TimeDelta::milliseconds(seconds * 1000 - 1000));
        assert_eq!(send().await.status, 429, "{path}: not before the time it named");
        world.advance(TimeDelta::seconds(1));
        assert_ne!(send().await.status, 429, "{path}: but then");
    }
}

#[tokio::test]
async fn exhausted_quota_returns_retry_after() {
    let world = served(|policy| {
        policy.limits.email_sent = Quota::Window { events: 1.0, per: Duration::from_hours(1) };
        policy.limits.sms_sent = Quota::Bucket { size: 1.0, every: Duration::from_mins(10) };
    })
    .await;
    world.advance(TimeDelta::minutes(20));
    let mail = |name: &str| json!({"email": format!("{name}@example.com"), "password": PASSWORD});
    world.post("/signup", mail("a")).await.expect(200);
    assert_eq!(retry_after_seconds(&world.post("/signup", mail("b")).await, "over_email_send_rate_limit"), 2400);
    world.post("/otp", json!({"phone": NUMBER})).await.expect(200);
    assert_eq!(
        retry_after_seconds(&world.post("/otp", json!({"phone": "15550109"})).await, "over_sms_send_rate_limit"),
        600
    );
    world.advance(TimeDelta::seconds(600));
    world.post("/otp", json!({"phone": "15550108"})).await.expect(200);
    world.advance(TimeDelta::seconds(1800));
    world.post("/signup", mail("c")).await.expect(200);
}

#[tokio::test]
async fn refusal_without_explanation_matches_recording() {
    let world = World::with(|policy| policy.limits.key = LimitKey::Header("x-client".to_owned())).await;
    let headers = [("x-client", "ann")];
    let send = || world.request(Method::POST, "/otp", &headers, Some(json!({})));
    for _ in 0..30 {
        assert_ne!(send().await.status, 429);
    }
    let refused = send().await;
    assert_eq!(refused.refusal(), (429, "over_request_rate_limit"));
    assert_eq!((refused.str("msg"), refused.header("retry-after")), ("Request rate limit reached", ""));
}
