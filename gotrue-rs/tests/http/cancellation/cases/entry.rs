//! Signing up and in: `/signup`, `/verify`, `/token`, `/logout`.

use futures::FutureExt;
use gotrue_rs::testing::{PASSWORD, TestUser};
use provider_simulator::Wallet;
use serde_json::{Value, json};

use super::super::fixture::{Fixture, email, hardened_policy, phone};
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;

const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-a-challenge";

pub(super) fn cases() -> Vec<Case> {
    [signing_up(), verifying(), tokens(), signing_out()].into_iter().flatten().collect()
}

fn flow(mut body: Value) -> Value {
    body["code_challenge"] = VERIFIER.into();
    body["code_challenge_method"] = "plain".into();
    body
}

fn signing_up() -> Vec<Case> {
    let route = "POST /signup";
    vec![
        case(route, "with an address", |_, n| {
            async move { TestRequest::post("/signup", &json!({"email": email(n), "password": PASSWORD})) }.boxed()
        }),
        case(route, "in a flow", |_, n| {
            async move { TestRequest::post("/signup", &flow(json!({"email": email(n), "password": PASSWORD}))) }.boxed()
        }),
        case(route, "confirmed at once", |_, n| {
            async move { TestRequest::post("/signup", &json!({"email": email(n), "password": PASSWORD})) }.boxed()
        })
        .differing(|builder| builder.policy(|policy| policy.mail.autoconfirm = true))
        // The account stays when its session cannot be opened, as recorded: its owner signs in with the password.
        .steps(&[&["1+ auth.audit_log_entries", "1+ auth.identities", "1+ auth.users"]])
        .again(&["422 user_already_exists"]),
        case(route, "with a known address", |place, n| {
            async move {
                place.create_user(n).await;
                TestRequest::post("/signup", &json!({"email": email(n), "password": PASSWORD}))
            }
            .boxed()
        }),
        case(route, "with a number", |_, n| {
            async move { TestRequest::post("/signup", &json!({"phone": phone(n), "password": PASSWORD})) }.boxed()
        }),
        case(route, "anonymous", |_, _| async move { TestRequest::post("/signup", &json!({})) }.boxed()),
    ]
}

async fn unconfirmed(place: &Fixture, n: usize) {
    place.world.post("/signup", json!({"email": email(n), "password": PASSWORD})).await.expect(200);
}

async fn mailed(place: &Fixture, n: usize, path: &str) {
    place.create_user(n).await;
    place.world.advance(chrono::TimeDelta::milliseconds(2));
    place.world.post(path, json!({"email": email(n)})).await.expect(200);
}

fn given(place: &Fixture, n: usize, kind: &str) -> TestRequest {
    TestRequest::post("/verify", &json!({"type": kind, "email": email(n), "token": place.world.code(&email(n))}))
}

fn verifying() -> Vec<Case> {
    let route = "POST /verify";
    let followed = "GET /verify";
    vec![
        case(route, "signup", |place, n| {
            async move {
                unconfirmed(place, n).await;
                given(place, n, "signup")
            }
            .boxed()
        }),
        case(route, "recovery", |place, n| {
            async move {
                mailed(place, n, "/recover").await;
                given(place, n, "recovery")
            }
            .boxed()
        }),
        case(route, "email", |place, n| {
            async move {
                mailed(place, n, "/otp").await;
                given(place, n, "email")
            }
            .boxed()
        }),
        case(route, "invite", |place, n| {
            async move {
                let token = place.world.service_token();
                place.world.post_as(&token, "/invite", json!({"email": email(n)})).await.expect(200);
                given(place, n, "invite")
            }
            .boxed()
        }),
        case(route, "sms", |place, n| {
            async move {
                place.world.post("/otp", json!({"phone": phone(n)})).await.expect(200);
                let code = place.world.phones.latest(&phone(n)).code;
                TestRequest::post("/verify", &json!({"type": "sms", "phone": phone(n), "token": code}))
            }
            .boxed()
        }),
        case(followed, "signup", |place, n| {
            async move {
                unconfirmed(place, n).await;
                TestRequest::get(place.world.link(&email(n)))
            }
            .boxed()
        }),
        case(followed, "in a flow", |place, n| {
            async move {
                place.create_user(n).await;
                place.world.post("/otp", flow(json!({"email": email(n)}))).await.expect(200);
                TestRequest::get(place.world.link(&email(n)))
            }
            .boxed()
        }),
    ]
    .into_iter()
    .chain(changes_of_address())
    .map(|case| case.again(&["403 otp_expired", "303 otp_expired"]))
    .collect()
}

fn changes_of_address() -> Vec<Case> {
    vec![
        case("POST /verify", "the first half of a change of address", |place, n| {
            async move {
                changing(place, n).await;
                given(place, n, "email_change")
            }
            .boxed()
        }),
        case("POST /verify", "the second half of a change of address", |place, n| {
            async move {
                changing(place, n).await;
                let new = format!("new{n}@example.com");
                let first = json!({"type": "email_change", "email": new, "token": place.world.code(&new)});
                place.world.post("/verify", first).await.expect(200);
                given(place, n, "email_change")
            }
            .boxed()
        }),
        case("GET /verify", "the second half of a change of address", |place, n| {
            async move {
                changing(place, n).await;
                place.world.get(&place.world.link(&format!("new{n}@example.com"))).await.expect(303);
                TestRequest::get(place.world.link(&email(n)))
            }
            .boxed()
        }),
        case("POST /verify", "phone_change", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                place.world.put_as(&ann.access_token, "/user", json!({"phone": phone(n)})).await.expect(200);
                let code = place.world.phones.latest(&phone(n)).code;
                TestRequest::post("/verify", &json!({"type": "phone_change", "phone": phone(n), "token": code}))
            }
            .boxed()
        }),
    ]
}

async fn changing(place: &Fixture, n: usize) {
    let ann = place.create_user(n).await;
    let change = json!({"email": format!("new{n}@example.com")});
    place.world.put_as(&ann.access_token, "/user", change).await.expect(200);
}

fn tokens() -> Vec<Case> {
    let route = "POST /token";
    vec![
        case(route, "password", |place, n| {
            async move {
                place.create_user(n).await;
                let body = json!({"email": email(n), "password": PASSWORD});
                TestRequest::post("/token?grant_type=password", &body)
            }
            .boxed()
        }),
        case(route, "refresh_token", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                TestRequest::post("/token?grant_type=refresh_token", &json!({"refresh_token": ann.refresh_token}))
            }
            .boxed()
        }),
        case(route, "pkce", |place, n| {
            async move {
                place.create_user(n).await;
                place.world.post("/otp", flow(json!({"email": email(n)}))).await.expect(200);
                let answer = place.world.get(&place.world.link(&email(n))).await.expect(303);
                let (_, code) = answer.header("location").split_once("code=").expect("a code");
                TestRequest::post("/token?grant_type=pkce", &json!({"auth_code": code, "code_verifier": VERIFIER}))
            }
            .boxed()
        })
        .again(&["404 flow_state_not_found"]),
        case(route, "id_token of a new user", |place, n| {
            async move {
                let token = place.issuer.user_token(place.world.now(), &email(n));
                TestRequest::post("/token?grant_type=id_token", &json!({"provider": "keycloak", "id_token": token}))
            }
            .boxed()
        }),
        case(route, "id_token of a known user", |place, n| {
            async move {
                let token = place.issuer.user_token(place.world.now(), &email(n));
                let body = json!({"provider": "keycloak", "id_token": token});
                place.world.post("/token?grant_type=id_token", body.clone()).await.expect(200);
                TestRequest::post("/token?grant_type=id_token", &body)
            }
            .boxed()
        }),
        case(route, "web3", |place, n| async move { by_wallet(place, n) }.boxed()),
        case(route, "web3, as served", |place, n| async move { by_wallet(place, n) }.boxed())
            .differing(hardened_policy)
            .again(&["400 invalid_grant"]),
    ]
}

fn by_wallet(place: &Fixture, n: usize) -> TestRequest {
    let wallet = Wallet::ethereum(u8::try_from(n).expect("few wallets"));
    let text = wallet.message("shop.example.com", place.world.now(), &[]);
    TestRequest::post("/token?grant_type=web3", &wallet.grant(&text))
}

fn signing_out() -> Vec<Case> {
    async fn ann(place: &Fixture, n: usize, path: &str) -> TestRequest {
        let first: TestUser = place.create_user(n).await;
        place.world.sign_in(&email(n)).await;
        TestRequest::post(path, &json!({})).with_token(&first.access_token)
    }
    vec![
        case("POST /logout", "global", |place, n| ann(place, n, "/logout").boxed()).again(&["403 session_not_found"]),
        case("POST /logout", "local", |place, n| ann(place, n, "/logout?scope=local").boxed())
            .again(&["403 session_not_found"]),
        case("POST /logout", "others", |place, n| ann(place, n, "/logout?scope=others").boxed()),
    ]
}
