//! Optional parts of a statement, which are sent only where a request needs them.
//!
//! A trigger of a project on columns of `auth.users` (`UPDATE OF email`) fires for every statement that names the column,
//! even if the value stays. So an update names the columns that a request changes, as those of the reference do.
//!
//! Comments of SQL mark a part: `/*if email*/ email = :email, /*end*/`.
//! [`with_changed`](super::binding::BoundStatement::with_changed) leaves it out or keeps it.

use super::placeholders::Placeholder;

const START: &str = "/*if ";
const START_END: &str = "*/";
const END: &str = "/*end*/";

/// Returns the text with these optional parts and no others, and its placeholders.
///
/// The numbers of the parameters stay, so that a value of an omitted part is bound and not used.
///
/// # Panics
/// A part has no end: a defect of the statement, which `structure::statements` finds.
pub(super) fn select_parts(sql: &str, placeholders: &[Placeholder], parts: &[&str]) -> (String, Vec<Placeholder>) {
    let (mut text, mut kept) = (String::with_capacity(sql.len()), Vec::with_capacity(placeholders.len()));
    let mut copy = |from: usize, to: usize| {
        let start = text.len();
        text.push_str(&sql[from..to]);
        let inside = placeholders
            .iter()
            .filter(|placeholder| placeholder.range().start >= from && placeholder.range().end <= to);
        kept.extend(inside.map(|placeholder| placeholder.moved(from, start)));
    };
    let mut at = 0;
    while let Some(found) = sql[at..].find(START) {
        let start = at + found;
        copy(at, start);
        let name_end = start + sql[start..].find(START_END).expect("a part has a name");
        let end = start + sql[start..].find(END).expect("a part has an end");
        if parts.contains(&&sql[start + START.len()..name_end]) {
            copy(name_end + START_END.len(), end);
        }
        at = end + END.len();
    }
    copy(at, sql.len());
    (text, kept)
}

/// Returns the names of the optional parts of a text.
pub fn list_parts(sql: &str) -> Vec<&str> {
    let named = sql.split(START).skip(1);
    named.filter_map(|rest| rest.split_once(START_END)).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::placeholders::TranslationBuffer;
    use super::*;

    const SQL: &str = "UPDATE users SET /*if email*/email = :email, /*end*/\
        /*if ban*/banned_until = :until, role = :email, /*end*/updated_at = :now WHERE id = :id";

    fn select(parts: &[&str]) -> String {
        let translated = TranslationBuffer::<1_000>::translate(SQL);
        let (text, _) = translated.parts();
        let (text, placeholders) = select_parts(text, translated.placeholders(), parts);
        for placeholder in placeholders {
            assert_eq!(text[placeholder.range()], format!("${}", placeholder.parameter() + 1), "{text}");
        }
        text
    }

    #[test]
    fn statement_names_the_columns_of_its_parts() {
        assert_eq!(select(&[]), "UPDATE users SET updated_at = $3 WHERE id = $4");
        assert_eq!(select(&["email"]), "UPDATE users SET email = $1, updated_at = $3 WHERE id = $4");
        assert_eq!(
            select(&["ban", "email"]),
            "UPDATE users SET email = $1, banned_until = $2, role = $1, updated_at = $3 WHERE id = $4"
        );
        assert_eq!(list_parts(SQL), ["email", "ban"]);
    }

    proptest! {
        #[test]
        fn placeholders_stay_at_their_numbers(parts in prop::sample::subsequence(vec!["email", "ban", "other"], 0..=3)) {
            prop_assert!(!select(&parts).contains("/*"));
        }
    }
}
