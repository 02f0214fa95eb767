//! Separates the code of a Rust source from its comments and literals.

/// Whether an identifier may contain this character.
pub fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[derive(PartialEq, Eq)]
enum Token {
    Code,
    Comment,
    Literal,
}

/// The code and the comments of a source, each with everything but line breaks blanked out.
pub fn code_and_comments(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let (mut rest, mut previous) = (text, ' ');
    while !rest.is_empty() {
        let (token, length) = next_token(rest, previous);
        let (part, after) = rest.split_at(length);
        for character in part.chars() {
            let blank = if character == '\n' { '\n' } else { ' ' };
            code.push(if token == Token::Code { character } else { blank });
            comments.push(if token == Token::Comment { character } else { blank });
            previous = character;
        }
        rest = after;
    }
    (code, comments)
}

/// The string literals of a source: line number and text between the quotation marks.
pub fn string_literals(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut line) = (Vec::new(), 1);
    let (mut rest, mut previous) = (text, ' ');
    while !rest.is_empty() {
        let (token, length) = next_token(rest, previous);
        let (part, after) = rest.split_at(length);
        let quoted = part.trim_start_matches(['b', 'c', 'r']).trim_matches('#');
        let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        if let Some(inner) = inner.filter(|_| token == Token::Literal) {
            found.push((line, inner));
        }
        line += part.matches('\n').count();
        previous = part.chars().next_back().unwrap_or(previous);
        rest = after;
    }
    found
}

/// The kind and the length of the token that `text` starts with.
fn next_token(text: &str, previous: char) -> (Token, usize) {
    let literal = match text.as_bytes() {
        [b'/', b'/', ..] => return (Token::Comment, text.find('\n').unwrap_or(text.len())),
        [b'/', b'*', ..] => return (Token::Comment, block_comment(text)),
        [b'"', ..] => Some(string(text)),
        [b'\'', ..] => character(text),
        [b'b' | b'c' | b'r', ..] if !is_word_character(previous) => raw_string(text),
        _ => None,
    };
    let code = (Token::Code, text.chars().next().map_or(1, char::len_utf8));
    literal.map_or(code, |length| (Token::Literal, length))
}

/// The length of a comment, with the comments inside it.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string literal with its quotation marks.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw string literal, if one starts here.
fn raw_string(text: &str) -> Option<usize> {
    let start = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let body = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + length)
}

/// The length of a character literal; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inside = &text[1..];
    if let Some(escape) = inside.strip_prefix('\\') {
        let escaped = escape.chars().next()?.len_utf8();
        return escape[escaped..].find('\'').map(|at| 2 + escaped + at + 1);
    }
    let length = inside.chars().next()?.len_utf8();
    inside[length..].starts_with('\'').then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_separated_from_code() {
        let (code, comments) =
            code_and_comments("let a = \"// b\"; // c 'd\nr#\"e\"f\"#; 'g: '\\''; '\"' /* h /* i */ j */ k\n");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["let", "a", "=", ";", ";", "'g:", ";", "k"]);
        assert_eq!(comments.split_whitespace().collect::<Vec<_>>().join(" "), "// c 'd /* h /* i */ j */");
        assert_eq!((code.lines().count(), comments.lines().count()), (2, 2));
    }

    #[test]
    fn string_literals_are_found_with_their_lines() {
        let found = string_literals("// \"a\"\nlet b = \"b\";\nr#\"c\"#, b\"d\", '\"', \"\"; /* \"e\" */");
        assert_eq!(found, [(2, "b"), (3, "c"), (3, "d"), (3, "")]);
    }
}
