//! Translation of named placeholders, and the order of bound values.

use gotrue_rs::testing::clone_migrated;
use platform::store::placeholders::TranslationBuffer;
use platform::store::{Connection, Statement};
use platform::{bind, statement};
use proptest::prelude::*;

/// Translates a text that is known at run time.
fn translate(sql: &str) -> (String, Vec<&'static str>) {
    // Statements are constants; a test may leak a few.
    let draft = TranslationBuffer::<4096>::translate(Box::leak(sql.into()));
    let (text, parameters) = draft.parts();
    (text.to_owned(), parameters.to_vec())
}

fn text(sql: &str) -> String {
    translate(sql).0
}

#[test]
fn parameters_are_numbered_by_first_appearance() {
    let (text, parameters) = translate("SELECT :b, :a WHERE x = :b AND y < :c_2");
    assert_eq!(text, "SELECT $1, $2 WHERE x = $1 AND y < $3");
    assert_eq!(parameters, ["b", "a", "c_2"]);
}

#[test]
fn more_than_nine_parameters_have_two_digits() {
    let names: Vec<String> = (1..=12).map(|number| format!(":p{number}")).collect();
    let (text, parameters) = translate(&names.join(","));
    assert_eq!(text, "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12");
    assert_eq!(parameters.len(), 12);
}

#[test]
fn name_that_starts_like_another_is_a_parameter_of_its_own() {
    let (text, parameters) = translate(":id,:id_2,:i,:id");
    assert_eq!(text, "$1,$2,$3,$1");
    assert_eq!(parameters, ["id", "id_2", "i"]);
}

#[test]
fn casts_are_no_placeholders() {
    assert_eq!(
        text("SELECT :at::timestamptz, x::text, ARRAY[:a]::uuid[], '1'::int"),
        "SELECT $1::timestamptz, x::text, ARRAY[$2]::uuid[], '1'::int"
    );
}

#[test]
fn quoted_text_and_identifiers_are_copied() {
    let copied =
        ["SELECT 'a :b', 'it''s :c', '\": :d'", "SELECT \":e\", \"f':g\"", "SELECT 'Größe :h ✓'", "SELECT '$1'"];
    for sql in copied {
        assert_eq!(translate(sql), (sql.to_owned(), Vec::new()));
    }
    assert_eq!(text("SELECT 'a' || :b || 'c :d'"), "SELECT 'a' || $1 || 'c :d'");
}

#[test]
fn comments_are_copied() {
    assert_eq!(text("SELECT 1 -- it's :a\n, :b"), "SELECT 1 -- it's :a\n, $1");
    assert_eq!(text("SELECT /* :a /* 'b */ :c */ :d"), "SELECT /* :a /* 'b */ :c */ $1");
}

#[test]
fn indentation_of_lines_is_left_out() {
    assert_eq!(text("SELECT 1, -- a\n       :a\n  FROM  b"), "SELECT 1, -- a\n$1\nFROM  b");
    let copied = ["SELECT 'a\n  b'", "SELECT \"a\n  b\"", "SELECT /* a\n  b */ 1"];
    for sql in copied {
        assert_eq!(text(sql), sql);
    }
}

#[test]
fn array_slices_are_copied() {
    assert_eq!(text("SELECT a[1:2], a[n:m], a[f(x):m], :m"), "SELECT a[1:2], a[n:m], a[f(x):m], $1");
}

#[test]
fn unsupported_text_is_refused() {
    let refused = ["SELECT $1", "SELECT 'a", "SELECT \"a", "SELECT 1 /* a", "SELECT E'a\\''", "SELECT $$ :a $$"];
    for sql in refused {
        assert!(std::panic::catch_unwind(|| translate(sql)).is_err(), "{sql}");
    }
    assert_eq!(text("SELECT DATE'2026-01-01', :a"), "SELECT DATE'2026-01-01', $1");
}

#[tokio::test]
async fn values_are_sent_by_name_in_any_order() {
    const PAIR: Statement = statement!("tests.pair": "SELECT :first::text, :second::int, :first::text || 'x'");
    assert_eq!(PAIR.parameters(), ["first", "second"]);
    let database = clone_migrated().await;
    let mut db = Connection::pooled(database.auth_pool(), std::sync::Arc::default());
    let first = "a";
    for bound in [bind!(PAIR, first, second: 2), bind!(PAIR, second: 2, first)] {
        assert_eq!(format!("{bound:?}"), "BoundStatement { name: \"tests.pair\", .. }");
        let row: (String, i32, String) = db.fetch_one(bound).await.expect("a row");
        assert_eq!(row, ("a".to_owned(), 2, "ax".to_owned()));
    }
}

/// Parts of SQL: the source, and the name of the parameter if it is a placeholder.
fn part() -> impl Strategy<Value = (String, Option<String>)> {
    let copied = prop_oneof![
        "[A-Z]{1,6}",
        "'[a-z: $\"é-]{0,8}'",
        "\"[a-z: ']{1,8}\"",
        "--[ -~é]{0,8}\n",
        "a\\[1:[a-z]\\]",
        "x::[a-z]{1,4}",
        "[(),=<>|]",
        "/\\*[a-z: ']{0,8}\\*/"
    ];
    let name = "[a-d]{1,2}";
    prop_oneof![copied.prop_map(|sql| (sql, None)), name.prop_map(|name| (format!(":{name}"), Some(name)))]
}

proptest! {
    #[test]
    fn placeholders_alone_are_translated(parts in prop::collection::vec(part(), 0..40)) {
        let (mut names, mut expected): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (sql, name) in &parts {
            expected.push(name.as_ref().map_or(sql.clone(), |name| {
                let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                });
                format!("${}", index + 1)
            }));
        }
        let sql: Vec<&str> = parts.iter().map(|(sql, _)| sql.as_str()).collect();
        let (text, parameters) = translate(&sql.join(" "));
        // Each line of comment ends before a space.
        prop_assert_eq!(text, expected.join(" ").replace("\n ", "\n"));
        prop_assert_eq!(parameters, names);
    }
}
