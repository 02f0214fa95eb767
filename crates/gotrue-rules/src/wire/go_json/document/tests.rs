use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::super::{NumericDate, OneOrMany, WholeNumber};
use super::*;

#[derive(Deserialize, Default, Debug, PartialEq)]
#[serde(default)]
struct Sample {
    id: i64,
    name: String,
    verified: bool,
    height: f64,
    nick: Option<String>,
    tags: Vec<String>,
    names: BTreeMap<String, String>,
    place: SampleAddress,
    friends: Vec<Sample>,
    #[serde(rename = "https://example.com/team")]
    team: String,
    raw: Map<String, Value>,
}

#[derive(Deserialize, Default, Debug, PartialEq)]
#[serde(default)]
struct SampleAddress {
    city: String,
    street: String,
}

fn read(text: &str) -> Result<Sample, GoJsonError> {
    Document::parse(text.as_bytes())?.read()
}

fn sample(text: &str) -> Sample {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// One row per rule of `encoding/json`: the JSON text and its decoded value.
#[test]
fn documents_decode_as_in_go() {
    let of = |change: fn(&mut Sample)| {
        let mut user = Sample::default();
        change(&mut user);
        user
    };
    let table = [
        ("null", of(|_| ())),
        ("{}", of(|_| ())),
        (r#"{"unknown":[1e999,{"a":"\u0000"}]}"#, of(|_| ())),
        (r#"{"NAME":"a"}"#, of(|sample| sample.name = "a".into())),
        (r#"{"name":"a","NAME":"b"}"#, of(|sample| sample.name = "b".into())),
        (r#"{"NAME":"b","name":"a"}"#, of(|sample| sample.name = "a".into())),
        (r#"{"name":"a","name":null}"#, of(|sample| sample.name = "a".into())),
        (r#"{"name":null}"#, of(|_| ())),
        ("{\"nic\u{212a}\":\"a\"}", of(|sample| sample.nick = Some("a".into()))),
        ("{\"tag\u{17f}\":[\"a\"]}", of(|sample| sample.tags = vec!["a".into()])),
        (r#"{"https://Example.com/team":"T"}"#, of(|sample| sample.team = "T".into())),
        (r#"{"nick":"a","nick":null}"#, of(|_| ())),
        (r#"{"nick":null,"nick":""}"#, of(|sample| sample.nick = Some(String::new()))),
        (r#"{"id":7}"#, of(|sample| sample.id = 7)),
        (r#"{"id":-0}"#, of(|_| ())),
        (r#"{"id":9007199254740993}"#, of(|sample| sample.id = 9_007_199_254_740_993)),
        (r#"{"height":1}"#, of(|sample| sample.height = 1.0)),
        (r#"{"height":1.5e1}"#, of(|sample| sample.height = 15.0)),
        (r#"{"tags":[null,"a"]}"#, of(|sample| sample.tags = vec![String::new(), "a".into()])),
        (r#"{"tags":["a","b"],"tags":["c"]}"#, of(|sample| sample.tags = vec!["c".into()])),
        (r#"{"tags":["a"],"tags":null}"#, of(|_| ())),
        (
            r#"{"names":{"a":"x","b":"y"},"names":{"a":"z"}}"#,
            of(|sample| sample.names = [("a".to_owned(), "z".to_owned()), ("b".to_owned(), "y".to_owned())].into()),
        ),
        (r#"{"names":{"a":"x"},"names":null}"#, of(|_| ())),
        (r#"{"names":{"A":"x"}}"#, of(|sample| sample.names = [("A".to_owned(), "x".to_owned())].into())),
        (
            r#"{"place":{"city":"a"},"place":null,"PLACE":{"Street":"b"}}"#,
            of(|sample| sample.place = SampleAddress { city: "a".into(), street: "b".into() }),
        ),
        (r#"{"friends":[null,{"ID":8}]}"#, of(|sample| sample.friends = vec![Sample::default(), sample_with_id(8)])),
        (
            r#"{"raw":{"a":1,"a":{"b":2.50,"c":null}}}"#,
            of(|sample| sample.raw = json!({"a": {"b": 2.5, "c": null}}).as_object().cloned().unwrap_or_default()),
        ),
        ("{\"name\":\"a\\ud800b\"}", of(|sample| sample.name = "a\u{fffd}b".into())),
    ];
    for (text, expected) in table {
        assert_eq!(sample(text), expected, "{text}");
    }
    let bytes = Document::parse(b"{\"name\":\"a\xffb\"}").and_then(|document| document.read::<Sample>());
    assert_eq!(bytes.map(|sample| sample.name), Ok("a\u{fffd}b".to_owned()));
}

fn sample_with_id(id: i64) -> Sample {
    Sample { id, ..Sample::default() }
}

#[test]
fn documents_rejected_by_go_are_rejected() {
    let table = [
        r#"{"id":"7"}"#,
        r#"{"id":7.0}"#,
        r#"{"id":7e0}"#,
        r#"{"id":9223372036854775808}"#,
        r#"{"id":true}"#,
        r#"{"name":7}"#,
        r#"{"name":7,"name":"a"}"#,
        r#"{"name":{}}"#,
        r#"{"name":"a\u0000"}"#,
        r#"{"verified":"true"}"#,
        r#"{"verified":1}"#,
        r#"{"height":"1"}"#,
        r#"{"height":1e999}"#,
        r#"{"nick":7}"#,
        r#"{"tags":{}}"#,
        r#"{"tags":"a"}"#,
        r#"{"tags":[7]}"#,
        r#"{"names":[]}"#,
        r#"{"names":{"a":7}}"#,
        r#"{"place":[]}"#,
        r#"{"place":{"city":7}}"#,
        r#"{"friends":[[1]]}"#,
        r#"{"raw":[]}"#,
        r#"{"raw":{"a":1e999}}"#,
        "[7]",
        "7",
        "\"person\"",
        "",
        "{",
        "{}x",
    ];
    for text in table {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn errors_contain_expected_type_but_no_value() {
    for (text, words) in [
        (r#"{"id":"ann@x.example"}"#, "a whole number is wanted, it is a string"),
        (r#"{"place":"ann@x.example"}"#, "an object is wanted, it is a string"),
        (r#"{"tags":["a",7]}"#, "a string is wanted, it is a number"),
    ] {
        assert_eq!(read(text).map_err(|error| error.to_string()), Err(words.to_owned()));
    }
}

#[test]
fn parse_first_ignores_rest() {
    for text in ["{\"id\":7} x", "{\"id\":7}{\"id\":8}", "{\"id\":7}]"] {
        let first = Document::parse_first(text.as_bytes()).and_then(|document| document.read::<Sample>());
        assert_eq!(first.map(|sample| sample.id), Ok(7), "{text}");
        assert!(Document::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn member_decodes_by_same_rules() {
    let document = Document::parse(br#"{"Name":"a","name":null,"N":7,"place":{"city":"a"},"PLACE":{"street":"b"}}"#);
    let document = document.unwrap_or_default();
    assert_eq!(document.member::<String>("name"), Ok("a".to_owned()));
    assert_eq!(document.member::<Option<String>>("name"), Ok(None));
    assert_eq!(document.member::<Option<String>>("other"), Ok(None));
    assert!(document.member::<String>("n").is_err());
    assert_eq!(document.member::<SampleAddress>("place"), Ok(SampleAddress { city: "a".into(), street: "b".into() }));
    assert!(Document::from(json!([])).member::<String>("n").is_err());
    assert_eq!(Document::default().member::<String>("n"), Ok(String::new()));
}

#[test]
fn special_types_decode_by_their_rules() {
    let of = |text: &str| Document::parse(format!("{{\"m\":{text}}}").as_bytes()).unwrap_or_default();
    for (text, audience) in
        [("\"a\"", Some(vec!["a"])), ("[\"a\",null]", Some(vec!["a", ""])), ("null", Some(vec![""]))]
    {
        let read = of(text).member::<OneOrMany>("m").ok().map(|list| list.0);
        assert_eq!(read, audience.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>()), "{text}");
    }
    for (text, seconds) in [
        ("7", Some(7)),
        ("\"7\"", Some(7)),
        ("\"-7\"", Some(-7)),
        ("7.9", Some(7)),
        ("\"7.9\"", Some(7)),
        ("\"1e3\"", Some(1000)),
        ("1e30", Some(i64::MAX)),
        ("\"\"", None),
        ("\" 7\"", None),
        ("\"+7\"", None),
        ("\"07\"", None),
        ("\"0x7\"", None),
        ("\"1e999\"", None),
        ("null", None),
        ("true", None),
    ] {
        assert_eq!(of(text).member::<NumericDate>("m").ok(), seconds.map(NumericDate), "{text}");
    }
    let twice = |text: &str| Document::parse(text.as_bytes()).unwrap_or_default().member::<NumericDate>("m").ok();
    assert_eq!(twice(r#"{"m": 5, "m": 7}"#), Some(NumericDate(7)));
    assert_eq!(twice(r#"{"m": "x", "m": 7}"#), None);
    for (text, number) in [("7", Some(7)), ("\"7\"", Some(7)), ("7.0", None), ("\"7.0\"", None), ("\"a\"", None)] {
        assert_eq!(of(text).member::<WholeNumber>("m").ok(), number.map(WholeNumber), "{text}");
    }
}

#[test]
fn map_matches_go() {
    let kept = Document::parse(br#"{"a":[1,1.0,1.5,null,true,"7"],"b":{"c":9007199254740993},"A":1,"A":2}"#);
    let expected = json!({"a": [1, 1, 1.5, null, true, "7"], "b": {"c": 9_007_199_254_740_992_u64}, "A": 2});
    assert_eq!(kept.and_then(|document| document.to_value()), Ok(expected));
    assert_eq!(Document::parse(b"null").and_then(|document| document.to_map()), Ok(Map::new()));
    assert!(Document::parse(b"[]").and_then(|document| document.to_map()).is_err());
}

proptest! {
    #[test]
    fn any_bytes_decode_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Document::parse(&bytes).and_then(|document| document.read::<Sample>());
        let _ = Document::parse_first(&bytes).and_then(|document| document.to_value());
    }

    #[test]
    fn nearly_valid_document_decodes_without_panic(
        members in proptest::collection::vec(("id|NAME|tags|place|raw|friends|nick", r#"[\[\]{}:,"\\u0-9a.eE+ntrl ]{0,20}"#), 0..6),
    ) {
        let members: Vec<_> = members.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let text = format!("{{{}}}", members.join(","));
        let _ = read(&text);
        let _ = Document::parse(text.as_bytes()).and_then(|document| document.member::<NumericDate>("id"));
    }

    #[test]
    fn document_round_trips(name in "[^\0]*", id in any::<i64>(), height in any::<f64>(), verified in any::<bool>(),
                               tags in proptest::collection::vec("[^\0]*", 0..3)) {
        let text = json!({"name": name, "id": id, "height": height, "verified": verified, "tags": tags}).to_string();
        let height = if height.is_finite() { height } else { 0.0 };
        prop_assert_eq!(read(&text), Ok(Sample { id, name, verified, height, tags, ..Sample::default() }));
    }
}
