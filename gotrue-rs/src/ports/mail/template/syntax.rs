//! The language of Go templates: its functions, and the balance of its blocks.

use gotmpl::parse::{Node, Parser};

/// Functions of every template.
const FUNCTIONS: [&str; 19] = [
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print", "printf",
    "println", "slice", "urlquery",
];

/// Whether every template has this function.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Whether a function makes one text of several values.
pub(super) fn joins_values(name: &str) -> bool {
    matches!(name, "html" | "js" | "urlquery") || name.starts_with("print")
}

/// Whether the blocks of a parsed text are balanced.
///
/// The library accepts a missing or surplus `{{ end }}`, which Go rejects and which would change the meaning of any
/// text that follows.
pub fn is_balanced(text: &str) -> bool {
    const END_MARKER: &str = "\u{2}the end\u{3}";
    let followed = format!("{text}{END_MARKER}");
    let tree = Parser::new(&followed, "{{", "}}").and_then(Parser::parse);
    tree.is_ok_and(|(tree, _)| matches!(tree.nodes.last(), Some(Node::Text(last)) if last.text.ends_with(END_MARKER)))
}
