//! How columns and embeds appear in the answer.

use super::node::ReadNode;
use crate::error::Error;
use crate::plan::parts::{ColumnRef, Condition, OrderBy, RelationSelect, SOURCE, SelectField, Spread, SpreadField};
use crate::plan::resolve;
use crate::request::QualifiedName;
use crate::request::tree::{AggregateFunction, IsValue, JsonOperand, Operation};
use crate::schema_cache::SchemaCache;

/// Replaces `*` by the columns where each of them must be named: beside aggregates, in arrays of a spread embed, and where a
/// function converts one of them.
pub(super) fn expand_stars(cache: &SchemaCache, root: &QualifiedName, has_aggregate: bool, node: &mut ReadNode) {
    let table = if node.from.schema.is_empty() && node.from.name == SOURCE { root.clone() } else { node.from.clone() };
    let is_to_many = matches!(node.spread, Some(Spread::ToMany { .. }));
    let has_aggregate = has_aggregate || is_to_many || node.select.iter().any(|field| field.aggregate.is_some());
    let is_spread = node.spread.is_some();
    let is_row_count = |field: &SelectField| is_spread && field.aggregate == Some(AggregateFunction::Count);
    let has_star =
        node.select.iter().any(|field| field.column.name == "*" && (field.aggregate.is_none() || is_row_count(field)));
    let columns = cache.tables.get(&table).map_or(&[][..], |table| &*table.columns);
    let is_converted = columns
        .iter()
        .any(|column| cache.representations.contains_key(&(column.nominal_type.to_string(), "json".to_owned())));
    if has_star && (has_aggregate || is_converted) {
        let expand = |field: SelectField| {
            let is_star = field.column.name == "*" && field.column.path.is_empty();
            if is_star && field.aggregate.is_none() {
                let of_column = |column| SelectField {
                    column: resolve::with_output(cache, resolve::known(column)),
                    ..field.clone()
                };
                return columns.iter().map(of_column).collect();
            }
            if is_star && is_row_count(&field) {
                return vec![SelectField { column: ColumnRef { full_row: true, ..field.column.clone() }, ..field }];
            }
            vec![field]
        };
        node.select = std::mem::take(&mut node.select).into_iter().flat_map(expand).collect();
    }
    for child in &mut node.children {
        expand_stars(cache, root, has_aggregate, child);
    }
}

/// Names the columns whose name in the answer PostgreSQL would choose otherwise.
pub(super) fn add_aliases(node: &mut ReadNode) {
    let is_spread = node.spread.is_some();
    for field in node.select.iter_mut().filter(|field| field.alias.is_none()) {
        field.alias = match field.aggregate {
            Some(aggregate) => is_spread.then(|| aggregate_name(aggregate).to_owned()),
            None => {
                last_key(&field.column).or_else(|| field.column.transform.as_ref().map(|_| field.column.name.clone()))
            }
        };
    }
    node.children.iter_mut().for_each(add_aliases);
}

/// The name of an aggregate function.
fn aggregate_name(aggregate: AggregateFunction) -> &'static str {
    match aggregate {
        AggregateFunction::Sum => "sum",
        AggregateFunction::Avg => "avg",
        AggregateFunction::Max => "max",
        AggregateFunction::Min => "min",
        AggregateFunction::Count => "count",
    }
}

/// The last key of a JSON path; where there are only indexes the column.
fn last_key(column: &ColumnRef) -> Option<String> {
    column.path.last()?;
    let keys = column.path.iter().rev().filter_map(|operation| match operation.operand() {
        JsonOperand::Key(key) => Some(key.clone()),
        JsonOperand::Index(_) => None,
    });
    Some(keys.into_iter().next().unwrap_or_else(|| column.name.clone()))
}

/// Orders by columns of embeds name the alias of the subquery.
pub(super) fn link_orders(node: &mut ReadNode) -> Result<(), Error> {
    for order in &mut node.order {
        let Some(name) = &order.relation else { continue };
        let child = node.children.iter().find(|child| child.output_name() == name);
        let child = child.ok_or_else(|| Error::not_embedded(name))?;
        if !child.is_to_one() {
            return Err(Error::related_order_not_to_one(&node.from.name, child.output_name()));
        }
        order.relation = Some(child.subquery_alias.clone());
    }
    node.children.iter_mut().try_for_each(link_orders)
}

/// `embed=is.null` becomes a condition on the embed.
pub(super) fn link_null_filters(node: &mut ReadNode) {
    fn convert(condition: &mut Condition, children: &[ReadNode]) {
        match condition {
            Condition::Group { conditions, .. } => {
                for condition in conditions {
                    convert(condition, children);
                }
            }
            Condition::Filter { column, negated, operation: Operation::Is(IsValue::Null) }
                if column.path.is_empty() =>
            {
                if let Some(child) = children.iter().find(|child| child.output_name() == column.name) {
                    *condition = Condition::NullEmbed { negated: *negated, alias: child.subquery_alias.clone() };
                }
            }
            _ => {}
        }
    }
    for condition in &mut node.conditions {
        convert(condition, &node.children);
    }
    node.children.iter_mut().for_each(link_null_filters);
}

/// Decides how embeds appear, from the leaves up.
pub(super) fn add_embeds(node: &mut ReadNode) {
    node.children.iter_mut().for_each(add_embeds);
    node.embeds = node
        .children
        .iter()
        .map(|child| {
            let alias = child.subquery_alias.clone();
            if child.spread.is_some() {
                return RelationSelect::Spread { fields: spread_fields(child), alias };
            }
            let name = child.output_name().to_owned();
            RelationSelect::Embed { name, alias, is_object: child.is_to_one(), is_empty: child.is_empty() }
        })
        .collect();
}

/// The columns of a spread embed, those of its own spread embeds included.
fn spread_fields(node: &ReadNode) -> Vec<SpreadField> {
    let plain = |name: String| SpreadField { name, aggregate: None, aggregate_cast: None, alias: None };
    let own = node.select.iter().map(|field| plain(field.alias.clone().unwrap_or_else(|| field.column.name.clone())));
    let of_embeds = node.embeds.iter().flat_map(|embed| match embed {
        RelationSelect::Embed { name, .. } => vec![plain(name.clone())],
        RelationSelect::Spread { fields, .. } => fields.clone(),
    });
    own.chain(of_embeds).collect()
}

pub(super) fn check_aggregates(are_enabled: bool, node: &ReadNode) -> Result<(), Error> {
    if !are_enabled && node.select.iter().any(|field| field.aggregate.is_some()) {
        return Err(Error::aggregates_not_allowed());
    }
    node.children.iter().try_for_each(|child| check_aggregates(are_enabled, child))
}

/// An aggregate that a parent applies: the alias of the subquery and the column, and what is applied.
pub(super) struct Hoisted {
    alias: String,
    name: String,
    aggregate: AggregateFunction,
    cast: Option<String>,
    output: Option<String>,
}

/// Moves the aggregates of to-one spread embeds to the nearest parent that is none; returns those that go further up.
pub(super) fn hoist_aggregates(node: &mut ReadNode) -> Vec<Hoisted> {
    let of_children: Vec<Hoisted> = node.children.iter_mut().flat_map(hoist_aggregates).collect();
    let is_to_one = node.spread == Some(Spread::ToOne);
    if !is_to_one {
        for embed in &mut node.embeds {
            let RelationSelect::Spread { fields, alias } = embed else { continue };
            for field in fields {
                if let Some(aggregate) =
                    of_children.iter().find(|aggregate| aggregate.alias == *alias && aggregate.name == field.name)
                {
                    field.aggregate = Some(aggregate.aggregate);
                    field.aggregate_cast.clone_from(&aggregate.cast);
                    field.alias.clone_from(&aggregate.output);
                }
            }
        }
        return Vec::new();
    }
    let mut hoisted = Vec::new();
    for field in &mut node.select {
        let Some(aggregate) = field.aggregate.take() else { continue };
        hoisted.push(Hoisted {
            alias: node.subquery_alias.clone(),
            name: field.alias.clone().unwrap_or_else(|| field.column.name.clone()),
            aggregate,
            cast: field.aggregate_cast.take(),
            output: field.alias.clone(),
        });
    }
    hoisted
        .extend(of_children.into_iter().map(|aggregate| Hoisted { alias: node.subquery_alias.clone(), ..aggregate }));
    hoisted
}

/// The order of a to-many spread embed applies to its arrays, over columns that are selected for it.
pub(super) fn add_spread_orders(node: &mut ReadNode) -> Result<(), Error> {
    if let Some(Spread::ToMany { .. }) = node.spread {
        let in_embeds = node.embeds.iter().any(|embed| match embed {
            RelationSelect::Spread { fields, .. } => fields.iter().any(|field| field.aggregate.is_some()),
            RelationSelect::Embed { .. } => false,
        });
        if in_embeds || node.select.iter().any(|field| field.aggregate.is_some()) {
            return Err(Error::not_implemented(
                "Aggregates are not implemented for one-to-many or many-to-many spreads.",
            ));
        }
        let alias = &node.subquery_alias;
        let (extra, order) = std::mem::take(&mut node.order)
            .into_iter()
            .enumerate()
            .map(|(index, term)| {
                let name = format!("{alias}_{}_{}", term.column.name, index + 1);
                let field = SelectField {
                    column: term.column,
                    aggregate: None,
                    aggregate_cast: None,
                    cast: None,
                    alias: Some(name.clone()),
                };
                let column = ColumnRef { name, ..ColumnRef::default() };
                let order = OrderBy { relation: None, column, direction: term.direction, nulls: term.nulls };
                ((term.relation, field), order)
            })
            .unzip();
        node.spread = Some(Spread::ToMany { extra, order });
    }
    node.children.iter_mut().try_for_each(add_spread_orders)
}
