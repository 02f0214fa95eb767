//! Tests of the built-in providers: their configuration, requests and profiles.

mod configs;
mod profiles;
mod tokens;

use serde_json::{Value, json};

use super::super::profile::ProviderProfile;
use super::super::provider::{FetchRequest, ProfileContext, ProfileStep, ProviderResponseError, ProviderTokenResponse};
use super::find;
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

fn settings(url: &str) -> ExternalProviderSettings {
    ExternalProviderSettings {
        enabled: true,
        client_ids: vec!["our-id".to_owned(), "another".to_owned()],
        secret: "our-secret".into(),
        redirect_uri: "https://o.example/callback".to_owned(),
        url: url.to_owned(),
        ..ExternalProviderSettings::default()
    }
}

fn token(members: Value) -> ProviderTokenResponse {
    let Value::Object(members) = members else { panic!("a token answer is an object") };
    let id_token = members.get("id_token").and_then(Value::as_str).unwrap_or_default().to_owned();
    ProviderTokenResponse { access_token: "access".to_owned(), id_token, members, ..ProviderTokenResponse::default() }
}

/// The next step of a provider after these responses.
fn next_step(name: &str, url: &str, answers: &[Value]) -> Result<ProfileStep, ProviderResponseError> {
    let (settings, token) = (settings(url), token(json!({})));
    let answers: Vec<_> = answers.iter().cloned().map(Document::from).collect();
    let known =
        ProfileContext { settings: &settings, token: &token, id_token: None, userinfo_url: "", responses: &answers };
    find(name).unwrap().next_step(&known)
}

/// Runs all steps and returns the requests and the profile.
fn run_steps(name: &str, answers: &[Value]) -> (Vec<FetchRequest>, ProviderProfile) {
    let mut requests = Vec::new();
    for count in 0..=answers.len() {
        match next_step(name, "https://base.example/", &answers[..count]).unwrap() {
            ProfileStep::Fetch(fetch) => requests.push(fetch),
            ProfileStep::Done(profile) => {
                assert_eq!(count, answers.len(), "{name} is done before it has all responses");
                return (requests, *profile);
            }
            other @ ProfileStep::CheckIdToken(_) => panic!("{name}: {other:?}"),
        }
    }
    panic!("{name} needs more responses")
}

/// As `run_steps`: URLs, identity data, and email addresses as (address, verified, primary).
fn fetch_profile(name: &str, answers: &[Value]) -> (Vec<String>, Value, Vec<(String, bool, bool)>) {
    let (requests, profile) = run_steps(name, answers);
    let emails = profile.emails.iter().map(|email| (email.address.clone(), email.verified, email.primary)).collect();
    let urls = requests
        .into_iter()
        .map(|request| request.url.strip_prefix("https://base.example").unwrap_or(&request.url).to_owned());
    let mut data = profile.claims.identity_data();
    assert_eq!(
        (data.remove("email_verified"), data.remove("phone_verified")),
        (Some(json!(false)), Some(json!(false)))
    );
    (urls.collect(), Value::Object(data), emails)
}

fn single_email(address: &str, verified: bool) -> Vec<(String, bool, bool)> {
    vec![(address.to_owned(), verified, true)]
}

/// The claims that most providers return: id, name and picture, also by their older names.
fn basic_claims(issuer: &str, more: Value) -> Value {
    let mut claims = json!({"iss": issuer, "sub": "7", "provider_id": "7", "name": "Ann", "full_name": "Ann",
                            "picture": "pic", "avatar_url": "pic"});
    let Value::Object(more) = more else { panic!("more claims are an object") };
    for (name, value) in more {
        match value {
            Value::Null => claims.as_object_mut().unwrap().shift_remove(&name),
            value => claims.as_object_mut().unwrap().insert(name, value),
        };
    }
    claims
}
