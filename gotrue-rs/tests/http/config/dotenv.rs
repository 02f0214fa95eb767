//! Files of environment variables.

use std::collections::BTreeMap;

use gotrue_rs::config::dotenv::{parse_json, parse_lines};
use proptest::prelude::*;

fn one(text: &str) -> String {
    let mut variables = parse_lines(text).expect("the lines are good");
    assert_eq!(variables.len(), 1, "{text}: {variables:?}");
    variables.remove("A").expect("A is there")
}

#[test]
fn line_sets_a_variable() {
    let cases = [
        ("A=b", "b"),
        ("A=", ""),
        ("A= b c ", "b c"),
        ("  A =b", "b"),
        ("A: b", "b"),
        ("export A=b", "b"),
        ("export\tA=b", "b"),
        ("A=b # comment", "b"),
        ("A=b#c", "b#c"),
        ("A=#b", "#b"),
        ("A='b # c'", "b # c"),
        ("A='b' # c", "b"),
        ("A=\"b # c\" # d", "b # c"),
        ("A=b # c # d", "b # c"),
        ("A=b#c #", "b#c"),
        ("A= # b", "# b"),
        ("A=\u{2003}b", "\u{2003}b"),
        ("A=\"b\\nc\\r\\\"d\\\\e\"", "b\nc\r\"d\\e"),
        ("A=\"\\\"b\"", "\"b"),
        ("A=\"b\\\"\"", "b\\"),
        ("A='b\\''", "b\\"),
        ("A=\"b\\\nc\"", "b\nc"),
        ("A=\"\\\\\\$b\"", "\\$b"),
        ("A='b\\nc'", "b\\nc"),
        ("A='it\\'s'", "it\\'s"),
        ("A=\"b\nc\"", "b\nc"),
        ("A=b=c:d", "b=c:d"),
        ("A=\\$b $c", "$b $c"),
        ("A=\"\\$b\"", "$b"),
        ("# A=a\nA=b\n# end", "b"),
        ("A=a\r\nA=b\r\n", "b"),
        ("A=é\u{a0}", "é"),
    ];
    for (text, expected) in cases {
        assert_eq!(one(text), expected, "{text:?}");
    }
}

#[test]
fn lines_are_independent() {
    let variables = parse_lines("A=1\n\nB='2\n3'\nC.d_4=\nexport=5\n").unwrap();
    let expected = [("A", "1"), ("B", "2\n3"), ("C.d_4", ""), ("export", "5")];
    assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
}

#[test]
fn name_may_contain_blanks_and_an_empty_one_is_ignored() {
    let names = |text: &str| parse_lines(text).map(|variables| variables.into_keys().collect::<Vec<_>>());
    let cases = [
        ("A B\t=1", &["A B"][..]),
        ("=1", &[]),
        (":1\nA=1", &["A"]),
        ("A", &[]),
        ("A=1\nB c", &["A"]),
        ("à=1", &["à"]),
    ];
    for (text, expected) in cases {
        assert_eq!(names(text), Ok(expected.iter().map(|&name| name.to_owned()).collect()), "{text:?}");
    }
}

#[test]
fn malformed_line_is_reported_by_number() {
    let cases = [
        ("A\n", "line 1 has no `=`"),
        ("A=1\nB\nC=2", "line 2 has no `=`"),
        ("A=1\n\nA-B=2", "line 3 does not start with a name of letters, digits and `_`"),
        ("é=1", "line 1 does not start with a name of letters, digits and `_`"),
        ("export ", "line 1 does not start with a name of letters, digits and `_`"),
        ("A='''", "line 1 does not start with a name of letters, digits and `_`"),
        ("A=\"b", "line 1 opens a quote that is never closed"),
        ("A='b\\'", "line 1 opens a quote that is never closed"),
        ("A=\"b\\\\\"", "line 1 opens a quote that is never closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_lines(text), Err(expected.to_owned()), "{text:?}");
    }
}

#[test]
fn json_file_is_an_object_of_strings() {
    assert_eq!(parse_json("{\"A\":\"b\"}").unwrap()["A"], "b");
    for text in ["", "[]", "{\"A\":1}"] {
        assert!(parse_json(text).unwrap_err().starts_with("is not a JSON object of texts"), "{text}");
    }
}

#[test]
fn null_in_a_json_file_is_empty() {
    assert_eq!(parse_json("{\"A\":\"a\",\"B\":null}").unwrap()["B"], "");
    assert_eq!(parse_json("null"), Ok(BTreeMap::new()));
}

proptest! {
    #[test]
    fn quoted_values_round_trip(variables in proptest::collection::btree_map("[A-Z][A-Z0-9_]{0,8}", "[^'\\\\\r]*", 0..6)) {
        let lines: Vec<_> = variables.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
        let text = lines.join("\n");
        let read: BTreeMap<String, String> = parse_lines(&text).unwrap();
        prop_assert_eq!(read, variables);
    }

    #[test]
    fn values_in_double_quotes_round_trip(value in "([\\PC\n\r\"\\\\$]*[^\"\\\\])?") {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
        let text = format!("A=\"{}\"", escaped.replace('\n', "\\n").replace('\r', "\\r"));
        prop_assert_eq!(one(&text), value);
    }

    #[test]
    fn unquoted_values_end_at_the_last_comment(value in "[a-z]([a-z# '\"]{0,8}[a-z])?", comment in "[a-z '\"=]{0,8}") {
        prop_assert_eq!(one(&format!("A={value} #{comment}\n# B=2")), value);
    }

    #[test]
    fn arbitrary_files_never_panic(text in "(\\PC|[\n\r\t='\"#:\\\\$])*") {
        let _ = parse_lines(&text);
    }
}
