//! What is read: a tree of relations with their embeds.

use super::{
    ColumnRef, Condition, Context, JoinCondition, Link, OrderBy, RelationSelect, SOURCE, SelectField, Spread,
    SpreadField, relation, resolve,
};
use crate::error::Error;
use crate::request::query::range_path;
use crate::request::range::RowRange;
use crate::request::tree::{
    AggregateFunction, EmbedPath, IsValue, JoinType, JsonOperand, Operation, OrderTerm, SelectItem, SelectNode,
};
use crate::request::{Action, QualifiedName};
use crate::schema_cache::{Cardinality, Relationship, SchemaCache};

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
    /// The conditions of the join.
    pub join_conditions: Vec<JoinCondition>,
    /// The alias of the subquery.
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
    fn new(from: QualifiedName, name: &str, depth: usize) -> Self {
        Self {
            select: Vec::new(),
            from,
            from_alias: None,
            conditions: Vec::new(),
            order: Vec::new(),
            range: super::ALL_ROWS,
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
    pub(super) fn selects_everything(&self) -> bool {
        matches!(self.select.as_slice(), [field] if field.column.name == "*") && self.children.is_empty()
    }

    /// The name in the answer.
    fn output_name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }

    fn is_to_one(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.relationship.is_to_one())
    }

    /// Whether neither it nor an embed of it selects anything.
    fn is_empty(&self) -> bool {
        self.select.is_empty() && self.children.iter().all(Self::is_empty)
    }
}

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
    if let Relationship::Key(it) = &relationship {
        match &it.cardinality {
            Cardinality::ManyToMany(junction) => {
                let in_junction = |column: &str| {
                    let table =
                        QualifiedName { schema: junction.table.schema.clone(), name: junction.table.name.clone() };
                    (table, column.to_owned())
                };
                let of_target = junction
                    .target_columns
                    .iter()
                    .map(|(column, other)| (in_junction(other), (it.foreign_table.clone(), column.clone())));
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
        matches!(&relationship, Relationship::Key(it) if matches!(it.cardinality, Cardinality::ManyToMany(_)));
    child.from_alias = (!is_through_junction).then_some(alias);
    child.link = Some(Link { relationship, origin });
}

/// Replaces `*` by the columns where each of them must be named: beside aggregates, in arrays of a spread embed, and where a
/// function converts one of them.
fn expand_stars(cache: &SchemaCache, root: &QualifiedName, has_aggregate: bool, node: &mut ReadNode) {
    let table = if node.from.schema.is_empty() && node.from.name == SOURCE { root.clone() } else { node.from.clone() };
    let is_to_many = matches!(node.spread, Some(Spread::ToMany { .. }));
    let has_aggregate = has_aggregate || is_to_many || node.select.iter().any(|field| field.aggregate.is_some());
    let is_spread = node.spread.is_some();
    let is_row_count = |field: &SelectField| is_spread && field.aggregate == Some(AggregateFunction::Count);
    let has_star =
        node.select.iter().any(|field| field.column.name == "*" && (field.aggregate.is_none() || is_row_count(field)));
    let columns = cache.tables.get(&table).map_or(&[][..], |table| &table.columns);
    let is_converted = columns
        .iter()
        .any(|column| cache.representations.contains_key(&(column.nominal_type.clone(), "json".to_owned())));
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
fn add_aliases(node: &mut ReadNode) {
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
pub(crate) fn aggregate_name(aggregate: AggregateFunction) -> &'static str {
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
fn link_orders(node: &mut ReadNode) -> Result<(), Error> {
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
fn link_null_filters(node: &mut ReadNode) {
    fn convert(condition: &mut Condition, children: &[ReadNode]) {
        match condition {
            Condition::Group { conditions, .. } => conditions.iter_mut().for_each(|it| convert(it, children)),
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
fn add_embeds(node: &mut ReadNode) {
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

fn check_aggregates(are_enabled: bool, node: &ReadNode) -> Result<(), Error> {
    if !are_enabled && node.select.iter().any(|field| field.aggregate.is_some()) {
        return Err(Error::aggregates_not_allowed());
    }
    node.children.iter().try_for_each(|child| check_aggregates(are_enabled, child))
}

/// An aggregate that a parent applies: the alias of the subquery and the column, and what is applied.
struct Hoisted {
    alias: String,
    name: String,
    aggregate: AggregateFunction,
    cast: Option<String>,
    output: Option<String>,
}

/// Moves the aggregates of to-one spread embeds to the nearest parent that is none; returns those that go further up.
fn hoist_aggregates(node: &mut ReadNode) -> Vec<Hoisted> {
    let of_children: Vec<Hoisted> = node.children.iter_mut().flat_map(hoist_aggregates).collect();
    let is_to_one = node.spread == Some(Spread::ToOne);
    if !is_to_one {
        for embed in &mut node.embeds {
            let RelationSelect::Spread { fields, alias } = embed else { continue };
            for field in fields {
                if let Some(it) = of_children.iter().find(|it| it.alias == *alias && it.name == field.name) {
                    field.aggregate = Some(it.aggregate);
                    field.aggregate_cast.clone_from(&it.cast);
                    field.alias.clone_from(&it.output);
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
    hoisted.extend(of_children.into_iter().map(|it| Hoisted { alias: node.subquery_alias.clone(), ..it }));
    hoisted
}

/// The order of a to-many spread embed applies to its arrays, over columns that are selected for it.
fn add_spread_orders(node: &mut ReadNode) -> Result<(), Error> {
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

/// Applies the setting `db-max-rows` to every level.
fn restrict_ranges(maximum: Option<i64>, node: &mut ReadNode) {
    if node.range.last != Some(-1) {
        node.range = node.range.restrict(maximum);
    }
    node.children.iter_mut().for_each(|child| restrict_ranges(maximum, child));
}
