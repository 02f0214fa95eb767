//! What is read: a tree of relations with their embeds.

mod appearance;
mod node;

use self::appearance::{
    add_aliases, add_embeds, add_spread_orders, check_aggregates, expand_stars, hoist_aggregates, link_null_filters,
    link_orders,
};
pub use self::node::ReadNode;
use super::parts::{Context, Link, OrderBy, SOURCE, SelectField, Spread};
use super::{relation, resolve};
use crate::error::Error;
use crate::request::query::range_path;
use crate::request::tree::{EmbedPath, OrderTerm, SelectItem, SelectNode};
use crate::request::{Action, QualifiedName};
use crate::schema_cache::{Cardinality, Relationship, SchemaCache};

/// Plans what is read of a relation, or of the result of a write or call.
pub(super) fn plan(context: Context<'_>, root: &QualifiedName) -> Result<ReadNode, Error> {
    let cache = context.cache;
    let mut node = build(cache, root, &context.request.query.select);
    add_filters(context, &mut node)?;
    add_orders(context, root, &mut node)?;
    add_ranges(context, &mut node)?;
    add_logic(context, &mut node)?;
    link_root(context, &mut node);
    link_children(context, &root.schema, &mut node)?;
    expand_stars(cache, root, false, &mut node);
    add_aliases(&mut node);
    link_orders(&mut node)?;
    link_null_filters(&mut node);
    add_embeds(&mut node);
    check_aggregates(context.config.db_aggregates_enabled, &node)?;
    hoist_aggregates(&mut node);
    add_spread_orders(&mut node)?;
    if !matches!(context.request.action, Action::Mutate { .. }) {
        restrict_ranges(context.config.db_max_rows, &mut node);
    }
    Ok(node)
}

fn build(cache: &SchemaCache, root: &QualifiedName, select: &[SelectNode]) -> ReadNode {
    let mut node = ReadNode::new(root.clone(), &root.name, 0);
    add_items(cache, &mut node, select);
    node
}

fn add_items(cache: &SchemaCache, node: &mut ReadNode, items: &[SelectNode]) {
    for SelectNode { item, children } in items {
        let child = |relation: &str| {
            let from = QualifiedName { schema: node.from.schema.clone(), name: relation.to_owned() };
            ReadNode::new(from, relation, node.depth + 1)
        };
        let mut child = match item {
            SelectItem::Field { field, aggregate, aggregate_cast, cast, alias } => {
                node.select.push(SelectField {
                    column: resolve::output(cache, &node.from, field),
                    aggregate: *aggregate,
                    aggregate_cast: aggregate_cast.clone(),
                    cast: cast.clone(),
                    alias: alias.clone(),
                });
                continue;
            }
            SelectItem::Relation { relation, alias, hint, join } => {
                ReadNode { alias: alias.clone(), hint: hint.clone(), join: *join, ..child(relation) }
            }
            SelectItem::Spread { relation, hint, join } => {
                ReadNode { hint: hint.clone(), join: *join, spread: Some(Spread::ToOne), ..child(relation) }
            }
        };
        add_items(cache, &mut child, children);
        node.children.push(child);
    }
}

/// Changes the node at a path; the embeds on the way become the first of their parents.
fn update(node: &mut ReadNode, path: &[String], change: impl FnOnce(&mut ReadNode)) -> Result<(), Error> {
    let Some((name, rest)) = path.split_first() else {
        change(node);
        return Ok(());
    };
    let index = node
        .children
        .iter()
        .position(|child| child.name == *name || child.alias.as_ref() == Some(name))
        .ok_or_else(|| Error::not_embedded(name))?;
    let mut child = node.children.remove(index);
    update(&mut child, rest, change)?;
    node.children.insert(0, child);
    Ok(())
}

/// Whether parameters of the root restrict what is read: not those of a write.
fn reads_root(context: Context<'_>) -> bool {
    !matches!(context.request.action, Action::Mutate { .. })
}

fn add_filters(context: Context<'_>, node: &mut ReadNode) -> Result<(), Error> {
    let reads_root = reads_root(context);
    let filters = context.request.query.filters.iter().filter(|(path, _)| reads_root || !path.is_empty());
    for (path, filter) in filters.rev() {
        update(node, path, |node| {
            let condition = resolve::filter(context.cache, &node.from, filter);
            node.conditions.insert(0, condition);
        })?;
    }
    Ok(())
}

fn add_logic(context: Context<'_>, node: &mut ReadNode) -> Result<(), Error> {
    let reads_root = reads_root(context);
    let trees = context.request.query.logic.iter().filter(|(path, _)| reads_root || !path.is_empty());
    for (path, tree) in trees.rev() {
        update(node, path, |node| {
            let condition = resolve::logic(context.cache, &node.from, tree);
            node.conditions.insert(0, condition);
        })?;
    }
    Ok(())
}

fn add_orders(context: Context<'_>, root: &QualifiedName, node: &mut ReadNode) -> Result<(), Error> {
    let resolve = |term: &OrderTerm| {
        // Types of the root's columns count, also for embeds.
        let column = match &term.relation {
            Some(_) => resolve::unknown(&term.field),
            None => resolve::resolve(context.cache, root, &term.field),
        };
        OrderBy { relation: term.relation.clone(), column, direction: term.direction, nulls: term.nulls }
    };
    for (path, terms) in context.request.query.orders.iter().rev() {
        update(node, path, |node| node.order = terms.iter().map(resolve).collect())?;
    }
    Ok(())
}

fn add_ranges(context: Context<'_>, node: &mut ReadNode) -> Result<(), Error> {
    if !reads_root(context) {
        return Ok(());
    }
    for (key, range) in &context.request.ranges {
        let path: EmbedPath = range_path(key)?;
        update(node, &path, |node| node.range = *range)?;
    }
    Ok(())
}

/// The result of a write or call is read under the relation's name.
fn link_root(context: Context<'_>, node: &mut ReadNode) {
    if matches!(context.request.action, Action::Mutate { .. } | Action::Invoke { .. } | Action::InspectFunction(_)) {
        node.from_alias = Some(node.from.name.clone());
        node.from = QualifiedName { schema: String::new(), name: SOURCE.to_owned() };
    }
}

fn link_children(context: Context<'_>, schema: &str, node: &mut ReadNode) -> Result<(), Error> {
    let (parent, parent_alias) = (node.from.clone(), node.from_alias.clone());
    for child in &mut node.children {
        let origin = match &parent_alias {
            Some(alias) if child.depth == 1 => alias,
            _ => &parent.name,
        };
        let relationship = relation::find(context, schema, origin, &child.name, child.hint.as_deref())?;
        link(child, relationship, parent_alias.as_deref());
        link_children(context, schema, child)?;
    }
    Ok(())
}

/// Connects an embed with its parent.
fn link(child: &mut ReadNode, relationship: Relationship, parent_alias: Option<&str>) {
    let unqualified = |name: &str| QualifiedName { schema: String::new(), name: name.to_owned() };
    let alias = format!("{}_{}", relationship.foreign_table().name, child.depth);
    child.subquery_alias = format!("{}_{}_{}", relationship.table().name, child.output_name(), child.depth);
    child.from = relationship.foreign_table().clone();
    if child.spread.is_some() && !relationship.is_to_one() {
        child.spread = Some(Spread::ToMany { extra: Vec::new(), order: Vec::new() });
    }
    let origin = parent_alias.map_or_else(|| relationship.table().clone(), unqualified);
    if let Relationship::Key(by_key) = &relationship {
        match &by_key.cardinality {
            Cardinality::ManyToMany(junction) => {
                let in_junction = |column: &str| {
                    let table =
                        QualifiedName { schema: junction.table.schema.clone(), name: junction.table.name.clone() };
                    (table, column.to_owned())
                };
                let of_target = junction
                    .target_columns
                    .iter()
                    .map(|(column, other)| (in_junction(other), (by_key.foreign_table.clone(), column.clone())));
                let of_source = junction
                    .source_columns
                    .iter()
                    .map(|(column, other)| (in_junction(other), (origin.clone(), column.clone())));
                child.join_conditions = of_target.chain(of_source).collect();
            }
            Cardinality::OneToMany(key) | Cardinality::ManyToOne(key) | Cardinality::OneToOne(key, _) => {
                let pair = |(column, other): &(String, String)| {
                    ((unqualified(&alias), other.clone()), (origin.clone(), column.clone()))
                };
                child.join_conditions = key.columns.iter().map(pair).collect();
            }
        }
    }
    let is_through_junction =
        matches!(&relationship, Relationship::Key(by_key) if matches!(by_key.cardinality, Cardinality::ManyToMany(_)));
    child.from_alias = (!is_through_junction).then_some(alias);
    child.link = Some(Link { relationship, origin });
}

/// Applies the setting `db-max-rows` to every level.
fn restrict_ranges(maximum: Option<i64>, node: &mut ReadNode) {
    if node.range.last != Some(-1) {
        node.range = node.range.restrict(maximum);
    }
    node.children.iter_mut().for_each(|child| restrict_ranges(maximum, child));
}
