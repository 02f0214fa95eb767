use chrono::TimeDelta;
use gotrue_rs::testing::new_authenticator;
use serde_json::{Value, json};

use super::in_turns;

/// How sure the other server is of the bearer, by what the token says.
fn assurance(claims: &Value) -> &str {
    claims["aal"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn totp_factor_elevates_a_session_after_restart() {
    in_turns(async |turn| {
        let (ann, app) = turn.first.create_user_with_totp(&turn.new_address()).await;
        turn.first.advance(TimeDelta::seconds(30));
        let again = turn.second.sign_in(&ann.email).await;
        let lifted = turn.second.elevate_session(&again, &app).await;
        assert_eq!(assurance(&turn.first.decode_claims(&lifted.access_token)), "aal2");
        let refreshed = turn.first.refresh(&lifted.refresh_token).await.expect(200);
        assert_eq!(assurance(&turn.second.decode_claims(refreshed.str("access_token"))), "aal2");
    })
    .await;
}

#[tokio::test]
async fn totp_enrollment_is_verified_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let app = turn.first.enroll_totp(&ann, "app").await;
        let response = turn.first.create_challenge(&ann.access_token, &app.id).await.expect(200);
        let code = turn.first.totp_code(&app);
        let lifted =
            turn.second.verify_challenge(&ann.access_token, &app.id, response.str("id"), &code).await.expect(200);
        assert_eq!(assurance(&turn.first.decode_claims(lifted.str("access_token"))), "aal2");
        turn.first.unenroll(lifted.str("access_token"), &app.id).await.expect(200);
        assert_eq!(
            turn.second.create_challenge(&ann.access_token, &app.id).await.refusal(),
            (404, "mfa_factor_not_found")
        );
    })
    .await;
}

#[tokio::test]
async fn sms_challenge_is_answered_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let phone = format!("1555020{}", turn.number);
        let body = json!({"factor_type": "phone", "phone": phone, "friendly_name": "mobile"});
        let factor = turn.first.enroll(&ann.access_token, body).await.expect(200).str("id").to_owned();
        let response = turn.first.create_challenge(&ann.access_token, &factor).await.expect(200);
        let code = turn.first.phones.latest(&phone).code;
        let lifted =
            turn.second.verify_challenge(&ann.access_token, &factor, response.str("id"), &code).await.expect(200);
        assert_eq!(assurance(&turn.first.decode_claims(lifted.str("access_token"))), "aal2");
    })
    .await;
}

#[tokio::test]
async fn security_key_works_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let (ann, factor, mut device) = turn.first.enroll_security_key(&ann, "key").await;
        let again = turn.second.sign_in(&ann.email).await;
        let lifted = turn.second.verify_security_key(&again, &factor, &mut device).await.expect(200);
        assert_eq!(assurance(&turn.first.decode_claims(lifted.str("access_token"))), "aal2");
    })
    .await;
}

#[tokio::test]
async fn passkey_opens_a_session_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let (_, mut device) = turn.first.create_passkey(&ann).await;
        for world in [turn.second, turn.first] {
            assert_eq!(world.sign_in_with_passkey(&mut device).await.expect(200).str("user/id"), ann.id);
        }
    })
    .await;
}

#[tokio::test]
async fn passkey_challenge_is_answered_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let token = &ann.access_token;
        let mut device = new_authenticator();
        let response = turn.first.post_as(token, "/passkeys/registration/options", json!({})).await.expect(200);
        let made = device.create(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": made});
        turn.second.post_as(token, "/passkeys/registration/verify", body).await.expect(200);

        let response = turn.first.post("/passkeys/authentication/options", json!({})).await.expect(200);
        let used = device.get(&response.json["options"]);
        let body = json!({"challenge_id": response.str("challenge_id"), "credential": used});
        let session = turn.second.post("/passkeys/authentication/verify", body).await.expect(200);
        assert_eq!(session.str("user/id"), ann.id);
    })
    .await;
}
