//! Concurrent operations on one user on two servers cause no internal error.
//!
//! A deadlock would fail the request that PostgreSQL chooses to end it.

use std::time::Duration;

use foundation::limits::Quota;
use futures::future::{BoxFuture, join_all};
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use http::Method;
use platform::testing::{Answer, scaled_load};
use serde_json::json;

const ANN: &str = "ann@example.com";

/// Two servers on one database.
async fn servers() -> [World; 2] {
    let builder = || {
        World::builder().connections(32).policy(|policy| {
            policy.mail.max_frequency = Duration::ZERO;
            policy.limits.email_sent = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
            policy.mail.secure_email_change = true;
            policy.security.manual_linking_enabled = true;
        })
    };
    let first = builder().build().await;
    let second = builder().sharing_state_with(&first).build().await;
    [first, second]
}

/// One user with three sessions, a factor, and codes in the mail.
struct Ann {
    sessions: [TestUser; 3],
    factor: String,
    challenge: String,
    factor_code: String,
    recovery: String,
}

impl Ann {
    async fn new(world: &World, round: usize) -> Self {
        let email = format!("{round}.{ANN}");
        let first = world.create_user(&email).await;
        let app = world.enroll_totp(&first, "app").await;
        world.advance(chrono::TimeDelta::microseconds(1));
        let challenge = world.create_challenge(&first.access_token, &app.id).await.expect(200).str("id").to_owned();
        let sessions = [first, world.sign_in(&email).await, world.sign_in(&email).await];
        world.post("/recover", json!({"email": email})).await.expect(200);
        let (factor_code, recovery) = (world.totp_code(&app), world.code(&email));
        Self { sessions, factor: app.id, challenge, factor_code, recovery }
    }

    /// Every operation, each as a request of its own.
    fn operations<'a>(&'a self, world: &'a World, round: usize) -> Vec<BoxFuture<'a, Answer>> {
        let [first, second, third] = &self.sessions;
        let email = &first.email;
        let put = |actor: &'a TestUser, body| -> BoxFuture<'a, Answer> {
            Box::pin(async move { world.put_as(&actor.access_token, "/user", body).await })
        };
        let post = |path: &'static str, body| -> BoxFuture<'a, Answer> {
            Box::pin(async move { world.post(path, body).await })
        };
        let admin = |method: Method, path: String, body| -> BoxFuture<'a, Answer> {
            Box::pin(async move {
                let bearer = format!("Bearer {}", world.service_token());
                world.request(method, &path, &[("authorization", &bearer)], Some(body)).await
            })
        };
        let user = format!("/admin/users/{}", first.id);
        vec![
            Box::pin(world.refresh(&first.refresh_token)),
            Box::pin(world.refresh(&second.refresh_token)),
            Box::pin(world.refresh(&third.refresh_token)),
            Box::pin(world.try_password(email, PASSWORD)),
            Box::pin(world.verify_challenge(&first.access_token, &self.factor, &self.challenge, &self.factor_code)),
            Box::pin(world.enroll(&second.access_token, json!({"factor_type": "totp", "friendly_name": "late"}))),
            Box::pin(world.post_as(&third.access_token, "/logout?scope=others", json!({}))),
            Box::pin(world.post_as(&second.access_token, "/logout?scope=local", json!({}))),
            put(first, json!({"data": {"round": round}})),
            put(second, json!({"password": format!("{PASSWORD} {round}")})),
            put(third, json!({"email": format!("new.{email}")})),
            post("/recover", json!({"email": email})),
            post("/otp", json!({"email": email})),
            post("/verify", json!({"type": "recovery", "email": email, "token": self.recovery})),
            post("/signup", json!({"email": email, "password": PASSWORD})),
            admin(Method::PUT, user.clone(), json!({"password": "an administrator's"})),
            admin(Method::PUT, user.clone(), json!({"app_metadata": {"round": round}})),
            admin(Method::DELETE, format!("{user}/factors/{}", self.factor), json!({})),
        ]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_operations_on_one_user_cause_no_server_error() {
    let worlds = servers().await;
    worlds[0].clock.run();
    for round in 0..scaled_load(15, 2000) {
        let ann = Ann::new(&worlds[0], round).await;
        let operations = worlds.iter().flat_map(|world| ann.operations(world, round));
        let mut operations: Vec<BoxFuture<'_, Answer>> = operations.collect();
        // Another order each time: they start in this one.
        let half = operations.len();
        operations.rotate_left(round % half);
        for answer in join_all(operations).await {
            assert!(!answer.status.is_server_error(), "round {round}: {} {}", answer.status, answer.text);
        }
    }
}
