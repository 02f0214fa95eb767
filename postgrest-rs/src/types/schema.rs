//! The types of one schema: its tables, views, enumerations and composite types.

use super::Generator;
use super::callable::Callable;
use super::catalog::{ColumnRow, Reference, Relation};
use super::layout::{Member, Type, quote};
use super::order::compare;

impl<'a> Generator<'a> {
    /// The type of a schema.
    pub(super) fn schema(&self, schema: &str) -> Type {
        let tables = self.list_relations(schema, &['r', 'p', 'f']);
        let views = self.list_relations(schema, &['v', 'm']);
        let tables = tables.into_iter().map(|table| Member::new(table.name.as_str(), self.table(table))).collect();
        let views = views.into_iter().map(|view| Member::new(view.name.as_str(), self.view(view))).collect();
        let enums = self.list_types(schema, |pg_type| !pg_type.labels.is_empty()).into_iter().map(|pg_type| {
            let mut labels: Vec<Type> = pg_type.labels.iter().map(|label| Type::Literal(label.clone())).collect();
            Member::new(pg_type.name.as_str(), if labels.len() == 1 { labels.remove(0) } else { Type::Union(labels) })
        });
        let composites = self.list_types(schema, |pg_type| !pg_type.attributes.is_empty()).into_iter().map(|pg_type| {
            let attribute = |(name, oid): &(String, u32)| {
                let is_known = self.types.contains_key(oid);
                Member::new(name.as_str(), self.type_of(schema, *oid).nullable(is_known))
            };
            Member::new(pg_type.name.as_str(), Type::expanded(pg_type.attributes.iter().map(attribute).collect()))
        });
        let group = |name: &str, members: Vec<Member>| {
            Member::new(name, if members.is_empty() { Type::Nothing } else { Type::expanded(members) })
        };
        Type::expanded(vec![
            group("Tables", tables),
            group("Views", views),
            group("Functions", self.function_members(schema)),
            group("Enums", enums.collect()),
            group("CompositeTypes", composites.collect()),
        ])
    }

    /// The relations of these kinds, by their names.
    fn list_relations(&self, schema: &str, kinds: &[char]) -> Vec<&'a Relation> {
        let is_wanted = |relation: &&Relation| relation.schema == schema && kinds.contains(&relation.kind);
        let mut found: Vec<&Relation> = self.catalog.relations.iter().filter(is_wanted).collect();
        // Before they are sorted, tables precede foreign tables, and views materialized ones.
        found.sort_by_key(|relation| matches!(relation.kind, 'f' | 'm'));
        found.sort_by(|left, right| compare(&left.name, &right.name));
        found
    }

    fn column(&self, relation: &Relation, column: &ColumnRow, is_optional: bool, is_nullable: bool) -> Member {
        let value = self.type_named(&relation.schema, &column.format).nullable(is_nullable);
        Member::optional(column.name.as_str(), is_optional, value)
    }

    /// The columns as they are read.
    pub(super) fn columns(&self, relation: &Relation) -> Vec<Member> {
        relation.columns.iter().map(|column| self.column(relation, column, false, column.is_nullable)).collect()
    }

    /// The columns as they are read, and the functions of a row that can be selected like columns.
    fn row(&self, relation: &Relation) -> Type {
        let mut members = self.columns(relation);
        let callables = self.functions.get(relation.schema.as_str());
        let computed =
            callables.into_iter().flatten().filter(|callable| callable.function.argument_types == relation.name);
        members.extend(computed.map(|Callable { function, .. }| {
            Member::new(function.name.as_str(), self.return_type(function).nullable(true))
        }));
        Type::expanded(members)
    }

    fn table(&self, relation: &Relation) -> Type {
        let never = |column: &ColumnRow| Member::optional(column.name.as_str(), true, Type::name("never"));
        let insert = relation.columns.iter().map(|column| {
            if column.is_always_generated {
                return never(column);
            }
            self.column(
                relation,
                column,
                column.is_nullable || column.is_identity || column.has_default,
                column.is_nullable,
            )
        });
        let update = relation.columns.iter().map(|column| {
            if column.is_always_generated {
                never(column)
            } else {
                self.column(relation, column, true, column.is_nullable)
            }
        });
        Type::expanded(vec![
            Member::new("Row", self.row(relation)),
            Member::new("Insert", Type::expanded(insert.collect())),
            Member::new("Update", Type::expanded(update.collect())),
            Member::new("Relationships", self.relationships(relation)),
        ])
    }

    fn view(&self, relation: &Relation) -> Type {
        let mut members = vec![Member::new("Row", self.row(relation))];
        if relation.is_updatable {
            let written = |column: &ColumnRow| {
                if column.is_updatable {
                    return self.column(relation, column, true, true);
                }
                Member::optional(column.name.as_str(), true, Type::name("never"))
            };
            let written = Type::expanded(relation.columns.iter().map(written).collect());
            members.push(Member::new("Insert", written.clone()));
            members.push(Member::new("Update", written));
        }
        members.push(Member::new("Relationships", self.relationships(relation)));
        Type::expanded(members)
    }

    /// The relationships to relations of the same schema.
    fn relationships(&self, relation: &Relation) -> Type {
        let is_of = |reference: &&Reference| {
            reference.schema == relation.schema
                && reference.relation == relation.name
                && reference.referenced_schema == relation.schema
        };
        let texts =
            |columns: &[String]| Type::Tuple(columns.iter().map(|column| Type::Literal(column.clone())).collect());
        let describe = |reference: &Reference| {
            let mut members = vec![
                Member::new("foreignKeyName", Type::Name(quote(&reference.name))),
                Member::new("columns", texts(&reference.columns)),
            ];
            if !self.options.omits_one_to_one {
                members.push(Member::new(
                    "isOneToOne",
                    Type::name(if reference.is_one_to_one { "true" } else { "false" }),
                ));
            }
            members.extend([
                Member::new("referencedRelation", Type::Name(quote(&reference.referenced_relation))),
                Member::new("referencedColumns", texts(&reference.referenced_columns)),
            ]);
            Type::expanded(members)
        };
        Type::Tuple(self.catalog.references.iter().filter(is_of).map(describe).collect())
    }
}
