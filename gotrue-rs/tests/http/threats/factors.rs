//! E: second factors. Every way to `aal2`, every way around it.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, TotpFactor, World};
use serde_json::json;

const ANN: &str = "ann@example.com";

fn level(world: &World, token: &str) -> String {
    world.decode_claims(token)["aal"].as_str().unwrap_or_default().to_owned()
}

/// A challenge, and the answer with this code.
async fn attempt_verification(world: &World, user: &TestUser, app: &TotpFactor, code: &str) -> (u16, String) {
    let response = world.create_challenge(&user.access_token, &app.id).await.expect(200);
    let answer = world.verify_challenge(&user.access_token, &app.id, response.str("id"), code).await;
    (answer.status.as_u16(), answer.str("error_code").to_owned())
}

#[tokio::test]
async fn e1_no_sign_in_without_the_factor_reaches_aal2() {
    let world = World::new().await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    let password = world.try_password(ANN, PASSWORD).await.expect(200);
    assert_eq!(level(&world, password.str("access_token")), "aal1");
    let refreshed = world.refresh(password.str("refresh_token")).await.expect(200);
    assert_eq!(level(&world, refreshed.str("access_token")), "aal1");
    for (path, kind) in [("/recover", "recovery"), ("/magiclink", "magiclink"), ("/otp", "email")] {
        world.advance(TimeDelta::minutes(2));
        world.post(path, json!({ "email": ANN })).await.expect(200);
        let code = json!({ "type": kind, "email": ANN, "token": world.code(ANN) });
        let back = world.post("/verify", code).await.expect(200);
        assert_eq!(level(&world, back.str("access_token")), "aal1", "{path}");
        let password = json!({ "password": "another horse" });
        let refused = world.put_as(back.str("access_token"), "/user", password).await;
        assert_eq!(refused.refusal(), (401, "insufficient_aal"), "{path}");
    }
    assert_eq!(level(&world, &ann.access_token), "aal2");
}

#[tokio::test]
async fn e1_older_refresh_token_grants_no_higher_level() {
    let world = World::new().await;
    let (strong, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    world.unenroll(&strong.access_token, &app.id).await.expect(200);
    for token in [&strong.refresh_token, &weak.refresh_token] {
        let refreshed = world.refresh(token).await.expect(200);
        assert_eq!(level(&world, refreshed.str("access_token")), "aal1");
    }
}

#[tokio::test]
async fn e1_preexisting_unverified_factor_does_not_bypass_the_verified_one() {
    for is_served in [false, true] {
        let builder = World::builder();
        let world = if is_served { builder.as_served() } else { builder }.build().await;
        let ann = world.create_user(ANN).await;
        let real = world.enroll_totp(&ann, "real").await;
        let attacker = world.sign_in(ANN).await;
        let ann = world.elevate_session(&ann, &real).await;
        // Enrolled from an AAL2 session; earlier unverified factors are deleted.
        let left = world.enroll_totp(&ann, "left there").await;
        let weak = world.sign_in(ANN).await;
        let outcome = attempt_verification(&world, &weak, &left, &world.totp_code(&left)).await;
        if is_served {
            assert_eq!(outcome, (403, "insufficient_aal".to_owned()));
            assert_eq!(attempt_verification(&world, &ann, &left, &world.totp_code(&left)).await.0, 200);
        } else {
            assert_eq!(outcome.0, 200, "as the reference");
        }
        let gone = world.get_as(&attacker.access_token, "/user").await;
        assert_eq!(gone.refusal(), (403, "session_not_found"));
    }
}

#[tokio::test]
async fn e1_aal1_session_cannot_add_or_remove_factors() {
    let world = World::new().await;
    let (_, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    assert_eq!(world.unenroll(&weak.access_token, &app.id).await.refusal(), (422, "insufficient_aal"));
    let body = json!({ "factor_type": "totp", "friendly_name": "mine" });
    assert_eq!(world.enroll(&weak.access_token, body).await.refusal(), (403, "insufficient_aal"));
    assert_eq!(attempt_verification(&world, &weak, &app, "000000").await, (422, "mfa_verification_failed".to_owned()));
}

#[tokio::test]
async fn e1_factor_of_another_user_is_not_found() {
    let world = World::new().await;
    let (_, anns) = world.create_user_with_totp(ANN).await;
    let (eve, eves) = world.create_user_with_totp("eve@example.com").await;
    let unknown = (404, "mfa_factor_not_found");
    let token = &eve.access_token;
    assert_eq!(world.create_challenge(token, &anns.id).await.refusal(), unknown);
    assert_eq!(world.unenroll(token, &anns.id).await.refusal(), unknown);
    let own = world.create_challenge(token, &eves.id).await.expect(200);
    for code in [world.totp_code(&anns), world.totp_code(&eves)] {
        assert_eq!(world.verify_challenge(token, &anns.id, own.str("id"), &code).await.refusal(), unknown);
    }
    // An own challenge for a session of Ann: the code of the other factor is wrong.
    assert_eq!(attempt_verification(&world, &eve, &eves, &world.totp_code(&anns)).await.1, "mfa_verification_failed");
}

#[tokio::test]
async fn e2_hardened_policy_accepts_a_totp_code_once() {
    let world = World::builder().as_served().build().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let code = world.totp_code(&app);
    let early = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let ann = world.elevate_session(&ann, &app).await;

    let wrong = (422, "mfa_verification_failed");
    let replayed = world.verify_challenge(&ann.access_token, &app.id, early.str("id"), &code).await;
    assert_eq!(replayed.refusal(), wrong, "the challenge was there before");
    assert_eq!(attempt_verification(&world, &ann, &app, &code).await, (wrong.0, wrong.1.to_owned()), "a new challenge");
    let elsewhere = world.sign_in(ANN).await;
    assert_eq!(attempt_verification(&world, &elsewhere, &app, &code).await.1, wrong.1, "another session");
    world.advance(TimeDelta::seconds(30));
    assert_eq!(
        attempt_verification(&world, &ann, &app, &code).await.1,
        wrong.1,
        "the next half minute, where it would be good"
    );
    assert_eq!(attempt_verification(&world, &ann, &app, &world.totp_code(&app)).await.0, 200, "the next code");
    assert_eq!(attempt_verification(&world, &ann, &app, &code).await.1, wrong.1, "an earlier one");
}

#[tokio::test]
async fn e2_concurrent_verifications_with_one_code_succeed_once() {
    for is_served in [false, true] {
        let builder = World::builder();
        let world = if is_served { builder.as_served() } else { builder }.build().await;
        let (ann, app) = world.create_user_with_totp(ANN).await;
        world.advance(TimeDelta::minutes(1));
        let code = world.totp_code(&app);
        let same = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
        let other = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
        let challenges = if is_served { [&same, &other] } else { [&same, &same] };
        let [one, two] =
            challenges.map(|challenge| world.verify_challenge(&ann.access_token, &app.id, challenge.str("id"), &code));
        let (one, two) = tokio::join!(one, two);
        let mut outcomes = [one.status.as_u16(), two.status.as_u16()];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 422], "served: {is_served}; {} {}", one.text, two.text);
    }
}

#[tokio::test]
async fn e2_concurrent_elevations_do_not_block_each_other() {
    let world = World::new().await;
    let (_, app) = world.create_user_with_totp(ANN).await;
    let code = world.totp_code(&app);
    let mut requested = Vec::new();
    for _ in 0..6 {
        let user = world.sign_in(ANN).await;
        let challenge = world.create_challenge(&user.access_token, &app.id).await.expect(200);
        requested.push((user, challenge.str("id").to_owned()));
    }
    // A locked session is retried after a short pause.
    world.clock.run();
    let answers = requested.iter().map(|(user, id)| world.verify_challenge(&user.access_token, &app.id, id, &code));
    let refreshes = requested.iter().map(|(user, _)| world.refresh(&user.refresh_token));
    let (answers, refreshes) = tokio::join!(futures::future::join_all(answers), futures::future::join_all(refreshes));
    let lifted = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(lifted > 0, "no session was raised");
    for answer in answers.iter().chain(&refreshes) {
        assert!(answer.status.as_u16() < 500, "{} {}", answer.status, answer.text);
    }
    for (answer, (_, _)) in answers.iter().zip(&requested).filter(|(answer, _)| answer.status == 200) {
        assert_eq!(level(&world, answer.str("access_token")), "aal2");
    }
}

#[tokio::test]
async fn d2_hardened_totp_attempts_are_limited_per_user() {
    let world = World::builder().as_served().build().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    let bearer = format!("Bearer {}", weak.access_token);
    let mut refused = 0;
    for n in 0..60_u8 {
        let body = json!({ "challenge_id": app.id, "code": "000000" });
        let path = format!("/factors/{}/verify", app.id);
        let answer =
            world.post_from([198, 51, 100, n].into(), &path, &[("authorization", bearer.as_str())], body).await;
        refused += usize::from(answer.status == 429);
    }
    assert!(refused >= 25, "only {refused} of 60 were refused");
    let (bob, bobs) = world.create_user_with_totp("bob@example.com").await;
    world.advance(TimeDelta::seconds(30));
    assert_eq!(
        attempt_verification(&world, &bob, &bobs, &world.totp_code(&bobs)).await.0,
        200,
        "no other user is limited"
    );
    world.advance(TimeDelta::minutes(2));
    assert_eq!(
        attempt_verification(&world, &ann, &app, &world.totp_code(&app)).await.0,
        200,
        "and its owner only a moment"
    );
}

#[tokio::test]
async fn e2_totp_attempts_are_limited_per_client() {
    let world = World::builder().as_served().build().await;
    let (_, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    let mut outcomes = Vec::new();
    for _ in 0..40 {
        outcomes.push(world.verify_challenge(&weak.access_token, &app.id, &app.id, "000000").await.status.as_u16());
    }
    assert_eq!(outcomes.iter().filter(|status| **status == 422).count(), 10, "{outcomes:?}");
    assert_eq!(outcomes.iter().rev().take(30).filter(|status| **status == 429).count(), 30, "{outcomes:?}");
}
