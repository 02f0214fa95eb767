//! Whether a text is a Go template: what Go finds out when it parses one, our library only when it fills it in.

use gotmpl::parse::{BranchNode, Expr, ListNode, Node, Parser, PipeNode};

/// Functions that every template has.
const FUNCTIONS: [&str; 19] = [
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print", "printf",
    "println", "slice", "urlquery",
];

/// Why Go would not take the text for a template, if it would not: what does not parse, a block that is not closed or
/// closed twice, a function or variable that there is not.
pub fn refusal(text: &str) -> Option<String> {
    let (tree, defines) = match Parser::new(text, "{{", "}}").and_then(Parser::parse) {
        Ok(parsed) => parsed,
        Err(error) => return Some(error.to_string()),
    };
    if !is_balanced(text) {
        return Some("an {{end}} is missing or one too many".to_owned());
    }
    let mut names = Names { declared: vec!["$".to_owned()], unknown: None };
    names.list(&tree, false);
    for define in &defines {
        names.list(&define.body, false);
    }
    names.unknown
}

/// The names that a text uses.
struct Names {
    declared: Vec<String>,
    /// What is said of the first that there is not.
    unknown: Option<String>,
}

impl Names {
    fn list(&mut self, list: &ListNode, in_range: bool) {
        for node in &list.nodes {
            match node {
                Node::List(inner) => self.list(inner, in_range),
                Node::Action(action) => self.pipe(&action.pipe),
                Node::If(branch) | Node::With(branch) => self.branch(branch, in_range),
                Node::Range(branch) => self.branch(branch, true),
                Node::Template(call) => call.pipe.iter().for_each(|pipe| self.pipe(pipe)),
                Node::Break(_) | Node::Continue(_) if !in_range => {
                    self.tell("{{break}} or {{continue}} outside {{range}}");
                }
                Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => {}
            }
        }
    }

    fn branch(&mut self, branch: &BranchNode, in_range: bool) {
        self.pipe(&branch.pipe);
        self.list(&branch.body, in_range);
        if let Some(other) = &branch.else_body {
            self.list(other, in_range);
        }
    }

    fn pipe(&mut self, pipe: &PipeNode) {
        if !pipe.is_assign {
            self.declared.extend(pipe.decl.iter().map(ToString::to_string));
        }
        for expression in pipe.commands.iter().flat_map(|command| &command.args) {
            self.expression(expression);
        }
    }

    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Variable(_, name, _) if !self.declared.iter().any(|known| known == name.as_str()) => {
                self.tell(&format!("undefined variable {name:?}"));
            }
            Expr::Identifier(_, name) if !FUNCTIONS.contains(&name.as_str()) => {
                self.tell(&format!("function {name:?} not defined"));
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe),
            Expr::Chain(_, inner, _) => self.expression(inner),
            _ => {}
        }
    }

    fn tell(&mut self, what: &str) {
        self.unknown.get_or_insert_with(|| what.to_owned());
    }
}

/// Whether the blocks of a text that parses are closed, each once: what follows such a text stays a text of its own.
fn is_balanced(text: &str) -> bool {
    const MARK: &str = "\u{2}the end\u{3}";
    let followed = format!("{text}{MARK}");
    let tree = Parser::new(&followed, "{{", "}}").and_then(Parser::parse);
    tree.is_ok_and(|(tree, _)| matches!(tree.nodes.last(), Some(Node::Text(last)) if last.text.ends_with(MARK)))
}
