//! Writes.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::parts::{ColumnRef, Condition, Context};
use super::read::ReadNode;
use super::resolve;
use crate::error::Error;
use crate::request::preferences::{PreferMissing, PreferResolution, PreferReturn};
use crate::request::tree::{Operation, QuantifiableOperator};
use crate::request::{Mutation, Payload, QualifiedName};
use crate::schema_cache::{Cardinality, Relationship, Table};

/// A write.
#[derive(Debug, Clone)]
pub enum MutatePlan {
    Insert {
        /// The relation.
        table: QualifiedName,
        /// The columns written.
        columns: Vec<ColumnRef>,
        /// The rows as JSON.
        body: Bytes,
        /// What happens to rows with the same values in these columns.
        conflict: Option<(PreferResolution, Vec<String>)>,
        /// The conditions that the rows of PUT meet.
        conditions: Vec<Condition>,
        /// The columns returned; empty for none.
        returning: Vec<String>,
        /// The primary key.
        key: Vec<String>,
        /// Missing members get the default of their column.
        applies_defaults: bool,
    },
    Update {
        /// The relation.
        table: QualifiedName,
        /// The columns written.
        columns: Vec<ColumnRef>,
        /// The values as JSON.
        body: Bytes,
        /// Which rows.
        conditions: Vec<Condition>,
        /// The columns returned; empty for none.
        returning: Vec<String>,
        /// Missing members get the default of their column.
        applies_defaults: bool,
    },
    Delete {
        /// The relation.
        table: QualifiedName,
        /// Which rows.
        conditions: Vec<Condition>,
        /// The columns returned; empty for none.
        returning: Vec<String>,
    },
}

impl MutatePlan {
    /// Whether an insert has columns by which it finds rows that exist.
    pub fn has_conflict_target(&self, has_on_conflict: bool) -> bool {
        matches!(self, Self::Insert { key, .. } if !key.is_empty()) || has_on_conflict
    }
}

/// Plans a write.
pub(super) fn plan(
    context: Context<'_>,
    relation: &QualifiedName,
    mutation: Mutation,
    read: &ReadNode,
) -> Result<MutatePlan, Error> {
    let request = context.request;
    let table = context.cache.tables.get(relation).ok_or_else(|| Error::internal("the table was there before"))?;
    let is_returned = !matches!(request.preferences.representation, None | Some(PreferReturn::Minimal));
    let returning = if is_returned { needed_columns(read, &table.key) } else { Vec::new() };
    let applies_defaults = request.preferences.missing == Some(PreferMissing::Default);
    let body = match &request.payload {
        Some(Payload::Json { raw, .. } | Payload::UnreadJson(raw) | Payload::Raw(raw)) => raw.clone(),
        Some(Payload::Form { .. }) | None => Bytes::new(),
    };
    match mutation {
        Mutation::Insert => {
            let columns = columns(context, table)?;
            let target = request.query.on_conflict.clone().unwrap_or_else(|| table.key.clone());
            let conflict = request.preferences.resolution.map(|resolution| (resolution, target));
            let key = table.key.clone();
            let (table, conditions) = (relation.clone(), Vec::new());
            Ok(MutatePlan::Insert { table, columns, body, conflict, conditions, returning, key, applies_defaults })
        }
        Mutation::Update => {
            let columns = columns(context, table)?;
            let (table, conditions) = (relation.clone(), conditions(context, relation));
            if !columns.is_empty() {
                check_conditions(context, "UPDATE", &conditions)?;
            }
            Ok(MutatePlan::Update { table, columns, body, conditions, returning, applies_defaults })
        }
        Mutation::SingleUpsert => {
            if !filters_by_key(context, table) {
                return Err(Error::invalid_put_filters());
            }
            Ok(MutatePlan::Insert {
                table: relation.clone(),
                columns: columns(context, table)?,
                body,
                conflict: Some((PreferResolution::MergeDuplicates, table.key.clone())),
                conditions: conditions(context, relation),
                returning,
                key: Vec::new(),
                applies_defaults: false,
            })
        }
        Mutation::Delete => {
            let conditions = conditions(context, relation);
            check_conditions(context, "DELETE", &conditions)?;
            Ok(MutatePlan::Delete { table: relation.clone(), conditions, returning })
        }
    }
}

/// Refuses a write of all rows, where the setting `db-safe-update` demands it.
fn check_conditions(context: Context<'_>, statement: &str, conditions: &[Condition]) -> Result<(), Error> {
    if context.config.db_safe_update && conditions.is_empty() {
        return Err(Error::unsafe_write(statement));
    }
    Ok(())
}

/// The columns written.
fn columns(context: Context<'_>, table: &Table) -> Result<Vec<ColumnRef>, Error> {
    let resolve = |name: &String| match table.column(name) {
        Some(column) => Ok(resolve::with_json_input(context.cache, resolve::known(column))),
        None => Err(Error::column_not_found(&table.name, name)),
    };
    context.request.columns.iter().map(resolve).collect()
}

/// The filters of the root, then its logic trees.
fn conditions(context: Context<'_>, relation: &QualifiedName) -> Vec<Condition> {
    let query = &context.request.query;
    let filters = query.root_filters().map(|filter| resolve::filter(context.cache, relation, filter));
    // Trees of embeds restrict the write too, as in the reference.
    let trees = query.logic.iter().map(|(_, tree)| resolve::logic(context.cache, relation, tree));
    filters.chain(trees).collect()
}

/// Whether PUT filters by the whole primary key and nothing else.
fn filters_by_key(context: Context<'_>, table: &Table) -> bool {
    let query = &context.request.query;
    let key: BTreeSet<String> = table.key.iter().cloned().collect();
    let equals =
        |operation: &Operation| matches!(operation, Operation::Quantifiable(QuantifiableOperator::Equal, None, _));
    !key.is_empty()
        && query.logic.is_empty()
        && query.filter_fields == key
        && query.root_filters().all(|filter| !filter.negated && equals(&filter.operation))
}

/// The columns that the answer and its embeds need. `*` alone when all are selected, or when an embed is computed.
pub(super) fn needed_columns(read: &ReadNode, key: &[String]) -> Vec<String> {
    let everything = || vec!["*".to_owned()];
    let mut needed: BTreeSet<String> = read.select.iter().map(|field| field.column.name.clone()).collect();
    if needed.contains("*") {
        return everything();
    }
    for child in &read.children {
        let columns = match child.link.as_ref().map(|link| &link.relationship) {
            Some(Relationship::Computed(_)) => return everything(),
            Some(Relationship::Key(relationship)) => match &relationship.cardinality {
                Cardinality::OneToMany(key) | Cardinality::ManyToOne(key) | Cardinality::OneToOne(key, _) => {
                    &key.columns
                }
                Cardinality::ManyToMany(junction) => &junction.source_columns,
            },
            None => continue,
        };
        needed.extend(columns.iter().map(|(column, _)| column.clone()));
    }
    needed.extend(key.iter().cloned());
    needed.into_iter().collect()
}
