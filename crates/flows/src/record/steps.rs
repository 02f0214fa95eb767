//! Turns an exchange into the steps of a flow.

use super::exchange::{Exchange, RecordedBody};
use super::redact::{Context, redact_response};
use super::session::FlowSession;
use super::{content, infer, numbers, request};
use crate::format::{Action, RequestStep, Service, Step};
use crate::runner::observe_parts;
use crate::text::parse_url;

/// Records an exchange and returns its steps.
pub(super) fn record(session: &mut FlowSession, exchange: &Exchange) -> Vec<Step> {
    session.requests += 1;
    let number = session.requests;
    let has_user_content = exchange.service.has_user_content();
    session.at = exchange.at;
    session.has_user_content = has_user_content;
    if !has_user_content {
        infer::note_features(session, exchange);
    }
    let mut step = request::build(session, exchange);
    show_request(session, exchange);
    if !has_user_content {
        session.learn_addresses(exchange);
    }
    let observed = observe_parts(&exchange.response(), &mut session.symbols, exchange.at);
    let context = Context { has_external_error: infer::is_refused_by_provider(exchange), ..session.context };
    let mut expect = redact_response(&observed, exchange.service, context);
    if let RecordedBody::TooLarge(_) = exchange.response_body {
        // The generated content of an object is no JSON.
        if exchange.service != Service::Storage {
            expect["json"] = "<any>".into();
        }
        step.is_subset = true;
    }
    if has_user_content {
        content::loosen(exchange, &mut step, &mut expect);
    } else if infer::leads_to_provider(exchange) {
        expect["headers"]["location"] = "<any>".into();
    }
    capture(session, &mut step, exchange, number);
    if has_user_content {
        content::note_urls(session, exchange, number);
    } else {
        infer::note_messages(session, exchange);
    }
    step.expect = Some(expect);
    let mut steps = std::mem::take(&mut session.before);
    steps.push(Step { label: None, action: Action::Request(Box::new(step)) });
    steps
}

/// Shows the request to the symbols as a replay does, so that ids get the same numbers.
fn show_request(session: &mut FlowSession, exchange: &Exchange) {
    session.symbols.url(&exchange.path, exchange.at);
    let body = exchange.json();
    if body.is_null() {
        return;
    }
    session.symbols.value(body, "", exchange.at);
}

/// Makes values of the response known to later requests.
fn capture(session: &mut FlowSession, step: &mut RequestStep, exchange: &Exchange, number: u32) {
    let json = exchange.response_json();
    if json.is_object() || json.is_array() {
        let name = format!("step{number}");
        session.known.insert_members(json, &name);
        numbers::insert_members(&mut session.numbers, json, &name, 0);
        step.captures.push((name, "json".to_owned()));
    }
    if let Some(location) = exchange.location() {
        let name = format!("location{number}");
        session.known.insert_members(&parse_url(&location), &name);
        step.captures.push((name, "location".to_owned()));
    }
}
