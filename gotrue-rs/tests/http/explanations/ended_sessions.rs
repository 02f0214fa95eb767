//! Which request ended a session: one test for each kind of request that does.

use gotrue_rs::testing::{OAuthClient, TestUser, World};
use http::Method;
use serde_json::{Value, json};

use super::explanation;

const ANN: &str = "ann@example.com";

async fn world() -> World {
    World::builder().with_explanations().build().await
}

/// A user with a session of an OAuth client.
async fn world_with_client() -> (World, TestUser, OAuthClient) {
    let world = World::builder().as_served().with_oauth_server().with_explanations().build().await;
    let ann = world.create_user(ANN).await;
    let client = world.create_oauth_client(json!({})).await;
    (world, ann, client)
}

/// Checks which request ended the session of this token.
async fn assert_ended_by(world: &World, token: &str, path: &str, route: &str) {
    let shown = explanation(world, &world.get_as(token, path).await);
    assert_eq!(shown["decision"]["name"], "session.ended", "{shown}");
    assert_eq!(shown["decision"]["inputs"]["ended_by"]["route"], route);
}

async fn delete(world: &World, path: &str, body: Option<Value>) {
    let bearer = format!("Bearer {}", world.service_token());
    let answer = world.request(Method::DELETE, path, &[("authorization", &bearer)], body).await;
    assert!(answer.status.is_success(), "{}", answer.text);
}

#[tokio::test]
async fn sign_out_of_this_session() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    world.post_as(&ann.access_token, "/logout?scope=local", json!({})).await.expect(204);
    assert_ended_by(&world, &ann.access_token, "/user", "POST /logout").await;
}

#[tokio::test]
async fn second_factor_of_another_session() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let other = world.sign_in(ANN).await;
    let factor = world.enroll_totp(&other, "phone").await;
    world.elevate_session(&other, &factor).await;
    assert_ended_by(&world, &ann.access_token, "/user", "POST /factors/{factor_id}/verify").await;
}

#[tokio::test]
async fn password_set_by_an_administrator() {
    let world = world().await;
    let ann = world.create_user(ANN).await;
    let path = format!("/admin/users/{}", ann.id);
    world.put_as(&world.service_token(), &path, json!({"password": "another horse"})).await.expect(200);
    assert_ended_by(&world, &ann.access_token, "/user", "PUT /admin/users/{user_id}").await;
}

#[tokio::test]
async fn deletion_of_the_user() {
    let world = world().await;
    for body in [json!({"should_soft_delete": true}), json!({})] {
        let ann = world.create_user(ANN).await;
        delete(&world, &format!("/admin/users/{}", ann.id), Some(body)).await;
        assert_ended_by(&world, &ann.access_token, "/user", "DELETE /admin/users/{user_id}").await;
    }
}

#[tokio::test]
async fn revocation_of_the_consent() {
    let (world, ann, client) = world_with_client().await;
    let code = world.obtain_code(&client, &ann, "email").await;
    let token = world.exchange_code(&client, &code).await.expect(200).str("access_token").to_owned();
    let bearer = format!("Bearer {}", ann.access_token);
    let path = format!("/user/oauth/grants?client_id={}", client.id);
    world.request(Method::DELETE, &path, &[("authorization", &bearer)], None).await.expect(204);
    assert_ended_by(&world, &token, "/oauth/userinfo", "DELETE /user/oauth/grants").await;
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn deletion_of_the_client() {
    let (world, ann, client) = world_with_client().await;
    let code = world.obtain_code(&client, &ann, "email").await;
    let token = world.exchange_code(&client, &code).await.expect(200).str("access_token").to_owned();
    delete(&world, &format!("/admin/oauth/clients/{}", client.id), None).await;
    assert_ended_by(&world, &token, "/oauth/userinfo", "DELETE /admin/oauth/clients/{client_id}").await;
}

#[tokio::test]
async fn second_exchange_of_the_code() {
    let (world, ann, client) = world_with_client().await;
    let code = world.obtain_code(&client, &ann, "email").await;
    let token = world.exchange_code(&client, &code).await.expect(200).str("access_token").to_owned();
    assert!(!world.exchange_code(&client, &code).await.status.is_success());
    assert_ended_by(&world, &token, "/oauth/userinfo", "POST /oauth/token").await;
}
