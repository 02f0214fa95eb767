//! Tables of the grammar, and properties of every parser.

use proptest::prelude::*;

use super::tree::{Operation, QueryParams, SelectItem};

/// Message and details of the error of a query string.
fn error(query: &str) -> (String, String) {
    let error = QueryParams::parse(query, false).unwrap_err();
    (error.message.clone(), error.details.as_ref().unwrap().as_str().unwrap().to_owned())
}

#[test]
fn errors_name_place_and_expectation() {
    let cases = [
        (
            "select=id,name::char(3)",
            14,
            r#"unexpected '(' expecting letter, digit, ".", "::", ")", "," or end of input"#,
        ),
        ("select=id,,name", 4, r#"unexpected "," expecting "...", field name (* or [a..z0..9_$]), "*" or "count()""#),
        ("select=id,(name)", 4, r#"unexpected "(" expecting "...", field name (* or [a..z0..9_$]), "*" or "count()""#),
        ("select=id:", 4, r#"unexpected end of input expecting ":" or field name (* or [a..z0..9_$])"#),
        (
            "select=*,facts->",
            10,
            r#"unexpected end of input expecting "-", digit or any non reserved character different from: .,>()"#,
        ),
        (
            "select=id,piers(number",
            16,
            r#"unexpected end of input expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input"#,
        ),
        ("select=kind.total()", 6, r#"unexpected "t" expecting "sum", "avg", "count", "max" or "min""#),
        (
            "select=data->(!@%23$%25^%26*_d->>!@%23$%25^%26*_e::integer",
            7,
            r#"unexpected "(" expecting "-", digit or any non reserved character different from: .,>()"#,
        ),
        ("id=not.not.gt.3", 5, r#"unexpected "n" expecting operator (eq, gt, ...)"#),
        ("id=is.maybe", 4, r#"unexpected "m" expecting isVal: (null, not_null, true, false, unknown)"#),
        ("id=in.(1", 6, r#"unexpected end of input expecting "," or ")""#),
        ("id=neq(any).{1}", 4, r#"unexpected "(" expecting operator (eq, gt, ...)"#),
        ("id=eq(some).{1}", 4, r#"unexpected "s" expecting operator (eq, gt, ...)"#),
        ("id=frob.1", 1, r#"unexpected "f" expecting "not" or operator (eq, gt, ...)"#),
        ("id=1", 1, r#"unexpected "1" expecting "not" or operator (eq, gt, ...)"#),
        ("id=not.1", 5, r#"unexpected "1" expecting operator (eq, gt, ...)"#),
        ("=eq.1", 1, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        (
            "or=()",
            4,
            r#"unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)"#,
        ),
        ("or=(id.eq.1", 11, r#"unexpected end of input expecting "," or ")""#),
        ("or=(id.frob.1)", 7, r#"unexpected "f" expecting "not" or operator (eq, gt, ...)"#),
        ("order=", 1, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        ("order=id.upwards", 4, r#"unexpected "u" expecting "asc", "desc", "nullsfirst" or "nullslast""#),
        ("order=id.desc,", 9, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        ("order=id.desc.nullsmiddle", 9, r#"unexpected "m" expecting "nullsfirst" or "nullslast""#),
        ("columns=", 1, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        (r#"select="abc"#, 5, r#"unexpected end of input expecting "\\" or "\"""#),
        (r#"order=data->"abc"#, 11, r#"unexpected end of input expecting "\\" or "\"""#),
        (r#"or=("abc"#, 8, r#"unexpected end of input expecting "\\" or "\"""#),
        (r#""abc=eq.1"#, 5, r#"unexpected end of input expecting "\\" or "\"""#),
        ("id=in.(", 5, r#"unexpected end of input expecting "\"", "," or ")""#),
        ("select=data->a>>b", 8, r#"unexpected '>' expecting "-", "->>", "->", "::", ".", ")", "," or end of input"#),
        (r#"select=data->"a">b"#, 10, r#"unexpected '>' expecting "->>", "->", "::", ".", ")", "," or end of input"#),
        ("order=data->a:b", 8, r#"unexpected ':' expecting "-", "->>", "->", delimiter (.), "," or end of input"#),
        ("or=(data->a>.eq.1)", 11, r#"unexpected ">" expecting "-", "->>", "->" or delimiter (.)"#),
    ];
    let wrong: Vec<_> = cases
        .into_iter()
        .filter_map(|(query, column, details)| {
            let (message, found) = error(query);
            let place = format!("(line 1, column {column})");
            (!message.ends_with(&place) || found != details)
                .then(|| format!("{query}\n  {message}\n  {found}\n  {details}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rubbish_behind_a_complete_select_is_ignored() {
    let query = QueryParams::parse("select=a,b(c)'", false).unwrap();
    assert_eq!(query.select.len(), 2);
    assert!(matches!(&query.select[1].item, SelectItem::Relation { relation, .. } if relation == "b"));
    assert!(QueryParams::parse("select=((", false).unwrap().select.is_empty());
}

#[test]
fn list_element_that_only_begins_with_a_quotation_mark_is_raw() {
    let query = QueryParams::parse(r#"a=in.("x","a"b,"p,q")"#, false).unwrap();
    let Operation::In(elements) = &query.filters[0].1.operation else { panic!("no list") };
    assert_eq!(elements, &["x", "\"a\"b", "p,q"]);
}

#[test]
fn canonical_query_is_sorted_and_joined() {
    let query = QueryParams::parse("id=gt.1&select=*&id=lt.3&name=eq.Á b", false).unwrap();
    assert_eq!(query.canonical, "id=gt.1,lt.3&name=eq.%C3%83%C2%81%20b&select=%2A");
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    let deep = |levels: usize| format!("select={}id{}", "a(".repeat(levels), ")".repeat(levels));
    assert!(QueryParams::parse(&deep(60), false).is_ok());
    assert!(QueryParams::parse(&deep(5000), false).is_err());
    let deep =
        |levels: usize| format!("or={}a.eq.1{}", "(or".repeat(levels).replacen("(or", "(", 1), ")".repeat(levels));
    assert!(QueryParams::parse(&deep(5000), false).is_err());
}

#[test]
fn more_embeds_than_the_limit_are_refused() {
    let many = |count: usize| format!("select={}", vec!["a(b)"; count].join(","));
    assert!(QueryParams::parse(&many(256), false).is_ok());
    assert_eq!(QueryParams::parse(&many(257), false).unwrap_err().code, "PGRST100");
}

#[test]
fn arguments_need_no_operator() {
    let query = QueryParams::parse("a=1&b=eq.2&c=", true).unwrap();
    assert_eq!(query.arguments, [("a".to_owned(), "1".to_owned()), ("c".to_owned(), String::new())]);
    assert_eq!(query.filters.len(), 1);
}

proptest! {
    #[test]
    fn no_query_string_panics(query in ".{0,60}", is_function_read: bool) {
        let _ = QueryParams::parse(&query, is_function_read);
    }

    #[test]
    fn no_select_panics(value in r#"[a-b*:.,()!>"\\ \-{}]{0,24}"#, key in "(select|order|or|and|a\\.not\\.or|columns|on_conflict|x|a.limit)") {
        let _ = QueryParams::parse(&format!("{key}={value}"), false);
        let _ = super::media_type::MediaType::parse_accept(&value);
    }

    #[test]
    fn no_json_body_panics(text in r#"[\[\]{}":,0-9a-b\\ ]{0,24}"#) {
        let action = super::Action::Mutate {
            relation: super::QualifiedName { schema: "s".into(), name: "t".into() },
            mutation: super::Mutation::Insert,
        };
        let body = bytes::Bytes::from(text.clone());
        let result = super::body::parse(&body, &super::media_type::MediaType::Json, &QueryParams::default(), &action, 1 << 20);
        prop_assert_eq!(result.is_ok() || serde_json::from_str::<serde_json::Value>(&text).is_err()
            || result.unwrap_err().message == "All object keys must match", true);
        let _ = super::body::parse(&body, &super::media_type::MediaType::Csv, &QueryParams::default(), &action, 1 << 20);
    }
}
