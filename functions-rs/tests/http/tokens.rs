//! Tokens of the auth API at the functions gateway.

use std::sync::Arc;

use chrono::TimeDelta;
use functions_rs::{AuthenticationError, Caller, CredentialVerifier, Verifier};
use gotrue_rs::testing::World;
use http::{HeaderMap, header};
use http_edge::request::ApiKeyRing;
use serde_json::{Value, json};

use crate::support::ADA;

fn caller(world: &World, token: &str) -> Result<Caller, AuthenticationError> {
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, format!("Bearer {token}").parse().expect("a header"))]);
    let auth = Arc::clone(&world.app);
    let check_token = move |token: &str, now| auth.keys.verify(token, now).ok();
    CredentialVerifier::new(ApiKeyRing::default(), Arc::new(check_token)).verify(&headers, world.now())
}

fn sign(world: &World, claims: &Value) -> String {
    world.app.keys.sign(claims).expect("a token")
}

#[tokio::test]
async fn token_is_valid_until_expiry_unless_modified() {
    let world = World::new().await;
    let expires = (world.now() + TimeDelta::hours(1)).timestamp();
    let claims = json!({ "sub": ADA, "email": "ada@example.com", "role": "authenticated", "exp": expires });
    let token = sign(&world, &claims);
    let Ok(Caller::User(user)) = caller(&world, &token) else { panic!("a good token") };
    assert_eq!((user.id.to_string().as_str(), user.email.as_deref()), (ADA, Some("ada@example.com")));

    let parts: Vec<&str> = token.split('.').collect();
    let others = sign(&world, &json!({ "sub": ADA, "role": "service_role", "exp": expires }));
    let body = others.split('.').nth(1).expect("claims");
    for forged in
        [format!("{}.{body}.{}", parts[0], parts[2]), format!("{}.{}.", parts[0], parts[1]), token.replace('.', "")]
    {
        assert_eq!(caller(&world, &forged), Err(AuthenticationError::Token), "{forged}");
    }
    world.advance(TimeDelta::hours(1));
    assert_eq!(caller(&world, &token), Err(AuthenticationError::Token));
}

#[tokio::test]
async fn legacy_api_keys_are_tokens_without_user() {
    let world = World::new().await;
    let expires = (world.now() + TimeDelta::days(3650)).timestamp();
    for (role, expected) in [("anon", Caller::Anonymous), ("service_role", Caller::ServiceRole)] {
        let key = sign(&world, &json!({ "iss": "supabase", "role": role, "exp": expires }));
        assert_eq!(caller(&world, &key), Ok(expected));
    }
}
