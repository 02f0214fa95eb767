//! Parameters have names: no tuple in place of several, no `Option<Option<_>>`.

use super::source::{list_files, read_text, relative_path, repository_root};
use super::tokens::{code_and_comments, is_word_character};

/// Production code of the crates: path and code.
fn sources() -> Vec<(String, String)> {
    let folders = ["gotrue-rules/src", "gotrue-rs/src", "functions-rs/src", "desk/src", "server/src", "http-edge/src"];
    let all = folders.iter().flat_map(|folder| list_files(&repository_root().join(folder), &[".rs"]));
    let sources = all.map(|path| (relative_path(&path), code_and_comments(&read_text(&path)).0));
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/") || path.contains("/testing/");
    let without_tests = |code: String| code.split("mod tests {").next().unwrap_or_default().to_owned();
    sources.filter(|(path, _)| !is_test(path)).map(|(path, code)| (path, without_tests(code))).collect()
}

/// The names of the functions in which a parameter is a tuple.
fn functions_with_tuples(code: &str) -> Vec<&str> {
    let starts = code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(is_word_character));
    let has_tuple = |(at, _): (usize, &str)| {
        let rest = code[at + 3..].trim_start();
        let name = &rest[..rest.find(|it: char| !is_word_character(it))?];
        let parameters = parameter_list(&rest[name.len()..])?;
        split_parameters(parameters).iter().any(|it| is_tuple(it)).then_some(name)
    };
    starts.filter_map(has_tuple).collect()
}

/// The text between the parentheses after a function's name and its generic parameters.
fn parameter_list(text: &str) -> Option<&str> {
    let mut angles = 0_i32;
    let start = text.char_indices().find_map(|(at, it)| {
        match it {
            '<' => angles += 1,
            '>' if !text[..at].ends_with('-') => angles -= 1,
            '(' if angles == 0 => return Some(at + 1),
            _ => {}
        }
        None
    })?;
    let mut depth = 1;
    let end = text[start..].char_indices().find_map(|(at, it)| {
        depth += i32::from(it == '(') - i32::from(it == ')');
        (depth == 0).then_some(start + at)
    })?;
    Some(&text[start..end])
}

/// Splits a parameter list at its outer commas.
fn split_parameters(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parameters) = (0_i32, 0, Vec::new());
    for (at, it) in list.char_indices() {
        match it {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !list[..at].ends_with('-') => depth -= 1,
            ',' if depth == 0 => {
                parameters.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parameters.push(&list[start..]);
    parameters
}

/// Whether a parameter's type is a tuple of two or more, or a reference to one.
fn is_tuple(parameter: &str) -> bool {
    let Some((_, kind)) = split_type(parameter) else { return false };
    let kind = kind.trim().trim_start_matches('&').trim_start();
    let kind = match kind.strip_prefix('\'') {
        Some(lifetime) => lifetime.trim_start_matches(is_word_character).trim_start(),
        None => kind,
    };
    let kind = kind.trim_start_matches("mut ").trim_start();
    kind.strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|inner| split_parameters(inner).len() > 1)
}

/// Pattern and type of a parameter.
fn split_type(parameter: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    let at = parameter.char_indices().find_map(|(at, it)| {
        depth += i32::from(matches!(it, '(' | '{' | '[')) - i32::from(matches!(it, ')' | '}' | ']'));
        let is_path = parameter[at + it.len_utf8()..].starts_with(':') || parameter[..at].ends_with(':');
        (it == ':' && depth == 0 && !is_path).then_some(at)
    })?;
    Some((&parameter[..at], &parameter[at + 1..]))
}

#[test]
fn no_parameter_is_a_tuple() {
    let found: Vec<(String, String)> = sources()
        .iter()
        .flat_map(|(path, code)| functions_with_tuples(code).into_iter().map(|name| (path.clone(), name.to_owned())))
        .collect();
    assert!(found.is_empty(), "name what these functions take, in a struct: {found:?}");
}

#[test]
fn no_option_is_nested() {
    let nested = |code: &str| code.split_whitespace().collect::<String>().contains("Option<Option<");
    let found: Vec<String> = sources().into_iter().filter(|(_, code)| nested(code)).map(|(path, _)| path).collect();
    assert!(found.is_empty(), "an enum names what each level of Option<Option<_>> means: {found:?}");
}

#[test]
fn tuples_are_found_in_every_form() {
    for tuple in [
        "fn f((a, b): (A, B)) {}",
        "pub async fn f<'a>(\n    x: &'a [(A, B)],\n    (a, b): (&A, &[(B, C)]),\n) -> (A, B) {}",
        "fn f(&self, pair: &(A, B)) {}",
        "fn f(pair: &'a mut (A, B)) {}",
        "fn f<F: Fn(A) -> B>(call: F, pair: (A, B)) {}",
    ] {
        assert_eq!(functions_with_tuples(tuple), ["f"], "{tuple}");
    }
    for named in [
        "fn f(a: A, b: &[(A, B)], c: Vec<(A, B)>) -> (A, B) {}",
        "fn f(call: impl Fn((A, B)) -> C, unit: ()) {}",
        "fn f(S { a, b }: S<'_>, dynamic: &(dyn Error + 'static)) {}",
        "fn f<T: From<(A, B)>>(T(a): T, path: a::B) {}",
    ] {
        assert_eq!(functions_with_tuples(named), [""; 0], "{named}");
    }
}
