use chrono::TimeDelta;
use gotrue_rs::testing::{CHALLENGE, PASSWORD, RedirectTarget, TestUser, VERIFIER, World};
use serde_json::{Value, json};

use super::in_turns;

/// Where the latest link that went to that address leads.
async fn followed(world: &World, email: &str) -> RedirectTarget {
    RedirectTarget::from_response(&world.get(&world.link(email)).await.expect(303))
}

#[tokio::test]
async fn sign_up_is_confirmed_after_restart() {
    in_turns(async |turn| {
        let email = turn.new_address();
        turn.first.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
        assert_eq!(turn.second.try_password(&email, PASSWORD).await.refusal(), (400, "email_not_confirmed"));
        let sent = followed(turn.second, &email).await;
        turn.first.get_as(sent.fragment("access_token"), "/user").await.expect(200);
        turn.first.refresh(sent.fragment("refresh_token")).await.expect(200);
        turn.first.try_password(&email, PASSWORD).await.expect(200);
        assert_eq!(followed(turn.first, &email).await.fragment("error_code"), "otp_expired");
    })
    .await;
}

#[tokio::test]
async fn code_is_redeemed_once_across_servers() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        for (path, kind) in [("/recover", "recovery"), ("/otp", "email"), ("/magiclink", "magiclink")] {
            turn.first.advance(TimeDelta::seconds(1));
            turn.first.post(path, json!({"email": ann.email})).await.expect(200);
            let code = json!({"type": kind, "email": ann.email, "token": turn.first.code(&ann.email)});
            let session = TestUser::from_session(&turn.second.post("/verify", code.clone()).await);
            assert_eq!(session.id, ann.id);
            assert_eq!(turn.first.post("/verify", code).await.refusal(), (403, "otp_expired"), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn sms_code_is_redeemed_after_restart() {
    in_turns(async |turn| {
        let phone = format!("1555010{}", turn.number);
        turn.first.post("/otp", json!({"phone": phone})).await.expect(200);
        let code = json!({"type": "sms", "phone": phone, "token": turn.first.phones.latest(&phone).code});
        let session = turn.second.post("/verify", code).await.expect(200);
        turn.first.get_as(session.str("access_token"), "/user").await.expect(200);
    })
    .await;
}

#[tokio::test]
async fn email_change_is_confirmed_across_servers() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let new = format!("new{}@example.com", turn.number);
        turn.first.put_as(&ann.access_token, "/user", json!({"email": new})).await.expect(200);
        let (old_link, new_link) = (turn.first.link(&ann.email), turn.first.link(&new));
        turn.second.get(&old_link).await.expect(303);
        let before = turn.first.get_as(&ann.access_token, "/user").await.expect(200);
        assert_eq!((before.str("email"), before.str("new_email")), (ann.email.as_str(), new.as_str()));
        turn.first.get(&new_link).await.expect(303);
        turn.second.try_password(&new, PASSWORD).await.expect(200);
    })
    .await;
}

#[tokio::test]
async fn reauthentication_code_is_accepted_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        turn.first.advance(TimeDelta::hours(25));
        let ann = TestUser::from_session(&turn.first.refresh(&ann.refresh_token).await);
        turn.first.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
        let change = |nonce: Value| json!({"password": "battery staple", "nonce": nonce});
        let wrong = turn.second.put_as(&ann.access_token, "/user", change(json!("000000x"))).await;
        assert_eq!(wrong.refusal(), (422, "reauthentication_not_valid"));
        let right = change(json!(turn.first.code(&ann.email)));
        turn.second.put_as(&ann.access_token, "/user", right).await.expect(200);
        turn.first.try_password(&ann.email, "battery staple").await.expect(200);
    })
    .await;
}

#[tokio::test]
async fn pkce_code_is_exchanged_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        // Requested and followed at one server or at both; exchanged at the other.
        for follower in [turn.first, turn.second] {
            turn.first.advance(TimeDelta::seconds(1));
            let body = json!({"email": ann.email, "code_challenge": CHALLENGE, "code_challenge_method": "s256"});
            turn.first.post("/magiclink", body).await.expect(200);
            let code = followed(follower, &ann.email).await.query("code").to_owned();
            let exchange = json!({"auth_code": code, "code_verifier": VERIFIER});
            let session = turn.second.post("/token?grant_type=pkce", exchange.clone()).await.expect(200);
            assert_eq!(session.str("user/id"), ann.id);
            let again = turn.first.post("/token?grant_type=pkce", exchange).await;
            assert_eq!(again.refusal(), (404, "flow_state_not_found"));
        }
    })
    .await;
}
