//! Reads the catalogs. Each query answers one JSON text.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::relationships::{self, KeyColumns, KeyKind, View};
use super::{
    Cardinality, ComputedRelationship, ForeignKey, Function, HandlerTarget, KeyRelationship, MediaHandler,
    ResolvedHandler, SchemaCache, Table,
};
use crate::config::Config;
use crate::request::QualifiedName;
use crate::request::media_type::MediaType;

/// Domains and the types below them.
pub(crate) const BASE_TYPES: &str = "WITH RECURSIVE chain (oid, base) AS (
  SELECT oid, typbasetype FROM pg_type WHERE typtype = 'd'
  UNION ALL
  SELECT chain.oid, t.typbasetype FROM chain JOIN pg_type t ON t.oid = chain.base WHERE t.typtype = 'd'
), bases AS (
  SELECT chain.oid, chain.base, t.typnamespace FROM chain JOIN pg_type t ON t.oid = chain.base WHERE t.typtype <> 'd'
)";

/// Relations; columns of those in the schemas $1 only.
const TABLES: &str = "SELECT
  n.nspname AS schema, c.relname AS name, obj_description(c.oid, 'pg_class') AS description,
  c.relkind IN ('v', 'm') AS is_view,
  c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, true) & 8 = 8 AS insertable,
  c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, true) & 4 = 4 AS updatable,
  c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, true) & 16 = 16 AS deletable,
  COALESCE((
    SELECT json_agg(a.attname ORDER BY a.attname) FROM pg_constraint k
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
    WHERE k.conrelid = c.oid AND k.contype = 'p'
  ), '[]') AS key,
  COALESCE((
    SELECT json_agg(json_build_object(
      'name', a.attname,
      'description', col_description(a.attrelid, a.attnum),
      'nullable', NOT (a.attnotnull OR t.typtype = 'd' AND t.typnotnull),
      'data_type', CASE
        WHEN b.oid IS NOT NULL AND b.typnamespace = 'pg_catalog'::regnamespace THEN format_type(b.base, NULL)
        WHEN b.oid IS NULL AND t.typnamespace = 'pg_catalog'::regnamespace THEN format_type(a.atttypid, NULL)
        ELSE format_type(a.atttypid, a.atttypmod)
      END,
      'nominal_type', format_type(a.atttypid, a.atttypmod),
      'max_length', (
        SELECT CASE
          WHEN m.modifier < 0 THEN NULL
          WHEN m.type IN ('character'::regtype, 'character varying'::regtype) THEN m.modifier - 4
          WHEN m.type IN ('bit'::regtype, 'bit varying'::regtype) THEN m.modifier
        END
        FROM (
          SELECT
            CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END AS type,
            CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS modifier
        ) m
      ),
      'default', CASE
        WHEN t.typbasetype <> 0 AND d.adbin IS NULL THEN pg_get_expr(t.typdefaultbin, 0)
        WHEN a.attidentity = 'd' THEN (
          SELECT format('nextval(%L)', s.objid::regclass) FROM pg_depend s
          WHERE s.refobjid = a.attrelid AND s.refobjsubid = a.attnum AND s.deptype = 'i' AND s.classid = 'pg_class'::regclass
          LIMIT 1
        )
        WHEN a.attgenerated = 's' THEN NULL
        ELSE pg_get_expr(d.adbin, d.adrelid)
      END,
      'labels', COALESCE((
        SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = COALESCE(b.base, t.oid)
      ), '[]')
    ) ORDER BY a.attnum)
    FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN bases b ON b.oid = t.oid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND n.nspname = ANY ($1::text[])
  ), '[]') AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')";

/// Foreign keys, save those that partitions inherit.
const FOREIGN_KEYS: &str = "SELECT
  n.nspname AS schema, c.relname AS name, fn.nspname AS foreign_schema, f.relname AS foreign_name,
  k.conrelid = k.confrelid AS is_self, k.conname AS constraint_name,
  (
    SELECT json_agg(json_build_array(a.attname, r.attname) ORDER BY u.position)
    FROM unnest(k.conkey, k.confkey) WITH ORDINALITY AS u (own, referenced, position)
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own
    JOIN pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = u.referenced
  ) AS columns,
  EXISTS (
    SELECT FROM pg_constraint u WHERE u.conrelid = k.conrelid AND u.contype IN ('p', 'u')
      AND u.conkey @> k.conkey AND u.conkey <@ k.conkey
  ) AS is_unique
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class f ON f.oid = k.confrelid JOIN pg_namespace fn ON fn.oid = f.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0";

/// Columns of primary keys, and of both sides of foreign ones.
const KEY_COLUMNS: &str = "SELECT
  s.relation::bigint AS oid, n.nspname AS schema, c.relname AS name, s.conname AS constraint_name, s.kind,
  (
    SELECT json_agg(json_build_array(a.attnum, a.attname) ORDER BY u.position)
    FROM unnest(s.columns) WITH ORDINALITY AS u (number, position)
    JOIN pg_attribute a ON a.attrelid = s.relation AND a.attnum = u.number
  ) AS columns
FROM (
  SELECT conrelid AS relation, conname, contype::text AS kind, conkey AS columns FROM pg_constraint WHERE contype IN ('p', 'f')
  UNION ALL
  SELECT confrelid, conname, 'r', confkey FROM pg_constraint WHERE contype = 'f'
) s
JOIN pg_class c ON c.oid = s.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'pg_catalog'";

/// Views of the schemas $1 and $2 with the trees of their rules.
const VIEWS: &str = "SELECT
  c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name, n.nspname = ANY ($1::text[]) AS is_exposed,
  (
    SELECT json_agg(json_build_array(a.attnum, a.attname)) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  ) AS columns,
  r.ev_action::text AS tree
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_rewrite r ON r.ev_class = c.oid
WHERE c.relkind IN ('v', 'm') AND r.rulename = '_RETURN' AND n.nspname = ANY ($1::text[] || $2::text[])";

/// Functions from a row to rows.
const COMPUTED: &str = "SELECT
  n.nspname AS schema, p.proname AS name,
  an.nspname AS table_schema, a.typname AS table_name, rn.nspname AS foreign_schema, r.typname AS foreign_name,
  NOT p.proretset OR p.prorows = 1 AS to_one
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_type a ON a.oid = p.proargtypes[0] JOIN pg_namespace an ON an.oid = a.typnamespace
JOIN pg_type r ON r.oid = p.prorettype JOIN pg_namespace rn ON rn.oid = r.typnamespace
WHERE p.pronargs = 1
  AND EXISTS (SELECT FROM pg_class c WHERE c.reltype = a.oid AND c.relkind IN ('r', 'v', 'm', 'f', 'p'))
  AND EXISTS (SELECT FROM pg_class c WHERE c.reltype = r.oid AND c.relkind IN ('r', 'v', 'm', 'f', 'p'))";

/// Functions of the schemas $1, with the settings $2. Functions with several unnamed parameters cannot be called.
pub(crate) const FUNCTIONS: &str = "SELECT
  n.nspname AS schema, p.proname AS name, obj_description(p.oid, 'pg_proc') AS description,
  COALESCE(i.parameters, '[]') AS parameters,
  tn.nspname AS return_schema, COALESCE(tc.relname, t.typname) AS return_type,
  p.proretset AS returns_set,
  t.typtype = 'c' OR COALESCE(p.proargmodes::text[] && '{t,b,o}', false) AS returns_composite,
  p.provolatile AS volatility, p.provariadic <> 0 AS is_variadic,
  (
    SELECT split_part(split_part(s, '=', 2), ',', 1) FROM unnest(p.proconfig) s
    WHERE s LIKE 'default\\_transaction\\_isolation=%' LIMIT 1
  ) AS isolation,
  COALESCE((
    SELECT json_agg(json_build_array(split_part(s, '=', 1), substr(s, strpos(s, '=') + 1))) FROM unnest(p.proconfig) s
    WHERE split_part(s, '=', 1) = ANY ($2::text[])
  ), '[]') AS settings
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN bases b ON b.oid = p.prorettype
JOIN pg_type t ON t.oid = COALESCE(b.base, p.prorettype) JOIN pg_namespace tn ON tn.oid = t.typnamespace
LEFT JOIN pg_class tc ON tc.oid = t.typrelid
LEFT JOIN LATERAL (
  SELECT json_agg(json_build_object(
    'name', COALESCE(q.name, ''),
    'data_type', q.type::regtype::text,
    'wide_type', CASE q.type
      WHEN 'bit'::regtype THEN 'bit varying'
      WHEN 'bit[]'::regtype THEN 'bit varying[]'
      WHEN 'character'::regtype THEN 'character varying'
      WHEN 'character[]'::regtype THEN 'character varying[]'
      ELSE q.type::regtype::text
    END,
    'required', q.number <= p.pronargs - p.pronargdefaults,
    'variadic', COALESCE(q.mode = 'v', false)
  ) ORDER BY q.number) AS parameters
  FROM (
    SELECT u.name, u.type, u.mode, row_number() OVER (ORDER BY u.position) AS number
    FROM unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes)
      WITH ORDINALITY AS u (type, name, mode, position)
    WHERE u.type IS NOT NULL AND COALESCE(u.mode, 'i') IN ('i', 'b', 'v')
  ) q
) i ON true
WHERE p.prokind = 'f' AND t.oid <> 'trigger'::regtype AND n.nspname = ANY ($1::text[])
  AND (
    p.pronargs = 0 OR p.proargnames IS NOT NULL
    OR p.pronargs = 1 AND p.proargtypes[0] IN ('bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype)
  )";

/// Implicit casts by functions between domains and JSON or text.
const REPRESENTATIONS: &str = "SELECT
  c.castsource::regtype::text AS source, c.casttarget::regtype::text AS target, c.castfunc::regproc::text AS function
FROM pg_cast c JOIN pg_type s ON s.oid = c.castsource JOIN pg_type t ON t.oid = c.casttarget
WHERE c.castcontext = 'i' AND c.castmethod = 'f' AND has_function_privilege(c.castfunc, 'execute')
  AND (s.typtype = 'd' AND c.casttarget IN ('json'::regtype, 'text'::regtype)
    OR t.typtype = 'd' AND c.castsource IN ('json'::regtype, 'text'::regtype))";

/// Aggregates and functions of the schemas $1 that return a domain named as a media type.
const HANDLERS: &str = "WITH media AS (
  SELECT t.oid, lower(t.typname) AS name, t.typname AS own_name, n.nspname AS schema
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE t.typbasetype <> 0 AND (t.typname ~ '^[A-Za-z0-9.-]+/[A-Za-z0-9.+-]+$' OR t.typname = '*/*')
)
SELECT n.nspname AS schema, p.proname AS name, an.nspname AS target_schema, a.typname AS target_name, m.name AS media_type
FROM media m JOIN pg_proc p ON p.prorettype = m.oid AND p.prokind = 'a' AND p.pronargs = 1
JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_type a ON a.oid = p.proargtypes[0] JOIN pg_namespace an ON an.oid = a.typnamespace
WHERE n.nspname = ANY ($1::text[]) AND (
  a.oid = 'anyelement'::regtype
  OR EXISTS (SELECT FROM pg_class c WHERE c.reltype = a.oid AND c.relkind IN ('r', 'v', 'm', 'f', 'p')))
UNION ALL
SELECT m.schema, m.own_name, n.nspname, p.proname, m.name
FROM media m JOIN pg_proc p ON p.prorettype = m.oid AND p.prokind = 'f' AND NOT p.proretset
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = ANY ($1::text[])";

/// Why the cache could not be loaded.
pub type LoadError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Deserialize)]
struct ForeignKeyRow {
    schema: String,
    name: String,
    foreign_schema: String,
    foreign_name: String,
    is_self: bool,
    constraint_name: String,
    columns: Vec<(String, String)>,
    is_unique: bool,
}

#[derive(Deserialize)]
struct KeyColumnsRow {
    oid: u32,
    schema: String,
    name: String,
    constraint_name: String,
    kind: char,
    columns: Vec<(i32, String)>,
}

#[derive(Deserialize)]
struct ViewRow {
    oid: u32,
    schema: String,
    name: String,
    is_exposed: bool,
    columns: Option<Vec<(i32, String)>>,
    tree: String,
}

#[derive(Deserialize)]
struct ComputedRow {
    schema: String,
    name: String,
    table_schema: String,
    table_name: String,
    foreign_schema: String,
    foreign_name: String,
    to_one: bool,
}

#[derive(Deserialize)]
struct RepresentationRow {
    source: String,
    target: String,
    function: String,
}

#[derive(Deserialize)]
struct HandlerRow {
    schema: String,
    name: String,
    target_schema: String,
    target_name: String,
    media_type: String,
}

#[derive(Deserialize)]
struct ZoneRow {
    name: String,
}

/// The rows of a query, as JSON.
async fn read<T: DeserializeOwned>(
    client: &Client,
    query: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<T>, LoadError> {
    let text = format!("{BASE_TYPES} SELECT COALESCE(json_agg(q), '[]')::text FROM ({query}) q");
    let row = client.query_one(&text, parameters).await?;
    Ok(serde_json::from_str(row.try_get(0)?)?)
}

impl SchemaCache {
    /// Reads the catalogs in one transaction of the connection.
    ///
    /// # Errors
    /// The database refused a query.
    pub async fn load(client: &Client, config: &Config) -> Result<Self, LoadError> {
        // Names are qualified only when no schema is in the path.
        client.batch_execute("BEGIN READ ONLY; SET LOCAL search_path = ''").await?;
        let loaded = load(client, config).await;
        client.batch_execute("COMMIT").await?;
        loaded
    }
}

async fn load(client: &Client, config: &Config) -> Result<SchemaCache, LoadError> {
    let (schemas, extra) = (&config.db_schemas, &config.db_extra_search_path);
    let of_schemas: [&(dyn ToSql + Sync); 1] = [schemas];
    let of_views: [&(dyn ToSql + Sync); 2] = [schemas, extra];
    let of_functions: [&(dyn ToSql + Sync); 2] = [schemas, &config.db_hoisted_tx_settings];
    let (tables, references, keys, views, computed, functions, representations, handlers, zones) = tokio::try_join!(
        read::<Table>(client, TABLES, &of_schemas),
        read::<ForeignKeyRow>(client, FOREIGN_KEYS, &[]),
        read::<KeyColumnsRow>(client, KEY_COLUMNS, &[]),
        read::<ViewRow>(client, VIEWS, &of_views),
        read::<ComputedRow>(client, COMPUTED, &[]),
        read::<Function>(client, FUNCTIONS, &of_functions),
        read::<RepresentationRow>(client, REPRESENTATIONS, &[]),
        read::<HandlerRow>(client, HANDLERS, &of_schemas),
        read::<ZoneRow>(client, "SELECT name FROM pg_timezone_names", &[]),
    )?;
    let view_keys = relationships::find_view_keys(&build_views(views), &build_keys(keys));
    let mut view_primary = relationships::view_primary_keys(&view_keys);
    let mut tables: HashMap<QualifiedName, Table> = tables
        .into_iter()
        .map(|mut table| {
            let name = qualify(&table.schema, &table.name);
            if table.is_view {
                table.key = view_primary.remove(&name).unwrap_or_default();
            }
            (name, table)
        })
        .collect();
    let is_exposed = |schema: &str| schemas.iter().any(|it| it == schema);
    let primary_key = |name: &QualifiedName| tables.get(name).map(|table| table.key.clone()).unwrap_or_default();
    let relationships = relationships::collect(
        references.into_iter().map(build_reference).collect(),
        &computed.iter().map(build_computed).collect::<Vec<_>>(),
        &view_keys,
        &primary_key,
        &is_exposed,
    );
    tables.retain(|name, _| is_exposed(&name.schema));
    let mut cache = SchemaCache {
        tables,
        relationships,
        functions: group_functions(functions),
        representations: representations.into_iter().map(|row| ((row.source, row.target), row.function)).collect(),
        handlers: build_handlers(handlers),
        timezones: zones.into_iter().map(|row| row.name).collect(),
        table_names: HashMap::new(),
    };
    cache.index_names();
    Ok(cache)
}

fn qualify(schema: &str, name: &str) -> QualifiedName {
    QualifiedName { schema: schema.to_owned(), name: name.to_owned() }
}

fn build_reference(row: ForeignKeyRow) -> KeyRelationship {
    let key = ForeignKey { constraint: row.constraint_name, columns: row.columns };
    KeyRelationship {
        table: qualify(&row.schema, &row.name),
        foreign_table: qualify(&row.foreign_schema, &row.foreign_name),
        is_self: row.is_self,
        cardinality: if row.is_unique { Cardinality::OneToOne(key, false) } else { Cardinality::ManyToOne(key) },
        table_is_view: false,
        foreign_table_is_view: false,
    }
}

fn build_computed(row: &ComputedRow) -> ComputedRelationship {
    let table = qualify(&row.table_schema, &row.table_name);
    let foreign_table = qualify(&row.foreign_schema, &row.foreign_name);
    let is_self = table == foreign_table;
    ComputedRelationship {
        function: qualify(&row.schema, &row.name),
        table,
        foreign_table,
        to_one: row.to_one,
        is_self,
    }
}

fn build_keys(rows: Vec<KeyColumnsRow>) -> Vec<KeyColumns> {
    rows.into_iter()
        .map(|row| KeyColumns {
            table: row.oid,
            table_name: qualify(&row.schema, &row.name),
            constraint: row.constraint_name,
            kind: match row.kind {
                'p' => KeyKind::Primary,
                'f' => KeyKind::Referencing,
                _ => KeyKind::Referenced,
            },
            columns: row.columns,
        })
        .collect()
}

fn build_views(rows: Vec<ViewRow>) -> Vec<View> {
    rows.into_iter()
        .map(|row| View {
            oid: row.oid,
            name: qualify(&row.schema, &row.name),
            is_exposed: row.is_exposed,
            columns: row.columns.unwrap_or_default().into_iter().collect(),
            origins: super::node_tree::read_origins(&row.tree),
        })
        .collect()
}

/// The functions by name, those with fewer parameters first.
pub(crate) fn group_functions(functions: Vec<Function>) -> HashMap<QualifiedName, Vec<Function>> {
    let mut groups: HashMap<QualifiedName, Vec<Function>> = HashMap::new();
    for function in functions {
        groups.entry(qualify(&function.schema, &function.name)).or_default().push(function);
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| {
            let order = (a.parameters.len(), &a.description, &a.parameters).cmp(&(
                b.parameters.len(),
                &b.description,
                &b.parameters,
            ));
            order.then_with(|| (a.returns_set, &a.return_type).cmp(&(b.returns_set, &b.return_type)))
        });
    }
    groups
}

/// The handlers of the database, and those that are built in, which they may replace.
fn build_handlers(rows: Vec<HandlerRow>) -> HashMap<(HandlerTarget, MediaType), ResolvedHandler> {
    let built_in = [
        (MediaType::Any, MediaHandler::Json, MediaType::Json),
        (MediaType::Json, MediaHandler::Json, MediaType::Json),
        (MediaType::Csv, MediaHandler::Csv, MediaType::Csv),
        (MediaType::GeoJson, MediaHandler::GeoJson, MediaType::GeoJson),
    ];
    let mut handlers: HashMap<_, _> = built_in
        .into_iter()
        .map(|(wanted, handler, made)| ((HandlerTarget::AnyElement, wanted), (handler, made)))
        .collect();
    for row in rows {
        let target = if row.target_schema == "pg_catalog" && row.target_name == "anyelement" {
            HandlerTarget::AnyElement
        } else {
            HandlerTarget::Relation(qualify(&row.target_schema, &row.target_name))
        };
        let wanted = MediaType::parse(&row.media_type);
        let made = if wanted == MediaType::Any { MediaType::OctetStream } else { wanted.clone() };
        let handler = MediaHandler::Custom(qualify(&row.schema, &row.name), target.clone());
        handlers.insert((target, wanted), (handler, made));
    }
    handlers
}

/// The names of the schemas that exist, for a message about those that do not.
pub async fn missing_schemas(client: &Client, schemas: &[String]) -> Result<Vec<String>, tokio_postgres::Error> {
    let rows = client.query("SELECT nspname::text FROM pg_namespace", &[]).await?;
    let existing: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok(schemas.iter().filter(|schema| !existing.contains(*schema)).cloned().collect())
}
