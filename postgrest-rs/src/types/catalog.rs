//! What generated types are made of: relations, keys, functions and types of the catalogs.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::request::QualifiedName;
use crate::schema_cache::load::LoadError;
use crate::schema_cache::node_tree::read_origins;
use crate::schema_cache::relationships::{KeyColumns, KeyKind, View, choices, find_view_keys};

/// The schemas $1 that exist and that the role may use.
const SCHEMAS: &str = "SELECT nspname AS name FROM pg_namespace
  WHERE nspname = ANY ($1::text[]) AND (pg_has_role(nspowner, 'USAGE') OR has_schema_privilege(oid, 'CREATE, USAGE'))";

/// The schemas that the role may use.
const USABLE_SCHEMAS: &str = "SELECT nspname AS name FROM pg_namespace
  WHERE pg_has_role(nspowner, 'USAGE') OR has_schema_privilege(oid, 'CREATE, USAGE') ORDER BY nspname";

/// Tables, foreign tables and views of the schemas $1 with the columns that the role may use.
const RELATIONS: &str = "SELECT c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind,
    c.relkind = 'v' AND (pg_relation_is_updatable(c.oid, false) & 20) = 20 AS is_updatable,
    coalesce((
      SELECT json_agg(json_build_object(
        'name', a.attname,
        'format', coalesce(b.typname, t.typname),
        'is_nullable', NOT (a.attnotnull OR t.typtype = 'd' AND t.typnotnull),
        'is_identity', a.attidentity <> '',
        'is_always_generated', a.attidentity = 'a',
        'has_default', a.atthasdef,
        'is_updatable', c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_column_is_updatable(c.oid, a.attnum, false)
      ) ORDER BY a.attnum)
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND (pg_has_role(c.relowner, 'USAGE') OR has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))
    ), '[]') AS columns
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname = ANY ($1::text[])
  ORDER BY c.ctid";

/// Foreign keys of the schemas $1, without those that partitions inherit.
const FOREIGN_KEYS: &str = "SELECT k.conname AS name, n.nspname AS schema, c.relname AS relation,
    rn.nspname AS referenced_schema, r.relname AS referenced_relation, pairs.columns, pairs.referenced_columns,
    EXISTS (
      SELECT FROM pg_constraint u
      WHERE u.conrelid = k.conrelid AND u.contype IN ('p', 'u') AND to_jsonb(pairs.columns) = (
        SELECT jsonb_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = u.conrelid AND a.attnum = ANY (u.conkey)
      )
    ) AS is_one_to_one
  FROM pg_constraint k
  JOIN pg_namespace n ON n.oid = k.connamespace JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
  CROSS JOIN LATERAL (
    SELECT array_agg(a.attname::text ORDER BY o) AS columns, array_agg(b.attname::text ORDER BY o) AS referenced_columns
    FROM unnest(k.conkey, k.confkey) WITH ORDINALITY AS pair (x, y, o)
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = x
    JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = y
  ) pairs
  WHERE k.contype = 'f' AND k.conparentid = 0 AND n.nspname = ANY ($1::text[])
  ORDER BY k.ctid";

/// The columns of both sides of foreign keys, by the number of the column; the referenced side of the schemas $1.
const KEY_COLUMNS: &str = "SELECT k.conname AS name, side.kind, side.oid::bigint AS oid, n.nspname AS schema, c.relname AS relation,
    (
      SELECT json_agg(json_build_array(a.attnum, a.attname) ORDER BY o)
      FROM unnest(side.columns) WITH ORDINALITY AS key (x, o) JOIN pg_attribute a ON a.attrelid = side.oid AND a.attnum = x
    ) AS columns
  FROM pg_constraint k
  CROSS JOIN LATERAL (VALUES ('f', k.conrelid, k.conkey), ('r', k.confrelid, k.confkey)) AS side (kind, oid, columns)
  JOIN pg_class c ON c.oid = side.oid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE k.contype = 'f' AND (side.kind = 'f' OR k.connamespace IN (SELECT oid FROM pg_namespace WHERE nspname = ANY ($1::text[])))";

/// The views of the schemas $1 with the trees of their rules.
const VIEWS: &str = "SELECT c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name, r.ev_action::text AS tree,
    (SELECT json_agg(json_build_array(attnum, attname)) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) AS columns
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_rewrite r ON r.ev_class = c.oid
  WHERE c.relkind IN ('v', 'm') AND r.rulename = '_RETURN' AND n.nspname = ANY ($1::text[])";

/// Functions of the schemas $1. The defaults belong to the last of the input arguments, which come first.
const FUNCTIONS: &str =
    "SELECT n.nspname AS schema, p.proname AS name, p.pronargs AS inputs, p.pronargdefaults AS defaults,
    coalesce(p.proargmodes::text[], '{}') AS modes, coalesce(p.proargnames, '{}') AS names,
    coalesce(p.proallargtypes, p.proargtypes::oid[])::bigint[] AS types,
    pg_get_function_arguments(p.oid) AS argument_types, pg_get_function_result(p.oid) AS return_type,
    p.prorettype::bigint AS returned, nullif(t.typrelid, 0)::bigint AS returned_relation,
    p.proretset AS returns_set, CASE WHEN p.proretset THEN p.prorows ELSE 0 END AS rows
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_type t ON t.oid = p.prorettype
  WHERE p.prokind = 'f' AND n.nspname = ANY ($1::text[])
    AND p.prorettype NOT IN ('pg_catalog.trigger'::regtype, 'pg_catalog.event_trigger'::regtype)
  ORDER BY p.ctid";

/// All types but those of foreign tables.
const TYPES: &str =
    "SELECT t.oid::bigint AS oid, t.typname AS name, n.nspname AS schema, format_type(t.oid, NULL) AS format,
    nullif(t.typrelid, 0)::bigint AS relation,
    coalesce((SELECT json_agg(enumlabel ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid), '[]') AS labels,
    coalesce((
      SELECT json_agg(json_build_array(a.attname, a.atttypid::bigint) ORDER BY a.attnum)
      FROM pg_attribute a WHERE c.relkind = 'c' AND a.attrelid = c.oid AND NOT a.attisdropped
    ), '[]') AS attributes
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
  WHERE t.typrelid = 0 OR c.relkind IN ('c', 'r', 'v', 'm', 'p')
  ORDER BY t.ctid";

/// The longest that a query may take, in milliseconds.
const TIME_LIMIT: u32 = 60_000;

/// What generated types are made of.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) schemas: Vec<String>,
    pub(super) relations: Vec<Relation>,
    pub(super) references: Vec<Reference>,
    pub(super) functions: Vec<FunctionRow>,
    pub(super) types: Vec<PgType>,
}

#[derive(Debug, Deserialize)]
struct Name {
    name: String,
}

/// A table or view.
#[derive(Debug, Deserialize)]
pub(super) struct Relation {
    pub(super) oid: u32,
    pub(super) schema: String,
    pub(super) name: String,
    /// As in `pg_class.relkind`.
    pub(super) kind: char,
    pub(super) is_updatable: bool,
    pub(super) columns: Vec<ColumnRow>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ColumnRow {
    pub(super) name: String,
    /// The name of its type; of a domain that of the type below it.
    pub(super) format: String,
    pub(super) is_nullable: bool,
    pub(super) is_identity: bool,
    pub(super) is_always_generated: bool,
    pub(super) has_default: bool,
    pub(super) is_updatable: bool,
}

/// A relationship of a relation to another one.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) schema: String,
    pub(super) relation: String,
    pub(super) columns: Vec<String>,
    pub(super) referenced_schema: String,
    pub(super) referenced_relation: String,
    pub(super) referenced_columns: Vec<String>,
    pub(super) is_one_to_one: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionRow {
    pub(super) schema: String,
    pub(super) name: String,
    inputs: usize,
    defaults: usize,
    modes: Vec<String>,
    names: Vec<String>,
    types: Vec<u32>,
    pub(super) argument_types: String,
    pub(super) return_type: String,
    pub(super) returned: u32,
    pub(super) returned_relation: Option<u32>,
    pub(super) returns_set: bool,
    /// The estimated number of rows.
    pub(super) rows: f64,
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgumentRow {
    /// As in `pg_proc.proargmodes`.
    pub(super) mode: char,
    pub(super) name: String,
    pub(super) type_oid: u32,
    pub(super) has_default: bool,
}

impl FunctionRow {
    /// The arguments of all modes in their order.
    pub(super) fn arguments(&self) -> Vec<ArgumentRow> {
        let argument = |(index, type_oid): (usize, &u32)| ArgumentRow {
            mode: self.modes.get(index).and_then(|mode| mode.chars().next()).unwrap_or('i'),
            name: self.names.get(index).cloned().unwrap_or_default(),
            type_oid: *type_oid,
            has_default: index < self.inputs && index + self.defaults >= self.inputs,
        };
        self.types.iter().enumerate().map(argument).collect()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct PgType {
    pub(super) oid: u32,
    pub(super) name: String,
    pub(super) schema: String,
    /// The name as SQL has it, with the schema where it is not in the search path.
    pub(super) format: String,
    /// The relation whose rows have this type.
    pub(super) relation: Option<u32>,
    /// The labels of an enumeration.
    pub(super) labels: Vec<String>,
    /// Names and types of the attributes of a composite type.
    pub(super) attributes: Vec<(String, u32)>,
}

#[derive(Deserialize)]
struct KeyRow {
    name: String,
    kind: char,
    oid: u32,
    schema: String,
    relation: String,
    columns: Vec<(i32, String)>,
}

#[derive(Deserialize)]
struct ViewRow {
    oid: u32,
    schema: String,
    name: String,
    tree: String,
    columns: Vec<(i32, String)>,
}

/// The rows of a query over the schemas.
async fn read<T: DeserializeOwned>(client: &Client, query: &str, schemas: &[String]) -> Result<Vec<T>, LoadError> {
    let uses_schemas = query.contains("$1");
    let text = format!("SELECT coalesce(json_agg(q), '[]')::text FROM ({query}) q");
    let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&schemas, Type::TEXT_ARRAY)];
    let rows = client.query_typed(&text, if uses_schemas { &parameters } else { &[] }).await?;
    Ok(serde_json::from_str(rows.first().map_or(Ok("[]"), |row| row.try_get(0))?)?)
}

/// Returns the schemas that the role may use, by name.
///
/// # Errors
/// The database refused the query.
pub(super) async fn list_usable_schemas(client: &Client) -> Result<Vec<String>, LoadError> {
    let found = read::<Name>(client, USABLE_SCHEMAS, &[]).await?;
    Ok(found.into_iter().map(|schema| schema.name).collect())
}

impl Catalog {
    /// Reads the catalogs in one transaction.
    ///
    /// # Errors
    /// The database refused a query.
    pub(super) async fn read(client: &Client, schemas: &[String]) -> Result<Self, LoadError> {
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; SET LOCAL statement_timeout = {TIME_LIMIT}"
        );
        client.batch_execute(&begin).await?;
        let (names, relations, keys, key_columns, views, functions, types) = tokio::try_join!(
            read::<Name>(client, SCHEMAS, schemas),
            read::<Relation>(client, RELATIONS, schemas),
            read::<Reference>(client, FOREIGN_KEYS, schemas),
            read::<KeyRow>(client, KEY_COLUMNS, schemas),
            read::<ViewRow>(client, VIEWS, schemas),
            read::<FunctionRow>(client, FUNCTIONS, schemas),
            read::<PgType>(client, TYPES, schemas),
        )?;
        client.batch_execute("COMMIT").await?;
        let references = with_views(keys, key_columns, views);
        let schemas = names.into_iter().map(|schema| schema.name).collect();
        Ok(Self { schemas, relations, references, functions, types })
    }
}

/// A side of a key: schema and name of its relation, the constraint, and whether it references.
type KeySide = (String, String, String, bool);

/// Adds the relationships of views over either side of a key.
fn with_views(keys: Vec<Reference>, key_columns: Vec<KeyRow>, views: Vec<ViewRow>) -> Vec<Reference> {
    let views: Vec<View> = views
        .into_iter()
        .map(|ViewRow { oid, schema, name, tree, columns }| View {
            oid,
            name: QualifiedName { schema, name },
            is_exposed: true,
            columns: columns.into_iter().collect::<HashMap<_, _>>(),
            origins: read_origins(&tree),
        })
        .collect();
    let key_columns: Vec<KeyColumns> = key_columns
        .into_iter()
        .map(|KeyRow { name, kind, oid, schema, relation, columns }| KeyColumns {
            table: oid,
            table_name: QualifiedName { schema, name: relation },
            constraint: name,
            kind: if kind == 'f' { KeyKind::Referencing } else { KeyKind::Referenced },
            columns,
        })
        .collect();
    let mut sides: BTreeMap<KeySide, Vec<(QualifiedName, Vec<String>)>> = BTreeMap::new();
    for key in find_view_keys(&views, &key_columns) {
        let side = (key.table.schema, key.table.name, key.constraint, key.kind == KeyKind::Referencing);
        let all = choices(&key.columns).into_iter().map(|columns| (key.view.clone(), columns));
        sides.entry(side).or_default().extend(all);
    }
    let side = |schema: &str, relation: &str, name: &str, is_referencing| {
        sides
            .get(&(schema.to_owned(), relation.to_owned(), name.to_owned(), is_referencing))
            .cloned()
            .unwrap_or_default()
    };
    let mut lifted = Vec::new();
    for key in &keys {
        let referencing = side(&key.schema, &key.relation, &key.name, true);
        let referenced = side(&key.referenced_schema, &key.referenced_relation, &key.name, false);
        let from_view = |(view, columns): &(QualifiedName, Vec<String>), of: &Reference| Reference {
            schema: view.schema.clone(),
            relation: view.name.clone(),
            columns: columns.clone(),
            ..of.clone()
        };
        let to_view = |(view, columns): &(QualifiedName, Vec<String>)| Reference {
            referenced_schema: view.schema.clone(),
            referenced_relation: view.name.clone(),
            referenced_columns: columns.clone(),
            ..key.clone()
        };
        lifted.extend(referencing.iter().map(|view| from_view(view, key)));
        let to_views: Vec<Reference> = referenced.iter().map(to_view).collect();
        for view in &referencing {
            lifted.extend(to_views.iter().map(|reference| from_view(view, reference)));
        }
        lifted.extend(to_views);
    }
    keys.into_iter().chain(lifted).collect()
}
