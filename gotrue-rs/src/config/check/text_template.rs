//! Checks that a text is a valid Go template.
//!
//! Go finds these errors when it parses a template, the library only when it renders it.

use gotmpl::parse::{BranchNode, Expr, ListNode, Node, Parser, PipeNode};

use crate::ports::mail::template::syntax::{is_balanced, is_function};

/// Returns Go's error for an invalid template.
///
/// It covers syntax errors, unbalanced blocks, and undefined functions and variables.
pub(super) fn find_error(text: &str) -> Option<String> {
    let (tree, defines) = match Parser::new(text, "{{", "}}").and_then(Parser::parse) {
        Ok(parsed) => parsed,
        Err(error) => return Some(error.to_string()),
    };
    if !is_balanced(text) {
        return Some("an {{end}} is missing or one too many".to_owned());
    }
    let mut names = NameChecker { declared: vec!["$".to_owned()], unknown: None };
    names.list(&tree, false);
    for define in &defines {
        names.list(&define.body, false);
    }
    names.unknown
}

/// The names that a template uses.
struct NameChecker {
    declared: Vec<String>,
    /// The message about the first undefined one.
    unknown: Option<String>,
}

impl NameChecker {
    fn list(&mut self, list: &ListNode, in_range: bool) {
        for node in &list.nodes {
            match node {
                Node::List(inner) => self.list(inner, in_range),
                Node::Action(action) => self.pipe(&action.pipe),
                Node::If(branch) | Node::With(branch) => self.branch(branch, in_range),
                Node::Range(branch) => self.branch(branch, true),
                Node::Template(call) => call.pipe.iter().for_each(|pipe| self.pipe(pipe)),
                Node::Break(_) | Node::Continue(_) if !in_range => {
                    self.report("{{break}} or {{continue}} outside {{range}}");
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
                self.report(&format!("undefined variable {name:?}"));
            }
            Expr::Identifier(_, name) if !is_function(name.as_str()) => {
                self.report(&format!("function {name:?} not defined"));
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe),
            Expr::Chain(_, inner, _) => self.expression(inner),
            _ => {}
        }
    }

    fn report(&mut self, what: &str) {
        self.unknown.get_or_insert_with(|| what.to_owned());
    }
}
