//! No number of a user reaches a file: those of the API stay, and those that come back have symbols.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flows::format::{Action, Flow, Service};
use flows::record::Exchange;
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::privacy::name;
use super::support::{exchange, record};

/// PINs, card codes, years, coordinates and balances.
fn number() -> impl Strategy<Value = Number> {
    let decimal = |value: f64| Number::from_f64(value).expect("finite");
    prop_oneof![
        // Below are statuses and what the recorder writes itself.
        (601_i64..100_000).prop_map(Number::from),
        (100_000_i64..10_000_000_000).prop_map(Number::from),
        (-100_000_i64..-1000).prop_map(Number::from),
        (-900_000_000_i32..900_000_000).prop_map(move |value| decimal(f64::from(value) / 1e7 + 5e-8)),
        (1.5_f64..1e12).prop_map(decimal),
    ]
}

/// A JSON value with the number at some place.
fn around(number: &Number) -> impl Strategy<Value = Value> + use<> {
    let claims = json!({ "sub": "x", "exp": 1_700_003_600, "pin": number, "user_metadata": { "expires_at": number } });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!("{}.{}.c2lnbmF0dXJl", part(&json!({ "alg": "HS256" })), part(&claims));
    let leaf = prop_oneof![
        Just(json!(number)),
        Just(json!([1985, number])),
        Just(json!({ "data": { "updated_at": number, "expires_in": number } })),
        Just(json!({ "user_metadata": { "code": number, "totalResults": number } })),
        Just(json!({ "identity_data": { "timeout": [number], "alg": number } })),
        Just(json!({ number.to_string(): true })),
        Just(json!(token)),
    ];
    let is_time = |name: &String| matches!(name.as_str(), "expires_at" | "iat" | "exp" | "nbf" | "timestamp");
    let name = move || name().prop_filter("a time of the API is relative", move |name| !is_time(name));
    leaf.prop_recursive(3, 6, 2, move |inner| {
        prop_oneof![
            (name(), inner.clone()).prop_map(|(name, value)| Value::Object(Map::from_iter([(name, value)]))),
            inner.prop_map(|value| json!([value])),
        ]
    })
}

/// Panics if a value of the file is the number or a text with it.
fn assert_absent(value: &Value, number: &Number) {
    let text = number.to_string();
    match value {
        Value::Number(found) => assert_ne!(found, number, "it is in the file"),
        Value::String(found) => {
            assert!(*found != text && (text.len() < 7 || !found.contains(&text)), "{number} is in {found:?}");
            if let Some(delta) = found.strip_prefix("<now").and_then(|rest| rest.strip_suffix('>')) {
                let seconds = 1_700_000_000.0 + delta.parse::<f64>().unwrap_or_default();
                assert!(number.as_f64().is_some_and(|number| (number - seconds).abs() > 10.0), "{number} is {found}");
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_absent(item, number)),
        Value::Object(members) => {
            assert!(!members.contains_key(&text), "{number} is a name");
            members.values().for_each(|item| assert_absent(item, number));
        }
        Value::Bool(_) | Value::Null => {}
    }
}

/// Returns the file of the exchanges as JSON, after checking that it is a flow.
fn recorded(exchanges: &[Exchange]) -> Value {
    let text = record(exchanges);
    Flow::parse(&text).expect("the file is valid");
    serde_json::from_str(&text).expect("JSON")
}

fn of_function(mut made: Exchange) -> Exchange {
    made.service = Service::Functions;
    made
}

/// Returns body and response of each request.
fn bodies(flow: &Value) -> Vec<(Value, Value)> {
    let steps = flow["steps"].as_array().expect("steps").iter().filter(|step| step.get("request").is_some());
    steps.map(|step| (step["request"]["json"].clone(), step["expect"]["json"].clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn numbers_of_users_are_not_written(
        (number, request, answer) in number().prop_flat_map(|number| (Just(number.clone()), around(&number), around(&number))),
        route in prop::sample::select(vec!["/signup", "/user", "/token", "/admin/users", "/hello"]),
        status in prop::sample::select(vec![200_u16, 303, 400, 422]),
        is_function: bool,
    ) {
        let made = |request: &Value, answer: &Value, status| {
            let made = exchange("POST", route, request, (status, answer));
            if is_function { of_function(made) } else { made }
        };
        let flow = recorded(&[made(&request, &answer, status), made(&answer, &request, 200), made(&Value::Null, &answer, 200)]);
        assert_absent(&flow, &number);
    }
}

#[test]
fn numbers_that_come_back_have_the_symbols_of_the_replay() {
    let data = json!({
        "home": { "lat": 52.520_008_1, "lng": -13.404_954_3 }, "pin": 4711, "salary": 64250, "zip": 10115, "again": 4711,
        "born": [1985, 4, 23], "half": 0.5, "text": "10115", "large": 1e300,
    });
    let answer =
        json!({ "expires_in": 3600, "user": { "user_metadata": data, "identities": [{ "identity_data": data }] } });
    let flow = recorded(&[exchange("POST", "/signup", &json!({ "data": data }), (200, &answer))]);
    let (request, answer) = bodies(&flow).remove(0);
    let shown = |by: fn(u32) -> String, short: [Value; 5]| {
        let [month, day, half, text, large] = short;
        json!({
            "home": { "lat": by(1), "lng": by(2) }, "pin": by(3), "salary": by(4), "zip": by(5), "again": by(3),
            "born": [by(6), month, day], "half": half, "text": text, "large": large,
        })
    };
    let sent = ["{{number7}}", "{{number8}}", "{{number9}}", "{{digits1}}", "{{number10}}"].map(Value::from);
    assert_eq!(request["data"], shown(|number| format!("{{{{number{number}}}}}"), sent));
    let short = ["<any>"; 5].map(Value::from);
    let expected = shown(|number| format!("<number{number}>"), short);
    assert_eq!(answer["user"]["user_metadata"], expected);
    assert_eq!(answer["user"]["identities"][0]["identity_data"], expected);
    assert_eq!(answer["expires_in"], 3600);
}

#[test]
fn numbers_of_the_api_stay() {
    let made = |status, answer: Value| {
        let flow = recorded(&[exchange("GET", "/x", &Value::Null, (status, &answer))]);
        bodies(&flow).remove(0).1
    };
    let kept = [
        (422, json!({ "code": 422, "error_code": "weak_password" })),
        (200, json!({ "expires_in": 3600, "totalResults": 2, "startIndex": 1, "itemsPerPage": 50 })),
        (200, json!({ "options": { "timeout": 60000, "pubKeyCredParams": [{ "alg": -7 }, { "alg": -257 }] } })),
    ];
    for (status, answer) in kept {
        assert_eq!(made(status, answer.clone()), answer);
    }
    let replaced = [
        (422, json!({ "code": 4711 })),
        (200, json!({ "code": 200.5, "status": 737 })),
        (200, json!({ "user_metadata": { "totalResults": 2 } })),
        (200, json!({ "app_metadata": { "provider": "email", "timeout": 5 } })),
        (200, json!({ "totalResults": 2.5 })),
    ];
    for (status, answer) in replaced {
        assert_eq!(has_number(&made(status, answer.clone())), None, "{answer}");
    }
    let of_function = of_function(exchange("GET", "/x", &Value::Null, (200, &json!({ "code": 200, "timeout": 5 }))));
    assert_eq!(has_number(&bodies(&recorded(&[of_function])).remove(0).1), None);
}

/// Returns a number of a value.
fn has_number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::Array(items) => items.iter().find_map(has_number),
        Value::Object(members) => members.values().find_map(has_number),
        _ => None,
    }
}

#[test]
fn number_of_a_response_that_a_request_repeats_is_captured() {
    let created =
        of_function(exchange("POST", "/order", &Value::Null, (200, &json!({ "order": { "number": 48213 } }))));
    let looked_up = of_function(exchange("POST", "/order", &json!({ "number": 48213 }), (200, &Value::Null)));
    let flow = recorded(&[created, looked_up]);
    assert_eq!(bodies(&flow)[1].0, json!({ "number": "{{step1.order.number}}" }));
    let Action::Request(request) = &Flow::parse(&flow.to_string()).expect("a flow").steps[0].action else {
        panic!("a request")
    };
    assert_eq!(request.captures, [("step1".to_owned(), "json".to_owned())]);
}
