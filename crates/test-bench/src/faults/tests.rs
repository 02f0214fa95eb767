use proptest::prelude::*;

use http::Method;
use serde_json::{Value, json};

use super::rules::MAX_RULES;
use super::*;

fn rules(list: &[Value]) -> FaultRules {
    let rules = FaultRules::new(7);
    for rule in list {
        rules.add(rule.to_string().as_bytes()).expect("a valid rule");
    }
    rules
}

fn request(rules: &FaultRules, method: &Method, path: &str) -> Option<FaultAction> {
    rules.for_request(method, path, None)
}

fn status(action: Option<FaultAction>) -> u16 {
    match action.map(|action| action.effect) {
        Some(FaultEffect::Respond { status, .. } | FaultEffect::Error { status, .. }) => status,
        _ => 0,
    }
}

#[test]
fn rule_matches_method_and_path() {
    let rules = rules(&[json!({"match": {"method": "post", "path": "/auth/v1/token"}, "do": {"status": 503}})]);
    assert_eq!(status(request(&rules, &Method::POST, "/auth/v1/token?grant_type=password")), 503);
    assert_eq!(request(&rules, &Method::GET, "/auth/v1/token"), None);
    assert_eq!(request(&rules, &Method::POST, "/auth/v1/user"), None);
    assert_eq!(rules.list()["faults"][0]["hits"], 1);
}

#[test]
fn preflight_is_affected_only_by_its_method() {
    let rules =
        rules(&[json!({"do": {"status": 500}}), json!({"match": {"method": "OPTIONS"}, "do": {"status": 501}})]);
    assert_eq!(status(request(&rules, &Method::OPTIONS, "/")), 501);
    assert_eq!(status(request(&rules, &Method::GET, "/")), 500);
}

#[test]
fn nth_and_count_select_requests() {
    for (rule, expected) in [
        (json!({"match": {"nth": 3}, "do": {"status": 500}}), [0, 0, 1, 0, 0]),
        (json!({"match": {"nth": 2}, "count": 2, "do": {"status": 500}}), [0, 1, 1, 0, 0]),
        (json!({"count": 2, "do": {"status": 500}}), [1, 1, 0, 0, 0]),
        (json!({"do": {"status": 500}}), [1, 1, 1, 1, 1]),
    ] {
        let rules = rules(std::slice::from_ref(&rule));
        let affected = expected.map(|_| usize::from(request(&rules, &Method::GET, "/").is_some()));
        assert_eq!(affected, expected, "{rule}");
        assert_eq!(rules.list()["faults"][0]["matched"], 5);
    }
}

#[test]
fn probability_is_reproducible() {
    let rule = json!({"match": {"probability": 0.25}, "do": {"status": 500}});
    let run = || {
        let rules = rules(std::slice::from_ref(&rule));
        (0..400).map(|_| request(&rules, &Method::GET, "/").is_some()).collect::<Vec<_>>()
    };
    let affected = run().into_iter().filter(|is_affected| *is_affected).count();
    assert!((60..140).contains(&affected), "{affected}");
    assert_eq!(run(), run());
    let never = rules(&[json!({"match": {"probability": 0}, "do": {"status": 500}})]);
    assert!((0..100).all(|_| request(&never, &Method::GET, "/").is_none()));
}

#[test]
fn user_matches_by_id_or_address() {
    let rules = rules(&[json!({"match": {"user": "Ann@example.com"}, "do": {"status": 500}})]);
    let user = |id: &str, email: &str| RequestUser { id: id.to_owned(), email: email.to_owned() };
    let affected = |user: Option<&RequestUser>| rules.for_request(&Method::GET, "/", user).is_some();
    assert!(affected(Some(&user("7", "ann@example.com"))));
    assert!(affected(Some(&user("ann@example.com", ""))));
    assert!(!affected(Some(&user("7", "bob@example.com"))) && !affected(None));
    assert!(rules.needs_user());
}

#[test]
fn oldest_matching_rule_acts_and_others_count() {
    let rules = rules(&[json!({"count": 1, "do": {"status": 500}}), json!({"do": {"status": 501}})]);
    assert_eq!([status(request(&rules, &Method::GET, "/")), status(request(&rules, &Method::GET, "/"))], [500, 501]);
    let list = rules.list();
    assert_eq!((&list["faults"][1]["hits"], &list["faults"][1]["matched"]), (&json!(1), &json!(2)));
}

#[test]
fn rules_are_listed_and_cleared() {
    let rules = FaultRules::new(7);
    let rule = json!({"match": {"path": "/x"}, "target": "http", "do": {"error_code": "user_banned"}, "count": 2});
    assert_eq!(rules.add(rule.to_string().as_bytes()).unwrap(), json!({"id": "fault-1", "hits": 0}));
    let second = rules.add(rule.to_string().as_bytes()).unwrap();
    let mut expected = json!({"id": "fault-1", "hits": 0, "matched": 0});
    expected.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
    assert_eq!(rules.list()["faults"][0], expected);
    rules.clear(Some("fault-1")).unwrap();
    assert_eq!(rules.list()["faults"][0]["id"], second["id"]);
    assert_eq!(rules.clear(Some("fault-1")).unwrap_err().status.as_u16(), 404);
    rules.clear(None).unwrap();
    assert_eq!((rules.list(), rules.is_empty()), (json!({"faults": []}), true));
}

#[test]
fn number_of_rules_is_limited() {
    let rule = json!({"do": {"status": 500}});
    let rules = rules(&vec![rule.clone(); MAX_RULES]);
    assert_eq!(rules.add(rule.to_string().as_bytes()).unwrap_err().status.as_u16(), 409);
}

#[test]
fn targets_have_their_own_failures() {
    for (target, action, expected) in [
        ("smtp", json!({"failure": "refuse"}), FaultEffect::Fail(TargetFailure::Refuse)),
        ("smtp", json!({"failure": "hang"}), FaultEffect::Fail(TargetFailure::Hang)),
        ("smtp", json!({"failure": "bounce"}), FaultEffect::Fail(TargetFailure::Bounce)),
        ("smtp", json!({"failure": "slow"}), FaultEffect::Continue),
        ("sms", json!({"delay_ms": 10}), FaultEffect::Continue),
        ("hook:send_email", json!({"drop": true}), FaultEffect::Drop),
        (
            "provider:google",
            json!({"status": 500, "body": {}}),
            FaultEffect::Respond { status: 500, body: Some(json!({})), retry_after: None },
        ),
        ("database", json!({"failure": "read_only"}), FaultEffect::Fail(TargetFailure::ReadOnly)),
    ] {
        let rules = rules(&[json!({"target": target, "do": action})]);
        let selected = rules.for_target(&FaultTarget::parse(target).unwrap()).expect("an action");
        assert_eq!(selected.effect, expected, "{target} {action}");
        assert_eq!(rules.for_target(&FaultTarget::Hook("send_sms".to_owned())), None);
        assert_eq!(request(&rules, &Method::GET, "/"), None);
    }
}

#[test]
fn invalid_rules_are_rejected_with_a_reason() {
    let rules = FaultRules::new(7);
    for (rule, expected) in [
        (json!([]), "no JSON object"),
        (json!({}), "do: an object"),
        (json!({"do": {}}), "do: an effect is wanted"),
        (json!({"do": {"drop": false}}), "do: an effect is wanted"),
        (json!({"do": {"status": 500}, "when": {}}), "when: no such member"),
        (json!({"do": {"stauts": 500}}), "do.stauts: no such member, did you mean status?"),
        (json!({"do": {"status": 100}}), "do.status"),
        (json!({"do": {"status": 500.5}}), "do.status"),
        (json!({"do": {"error_code": "user_baned"}}), "did you mean user_banned?"),
        (json!({"do": {"error_code": "user_banned", "body": "x"}}), "do.body"),
        (json!({"do": {"retry_after": 5}}), "do.retry_after"),
        (json!({"do": {"status": 429, "retry_after": -5}}), "do.retry_after"),
        (json!({"do": {"delay_ms": 600_001}}), "do.delay_ms"),
        (json!({"do": {"drop": "yes"}}), "do.drop"),
        (json!({"do": {"drop": true, "status": 500}}), "only one of them"),
        (json!({"do": {"failure": "slow"}}), "do.failure: use status"),
        (json!({"do": {"failure": "refuse"}}), "do.failure: use status"),
        (json!({"match": {"paths": "/"}, "do": {"drop": true}}), "match.paths: no such member, did you mean path?"),
        (json!({"match": {"path": "auth"}, "do": {"drop": true}}), "match.path"),
        (json!({"match": {"method": "A B"}, "do": {"drop": true}}), "match.method"),
        (json!({"match": {"nth": 0}, "do": {"drop": true}}), "match.nth"),
        (json!({"match": {"probability": 1.5}, "do": {"drop": true}}), "match.probability"),
        (json!({"match": [], "do": {"drop": true}}), "match: an object"),
        (json!({"count": 0, "do": {"drop": true}}), "count: a whole number"),
        (json!({"target": "mail", "do": {"drop": true}}), "target: one of"),
        (json!({"target": "smtp", "match": {"path": "/"}, "do": {"failure": "hang"}}), "match.path: only requests"),
        (json!({"target": "provider:googel", "do": {"failure": "hang"}}), "did you mean provider:google?"),
        (json!({"target": "hook:send_mail", "do": {"failure": "hang"}}), "did you mean hook:send_email?"),
        (
            json!({"target": "smtp", "do": {"failure": "read_only"}}),
            "\"read_only\" is no failure of smtp; known are refuse",
        ),
        (json!({"target": "smtp", "do": {"failure": "bounced"}}), "did you mean bounce?"),
        (json!({"target": "smtp", "do": {"failure": 7}}), "7 is no failure of smtp; known"),
        (json!({"target": "smtp", "do": {"status": 500}}), "the target smtp has"),
        (json!({"target": "hook:send_sms", "do": {"truncate": 5}}), "the target hook:send_sms has"),
        (json!({"target": "database", "do": {"failure": "read_only", "delay_ms": 5}}), "only slow has a delay"),
    ] {
        let error = rules.add(rule.to_string().as_bytes()).expect_err("invalid");
        assert!(error.message.contains(expected), "{rule}: {}", error.message);
        assert!(rules.is_empty());
    }
}

fn arbitrary_rule() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(json!("http")),
        Just(json!("smtp")),
        Just(json!("hang")),
        Just(json!(true)),
        Just(json!("user_banned")),
        (-5_i64..700).prop_map(Value::from),
        // Short enough that reading and writing keep every digit.
        (-100_i32..200).prop_map(|hundredths| Value::from(f64::from(hundredths) / 100.0)),
        "[/*a-z]{0,6}".prop_map(Value::from),
    ];
    let members = |names: &'static [&'static str]| {
        prop::collection::vec((prop::sample::select(names), value.clone()), 0..3)
            .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>())
    };
    let conditions = members(&["method", "path", "nth", "user", "probability"]);
    let actions = members(&["status", "error_code", "body", "delay_ms", "drop", "truncate", "retry_after", "failure"]);
    (conditions, actions, value.clone())
        .prop_map(|(conditions, actions, target)| json!({"match": conditions, "do": actions, "target": target}))
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_rejected(body in prop::collection::vec(any::<u8>(), 0..80)) {
        drop(FaultRules::new(1).add(&body));
    }

    #[test]
    fn accepted_rules_are_listed_as_sent(rule in arbitrary_rule()) {
        let rules = FaultRules::new(1);
        if rules.add(rule.to_string().as_bytes()).is_ok() {
            let listed = &rules.list()["faults"][0];
            prop_assert!(rule.as_object().unwrap().iter().all(|(name, value)| &listed[name] == value));
            let selected = request(&rules, &Method::GET, "/a").or_else(|| rules.for_target(&FaultTarget::Smtp));
            prop_assert!(selected.is_none_or(|action| action.delay.as_secs() <= 600));
        }
    }
}
