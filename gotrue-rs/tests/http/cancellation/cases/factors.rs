//! Second factors.

use futures::FutureExt;
use gotrue_rs::testing::{TestUser, new_authenticator};
use serde_json::{Value, json};

use super::super::fixture::{Fixture, phone};
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;

const CHALLENGE: &str = "POST /factors/{factor_id}/challenge";
const VERIFY: &str = "POST /factors/{factor_id}/verify";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("POST /factors", "totp", |place, n| {
            async move { enroll(place, n, &json!({"factor_type": "totp", "friendly_name": "app"})).await }.boxed()
        })
        .again(&["422 mfa_factor_name_conflict"]),
        case("POST /factors", "phone", |place, n| {
            async move { enroll(place, n, &json!({"factor_type": "phone", "phone": phone(n)})).await }.boxed()
        }),
        case("POST /factors", "webauthn", |place, n| {
            async move { enroll(place, n, &json!({"factor_type": "webauthn", "friendly_name": "key"})).await }.boxed()
        })
        .again(&["422 mfa_factor_name_conflict"]),
        case("DELETE /factors/{factor_id}", "", |place, n| {
            async move {
                let (ann, app) = place.world.create_user_with_totp(&super::super::fixture::email(n)).await;
                TestRequest::delete(format!("/factors/{}", app.id)).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&["404 mfa_factor_not_found"]),
    ];
    cases.extend(challenges());
    cases.extend(recovery_codes());
    cases.extend(answers());
    cases
}

async fn enroll(place: &Fixture, n: usize, body: &Value) -> TestRequest {
    let ann = place.create_user(n).await;
    TestRequest::post("/factors", body).with_token(&ann.access_token)
}

async fn enrolled(place: &Fixture, n: usize, body: Value) -> (TestUser, String) {
    let ann = place.create_user(n).await;
    let factor = place.world.enroll(&ann.access_token, body).await.expect(200).str("id").to_owned();
    (ann, factor)
}

fn challenge((ann, factor): &(TestUser, String)) -> TestRequest {
    TestRequest::post(format!("/factors/{factor}/challenge"), &json!({})).with_token(&ann.access_token)
}

fn challenges() -> Vec<Case> {
    vec![
        case(CHALLENGE, "totp", |place, n| {
            async move { challenge(&enrolled(place, n, json!({"factor_type": "totp"})).await) }.boxed()
        }),
        case(CHALLENGE, "phone", |place, n| {
            async move { challenge(&enrolled(place, n, json!({"factor_type": "phone", "phone": phone(n)})).await) }
                .boxed()
        }),
        case(CHALLENGE, "webauthn", |place, n| {
            async move { challenge(&enrolled(place, n, json!({"factor_type": "webauthn"})).await) }.boxed()
        }),
    ]
}

/// Requests of a user with a session at `aal2`, with recovery codes or without.
fn recovery_codes() -> Vec<Case> {
    const CODES: &str = "/factors/recovery-codes";
    vec![
        case("GET /factors/recovery-codes", "", |place, n| {
            async move { TestRequest::get(CODES).with_token(&with_codes(place, n).await.0.access_token) }.boxed()
        }),
        case("POST /factors/recovery-codes", "", |place, n| {
            async move {
                let (ann, _) = place.world.create_user_with_totp(&super::super::fixture::email(n)).await;
                TestRequest::post(CODES, &json!({})).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&["422 mfa_verified_factor_exists"]),
        case("POST /factors/recovery-codes/regenerate", "", |place, n| {
            async move {
                let (ann, _) = with_codes(place, n).await;
                TestRequest::post(format!("{CODES}/regenerate"), &json!({})).with_token(&ann.access_token)
            }
            .boxed()
        }),
        case("POST /factors/recovery-codes/verify", "a correct code", |place, n| {
            async move {
                let (ann, code) = with_codes(place, n).await;
                TestRequest::post(format!("{CODES}/verify"), &json!({"code": code})).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&["422 mfa_verification_failed"]),
        case("DELETE /factors/recovery-codes", "", |place, n| {
            async move { TestRequest::delete(CODES).with_token(&with_codes(place, n).await.0.access_token) }.boxed()
        })
        .again(&["404 mfa_factor_not_found"]),
    ]
}

/// A user with recovery codes, and one of them.
async fn with_codes(place: &Fixture, n: usize) -> (TestUser, String) {
    let (ann, _) = place.world.create_user_with_totp(&super::super::fixture::email(n)).await;
    let made = place.world.post_as(&ann.access_token, "/factors/recovery-codes", json!({})).await.expect(200);
    (ann, made.str("codes/0").to_owned())
}

fn answer(ann: &TestUser, factor: &str, body: &Value) -> TestRequest {
    TestRequest::post(format!("/factors/{factor}/verify"), body).with_token(&ann.access_token)
}

fn answers() -> Vec<Case> {
    const USED: [&str; 3] = ["422 mfa_ip_address_mismatch", "404 mfa_factor_not_found", "422 mfa_verification_failed"];
    const OF_KEYS: [&str; 1] = ["422 mfa_factor_not_found"];
    vec![
        case(VERIFY, "totp", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                let app = place.world.enroll_totp(&ann, "app").await;
                let response = place.world.create_challenge(&ann.access_token, &app.id).await.expect(200);
                let code = place.world.totp_code(&app);
                answer(&ann, &app.id, &json!({"challenge_id": response.str("id"), "code": code}))
            }
            .boxed()
        })
        .again(&USED),
        case(VERIFY, "phone", |place, n| {
            async move {
                let (ann, factor) = enrolled(place, n, json!({"factor_type": "phone", "phone": phone(n)})).await;
                let response = place.world.create_challenge(&ann.access_token, &factor).await.expect(200);
                let code = place.world.phones.latest(&phone(n)).code;
                answer(&ann, &factor, &json!({"challenge_id": response.str("id"), "code": code}))
            }
            .boxed()
        })
        .again(&USED),
        case(VERIFY, "webauthn, a new key", |place, n| {
            async move {
                let (ann, factor) = enrolled(place, n, json!({"factor_type": "webauthn"})).await;
                let response = place.world.create_challenge(&ann.access_token, &factor).await.expect(200);
                let options = &response.json["webauthn"]["credential_options"]["publicKey"];
                let made = new_authenticator().create(options);
                let webauthn = json!({"type": "create", "credential_response": made});
                answer(&ann, &factor, &json!({"challenge_id": response.str("id"), "webauthn": webauthn}))
            }
            .boxed()
        })
        .again(&OF_KEYS),
        case(VERIFY, "webauthn, a known key", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                let (ann, factor, mut device) = place.world.enroll_security_key(&ann, "key").await;
                let response = place.world.create_challenge(&ann.access_token, &factor).await.expect(200);
                let used = device.get(&response.json["webauthn"]["credential_options"]["publicKey"]);
                let webauthn = json!({"type": "request", "credential_response": used});
                answer(&ann, &factor, &json!({"challenge_id": response.str("id"), "webauthn": webauthn}))
            }
            .boxed()
        })
        .again(&OF_KEYS),
    ]
}
