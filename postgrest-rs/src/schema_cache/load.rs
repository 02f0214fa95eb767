//! Reads the catalogs. Each query answers JSON texts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures::TryStreamExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::queries::{
    BASE_TYPES, COMPUTED, FOREIGN_KEYS, FUNCTIONS, HANDLERS, KEY_COLUMNS, REPRESENTATIONS, TABLES, VIEWS,
};
use super::relationships::{self, KeyColumns, KeyKind, View};
use super::{
    Cardinality, Column, ComputedRelationship, ForeignKey, Function, HandlerTarget, KeyRelationship, MediaHandler,
    ResolvedHandler, SchemaCache, Table, Timezones,
};
use crate::config::Config;
use crate::request::QualifiedName;
use crate::request::media_type::MediaType;

/// Why the cache could not be loaded.
pub type LoadError = Box<dyn std::error::Error + Send + Sync>;

/// Texts that occur many times, each kept once.
#[derive(Default)]
struct Interner(HashSet<Arc<str>>);

impl Interner {
    fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = text.into();
        self.0.insert(Arc::clone(&shared));
        shared
    }
}

#[derive(Deserialize)]
struct TableRow {
    schema: String,
    name: String,
    description: Option<String>,
    is_view: bool,
    insertable: bool,
    updatable: bool,
    deletable: bool,
    key: Vec<String>,
    columns: Vec<ColumnRow>,
}

#[derive(Deserialize)]
struct ColumnRow {
    name: String,
    description: Option<Box<str>>,
    nullable: bool,
    data_type: String,
    nominal_type: String,
    max_length: Option<i32>,
    default: Option<Box<str>>,
    labels: Box<[String]>,
}

impl TableRow {
    fn intern(self, names: &mut Interner) -> Table {
        let Self { schema, name, description, is_view, insertable, updatable, deletable, key, columns } = self;
        let columns = columns.into_iter().map(|row| Column {
            name: names.intern(&row.name),
            description: row.description,
            nullable: row.nullable,
            data_type: names.intern(&row.data_type),
            nominal_type: names.intern(&row.nominal_type),
            max_length: row.max_length,
            default: row.default,
            labels: row.labels,
        });
        let columns = columns.collect();
        Table { schema, name, description, is_view, insertable, updatable, deletable, key, columns }
    }
}

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

/// The rows of a query. Each arrives as JSON of its own, so that the text of all is never in memory.
async fn read<T: DeserializeOwned>(
    client: &Client,
    query: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<T>, LoadError> {
    read_as(client, query, parameters, |row| row).await
}

/// The same, each row converted when it arrives.
async fn read_as<R: DeserializeOwned, T>(
    client: &Client,
    query: &str,
    parameters: &[&(dyn ToSql + Sync)],
    mut convert: impl FnMut(R) -> T,
) -> Result<Vec<T>, LoadError> {
    let text = format!("{BASE_TYPES} SELECT row_to_json(q)::text FROM ({query}) q");
    // Nothing is prepared: behind a pooler another server may have a statement of this name.
    let parameters = parameters.iter().map(|lists| (*lists, Type::TEXT_ARRAY));
    let rows = client.query_typed_raw(&text, parameters).await?;
    let mut rows = std::pin::pin!(rows);
    let mut all = Vec::new();
    while let Some(row) = rows.try_next().await? {
        all.push(convert(serde_json::from_str(row.try_get(0)?)?));
    }
    all.shrink_to_fit();
    Ok(all)
}

/// Begins the transaction of a load: all queries see the same catalogs.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = ''; SET LOCAL jit = off";

impl SchemaCache {
    /// Reads the catalogs in one transaction of the connection.
    ///
    /// Names of time zones that were read for `former` are kept.
    ///
    /// # Errors
    /// The database refused a query.
    pub async fn load(client: &Client, config: &Config, former: Option<&Self>) -> Result<Self, LoadError> {
        // Names are qualified only when no schema is in the path. Compiling the queries takes longer than running them.
        client.batch_execute(BEGIN).await?;
        let timezones = former.map(|cache| cache.timezones.clone()).unwrap_or_default();
        let loaded = load(client, config, timezones).await;
        client.batch_execute("COMMIT").await?;
        loaded
    }
}

async fn load(client: &Client, config: &Config, timezones: Timezones) -> Result<SchemaCache, LoadError> {
    let (schemas, extra) = (&config.db_schemas, &config.db_extra_search_path);
    let of_schemas: [&(dyn ToSql + Sync); 1] = [schemas];
    let of_views: [&(dyn ToSql + Sync); 2] = [schemas, extra];
    let of_functions: [&(dyn ToSql + Sync); 2] = [schemas, &config.db_hoisted_tx_settings];
    let mut names = Interner::default();
    let (tables, references, keys, views, computed, functions, representations, handlers) = tokio::try_join!(
        read_as(client, TABLES, &of_schemas, |row: TableRow| row.intern(&mut names)),
        read::<ForeignKeyRow>(client, FOREIGN_KEYS, &[]),
        read::<KeyColumnsRow>(client, KEY_COLUMNS, &[]),
        read::<ViewRow>(client, VIEWS, &of_views),
        read::<ComputedRow>(client, COMPUTED, &[]),
        read::<Function>(client, FUNCTIONS, &of_functions),
        read::<RepresentationRow>(client, REPRESENTATIONS, &[]),
        read::<HandlerRow>(client, HANDLERS, &of_schemas),
    )?;
    let rows =
        CatalogRows { tables, references, keys, views, computed, functions, representations, handlers, timezones };
    let schemas = schemas.clone();
    // Thousands of views take long enough to delay other tasks of this thread.
    Ok(tokio::task::spawn_blocking(move || assemble(rows, &schemas)).await?)
}

/// What the catalogs hold.
struct CatalogRows {
    tables: Vec<Table>,
    references: Vec<ForeignKeyRow>,
    keys: Vec<KeyColumnsRow>,
    views: Vec<ViewRow>,
    computed: Vec<ComputedRow>,
    functions: Vec<Function>,
    representations: Vec<RepresentationRow>,
    handlers: Vec<HandlerRow>,
    timezones: Timezones,
}

/// Builds the cache of what the catalogs hold.
fn assemble(rows: CatalogRows, schemas: &[String]) -> SchemaCache {
    let CatalogRows { tables, references, keys, views, computed, functions, representations, handlers, timezones } =
        rows;
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
    let is_exposed = |schema: &str| schemas.iter().any(|exposed| exposed == schema);
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
        timezones,
        table_names: HashMap::new(),
    };
    cache.index_names();
    cache
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
    let rows = client.query_typed("SELECT nspname::text FROM pg_namespace", &[]).await?;
    let existing: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok(schemas.iter().filter(|schema| !existing.contains(*schema)).cloned().collect())
}
