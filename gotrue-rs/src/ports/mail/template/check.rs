//! What is wrong with an operator's text, told by line before the first mail needs it: what does not parse, variables
//! and functions that do not exist, markup in which values cannot be escaped. What only some data would bring up is not.

use std::collections::BTreeMap;

use gotmpl::TemplateError;
use gotmpl::html::Template;
use gotmpl::parse::{BranchNode, DefineNode, Expr, ListNode, Node, Parser, PipeNode, TemplateNode};
use gotrue_rules::domain::policy::MailKind;

use super::values::{self, Variables};

/// Something about a text that is not what its author thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where, from 1; 0 when that cannot be told.
    pub line: usize,
    /// What, as a sentence without full stop.
    pub text: String,
    /// Whether the mail would be wrong or could not be written; otherwise it is only odd.
    pub is_mistake: bool,
}

/// Functions that every template has.
const FUNCTIONS: [&str; 18] = [
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print", "printf",
    "println", "slice",
];
/// Also a function.
const URL_QUERY: &str = "urlquery";

/// What is said of a text whose blocks are not closed, each once.
pub const UNBALANCED: &str = "there is an {{ end }} too few or too many";

/// Everything that can be said about a subject or body of this kind, by line.
pub fn findings(kind: MailKind, text: &str) -> Vec<Finding> {
    let mut found = match Parser::new(text, "{{", "}}").and_then(Parser::parse) {
        Err(error) => vec![of_error(error)],
        Ok(_) if !is_balanced(text) => {
            vec![Finding { line: text.lines().count(), text: UNBALANCED.to_owned(), is_mistake: true }]
        }
        Ok((tree, defines)) => {
            let mut walk = Walk::new(kind, defines);
            walk.list(&tree, Dot::Mail);
            walk.called();
            walk.found
        }
    };
    if !found.iter().any(|finding| finding.is_mistake) {
        found.extend(unescapable(text));
    }
    found.sort_by(|a, b| (a.line, &a.text).cmp(&(b.line, &b.text)));
    found.dedup();
    found
}

/// Whether the body of a mail with a secret holds none: then the mail asks for something that nobody can do.
pub fn lacks_secret(kind: MailKind, body: &str) -> bool {
    let has = |name: &str| body.contains(name);
    !kind.is_notification() && !has(".Token") && !has(".TokenHash") && !has(".ConfirmationURL")
}

/// Whether the blocks of a text that parses are closed, each once. The library takes what Go does not: an `{{ end }}` too
/// few or too many. So whatever follows such a text is not read where it belongs.
pub fn is_balanced(text: &str) -> bool {
    const MARK: &str = "\u{2}the end\u{3}";
    let followed = format!("{text}{MARK}");
    let tree = Parser::new(&followed, "{{", "}}").and_then(Parser::parse);
    tree.is_ok_and(|(tree, _)| matches!(tree.nodes.last(), Some(Node::Text(last)) if last.text.ends_with(MARK)))
}

fn of_error(error: TemplateError) -> Finding {
    let (line, text) = match error {
        TemplateError::Parse { line, message, .. } | TemplateError::Lex { line, message, .. } => (line, message),
        TemplateError::Escape { line, description, .. } => (line, description),
        other => (0, other.to_string()),
    };
    Finding { line, text, is_mistake: true }
}

/// Values are escaped for the place they stand in; where that place cannot be told, no mail can be written.
fn unescapable(text: &str) -> Option<Finding> {
    let template = match Template::new("mail").parse(text) {
        Ok(template) => template,
        Err(error) => return Some(of_error(error)),
    };
    match template.execute_to_string(&values::of(&Variables::default(), "")) {
        Err(error @ TemplateError::Escape { .. }) => Some(of_error(error)),
        _ => None,
    }
}

/// What `.` is at some place; `$` always is the values of the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dot {
    /// The values of the mail.
    Mail,
    /// Something else: nothing is known of its members.
    Other,
}

struct Walk {
    kind: MailKind,
    defines: BTreeMap<String, ListNode>,
    /// Templates that are called with the values of the mail, and whether that was looked at.
    calls: BTreeMap<String, bool>,
    found: Vec<Finding>,
}

impl Walk {
    fn new(kind: MailKind, defines: Vec<DefineNode>) -> Self {
        let defines = defines.into_iter().map(|define| (define.name.to_string(), define.body)).collect();
        Self { kind, defines, calls: BTreeMap::new(), found: Vec::new() }
    }

    /// Templates that are called with the values of the mail, each once.
    fn called(&mut self) {
        while let Some((name, seen)) = self.calls.iter_mut().find(|(_, seen)| !**seen) {
            *seen = true;
            if let Some(body) = self.defines.get(name).cloned() {
                self.list(&body, Dot::Mail);
            }
        }
    }

    fn list(&mut self, list: &ListNode, dot: Dot) {
        for node in &list.nodes {
            match node {
                Node::List(inner) => self.list(inner, dot),
                Node::Action(action) => self.pipe(&action.pipe, dot),
                Node::If(branch) => self.branch(branch, dot, dot),
                Node::Range(branch) => self.branch(branch, dot, Dot::Other),
                Node::With(branch) => self.branch(branch, dot, passed_on(&branch.pipe, dot)),
                Node::Template(call) => self.call(call, dot),
                Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => {}
            }
        }
    }

    fn branch(&mut self, branch: &BranchNode, dot: Dot, inside: Dot) {
        self.pipe(&branch.pipe, dot);
        self.list(&branch.body, inside);
        if let Some(other) = &branch.else_body {
            self.list(other, dot);
        }
    }

    fn call(&mut self, call: &TemplateNode, dot: Dot) {
        if !self.defines.contains_key(call.name.as_str()) {
            self.mistake(call.pos.line, format!("no template is defined under the name {:?}", call.name.as_str()));
        }
        let Some(pipe) = &call.pipe else { return };
        self.pipe(pipe, dot);
        if passed_on(pipe, dot) == Dot::Mail {
            self.calls.entry(call.name.to_string()).or_default();
        }
    }

    fn pipe(&mut self, pipe: &PipeNode, dot: Dot) {
        for expression in pipe.commands.iter().flat_map(|command| &command.args) {
            self.expression(expression, dot);
        }
    }

    fn expression(&mut self, expression: &Expr, dot: Dot) {
        let line = expression.pos().line;
        match expression {
            Expr::Field(_, names) if dot == Dot::Mail => self.variable(line, names.first().map(AsRef::as_ref)),
            Expr::Variable(_, name, names) if name.as_str() == "$" => {
                self.variable(line, names.first().map(AsRef::as_ref));
            }
            Expr::Identifier(_, name) => {
                let name = name.as_str();
                if !FUNCTIONS.contains(&name) && name != URL_QUERY {
                    self.mistake(line, format!("unknown function {name}"));
                }
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe, dot),
            Expr::Chain(_, inner, _) => self.expression(inner, dot),
            _ => {}
        }
    }

    fn variable(&mut self, line: usize, name: Option<&str>) {
        let Some(name) = name else { return };
        let known = values::names(self.kind);
        if known.contains(&name) {
            return;
        }
        let known: Vec<String> = known.iter().map(|name| format!(".{name}")).collect();
        let known = known.join(", ");
        if MailKind::ALL.into_iter().any(|kind| values::names(kind).contains(&name)) {
            let text = format!(".{name} is always empty in this mail; known are {known}");
            self.found.push(Finding { line, text, is_mistake: false });
        } else {
            self.mistake(line, format!("unknown variable .{name}; known are {known}"));
        }
    }

    fn mistake(&mut self, line: usize, text: String) {
        self.found.push(Finding { line, text, is_mistake: true });
    }
}

/// What `.` becomes where this pipeline is passed on.
fn passed_on(pipe: &PipeNode, dot: Dot) -> Dot {
    match pipe.commands.as_slice() {
        [command] => match command.args.as_slice() {
            [Expr::Dot(_)] => dot,
            [Expr::Variable(_, name, names)] if name.as_str() == "$" && names.is_empty() => dot,
            _ => Dot::Other,
        },
        _ => Dot::Other,
    }
}
