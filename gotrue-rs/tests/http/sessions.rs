//! Who asks: the guard `Caller`, and `POST /logout`.

use chrono::TimeDelta;
use gotrue_rs::testing::{Person, World};
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

const ANN: &str = "ann@example.com";

async fn log_out(world: &World, person: &Person, path: &str) -> (u16, String) {
    let answer = world.post_as(&person.access_token, path, json!({})).await;
    (answer.status.as_u16(), answer.str("error_code").to_owned())
}

/// How a session's two tokens are answered: the status at `GET /user`, and at a refresh.
async fn state(world: &World, person: &Person) -> (u16, u16) {
    let user = world.get_as(&person.access_token, "/user").await;
    let refreshed = world.refresh(&person.refresh_token).await;
    (user.status.as_u16(), refreshed.status.as_u16())
}

#[tokio::test]
async fn logging_out_ends_the_sessions_that_the_scope_names() {
    for (path, here, there) in [
        ("/logout", 403, 403),
        ("/logout?scope=global", 403, 403),
        ("/logout?scope=local", 403, 200),
        ("/logout?scope=others", 200, 403),
    ] {
        let world = World::new().await;
        let first = world.person(ANN).await;
        let second = world.sign_in(ANN).await;
        let bob = world.person("bob@example.com").await;
        let answer = world.post_as(&second.access_token, path, json!({})).await.expect(204);
        assert!(answer.text.is_empty());
        let refresh = |user| if user == 200 { 200 } else { 400 };
        assert_eq!(state(&world, &second).await, (here, refresh(here)), "{path} here");
        assert_eq!(state(&world, &first).await, (there, refresh(there)), "{path} there");
        assert_eq!(state(&world, &bob).await, (200, 200), "{path} ends nobody else's");
    }
}

#[tokio::test]
async fn an_unknown_scope_ends_nothing() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    assert_eq!(log_out(&world, &person, "/logout?scope=all").await, (400, "validation_failed".to_owned()));
    assert_eq!(state(&world, &person).await, (200, 200));
}

#[tokio::test]
async fn a_second_logout_finds_no_session() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    assert_eq!(log_out(&world, &person, "/logout").await.0, 204);
    assert_eq!(log_out(&world, &person, "/logout").await, (403, "session_not_found".to_owned()));
}

#[tokio::test]
async fn a_token_without_a_session_ends_all_whatever_the_scope() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let bare = world.signed(&json!({"sub": person.id, "exp": world.now().timestamp() + 60}));
    world.post_as(&bare, "/logout?scope=local", json!({})).await.expect(204);
    assert_eq!(state(&world, &person).await, (403, 400));
}

#[tokio::test]
async fn a_logout_that_fails_ends_nothing() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.faults.fail("sessions.delete", 1);
    let answer = world.post_as(&person.access_token, "/logout", json!({})).await;
    assert_eq!((answer.refusal(), answer.str("msg")), ((500, "unexpected_failure"), "Error logging out user"));
    assert_eq!(state(&world, &person).await, (200, 200));
}

#[tokio::test]
async fn only_one_bearer_token_is_a_bearer_token() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let token = &person.access_token;
    for (header, status) in [
        (format!("Bearer {token}"), 200),
        (format!("bEARER {token}"), 200),
        (token.clone(), 401),
        (format!("Basic {token}"), 401),
        (format!("Bearer{token}"), 401),
        (format!("Bearer {token} {token}"), 401),
        ("Bearer ".to_owned(), 401),
        (String::new(), 401),
    ] {
        let answer = world.request(Method::GET, "/user", &[("authorization", &header)], None).await;
        assert_eq!(answer.status.as_u16(), status, "{header}");
        if status == 401 {
            assert_eq!(answer.str("error_code"), "no_authorization");
        }
    }
}

#[tokio::test]
async fn claims_are_checked_in_order() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let exp = world.now().timestamp() + 60;
    for (claims, refusal) in [
        (json!({"sub": person.id, "exp": world.now().timestamp() - 1}), (403, "bad_jwt")),
        (json!({"exp": exp}), (403, "bad_jwt")),
        (json!({"sub": "ann", "exp": exp}), (400, "bad_jwt")),
        (json!({"sub": Uuid::from_u128(7), "session_id": "x", "exp": exp}), (403, "user_not_found")),
        (json!({"sub": person.id, "session_id": "x", "exp": exp}), (403, "bad_jwt")),
        (json!({"sub": person.id, "session_id": Uuid::from_u128(7), "exp": exp}), (403, "session_not_found")),
    ] {
        let answer = world.get_as(&world.signed(&claims), "/user").await;
        assert_eq!(answer.refusal(), refusal, "{claims}");
    }
}

#[tokio::test]
async fn an_access_token_ends_at_its_last_second() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.advance(TimeDelta::seconds(3599));
    world.get_as(&person.access_token, "/user").await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let answer = world.get_as(&person.access_token, "/user").await;
    assert_eq!(answer.refusal(), (403, "bad_jwt"));
    assert!(answer.str("msg").contains("token is expired"), "{}", answer.text);
}

#[tokio::test]
async fn a_token_of_another_audience_is_not_answered() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let bearer = format!("Bearer {}", person.access_token);
    let headers = [("authorization", &*bearer), ("x-jwt-aud", "elsewhere")];
    let answer = world.request(Method::GET, "/user", &headers, None).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn an_account_sees_itself_without_its_secrets() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let user = world.get_as(&person.access_token, "/user").await.expect(200);
    assert_eq!((user.str("id"), user.str("email")), (&*person.id, ANN));
    let Value::Object(members) = &user.json else { panic!("{}", user.text) };
    let shown: Vec<&str> = members.keys().map(String::as_str).collect();
    for hidden in ["encrypted_password", "confirmation_token", "recovery_token", "is_sso_user", "instance_id"] {
        assert!(!shown.contains(&hidden), "{hidden}");
    }
}
