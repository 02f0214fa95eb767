//! Requests for a message: `/otp`, `/magiclink`, `/recover`, `/resend`, `/reauthenticate`, `/invite`.

use futures::FutureExt;
use gotrue_rs::testing::{PASSWORD, TestUser};
use serde_json::{Value, json};

use super::super::fixture::{Fixture, create_confirmed_user, email, hardened_policy, phone};
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("POST /otp", "to a new user", |_, n| {
            async move { TestRequest::post("/otp", &json!({"email": email(n)})) }.boxed()
        }),
        case("POST /otp", "to a number", |_, n| {
            async move { TestRequest::post("/otp", &json!({"phone": phone(n)})) }.boxed()
        }),
        case("POST /otp", "to a known user, as served", |place, n| known(place, n, "/otp").boxed())
            .differing(|builder| hardened_policy(builder.with_outbox())),
        case("POST /otp", "to a known user, in a flow", |place, n| {
            async move {
                place.create_user(n).await;
                let body =
                    json!({"email": email(n), "code_challenge": "c".repeat(43), "code_challenge_method": "plain"});
                TestRequest::post("/otp", &body)
            }
            .boxed()
        })
        // The flow state stays if no mail is sent, as recorded. It cannot be completed and expires.
        .steps(&[&["1+ auth.flow_state"]]),
        case("POST /magiclink", "to a new user", |_, n| {
            async move { TestRequest::post("/magiclink", &json!({"email": email(n)})) }.boxed()
        }),
        case("POST /magiclink", "to a known user", |place, n| known(place, n, "/magiclink").boxed()),
        case("POST /recover", "", |place, n| known(place, n, "/recover").boxed()),
        case("GET /reauthenticate", "", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                TestRequest::get("/reauthenticate").with_token(&ann.access_token)
            }
            .boxed()
        }),
        case("POST /invite", "", |place, n| {
            async move { TestRequest::post("/invite", &json!({"email": email(n)})).with_token(&place.world.service_token()) }.boxed()
        }),
    ];
    cases.extend(again());
    cases
}

async fn known(place: &Fixture, n: usize, path: &str) -> TestRequest {
    create_confirmed_user(&place.world, &email(n)).await;
    TestRequest::post(path, &json!({"email": email(n)}))
}

fn again() -> Vec<Case> {
    vec![
        case("POST /resend", "signup", |place, n| {
            async move {
                let body = json!({"email": email(n), "password": PASSWORD});
                resend(place, body, &json!({"type": "signup", "email": email(n)})).await
            }
            .boxed()
        }),
        case("POST /resend", "sms", |place, n| {
            async move {
                let body = json!({"phone": phone(n), "password": PASSWORD});
                resend(place, body, &json!({"type": "sms", "phone": phone(n)})).await
            }
            .boxed()
        }),
        case("POST /resend", "email_change", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                let change = json!({"email": format!("new{n}@example.com")});
                place.world.put_as(&ann.access_token, "/user", change).await.expect(200);
                TestRequest::post("/resend", &json!({"type": "email_change", "email": email(n)}))
            }
            .boxed()
        }),
        case("POST /resend", "phone_change", |place, n| {
            async move {
                place.world.post("/otp", json!({"phone": phone(n)})).await.expect(200);
                let code = place.world.phones.latest(&phone(n)).code;
                let given = json!({"type": "sms", "phone": phone(n), "token": code});
                let ann = TestUser::from_session(&place.world.post("/verify", given).await);
                let change = json!({"phone": format!("1555020{n:04}")});
                place.world.put_as(&ann.access_token, "/user", change).await.expect(200);
                TestRequest::post("/resend", &json!({"type": "phone_change", "phone": phone(n)}))
            }
            .boxed()
        }),
    ]
}

async fn resend(place: &Fixture, sign_up: Value, body: &Value) -> TestRequest {
    place.world.post("/signup", sign_up).await.expect(200);
    TestRequest::post("/resend", body)
}
