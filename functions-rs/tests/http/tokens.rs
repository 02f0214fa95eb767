//! Tokens of the auth API at the gateway of the functions.

use std::sync::Arc;

use chrono::TimeDelta;
use functions_rs::{Caller, Credentials, Refused, Verifier};
use gotrue_rs::testing::World;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use crate::support::ADA;

fn caller(world: &World, token: &str) -> Result<Caller, Refused> {
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, format!("Bearer {token}").parse().expect("a header"))]);
    Credentials::of(Vec::new(), Arc::clone(&world.app)).verify(&headers, world.now())
}

fn signed(world: &World, claims: &Value) -> String {
    world.app.keys.sign(claims).expect("a token")
}

#[tokio::test]
async fn a_token_is_good_until_it_expires_and_only_as_it_was_signed() {
    let world = World::new().await;
    let expires = (world.now() + TimeDelta::hours(1)).timestamp();
    let claims = json!({ "sub": ADA, "email": "ada@example.com", "role": "authenticated", "exp": expires });
    let token = signed(&world, &claims);
    let Ok(Caller::User(user)) = caller(&world, &token) else { panic!("a good token") };
    assert_eq!((user.id.to_string().as_str(), user.email.as_deref()), (ADA, Some("ada@example.com")));

    let parts: Vec<&str> = token.split('.').collect();
    let others = signed(&world, &json!({ "sub": ADA, "role": "service_role", "exp": expires }));
    let body = others.split('.').nth(1).expect("claims");
    for forged in
        [format!("{}.{body}.{}", parts[0], parts[2]), format!("{}.{}.", parts[0], parts[1]), token.replace('.', "")]
    {
        assert_eq!(caller(&world, &forged), Err(Refused::Token), "{forged}");
    }
    world.advance(TimeDelta::hours(1));
    assert_eq!(caller(&world, &token), Err(Refused::Token));
}

#[tokio::test]
async fn legacy_api_keys_are_tokens_without_an_account() {
    let world = World::new().await;
    let expires = (world.now() + TimeDelta::days(3650)).timestamp();
    for (role, expected) in [("anon", Caller::Anonymous), ("service_role", Caller::ServiceRole)] {
        let key = signed(&world, &json!({ "iss": "supabase", "role": role, "exp": expires }));
        assert_eq!(caller(&world, &key), Ok(expected));
    }
}
