//! Limits of the work and the output of a template, whatever it says.
//!
//! The library cannot be interrupted between two outputs. What a template can do is therefore bounded before it runs: by the
//! nodes that its calls of other templates expand to, by the iterations of its loops, and by how often it joins texts.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use gotmpl::html::Template;
use gotmpl::parse::{BranchNode, Expr, ListNode, Node, Parser, PipeNode};
use gotmpl::{TemplateError, Value};
use rustix::time::{ClockId, clock_gettime};

use super::syntax::joins_values;

/// The most nodes of a template, with those of the templates that it calls as often as it calls them.
const MAX_NODES: u64 = 10_000;
/// The most iterations of all loops together.
pub(in crate::ports) const MAX_ITERATIONS: u64 = 1_000;
/// The most joins of values to texts that are kept in variables: each can double the length of a text.
const MAX_JOINS: u64 = 8;
/// The longest output, in bytes.
const MAX_OUTPUT: usize = 1 << 20;
/// The most processor time of a template: on a busy machine a mail may wait for longer.
const MAX_TIME: Duration = Duration::from_millis(500);

/// What a template, or a part of it, costs at most.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    nodes: u64,
    joins: u64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.joins = self.joins.saturating_add(other.joins);
    }
}

/// Requires that a template does a limited amount of work.
///
/// # Errors
/// The reason, as a sentence without full stop.
pub(super) fn require_limited_work(tree: &ListNode, defines: &BTreeMap<String, ListNode>) -> Result<(), String> {
    let mut measure = Measure { defines, known: BTreeMap::new() };
    let cost = measure.list(tree)?;
    if cost.nodes > MAX_NODES {
        return Err(format!("its templates expand to more than {MAX_NODES} parts"));
    }
    if cost.joins > MAX_JOINS {
        return Err(format!("it keeps texts in variables that are joined more than {MAX_JOINS} times, or in a loop"));
    }
    Ok(())
}

struct Measure<'t> {
    defines: &'t BTreeMap<String, ListNode>,
    /// The costs of the measured templates; `None` while one is measured.
    known: BTreeMap<&'t str, Option<Cost>>,
}

impl<'t> Measure<'t> {
    fn list(&mut self, list: &'t ListNode) -> Result<Cost, String> {
        let mut cost = Cost::default();
        for node in &list.nodes {
            cost.nodes = cost.nodes.saturating_add(1);
            cost.add(match node {
                Node::List(inner) => self.list(inner)?,
                Node::Action(action) => pipe_cost(&action.pipe, false),
                Node::If(branch) => self.branch(branch, false)?,
                Node::With(branch) => self.branch(branch, true)?,
                Node::Range(branch) => {
                    let inside = self.branch(branch, true)?;
                    // A loop repeats its joins.
                    Cost { joins: inside.joins.saturating_mul(MAX_ITERATIONS), ..inside }
                }
                Node::Template(call) => {
                    let mut cost = call.pipe.as_ref().map(|pipe| pipe_cost(pipe, true)).unwrap_or_default();
                    cost.add(self.called(call.name.as_str())?);
                    cost
                }
                Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => Cost::default(),
            });
        }
        Ok(cost)
    }

    /// `becomes_dot`: the value of the condition is kept as `.`.
    fn branch(&mut self, branch: &'t BranchNode, becomes_dot: bool) -> Result<Cost, String> {
        let mut cost = pipe_cost(&branch.pipe, becomes_dot);
        cost.add(self.list(&branch.body)?);
        if let Some(other) = &branch.else_body {
            cost.add(self.list(other)?);
        }
        Ok(cost)
    }

    /// The cost of a template that is called by its name.
    fn called(&mut self, name: &str) -> Result<Cost, String> {
        let Some((name, body)) = self.defines.get_key_value(name) else { return Ok(Cost::default()) };
        match self.known.get(name.as_str()) {
            Some(Some(cost)) => return Ok(*cost),
            Some(None) => return Err(format!("its template {name:?} calls itself")),
            None => {}
        }
        self.known.insert(name, None);
        let cost = self.list(body)?;
        self.known.insert(name, Some(cost));
        Ok(cost)
    }
}

/// The cost of a pipeline; `is_kept`: its value can be used again, which is so for that of a variable, too.
fn pipe_cost(pipe: &PipeNode, is_kept: bool) -> Cost {
    let mut cost = Cost { nodes: 1, joins: 0 };
    let is_kept = is_kept || !pipe.decl.is_empty();
    for command in &pipe.commands {
        cost.nodes = cost.nodes.saturating_add(u64::try_from(command.args.len()).unwrap_or(u64::MAX));
        let values = command.args.iter().filter(|argument| !matches!(argument, Expr::String(..) | Expr::Number(..)));
        let is_joining = matches!(command.args.first(), Some(Expr::Identifier(_, name)) if joins_values(name.as_str()));
        // The first value is the name of the function.
        if is_joining && is_kept && values.count() > 2 {
            cost.joins += 1;
        }
        for argument in &command.args {
            if let Expr::Pipe(_, inner) = argument {
                cost.add(pipe_cost(inner, is_kept));
            }
        }
    }
    cost
}

/// Requires that a text is a template that does a limited amount of work.
///
/// # Errors
/// The reason, as a sentence without full stop.
pub(in crate::ports) fn require_limited_text(text: &str) -> Result<(), String> {
    let (tree, defines) = Parser::new(text, "{{", "}}").and_then(Parser::parse).map_err(|error| error.to_string())?;
    let defines = defines.into_iter().map(|define| (define.name.to_string(), define.body)).collect();
    require_limited_work(&tree, &defines)
}

/// Renders a template within the limits of output and time.
///
/// # Errors
/// The template failed, or exceeded a limit.
pub(super) fn render(template: &Template, values: &Value) -> Result<String, RenderError> {
    write_limited(|output| template.execute_fmt(output, values))
}

/// Collects what a template writes, within the limits of output and time.
///
/// # Errors
/// The template failed, or exceeded a limit.
pub(in crate::ports) fn write_limited(
    execute: impl FnOnce(&mut LimitedText) -> gotmpl::Result<()>,
) -> Result<String, RenderError> {
    let mut output = LimitedText { text: String::new(), deadline: processor_time() + MAX_TIME, refusal: None };
    let rendered = execute(&mut output);
    match (output.refusal, rendered) {
        (Some(refusal), _) => Err(RenderError::Limit(refusal)),
        (None, Err(error)) => Err(RenderError::Template(error)),
        (None, Ok(())) => Ok(output.text),
    }
}

/// Returns the processor time that this thread has used.
fn processor_time() -> Duration {
    // A clock of the kernel is never negative.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Why a template was not rendered.
#[derive(Debug, thiserror::Error)]
pub(in crate::ports) enum RenderError {
    /// A limit was exceeded; the reason is a sentence without full stop.
    #[error("{0}")]
    Limit(&'static str),
    /// The template failed.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// A text that refuses to grow beyond the limits.
pub(in crate::ports) struct LimitedText {
    text: String,
    /// In the processor time of the thread that writes.
    deadline: Duration,
    refusal: Option<&'static str>,
}

impl fmt::Write for LimitedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > MAX_OUTPUT {
            self.refusal = Some("it is longer than 1 MiB");
        } else if processor_time() > self.deadline {
            self.refusal = Some("it needs more than half a second of processor time");
        }
        if self.refusal.is_some() {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}
