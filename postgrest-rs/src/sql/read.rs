//! Queries of a tree of relations.

use super::Sql;
use super::fragment::unqualified;
use crate::plan::read::ReadNode;
use crate::plan::{ColumnRef, RelationSelect, SelectField, Spread, is_inner};
use crate::request::QualifiedName;
use crate::schema_cache::{Cardinality, Relationship};

/// What the relation of a node is called in its query.
fn table_name(node: &ReadNode) -> QualifiedName {
    match node.link.as_ref().map(|link| &link.relationship) {
        Some(Relationship::Computed(computed)) => {
            unqualified(node.from_alias.as_deref().unwrap_or(&computed.function.name))
        }
        _ => node.from_alias.as_deref().map_or_else(|| node.from.clone(), unqualified),
    }
}

impl Sql {
    /// Appends the query of a node.
    pub(super) fn read(&mut self, node: &ReadNode) -> &mut Self {
        let table = table_name(node);
        let everything = [SelectField {
            column: ColumnRef { name: "*".to_owned(), ..ColumnRef::default() },
            aggregate: None,
            aggregate_cast: None,
            cast: None,
            alias: None,
        }];
        let select = if node.select.is_empty() && node.children.is_empty() { &everything[..] } else { &node.select };
        self.raw("SELECT ");
        let mut is_first = true;
        let mut next = |sql: &mut Self| {
            if !std::mem::take(&mut is_first) {
                sql.raw(", ");
            }
        };
        for field in select {
            next(self);
            self.select_field(&table, field);
        }
        if let Some(Spread::ToMany { extra, .. }) = &node.spread {
            for (relation, field) in extra {
                next(self);
                let relation = relation.as_deref().map_or_else(|| table.clone(), unqualified);
                self.select_field(&relation, field);
            }
        }
        for embed in &node.embeds {
            match embed {
                RelationSelect::Embed { is_empty: true, .. } => {}
                RelationSelect::Embed { name, alias, is_object: true, .. } => {
                    next(self);
                    self.raw("row_to_json(").name(alias).raw(".*)::jsonb AS ").name(name);
                }
                RelationSelect::Embed { name, alias, .. } => {
                    next(self);
                    self.raw("COALESCE( ").name(alias).raw(".").name(alias).raw(", '[]') AS ").name(name);
                }
                RelationSelect::Spread { fields, alias } => {
                    for field in fields {
                        next(self);
                        self.spread_field(alias, field);
                    }
                }
            }
        }
        self.from(node).joins(node);
        self.conditions(node, &table)
            .group(&table, &node.select, &node.embeds)
            .order(&table, &node.order)
            .range(node.range)
    }

    /// Appends `FROM`, with the junction of a many-to-many relationship.
    fn from(&mut self, node: &ReadNode) -> &mut Self {
        self.raw(" FROM ");
        let link = node.link.as_ref();
        match link.map(|link| &link.relationship) {
            Some(Relationship::Computed(computed)) => {
                let origin = link.map_or(computed.table.name.as_str(), |link| &link.origin.name);
                // The cast chooses among functions of this name.
                self.qualified(&computed.function).raw("(").name(origin).raw("::").qualified(&computed.table).raw(")")
            }
            _ => self.qualified(&node.from),
        };
        if let Some(alias) = &node.from_alias {
            self.raw(" AS ").name(alias);
        }
        if let Some(Relationship::Key(key)) = link.map(|link| &link.relationship)
            && let Cardinality::ManyToMany(junction) = &key.cardinality
        {
            self.raw(", ").qualified(&junction.table);
        }
        self
    }

    /// Appends the joins of the embeds.
    fn joins(&mut self, node: &ReadNode) -> &mut Self {
        for (embed, child) in node.embeds.iter().zip(&node.children) {
            let alias = embed.alias();
            self.raw(if is_inner(child.join) { " INNER JOIN LATERAL ( " } else { " LEFT JOIN LATERAL ( " });
            let is_aggregated = match (embed, &child.spread) {
                (RelationSelect::Embed { is_object, .. }, _) => !is_object,
                (RelationSelect::Spread { .. }, spread) => matches!(spread, Some(Spread::ToMany { .. })),
            };
            if !is_aggregated {
                self.read(child).raw(" ) AS ").name(alias).raw(" ON TRUE");
                continue;
            }
            self.raw("SELECT json_agg(").name(alias).raw(")::jsonb AS ").name(alias);
            if let (RelationSelect::Spread { fields, .. }, Some(Spread::ToMany { order, .. })) = (embed, &child.spread)
            {
                for field in fields {
                    self.raw(", COALESCE(json_agg(").column(&unqualified(alias), &field.name);
                    self.order(&unqualified(alias), order).raw("), '[]')::jsonb AS ");
                    self.name(field.alias.as_ref().unwrap_or(&field.name));
                }
            }
            self.raw(" FROM (").read(child).raw(" ) AS ").name(alias).raw(" ) AS ").name(alias).raw(" ON ");
            if is_inner(child.join) {
                self.name(alias).raw(" IS NOT NULL");
            } else {
                self.raw("TRUE");
            }
        }
        self
    }

    /// Appends `WHERE`.
    fn conditions(&mut self, node: &ReadNode, table: &QualifiedName) -> &mut Self {
        if node.conditions.is_empty() && node.join_conditions.is_empty() {
            return self;
        }
        self.raw(" WHERE ").join(&node.conditions, " AND ", |sql, condition| {
            sql.condition(table, condition);
        });
        if !node.conditions.is_empty() && !node.join_conditions.is_empty() {
            self.raw(" AND ");
        }
        self.join_conditions(node)
    }

    fn join_conditions(&mut self, node: &ReadNode) -> &mut Self {
        self.join(&node.join_conditions, " AND ", |sql, (left, right)| {
            sql.column(&left.0, &left.1).raw(" = ").column(&right.0, &right.1);
        })
    }

    /// Appends the query whose rows are counted: without range, and with `EXISTS` in place of inner joins.
    pub(super) fn count(&mut self, node: &ReadNode) -> &mut Self {
        let table = table_name(node);
        self.raw("SELECT 1").from(node);
        let mut separator = " WHERE ";
        for condition in &node.conditions {
            self.raw(std::mem::replace(&mut separator, " AND "));
            self.condition_with(&table, condition, &mut |sql, negated, alias| match node
                .children
                .iter()
                .find(|child| child.subquery_alias == alias)
            {
                Some(child) => {
                    sql.raw(if negated { "EXISTS (" } else { "NOT EXISTS (" }).count(child).raw(")");
                }
                None => {
                    sql.raw("TRUE");
                }
            });
        }
        if !node.join_conditions.is_empty() {
            self.raw(std::mem::replace(&mut separator, " AND ")).join_conditions(node);
        }
        for child in node.children.iter().filter(|child| is_inner(child.join)) {
            self.raw(std::mem::replace(&mut separator, " AND ")).raw("EXISTS (").count(child).raw(")");
        }
        self
    }
}
