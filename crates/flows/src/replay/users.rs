//! Users that a flow signs in but does not create.

use std::collections::HashSet;

use http_edge::request::APIKEY;
use serde_json::{Map, Value, json};

use crate::format::{Action, Flow, RequestBody, RequestStep, Service};
use crate::text::{parse_pairs, split_url};

/// The variable with the id of the user that is being created.
pub(super) const USER_ID: &str = "seeded_user";

/// A user that a flow signs in but does not create.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingUser {
    /// The number of the request among the requests of the flow, from 0.
    pub request: usize,
    /// The number of its step in the file, from 0.
    pub step: usize,
    /// The member by which the request names the user: `email` or `phone`.
    pub member: &'static str,
    /// The address or number as the file has it, such as `{{email1}}`.
    pub address: String,
    /// The password as the file has it.
    pub password: Option<String>,
    /// The metadata that the recorded session has.
    metadata: Map<String, Value>,
}

impl MissingUser {
    /// Returns the names of the variables that name the user, for `--set`.
    pub fn variables(&self) -> Vec<&str> {
        let texts = [Some(&self.address), self.password.as_ref()];
        texts.into_iter().flatten().filter_map(|text| variable(text)).collect()
    }

    /// Returns the request that creates the user, confirmed, with the key of servers and the id in [`USER_ID`].
    pub(super) fn creation(&self) -> RequestStep {
        let mut user = json!({ self.member: self.address, format!("{}_confirm", self.member): true });
        user["id"] = format!("{{{{{USER_ID}}}}}").into();
        if let Some(password) = &self.password {
            user["password"] = password.as_str().into();
        }
        if !self.metadata.is_empty() {
            user["user_metadata"] = Value::Object(self.metadata.clone());
        }
        RequestStep {
            method: "POST".to_owned(),
            path: "/admin/users".to_owned(),
            bearer: Some("{{keys.secret}}".into()),
            headers: Map::from_iter([(APIKEY.to_string(), "{{keys.secret}}".into())]),
            body: RequestBody::Json(user),
            repeat: 1,
            ..RequestStep::default()
        }
    }
}

/// Finds the users that a flow signs in but does not create, in the order of their first requests.
///
/// Users whose address is one of the `given` variables are those of the caller.
pub fn find_missing_users(flow: &Flow, given: &Map<String, Value>) -> Vec<MissingUser> {
    let (mut known, mut missing, mut request) = (HashSet::new(), Vec::new(), 0);
    for (step, each) in flow.steps.iter().enumerate() {
        let Action::Request(sent) = &each.action else { continue };
        let number = request;
        request += 1;
        if sent.service != Service::Auth || !is_success(sent) {
            continue;
        }
        let RequestBody::Json(body) = &sent.body else { continue };
        for member in ["email", "phone"] {
            let Some(address) = body[member].as_str().filter(|address| !address.is_empty()) else { continue };
            let is_given = variable(address).is_some_and(|name| given.contains_key(name));
            if known.insert(address.to_owned()) && !is_given && needs_user(sent, body) {
                let password = body["password"].as_str().map(str::to_owned);
                let (address, metadata) = (address.to_owned(), metadata(sent));
                missing.push(MissingUser { request: number, step, member, address, password, metadata });
            }
        }
    }
    missing
}

/// Returns whether a request expects a user that exists, instead of creating one.
fn needs_user(sent: &RequestStep, body: &Value) -> bool {
    let parts = split_url(&sent.path);
    match parts.base {
        "/token" => parse_pairs(parts.query).contains(&("grant_type".to_owned(), "password".to_owned())),
        "/otp" => body["create_user"] == false,
        "/recover" => true,
        _ => false,
    }
}

fn is_success(sent: &RequestStep) -> bool {
    sent.expect.as_ref().is_none_or(|expect| expect["status"].as_u64().is_some_and(|status| status < 400))
}

/// Returns the name of the variable of a text that is one placeholder.
fn variable(text: &str) -> Option<&str> {
    text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).filter(|name| !name.contains(['.', '|', '{']))
}

/// Returns metadata of the recorded form, so that a session with it has the recorded members.
///
/// Texts that the recording does not have become `seeded`, and symbols the variables of their names.
fn metadata(sent: &RequestStep) -> Map<String, Value> {
    let recorded = sent.expect.as_ref().and_then(|expect| expect["json"]["user"]["user_metadata"].as_object());
    let fill = |name: &str, value: &Value| match value.as_str() {
        Some(_) if name == "sub" => format!("{{{{{USER_ID}}}}}").into(),
        Some(text) => match text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            Some(name) if ["email", "phone", "text"].iter().any(|start| name.starts_with(start)) => {
                format!("{{{{{name}}}}}").into()
            }
            Some(_) => "seeded".into(),
            None => value.clone(),
        },
        None => value.clone(),
    };
    recorded.into_iter().flatten().map(|(name, value)| (name.clone(), fill(name, value))).collect()
}
