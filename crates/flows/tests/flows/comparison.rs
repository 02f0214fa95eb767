//! Which differences count.

use flows::compare::{Comparison, compare_responses, compare_values, update};
use flows::format::HeaderComparison;
use flows::symbols::Symbols;
use proptest::prelude::*;
use serde_json::{Value, json};

fn paths(expected: &Value, actual: &Value, is_subset: bool) -> Vec<String> {
    compare_values(expected, actual, is_subset).into_iter().map(|difference| difference.path).collect()
}

#[test]
fn every_member_is_compared() {
    let expected = json!({"a": 1, "b": [1, 2], "c": {"d": "x"}, "e": null});
    assert_eq!(paths(&expected, &expected, false), Vec::<String>::new());
    let actual = json!({"a": "1", "b": [1], "c": {"d": "y", "f": 1}});
    assert_eq!(paths(&expected, &actual, false), ["a", "b.length", "c.d", "c.f", "e"]);
    assert_eq!(paths(&expected, &actual, true), ["a", "b.length", "c.d", "e"]);
}

#[test]
fn any_equals_everything_but_absence() {
    assert_eq!(paths(&json!({"a": "<any>"}), &json!({"a": [1]}), false), Vec::<String>::new());
    assert_eq!(paths(&json!({"a": "<any>"}), &json!({}), false), ["a"]);
}

#[test]
fn header_of_a_token_is_compared_only_if_it_was_recorded() {
    let actual = json!({"token": {"jwt": {"header": {"alg": "ES256"}, "claims": {"sub": "<uuid1>"}}}});
    assert!(paths(&json!({"token": {"jwt": {"claims": {"sub": "<uuid1>"}}}}), &actual, false).is_empty());
    let exact = json!({"token": {"jwt": {"header": {"alg": "HS256"}, "claims": {"sub": "<uuid1>"}}}});
    assert_eq!(paths(&exact, &actual, false), ["token.jwt.header.alg"]);
}

#[test]
fn words_of_parsers_are_not_compared() {
    let text = |rest: &str| json!({"msg": format!("Could not parse request body as JSON: {rest}")});
    assert!(paths(&text("unexpected end"), &text("EOF while parsing"), false).is_empty());
    assert_eq!(paths(&json!({"msg": "unexpected end"}), &json!({"msg": "EOF"}), false), ["msg"]);
}

#[test]
fn relevant_headers_are_those_of_the_file() {
    let expected = json!({"status": 200, "headers": {"content-type": "text/html"}});
    let actual = json!({"status": 200, "headers": {"content-type": "text/html", "link": "x"}});
    let relevant = Comparison { headers: HeaderComparison::Relevant, is_subset: false };
    assert!(compare_responses(&expected, &actual, relevant).is_empty());
    assert_eq!(compare_responses(&expected, &actual, Comparison::default()).len(), 1);
    let missing = json!({"status": 200, "headers": {}});
    assert_eq!(compare_responses(&expected, &missing, relevant).len(), 1);
}

#[test]
fn update_keeps_what_still_fits() {
    let expected = json!({"a": "<any>", "b": 1, "c": [{"d": "<any>", "e": 1}], "gone": 1});
    let actual = json!({"a": 5, "b": 2, "c": [{"d": 7, "e": 2}], "new": true});
    let updated = update(&expected, &actual, false);
    assert_eq!(updated, json!({"a": "<any>", "b": 2, "c": [{"d": "<any>", "e": 2}], "new": true}));
    assert!(paths(&updated, &actual, false).is_empty());
}

#[test]
fn ids_are_numbered_and_known_texts_are_shown_by_their_names() {
    let mut symbols = Symbols::default();
    symbols.learn("ann@example.com", "email1");
    symbols.learn("http://127.0.0.1:9999", "base");
    let first = "6f1e2d3c-0000-4000-8000-000000000001";
    let second = "6f1e2d3c-0000-4000-8000-000000000002";
    let shown = symbols.value(
        &json!({
            "b": second, "a": first, "c": format!("x {second}"), "email": "ann@example.com",
            "link": "http://127.0.0.1:9999/verify?token=0123456789abcdef&next=%2Fa#x",
            "exp": 1_700_003_601, "at": "2026-01-02T03:04:05.678Z", "zero": "0001-01-01T00:00:00Z", "expires_in": 3599,
        }),
        "",
        1_700_000_000.4,
    );
    assert_eq!(
        shown,
        json!({
            "a": "<uuid1>", "at": "<time>", "b": "<uuid2>", "c": "x <uuid2>", "email": "<email1>", "exp": "<now+3600>", "expires_in": 3600,
            "link": {"base": "<base>/verify", "query": {"next": "/a", "token": "<token hex:16>"}, "fragment": {"x": ""}},
            "zero": "<time zero>",
        })
    );
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z<>]{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[a-d]", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_equals_itself_and_an_updated_recording_equals_the_response(expected in json_value(), actual in json_value()) {
        prop_assert!(compare_values(&expected, &expected, false).is_empty());
        prop_assert!(compare_values(&update(&expected, &actual, false), &actual, false).is_empty());
        prop_assert!(compare_values(&update(&expected, &actual, true), &actual, true).is_empty());
    }

    #[test]
    fn any_value_has_symbols_and_the_same_ones_in_each_run(value in json_value(), now in 0_f64..2e9) {
        let shown = Symbols::default().value(&value, "", now);
        prop_assert_eq!(&shown, &Symbols::default().value(&value, "", now));
    }

    #[test]
    fn any_text_has_a_symbol_or_stays(text in "\\PC{0,60}", key in "[a-z_]{0,12}|code|token|expires_in|exp|SAMLRequest") {
        let mut symbols = Symbols::default();
        symbols.learn("abc", "known");
        drop(symbols.value(&json!(text), &key, 0.0));
        drop(symbols.url(&text, 0.0));
    }

    #[test]
    fn known_texts_are_replaced_wherever_they_stand(
        known in prop::collection::vec("[ab@.]{1,7}", 0..6),
        parts in prop::collection::vec("[ab@.%40]{0,9}", 0..6),
    ) {
        let mut symbols = Symbols::default();
        let mut names: Vec<(&String, String)> = Vec::new();
        for (at, text) in known.iter().enumerate() {
            symbols.learn(text, &format!("n{at}"));
            if names.iter().all(|(earlier, _)| *earlier != text) {
                names.push((text, format!("<n{at}>")));
            }
        }
        names.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let text = parts.concat() + &known.concat();
        let mut shown = text.clone();
        for (known, name) in names {
            shown = shown.replace(known, &name).replace(&known.replace('@', "%40"), &name);
        }
        prop_assert_eq!(symbols.text(&text), shown);
    }
}
