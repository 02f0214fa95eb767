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
        ("A=\"b\\nc\\r\\\"d\\\\\"", "b\nc\r\"d\\"),
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
fn malformed_line_is_reported_by_number() {
    let cases = [
        ("A", "line 1 has no `=`"),
        ("A=1\nB", "line 2 has no `=`"),
        ("A=1\nB\nC=2", "line 2 has no `=`"),
        ("A=1\n\nA-B=2", "line 3 does not start with a name of letters, digits and `_`"),
        ("=1", "line 1 does not start with a name of letters, digits and `_`"),
        ("A=\"b", "line 1 opens a quote that is never closed"),
        ("A='b\\'", "line 1 opens a quote that is never closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_lines(text), Err(expected.to_owned()), "{text:?}");
    }
}

#[test]
fn json_file_is_an_object_of_strings() {
    assert_eq!(parse_json("{\"A\":\"b\"}").unwrap()["A"], "b");
    for text in ["", "[]", "{\"A\":1}", "{\"A\":null}"] {
        assert!(parse_json(text).unwrap_err().starts_with("is not a JSON object of texts"), "{text}");
    }
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
    fn arbitrary_files_never_panic(text in "(\\PC|[\n\r\t='\"#:\\\\$])*") {
        let _ = parse_lines(&text);
    }
}
