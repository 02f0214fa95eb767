//! E: second factors. Every way to `aal2`, every way around it.

use chrono::TimeDelta;
use gotrue_rs::testing::{AppFactor, PASSWORD, Person, World};
use serde_json::json;

const ANN: &str = "ann@example.com";

fn level(world: &World, token: &str) -> String {
    world.claims(token)["aal"].as_str().unwrap_or_default().to_owned()
}

/// A challenge, and the answer with this code.
async fn tried(world: &World, person: &Person, app: &AppFactor, code: &str) -> (u16, String) {
    let asked = world.challenge(&person.access_token, &app.id).await.expect(200);
    let answer = world.answer(&person.access_token, &app.id, asked.str("id"), code).await;
    (answer.status.as_u16(), answer.str("error_code").to_owned())
}

#[tokio::test]
async fn e1_no_way_in_without_the_factor_gives_aal2() {
    let world = World::new().await;
    let (ann, _) = world.protected(ANN).await;
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
async fn e1_a_refresh_token_from_before_brings_no_level_that_the_session_has_not() {
    let world = World::new().await;
    let (strong, app) = world.protected(ANN).await;
    let weak = world.sign_in(ANN).await;
    world.unenroll(&strong.access_token, &app.id).await.expect(200);
    for token in [&strong.refresh_token, &weak.refresh_token] {
        let refreshed = world.refresh(token).await.expect(200);
        assert_eq!(level(&world, refreshed.str("access_token")), "aal1");
    }
}

#[tokio::test]
async fn e1_a_factor_left_there_before_is_no_way_around_the_real_one() {
    for is_served in [false, true] {
        let builder = World::builder();
        let world = if is_served { builder.as_served() } else { builder }.build().await;
        let ann = world.person(ANN).await;
        let real = world.app_factor(&ann, "real").await;
        let thief = world.sign_in(ANN).await;
        let ann = world.step_up(&ann, &real).await;
        // Left by somebody whose session has shown the real one; unverified ones of before are gone by now.
        let left = world.app_factor(&ann, "left there").await;
        let weak = world.sign_in(ANN).await;
        let outcome = tried(&world, &weak, &left, &world.app_code(&left)).await;
        if is_served {
            assert_eq!(outcome, (403, "insufficient_aal".to_owned()));
            assert_eq!(tried(&world, &ann, &left, &world.app_code(&left)).await.0, 200);
        } else {
            assert_eq!(outcome.0, 200, "as the reference");
        }
        let gone = world.get_as(&thief.access_token, "/user").await;
        assert_eq!(gone.refusal(), (403, "session_not_found"));
    }
}

#[tokio::test]
async fn e1_a_weak_session_neither_adds_nor_removes_a_factor() {
    let world = World::new().await;
    let (_, app) = world.protected(ANN).await;
    let weak = world.sign_in(ANN).await;
    assert_eq!(world.unenroll(&weak.access_token, &app.id).await.refusal(), (422, "insufficient_aal"));
    let body = json!({ "factor_type": "totp", "friendly_name": "mine" });
    assert_eq!(world.enroll(&weak.access_token, body).await.refusal(), (403, "insufficient_aal"));
    assert_eq!(tried(&world, &weak, &app, "000000").await, (422, "mfa_verification_failed".to_owned()));
}

#[tokio::test]
async fn e1_the_factor_of_somebody_else_does_not_exist() {
    let world = World::new().await;
    let (_, anns) = world.protected(ANN).await;
    let (eve, eves) = world.protected("eve@example.com").await;
    let unknown = (404, "mfa_factor_not_found");
    let token = &eve.access_token;
    assert_eq!(world.challenge(token, &anns.id).await.refusal(), unknown);
    assert_eq!(world.unenroll(token, &anns.id).await.refusal(), unknown);
    let own = world.challenge(token, &eves.id).await.expect(200);
    for code in [world.app_code(&anns), world.app_code(&eves)] {
        assert_eq!(world.answer(token, &anns.id, own.str("id"), &code).await.refusal(), unknown);
    }
    // A challenge of her own, for a session of Ann's: the code of the wrong app is wrong.
    assert_eq!(tried(&world, &eve, &eves, &world.app_code(&anns)).await.1, "mfa_verification_failed");
}

#[tokio::test]
async fn e2_served_a_code_counts_once() {
    let world = World::builder().as_served().build().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let code = world.app_code(&app);
    let early = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let ann = world.step_up(&ann, &app).await;

    let wrong = (422, "mfa_verification_failed");
    let replayed = world.answer(&ann.access_token, &app.id, early.str("id"), &code).await;
    assert_eq!(replayed.refusal(), wrong, "the challenge was there before");
    assert_eq!(tried(&world, &ann, &app, &code).await, (wrong.0, wrong.1.to_owned()), "a new challenge");
    let elsewhere = world.sign_in(ANN).await;
    assert_eq!(tried(&world, &elsewhere, &app, &code).await.1, wrong.1, "another session");
    world.advance(TimeDelta::seconds(30));
    assert_eq!(tried(&world, &ann, &app, &code).await.1, wrong.1, "the next half minute, where it would be good");
    assert_eq!(tried(&world, &ann, &app, &world.app_code(&app)).await.0, 200, "the next code");
    assert_eq!(tried(&world, &ann, &app, &code).await.1, wrong.1, "an earlier one");
}

#[tokio::test]
async fn e2_of_two_answers_with_one_code_one_counts() {
    for is_served in [false, true] {
        let builder = World::builder();
        let world = if is_served { builder.as_served() } else { builder }.build().await;
        let (ann, app) = world.protected(ANN).await;
        world.advance(TimeDelta::minutes(1));
        let code = world.app_code(&app);
        let same = world.challenge(&ann.access_token, &app.id).await.expect(200);
        let other = world.challenge(&ann.access_token, &app.id).await.expect(200);
        let challenges = if is_served { [&same, &other] } else { [&same, &same] };
        let [one, two] = challenges.map(|it| world.answer(&ann.access_token, &app.id, it.str("id"), &code));
        let (one, two) = tokio::join!(one, two);
        let mut outcomes = [one.status.as_u16(), two.status.as_u16()];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 422], "served: {is_served}; {} {}", one.text, two.text);
    }
}

#[tokio::test]
async fn e2_many_sessions_lifted_at_once_do_not_stand_in_each_others_way() {
    let world = World::new().await;
    let (_, app) = world.protected(ANN).await;
    let code = world.app_code(&app);
    let mut asked = Vec::new();
    for _ in 0..6 {
        let person = world.sign_in(ANN).await;
        let challenge = world.challenge(&person.access_token, &app.id).await.expect(200);
        asked.push((person, challenge.str("id").to_owned()));
    }
    // Who finds a session locked tries again a moment later.
    world.clock.run();
    let answers = asked.iter().map(|(person, id)| world.answer(&person.access_token, &app.id, id, &code));
    let refreshes = asked.iter().map(|(person, _)| world.refresh(&person.refresh_token));
    let (answers, refreshes) = tokio::join!(futures::future::join_all(answers), futures::future::join_all(refreshes));
    let lifted = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(lifted > 0, "nobody was lifted");
    for answer in answers.iter().chain(&refreshes) {
        assert!(answer.status.as_u16() < 500, "{} {}", answer.status, answer.text);
    }
    for (answer, (_, _)) in answers.iter().zip(&asked).filter(|(answer, _)| answer.status == 200) {
        assert_eq!(level(&world, answer.str("access_token")), "aal2");
    }
}

#[tokio::test]
async fn d2_served_codes_are_counted_by_account_whoever_tries_them() {
    let world = World::builder().as_served().build().await;
    let (ann, app) = world.protected(ANN).await;
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
    let (bob, bobs) = world.protected("bob@example.com").await;
    world.advance(TimeDelta::seconds(30));
    assert_eq!(tried(&world, &bob, &bobs, &world.app_code(&bobs)).await.0, 200, "nobody else pays for it");
    world.advance(TimeDelta::minutes(2));
    assert_eq!(tried(&world, &ann, &app, &world.app_code(&app)).await.0, 200, "and its owner only a moment");
}

#[tokio::test]
async fn e2_one_client_may_try_a_few_codes() {
    let world = World::builder().as_served().build().await;
    let (_, app) = world.protected(ANN).await;
    let weak = world.sign_in(ANN).await;
    let mut outcomes = Vec::new();
    for _ in 0..40 {
        outcomes.push(world.answer(&weak.access_token, &app.id, &app.id, "000000").await.status.as_u16());
    }
    assert_eq!(outcomes.iter().filter(|status| **status == 422).count(), 10, "{outcomes:?}");
    assert_eq!(outcomes.iter().rev().take(30).filter(|status| **status == 429).count(), 30, "{outcomes:?}");
}
