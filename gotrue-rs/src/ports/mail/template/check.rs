//! Static checks of configured templates, reported by line before they are used.
//!
//! They find syntax errors, unknown variables and functions, and markup in which values cannot be escaped. Errors that
//! depend on data are not found.

use std::collections::BTreeMap;

use gotmpl::TemplateError;
use gotmpl::html::Template;
use gotmpl::parse::{BranchNode, DefineNode, Expr, ListNode, Node, Parser, PipeNode, TemplateNode};
use gotrue_rules::domain::policy::MailKind;

use super::limits::{self, RenderError};
use super::syntax::{is_balanced, is_function};
use super::values::{self, TemplateVariables};

/// A problem in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line from 1; 0 if unknown.
    pub line: usize,
    /// The problem, as a sentence without full stop.
    pub text: String,
    /// Whether the mail would be wrong or fail; otherwise it is a warning.
    pub is_error: bool,
    /// Whether the text is refused when it is parsed, as by Go; a wrong variable of the mail is not.
    pub is_refused: bool,
}

/// The finding for a text with unbalanced blocks.
pub const UNBALANCED: &str = "there is an {{ end }} too few or too many";

/// Returns all problems of a subject or body of this kind, by line.
pub fn find_problems(kind: MailKind, text: &str) -> Vec<Finding> {
    let mut found = match Parser::new(text, "{{", "}}").and_then(Parser::parse) {
        Err(error) => vec![finding_of_error(error)],
        Ok(_) if !is_balanced(text) => {
            let line = text.lines().count();
            vec![Finding { line, text: UNBALANCED.to_owned(), is_error: true, is_refused: true }]
        }
        Ok((tree, defines)) => {
            let mut walk = TemplateChecker::new(kind, defines);
            walk.list(&tree, Dot::Mail);
            walk.check_called();
            walk.check_definitions(&tree);
            walk.found
        }
    };
    if !found.iter().any(|finding| finding.is_error) {
        found.extend(find_unescapable(text));
    }
    found.sort_by(|a, b| (a.line, &a.text).cmp(&(b.line, &b.text)));
    found.dedup();
    found
}

/// Whether the body of a mail with a code or link contains neither.
///
/// The recipient could not act on such a mail.
pub fn lacks_secret(kind: MailKind, body: &str) -> bool {
    let has = |name: &str| body.contains(name);
    !kind.is_notification() && !has(".Token") && !has(".TokenHash") && !has(".ConfirmationURL")
}

fn finding_of_error(error: TemplateError) -> Finding {
    let (line, text) = match error {
        TemplateError::Parse { line, message, .. } | TemplateError::Lex { line, message, .. } => (line, message),
        TemplateError::Escape { line, description, .. } => (line, description),
        other => (0, other.to_string()),
    };
    Finding { line, text, is_error: true, is_refused: true }
}

/// Returns why a text cannot be used as a template: what Go refuses when it parses it, and what exceeds the limits of work.
pub(super) fn find_refusal(kind: MailKind, text: &str) -> Option<Finding> {
    find_problems(kind, text).into_iter().find(|finding| finding.is_refused)
}

/// Values are escaped by context; a context that cannot be determined makes the mail fail.
fn find_unescapable(text: &str) -> Option<Finding> {
    let template = match Template::new("mail").max_range_iters(limits::MAX_ITERATIONS).parse(text) {
        Ok(template) => template,
        Err(error) => return Some(finding_of_error(error)),
    };
    let rendered = limits::render(
        &template,
        &values::to_value(&TemplateVariables::sample(), "https://example.com", Some("example.com")),
    );
    match rendered {
        Err(RenderError::Template(error @ TemplateError::Escape { .. })) => Some(finding_of_error(error)),
        Err(RenderError::Limit(reason)) => {
            Some(Finding { line: 0, text: reason.to_owned(), is_error: true, is_refused: true })
        }
        // Other errors depend on the data of a mail.
        Err(RenderError::Template(_)) | Ok(_) => None,
    }
}

/// The value of `.` at some point; `$` always is the mail's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dot {
    /// The mail's variables.
    Mail,
    /// Another value, whose members are unknown.
    Other,
}

struct TemplateChecker {
    kind: MailKind,
    defines: BTreeMap<String, ListNode>,
    /// Templates called with the mail's variables, and whether they were checked.
    calls: BTreeMap<String, bool>,
    found: Vec<Finding>,
}

impl TemplateChecker {
    fn new(kind: MailKind, defines: Vec<DefineNode>) -> Self {
        let defines = defines.into_iter().map(|define| (define.name.to_string(), define.body)).collect();
        Self { kind, defines, calls: BTreeMap::new(), found: Vec::new() }
    }

    /// Checks the templates called with the mail's variables, each once.
    fn check_called(&mut self) {
        while let Some((name, seen)) = self.calls.iter_mut().find(|(_, seen)| !**seen) {
            *seen = true;
            if let Some(body) = self.defines.get(name).cloned() {
                self.list(&body, Dot::Mail);
            }
        }
    }

    /// Checks what Go checks when it parses a text, and that the work is limited.
    fn check_definitions(&mut self, tree: &ListNode) {
        let mut found = Vec::new();
        for body in self.defines.values().chain([tree]) {
            VariableScopes { names: vec!["$".to_owned()], found: &mut found }.list(body);
        }
        self.found.extend(found);
        if let Err(text) = limits::require_limited_work(tree, &self.defines) {
            self.found.push(Finding { line: 0, text, is_error: true, is_refused: true });
        }
    }

    fn list(&mut self, list: &ListNode, dot: Dot) {
        for node in &list.nodes {
            match node {
                Node::List(inner) => self.list(inner, dot),
                Node::Action(action) => self.pipe(&action.pipe, dot),
                Node::If(branch) => self.branch(branch, dot, dot),
                Node::Range(branch) => self.branch(branch, dot, Dot::Other),
                Node::With(branch) => self.branch(branch, dot, find_argument_dot(&branch.pipe, dot)),
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
            self.add_error(call.pos.line, format!("no template is defined under the name {:?}", call.name.as_str()));
        }
        let Some(pipe) = &call.pipe else { return };
        self.pipe(pipe, dot);
        if find_argument_dot(pipe, dot) == Dot::Mail {
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
            Expr::Pipe(_, pipe) => self.pipe(pipe, dot),
            Expr::Chain(_, inner, _) => self.expression(inner, dot),
            _ => {}
        }
    }

    fn variable(&mut self, line: usize, name: Option<&str>) {
        let Some(name) = name else { return };
        let known = values::list_variables(self.kind);
        if known.contains(&name) {
            return;
        }
        let known: Vec<String> = known.iter().map(|name| format!(".{name}")).collect();
        let known = known.join(", ");
        if MailKind::ALL.into_iter().any(|kind| values::list_variables(kind).contains(&name)) {
            let text = format!(".{name} is always empty in this mail; known are {known}");
            self.found.push(Finding { line, text, is_error: false, is_refused: false });
        } else {
            self.add_error(line, format!("unknown variable .{name}; known are {known}"));
        }
    }

    fn add_error(&mut self, line: usize, text: String) {
        self.found.push(Finding { line, text, is_error: true, is_refused: false });
    }
}

/// Returns the value of `.` where this pipeline is passed.
fn find_argument_dot(pipe: &PipeNode, dot: Dot) -> Dot {
    match pipe.commands.as_slice() {
        [command] => match command.args.as_slice() {
            [Expr::Dot(_)] => dot,
            [Expr::Variable(_, name, names)] if name.as_str() == "$" && names.is_empty() => dot,
            _ => Dot::Other,
        },
        _ => Dot::Other,
    }
}

/// Finds functions and variables that are not defined.
struct VariableScopes<'f> {
    /// The variables that are in scope, the innermost last.
    names: Vec<String>,
    found: &'f mut Vec<Finding>,
}

impl VariableScopes<'_> {
    fn list(&mut self, list: &ListNode) {
        let outside = self.names.len();
        for node in &list.nodes {
            match node {
                Node::List(inner) => self.list(inner),
                Node::Action(action) => self.pipe(&action.pipe),
                Node::If(branch) | Node::Range(branch) | Node::With(branch) => self.branch(branch),
                Node::Template(call) => call.pipe.iter().for_each(|pipe| self.pipe(pipe)),
                Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => {}
            }
        }
        self.names.truncate(outside);
    }

    fn branch(&mut self, branch: &BranchNode) {
        let outside = self.names.len();
        self.pipe(&branch.pipe);
        self.list(&branch.body);
        branch.else_body.iter().for_each(|other| self.list(other));
        self.names.truncate(outside);
    }

    fn pipe(&mut self, pipe: &PipeNode) {
        for name in pipe.decl.iter().filter(|_| pipe.is_assign) {
            self.require_variable(pipe.pos.line, name.as_str());
        }
        for expression in pipe.commands.iter().flat_map(|command| &command.args) {
            self.expression(expression);
        }
        if !pipe.is_assign {
            self.names.extend(pipe.decl.iter().map(ToString::to_string));
        }
    }

    fn expression(&mut self, expression: &Expr) {
        let line = expression.pos().line;
        match expression {
            Expr::Variable(_, name, _) => self.require_variable(line, name.as_str()),
            Expr::Identifier(_, name) if !is_function(name.as_str()) => {
                self.refuse(line, format!("unknown function {}", name.as_str()));
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe),
            Expr::Chain(_, inner, _) => self.expression(inner),
            _ => {}
        }
    }

    fn require_variable(&mut self, line: usize, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.refuse(line, format!("undefined variable {name}"));
        }
    }

    fn refuse(&mut self, line: usize, text: String) {
        self.found.push(Finding { line, text, is_error: true, is_refused: true });
    }
}
