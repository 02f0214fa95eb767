//! Types of TypeScript for the relations and functions of a database, as postgres-meta and thus `supabase gen types` write them.

mod callable;
mod catalog;
mod functions;
mod layout;
mod order;
mod schema;

use std::collections::{BTreeMap, HashMap};

use tokio_postgres::Client;

use crate::schema_cache::load::LoadError;
use callable::Callable;
use catalog::{Catalog, FunctionRow, PgType, Relation};
use layout::{Member, Type, key, new_line, quote, write_members};
use order::compare;

/// The type of JSON values, which the generated types begin with.
const JSON: &str = "export type Json =\n  | string\n  | number\n  | boolean\n  | null\n  | { [key: string]: Json | undefined }\n  | Json[]\n";

/// The types by which applications name tables and enumerations.
const HELPERS: &str = include_str!("helpers.ts");

/// How types are generated.
#[derive(Debug, Clone, Default)]
pub struct TypeOptions {
    /// The schemas; those that do not exist are left out.
    pub schemas: Vec<String>,
    /// Leaves `isOneToOne` out of relationships, as for clients of PostgREST 9.
    pub omits_one_to_one: bool,
}

/// Returns the schemas whose types can be generated: those that the role may use, by name.
///
/// # Errors
/// The database refused the query.
pub async fn list_schemas(client: &Client) -> Result<Vec<String>, LoadError> {
    catalog::list_usable_schemas(client).await
}

/// Generates the types of a database.
///
/// # Errors
/// The database refused a query.
pub async fn generate_typescript(client: &Client, options: &TypeOptions) -> Result<String, LoadError> {
    let mut catalog = Catalog::read(client, &options.schemas).await?;
    catalog.schemas.sort_by(|left, right| compare(left, right));
    for relation in &mut catalog.relations {
        relation.columns.sort_by(|left, right| compare(&left.name, &right.name));
    }
    catalog.references.sort_by(|left, right| {
        let columns = |columns: &[String]| serde_json::to_string(columns).unwrap_or_default();
        compare(&left.name, &right.name)
            .then_with(|| compare(&left.referenced_relation, &right.referenced_relation))
            .then_with(|| compare(&columns(&left.referenced_columns), &columns(&right.referenced_columns)))
    });
    Ok(Generator::new(&catalog, options).write())
}

/// What names of types are looked up in.
struct Generator<'a> {
    catalog: &'a Catalog,
    options: &'a TypeOptions,
    types: HashMap<u32, &'a PgType>,
    relations: HashMap<u32, &'a Relation>,
    /// The functions of each schema that have types, in their order.
    functions: BTreeMap<&'a str, Vec<Callable<'a>>>,
}

impl<'a> Generator<'a> {
    fn new(catalog: &'a Catalog, options: &'a TypeOptions) -> Self {
        let types = catalog.types.iter().map(|pg_type| (pg_type.oid, pg_type)).collect();
        let relations = catalog.relations.iter().map(|relation| (relation.oid, relation)).collect();
        let mut generator = Self { catalog, options, types, relations, functions: BTreeMap::new() };
        for schema in &catalog.schemas {
            let functions = generator.list_functions(schema);
            generator.functions.insert(schema, functions);
        }
        generator
    }

    fn write(&self) -> String {
        let mut out = format!("{JSON}\nexport type Database = {{");
        let schemas: Vec<Member> =
            self.catalog.schemas.iter().map(|schema| Member::new(schema.as_str(), self.schema(schema))).collect();
        write_members(&schemas, 2, &mut out);
        out.push_str("\n}\n\n");
        out.push_str(HELPERS);
        out.push_str("export const Constants = {");
        for schema in &self.catalog.schemas {
            self.write_constants(schema, &mut out);
        }
        out.push_str("\n} as const\n");
        out
    }

    /// Appends the labels of the enumerations of a schema.
    fn write_constants(&self, schema: &str, out: &mut String) {
        new_line(2, out);
        out.push_str(&key(schema));
        out.push_str(": {");
        new_line(4, out);
        let enums = self.list_types(schema, |pg_type| !pg_type.labels.is_empty());
        out.push_str(if enums.is_empty() { "Enums: {}," } else { "Enums: {" });
        for enumeration in &enums {
            new_line(6, out);
            out.push_str(&key(&enumeration.name));
            out.push_str(": ");
            Type::Tuple(enumeration.labels.iter().map(|label| Type::Literal(label.clone())).collect()).write(6, out);
            out.push(',');
        }
        if !enums.is_empty() {
            new_line(4, out);
            out.push_str("},");
        }
        new_line(2, out);
        out.push_str("},");
    }

    /// The types of a schema that meet a condition, by their names.
    fn list_types(&self, schema: &str, is_wanted: impl Fn(&PgType) -> bool) -> Vec<&'a PgType> {
        let mut found: Vec<&PgType> =
            self.catalog.types.iter().filter(|pg_type| pg_type.schema == schema && is_wanted(pg_type)).collect();
        found.sort_by(|left, right| compare(&left.name, &right.name));
        found
    }

    /// The type of a column or argument whose type has this OID.
    fn type_of(&self, schema: &str, oid: u32) -> Type {
        self.types.get(&oid).map_or_else(|| Type::name("unknown"), |pg_type| self.type_named(schema, &pg_type.name))
    }

    /// The type of a type's name, seen from a schema.
    fn type_named(&self, schema: &str, name: &str) -> Type {
        Type::name(match name {
            "bool" => "boolean",
            "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" => "number",
            "bytea" | "bpchar" | "varchar" | "date" | "text" | "citext" | "time" | "timetz" | "timestamp"
            | "timestamptz" | "uuid" | "vector" | "interval" => "string",
            "json" | "jsonb" => "Json",
            "void" => "undefined",
            "record" => "Record<string, unknown>",
            name => {
                return match name.strip_prefix('_') {
                    Some(element) => Type::Array(Box::new(self.type_named(schema, element))),
                    None => self.named_object(schema, name),
                };
            }
        })
    }

    /// The type of an enumeration, a composite type, a table or a view.
    fn named_object(&self, schema: &str, name: &str) -> Type {
        if let Some(found) = self.find_type(schema, name, |pg_type| !pg_type.labels.is_empty()) {
            if self.has_schema(&found.schema) {
                return reference(&found.schema, "Enums", name, "");
            }
            let mut labels: Vec<Type> = found.labels.iter().map(|label| Type::Literal(label.clone())).collect();
            return if labels.len() == 1 { labels.remove(0) } else { Type::Union(labels) };
        }
        if let Some(found) = self.find_type(schema, name, |pg_type| !pg_type.attributes.is_empty()) {
            if self.has_schema(&found.schema) {
                return reference(&found.schema, "CompositeTypes", name, "");
            }
            return Type::name("unknown");
        }
        for (kinds, group) in [(&['r', 'p'][..], "Tables"), (&['v'][..], "Views")] {
            let all: Vec<&Relation> = self
                .catalog
                .relations
                .iter()
                .filter(|relation| relation.name == name && kinds.contains(&relation.kind))
                .collect();
            if let Some(found) = all.iter().find(|relation| relation.schema == schema).or_else(|| all.first()) {
                return reference(&found.schema, group, name, "[\"Row\"]");
            }
        }
        Type::name("unknown")
    }

    fn find_type(&self, schema: &str, name: &str, is_wanted: impl Fn(&PgType) -> bool) -> Option<&'a PgType> {
        let all = || self.catalog.types.iter().filter(|pg_type| pg_type.name == name && is_wanted(pg_type));
        all().find(|pg_type| pg_type.schema == schema).or_else(|| all().next())
    }

    fn has_schema(&self, schema: &str) -> bool {
        self.catalog.schemas.iter().any(|exposed| exposed == schema)
    }

    /// The name that the relation of a result has; that of the type for composite types.
    fn relation_name(&self, function: &FunctionRow) -> Option<&'a str> {
        let relation = function.returned_relation?;
        if let Some(found) = self.relations.get(&relation) {
            return Some(&found.name);
        }
        self.row_type(function.returned).map(|pg_type| pg_type.name.as_str())
    }

    /// The type of this OID, if it is that of rows.
    fn row_type(&self, oid: u32) -> Option<&'a PgType> {
        self.types.get(&oid).copied().filter(|pg_type| pg_type.relation.is_some())
    }
}

/// A reference to a type of the generated ones.
fn reference(schema: &str, group: &str, name: &str, suffix: &str) -> Type {
    Type::Name(format!("Database[{}][\"{group}\"][{}]{suffix}", quote(schema), quote(name)))
}
