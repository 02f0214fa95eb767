//! What each provider is asked, and the person that its answers tell of.

mod people;
mod places;
mod tokens;

use serde_json::{Value, json};

use super::super::profile::Profile;
use super::super::provider::{BadAnswer, Fetch, Known, Step, TokenAnswer};
use super::find;
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

fn settings(url: &str) -> ExternalProvider {
    ExternalProvider {
        enabled: true,
        client_ids: vec!["our-id".to_owned(), "another".to_owned()],
        secret: "our-secret".into(),
        redirect_uri: "https://o.example/callback".to_owned(),
        url: url.to_owned(),
        ..ExternalProvider::default()
    }
}

fn token(members: Value) -> TokenAnswer {
    let Value::Object(members) = members else { panic!("a token answer is an object") };
    let id_token = members.get("id_token").and_then(Value::as_str).unwrap_or_default().to_owned();
    TokenAnswer { access_token: "access".to_owned(), id_token, members, ..TokenAnswer::default() }
}

/// The next step of a provider with these answers.
fn step(name: &str, url: &str, answers: &[Value]) -> Result<Step, BadAnswer> {
    let (settings, token) = (settings(url), token(json!({})));
    let answers: Vec<_> = answers.iter().cloned().map(Document::from).collect();
    let known = Known { settings: &settings, token: &token, id_token: None, userinfo_url: "", answers: &answers };
    find(name).unwrap().next(&known)
}

/// What it asks for, one after the other, and what it makes of the answers.
fn ask(name: &str, answers: &[Value]) -> (Vec<Fetch>, Profile) {
    let mut asked = Vec::new();
    for count in 0..=answers.len() {
        match step(name, "https://base.example/", &answers[..count]).unwrap() {
            Step::Fetch(fetch) => asked.push(fetch),
            Step::Done(profile) => {
                assert_eq!(count, answers.len(), "{name} is done before it has all answers");
                return (asked, *profile);
            }
            other @ Step::CheckIdToken(_) => panic!("{name}: {other:?}"),
        }
    }
    panic!("{name} asks on")
}

/// As `ask`: the addresses, the data of the identity, and the e-mail addresses as (address, verified, primary).
fn told(name: &str, answers: &[Value]) -> (Vec<String>, Value, Vec<(String, bool, bool)>) {
    let (asked, profile) = ask(name, answers);
    let emails = profile.emails.iter().map(|it| (it.address.clone(), it.verified, it.primary)).collect();
    let urls = asked.into_iter().map(|it| it.url.strip_prefix("https://base.example").unwrap_or(&it.url).to_owned());
    let mut data = profile.claims.identity_data();
    assert_eq!(
        (data.remove("email_verified"), data.remove("phone_verified")),
        (Some(json!(false)), Some(json!(false)))
    );
    (urls.collect(), Value::Object(data), emails)
}

fn only(address: &str, verified: bool) -> Vec<(String, bool, bool)> {
    vec![(address.to_owned(), verified, true)]
}

/// Claims that most give: id, name and picture, by their older names too.
fn usual(issuer: &str, more: Value) -> Value {
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
