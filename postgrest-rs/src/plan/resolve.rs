//! Columns as the cache knows them.

use super::parts::{ColumnRef, Condition};
use crate::request::QualifiedName;
use crate::request::tree::{Field, Filter, LogicTree, Operation};
use crate::schema_cache::{Column, SchemaCache};

/// A column of which nothing is known.
pub(super) fn unknown(field: &Field) -> ColumnRef {
    ColumnRef { name: field.name.clone(), path: field.path.clone(), ..ColumnRef::default() }
}

/// A column of the cache.
pub(super) fn known(column: &Column) -> ColumnRef {
    ColumnRef {
        name: column.name.to_string(),
        data_type: column.nominal_type.to_string(),
        default: column.default.as_deref().map(str::to_owned),
        ..ColumnRef::default()
    }
}

/// A field of a relation. JSON columns are not converted, so that their indexes apply.
pub(super) fn resolve(cache: &SchemaCache, table: &QualifiedName, field: &Field) -> ColumnRef {
    let column = cache.tables.get(table).and_then(|table| table.column(&field.name));
    let mut resolved = column.map_or_else(|| unknown(field), known);
    resolved.path.clone_from(&field.path);
    resolved.to_json = !matches!(resolved.data_type.as_str(), "json" | "jsonb");
    resolved
}

/// The column with the function that casts from `source` to `target`, when there is one.
fn with_transform(cache: &SchemaCache, mut column: ColumnRef, source: &str, target: &str) -> ColumnRef {
    if let Some(function) = cache.representations.get(&(source.to_owned(), target.to_owned())) {
        column.transform = Some(function.clone());
        source.clone_into(&mut column.data_type);
    }
    column
}

/// A column as it is answered.
pub(super) fn with_output(cache: &SchemaCache, column: ColumnRef) -> ColumnRef {
    let source = column.data_type.clone();
    with_transform(cache, column, &source, "json")
}

/// A column as it is read of a JSON body.
pub(super) fn with_json_input(cache: &SchemaCache, column: ColumnRef) -> ColumnRef {
    let target = column.data_type.clone();
    with_transform(cache, column, "json", &target)
}

/// A selected field.
pub(super) fn output(cache: &SchemaCache, table: &QualifiedName, field: &Field) -> ColumnRef {
    with_output(cache, resolve(cache, table, field))
}

/// A filter of a relation.
pub(super) fn filter(cache: &SchemaCache, table: &QualifiedName, filter: &Filter) -> Condition {
    let mut column = resolve(cache, table, &filter.field);
    if let Operation::FullText(_, language, _) = &filter.operation {
        let known = cache.tables.get(table).and_then(|table| table.column(&filter.field.name));
        column.to_tsvector = known.filter(|column| &*column.data_type != "tsvector").map(|_| language.clone());
    }
    let target = column.data_type.clone();
    let column = with_transform(cache, column, "text", &target);
    Condition::Filter { column, negated: filter.negated, operation: filter.operation.clone() }
}

/// A logic tree of a relation.
pub(super) fn logic(cache: &SchemaCache, table: &QualifiedName, tree: &LogicTree) -> Condition {
    match tree {
        LogicTree::Condition(condition) => filter(cache, table, condition),
        LogicTree::Group { negated, operator, conditions } => Condition::Group {
            negated: *negated,
            operator: *operator,
            conditions: conditions.iter().map(|condition| logic(cache, table, condition)).collect(),
        },
    }
}
