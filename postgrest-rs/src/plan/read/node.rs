//! A relation that is read, with its embeds.

use crate::plan::parts::{ALL_ROWS, Condition, JoinCondition, Link, OrderBy, RelationSelect, SelectField, Spread};
use crate::request::QualifiedName;
use crate::request::range::RowRange;
use crate::request::tree::JoinType;

/// A relation that is read, with its embeds.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadNode {
    /// The columns.
    pub select: Vec<SelectField>,
    /// The relation.
    pub from: QualifiedName,
    /// What it is called in the statement.
    pub from_alias: Option<String>,
    /// Which rows.
    pub conditions: Vec<Condition>,
    /// In which order.
    pub order: Vec<OrderBy>,
    /// Which of them.
    pub range: RowRange,
    /// The name in the request.
    pub name: String,
    /// The alias in the request.
    pub alias: Option<String>,
    /// The hint in the request.
    pub hint: Option<String>,
    /// How it is joined.
    pub join: Option<JoinType>,
    /// How it relates to its parent.
    pub link: Option<Link>,
    pub join_conditions: Vec<JoinCondition>,
    pub subquery_alias: String,
    /// How its columns appear in the parent, when they do.
    pub spread: Option<Spread>,
    /// How its embeds appear.
    pub embeds: Vec<RelationSelect>,
    /// The level: 0 for the root.
    pub depth: usize,
    /// The embeds.
    pub children: Vec<ReadNode>,
}

impl ReadNode {
    pub(super) fn new(from: QualifiedName, name: &str, depth: usize) -> Self {
        Self {
            select: Vec::new(),
            from,
            from_alias: None,
            conditions: Vec::new(),
            order: Vec::new(),
            range: ALL_ROWS,
            name: name.to_owned(),
            alias: None,
            hint: None,
            join: None,
            link: None,
            join_conditions: Vec::new(),
            subquery_alias: String::new(),
            spread: None,
            embeds: Vec::new(),
            depth,
            children: Vec::new(),
        }
    }

    /// Whether `*` is selected and nothing else.
    pub(in crate::plan) fn selects_everything(&self) -> bool {
        matches!(self.select.as_slice(), [field] if field.column.name == "*") && self.children.is_empty()
    }

    /// The name in the answer.
    pub(super) fn output_name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn is_to_one(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.relationship.is_to_one())
    }

    /// Whether neither it nor an embed of it selects anything.
    pub(super) fn is_empty(&self) -> bool {
        self.select.is_empty() && self.children.iter().all(Self::is_empty)
    }
}
