//! Requests for a message: `/otp`, `/magiclink`, `/recover`, `/resend`, `/reauthenticate`, `/invite`.

use futures::FutureExt;
use gotrue_rs::testing::{PASSWORD, Person};
use serde_json::{Value, json};

use super::super::asked::Asked;
use super::super::place::{Place, confirmed, email, phone, served};
use super::super::run::Case;
use super::case;

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("POST /otp", "to somebody new", |_, n| {
            async move { Asked::post("/otp", &json!({"email": email(n)})) }.boxed()
        }),
        case("POST /otp", "to a number", |_, n| {
            async move { Asked::post("/otp", &json!({"phone": phone(n)})) }.boxed()
        }),
        case("POST /otp", "to somebody known, as served", |place, n| known(place, n, "/otp").boxed())
            .differing(|builder| served(builder.with_outbox())),
        case("POST /otp", "to somebody known, in a flow", |place, n| {
            async move {
                place.person(n).await;
                let body =
                    json!({"email": email(n), "code_challenge": "c".repeat(43), "code_challenge_method": "plain"});
                Asked::post("/otp", &body)
            }
            .boxed()
        })
        // The flow stays when no mail is sent, as recorded. Without a mail nobody can finish it, and it goes with its time.
        .steps(&[&["1+ auth.flow_state"]]),
        case("POST /magiclink", "to somebody new", |_, n| {
            async move { Asked::post("/magiclink", &json!({"email": email(n)})) }.boxed()
        }),
        case("POST /magiclink", "to somebody known", |place, n| known(place, n, "/magiclink").boxed()),
        case("POST /recover", "", |place, n| known(place, n, "/recover").boxed()),
        case("GET /reauthenticate", "", |place, n| {
            async move {
                let ann = place.person(n).await;
                Asked::get("/reauthenticate").by(&ann.access_token)
            }
            .boxed()
        }),
        case("POST /invite", "", |place, n| {
            async move { Asked::post("/invite", &json!({"email": email(n)})).by(&place.world.service_token()) }.boxed()
        }),
    ];
    cases.extend(again());
    cases
}

async fn known(place: &Place, n: usize, path: &str) -> Asked {
    confirmed(&place.world, &email(n)).await;
    Asked::post(path, &json!({"email": email(n)}))
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
                let ann = place.person(n).await;
                let change = json!({"email": format!("new{n}@example.com")});
                place.world.put_as(&ann.access_token, "/user", change).await.expect(200);
                Asked::post("/resend", &json!({"type": "email_change", "email": email(n)}))
            }
            .boxed()
        }),
        case("POST /resend", "phone_change", |place, n| {
            async move {
                place.world.post("/otp", json!({"phone": phone(n)})).await.expect(200);
                let code = place.world.phones.latest(&phone(n)).code;
                let given = json!({"type": "sms", "phone": phone(n), "token": code});
                let ann = Person::of(&place.world.post("/verify", given).await);
                let change = json!({"phone": format!("1555020{n:04}")});
                place.world.put_as(&ann.access_token, "/user", change).await.expect(200);
                Asked::post("/resend", &json!({"type": "phone_change", "phone": phone(n)}))
            }
            .boxed()
        }),
    ]
}

async fn resend(place: &Place, sign_up: Value, body: &Value) -> Asked {
    place.world.post("/signup", sign_up).await.expect(200);
    Asked::post("/resend", body)
}
