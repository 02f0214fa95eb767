use chrono::TimeDelta;
use gotrue_rs::testing::Authenticator;
use serde_json::{Value, json};

use super::in_turns;

/// How sure the other server is of the bearer, by what the token says.
fn assurance(claims: &Value) -> &str {
    claims["aal"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn an_app_set_up_at_one_lifts_a_session_at_the_other() {
    in_turns(async |turn| {
        let (ann, app) = turn.first.protected(&turn.newcomer()).await;
        turn.first.advance(TimeDelta::seconds(30));
        let again = turn.second.sign_in(&ann.email).await;
        let lifted = turn.second.step_up(&again, &app).await;
        assert_eq!(assurance(&turn.first.claims(&lifted.access_token)), "aal2");
        let refreshed = turn.first.refresh(&lifted.refresh_token).await.expect(200);
        assert_eq!(assurance(&turn.second.claims(refreshed.str("access_token"))), "aal2");
    })
    .await;
}

#[tokio::test]
async fn an_app_is_shown_at_one_and_verified_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let app = turn.first.app_factor(&ann, "app").await;
        let asked = turn.first.challenge(&ann.access_token, &app.id).await.expect(200);
        let code = turn.first.app_code(&app);
        let lifted = turn.second.answer(&ann.access_token, &app.id, asked.str("id"), &code).await.expect(200);
        assert_eq!(assurance(&turn.first.claims(lifted.str("access_token"))), "aal2");
        turn.first.unenroll(lifted.str("access_token"), &app.id).await.expect(200);
        assert_eq!(turn.second.challenge(&ann.access_token, &app.id).await.refusal(), (404, "mfa_factor_not_found"));
    })
    .await;
}

#[tokio::test]
async fn a_code_texted_by_one_is_answered_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let phone = format!("1555020{}", turn.number);
        let body = json!({"factor_type": "phone", "phone": phone, "friendly_name": "mobile"});
        let factor = turn.first.enroll(&ann.access_token, body).await.expect(200).str("id").to_owned();
        let asked = turn.first.challenge(&ann.access_token, &factor).await.expect(200);
        let code = turn.first.phones.latest(&phone).code;
        let lifted = turn.second.answer(&ann.access_token, &factor, asked.str("id"), &code).await.expect(200);
        assert_eq!(assurance(&turn.first.claims(lifted.str("access_token"))), "aal2");
    })
    .await;
}

#[tokio::test]
async fn a_security_key_of_one_is_known_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let (ann, factor, mut device) = turn.first.key_factor(&ann, "key").await;
        let again = turn.second.sign_in(&ann.email).await;
        let lifted = turn.second.try_key(&again, &factor, &mut device).await.expect(200);
        assert_eq!(assurance(&turn.first.claims(lifted.str("access_token"))), "aal2");
    })
    .await;
}

#[tokio::test]
async fn a_passkey_of_one_opens_a_session_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let (_, mut device) = turn.first.passkey(&ann).await;
        for world in [turn.second, turn.first] {
            assert_eq!(world.try_passkey(&mut device).await.expect(200).str("user/id"), ann.id);
        }
    })
    .await;
}

#[tokio::test]
async fn what_one_asks_of_a_passkey_is_answered_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let token = &ann.access_token;
        let mut device = Authenticator::default();
        let asked = turn.first.post_as(token, "/passkeys/registration/options", json!({})).await.expect(200);
        let made = device.create(&asked.json["options"]);
        let body = json!({"challenge_id": asked.str("challenge_id"), "credential": made});
        turn.second.post_as(token, "/passkeys/registration/verify", body).await.expect(200);

        let asked = turn.first.post("/passkeys/authentication/options", json!({})).await.expect(200);
        let used = device.get(&asked.json["options"]);
        let body = json!({"challenge_id": asked.str("challenge_id"), "credential": used});
        let session = turn.second.post("/passkeys/authentication/verify", body).await.expect(200);
        assert_eq!(session.str("user/id"), ann.id);
    })
    .await;
}
