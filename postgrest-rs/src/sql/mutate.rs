//! Writes and calls.

use bytes::Bytes;

use super::fragment::unqualified;
use super::{Sql, Value, array_literal, literal};
use crate::plan::ColumnRef;
use crate::plan::call::{Argument, Arguments, CallPlan};
use crate::plan::mutate::MutatePlan;
use crate::request::QualifiedName;
use crate::request::preferences::PreferResolution;

/// The name of the rows of the body.
const BODY: &str = "pgrst_body";

/// Counts the rows that an upsert tried to insert. True for every row.
const COUNT_INSERTED: &str = "set_config('pgrst.inserted', (coalesce(nullif(current_setting('pgrst.inserted', true), '')::int, 0) + 1)::text, true) <> '0'";

/// Takes back the count of a row that was updated instead. True for every row.
const COUNT_UPDATED: &str = "set_config('pgrst.inserted', (coalesce(nullif(current_setting('pgrst.inserted', true), '')::int, 0) - 1)::text, true) <> '-1'";

/// How the rows of a body are read.
#[derive(Clone, Copy)]
struct BodyRows<'a> {
    body: Option<&'a Bytes>,
    columns: &'a [ColumnRef],
    applies_defaults: bool,
    is_single: bool,
}

/// The most pairs of a call of `jsonb_build_object`: PostgreSQL passes 100 arguments at most.
const MAXIMUM_PAIRS: usize = 50;

/// An expression for the object with the defaults of the columns that have one.
fn default_object(columns: &[ColumnRef]) -> String {
    let pair = |column: &ColumnRef| Some(format!("{}, {}", literal(&column.name), column.default.as_ref()?));
    let pairs: Vec<String> = columns.iter().filter_map(pair).collect();
    let objects: Vec<String> =
        pairs.chunks(MAXIMUM_PAIRS).map(|pairs| format!("jsonb_build_object({})", pairs.join(", "))).collect();
    if objects.is_empty() { "jsonb_build_object()".to_owned() } else { objects.join(" || ") }
}

/// Whether a JSON text is an object, as far as its first character tells.
fn is_object(body: Option<&Bytes>) -> bool {
    body.is_some_and(|body| body.iter().find(|byte| !b" \t\r\n".contains(byte)) == Some(&b'{'))
}

impl Sql {
    /// Appends a write.
    pub(super) fn mutate(&mut self, plan: &MutatePlan) -> &mut Self {
        match plan {
            MutatePlan::Insert { .. } => self.insert(plan),
            MutatePlan::Update { table, columns, body, conditions, returning, applies_defaults } => {
                if columns.is_empty() {
                    // No column can be set: no row is written, but the names of the columns are there.
                    self.raw("SELECT ");
                    if returning.is_empty() {
                        self.raw("NULL");
                    } else {
                        self.columns_of(&unqualified(&table.name), returning);
                    }
                    return self.raw(" FROM ").qualified(table).raw(" WHERE false");
                }
                self.raw("UPDATE ").qualified(table).raw(" SET ").join(columns, ", ", |sql, column| {
                    sql.name(&column.name).raw(" = ").column(&unqualified(BODY), &column.name);
                });
                let (applies_defaults, is_single) = (*applies_defaults, false);
                self.raw(" ").body_rows(BodyRows { body: Some(body), columns, applies_defaults, is_single });
                self.write_conditions(table, conditions).returning(table, returning)
            }
            MutatePlan::Delete { table, conditions, returning } => {
                self.raw("DELETE FROM ").qualified(table);
                self.write_conditions(table, conditions).returning(table, returning)
            }
        }
    }

    /// Appends `WHERE` with the filters of a write.
    pub(super) fn write_conditions(
        &mut self,
        table: &QualifiedName,
        conditions: &[crate::plan::Condition],
    ) -> &mut Self {
        if conditions.is_empty() {
            return self;
        }
        self.raw(" WHERE ").join(conditions, " AND ", |sql, condition| {
            sql.condition(table, condition);
        })
    }

    fn insert(&mut self, plan: &MutatePlan) -> &mut Self {
        let MutatePlan::Insert { table, columns, body, conflict, conditions, returning, applies_defaults, .. } = plan
        else {
            return self;
        };
        self.raw("INSERT INTO ").qualified(table);
        if !columns.is_empty() {
            self.raw("(").names(columns).raw(")");
        }
        self.raw(" SELECT ").join(columns, ", ", |sql, column| {
            sql.column(&unqualified(BODY), &column.name);
        });
        let applies_defaults = *applies_defaults;
        self.raw(" ").body_rows(BodyRows { body: Some(body), columns, applies_defaults, is_single: false });
        let merges = matches!(conflict, Some((PreferResolution::MergeDuplicates, _)));
        if merges || !conditions.is_empty() {
            self.raw(" WHERE ").raw(COUNT_INSERTED);
        }
        for condition in conditions {
            self.raw(" AND ").condition(&unqualified(BODY), condition);
        }
        if let Some((resolution, target)) = conflict.as_ref().filter(|(_, target)| !target.is_empty()) {
            self.raw(" ON CONFLICT(").join(target, ", ", |sql, name| {
                sql.name(name);
            });
            if *resolution == PreferResolution::IgnoreDuplicates || columns.is_empty() {
                self.raw(") DO NOTHING");
            } else {
                self.raw(") DO UPDATE SET ").join(columns, ", ", |sql, column| {
                    sql.name(&column.name).raw(" = EXCLUDED.").name(&column.name);
                });
                self.raw(" WHERE ").raw(COUNT_UPDATED);
            }
        }
        self.returning(table, returning)
    }

    fn names(&mut self, columns: &[ColumnRef]) -> &mut Self {
        self.join(columns, ", ", |sql, column| {
            sql.name(&column.name);
        })
    }

    fn columns_of(&mut self, table: &QualifiedName, names: &[String]) -> &mut Self {
        self.join(names, ", ", |sql, name| {
            sql.column(table, name);
        })
    }

    fn returning(&mut self, table: &QualifiedName, returning: &[String]) -> &mut Self {
        if returning.is_empty() {
            self.raw(" RETURNING 1")
        } else {
            self.raw(" RETURNING ").columns_of(table, returning)
        }
    }

    /// Appends `FROM` with the rows of the body as `pgrst_body`.
    fn body_rows(&mut self, rows: BodyRows<'_>) -> &mut Self {
        let BodyRows { body, columns, applies_defaults, is_single } = rows;
        let is_object = is_object(body);
        let value = body.map_or(Value::Null, |body| Value::Bytes(body.clone()));
        self.raw("FROM (SELECT ").value(value).raw(if applies_defaults { "::jsonb" } else { "::json" });
        self.raw(" AS json_data) pgrst_payload, ");
        if applies_defaults {
            let defaults = default_object(columns);
            if is_object {
                self.raw("LATERAL (SELECT ")
                    .raw(&defaults)
                    .raw(" || pgrst_payload.json_data AS val) pgrst_json_defs, ");
            } else {
                self.raw("LATERAL (SELECT jsonb_agg(").raw(&defaults);
                self.raw(" || elem) AS val FROM jsonb_array_elements(pgrst_payload.json_data) elem) pgrst_json_defs, ");
            }
        }
        let data = if applies_defaults { "pgrst_json_defs.val" } else { "pgrst_payload.json_data" };
        let kind = if applies_defaults { "jsonb" } else { "json" };
        self.raw("LATERAL (SELECT ").join(columns, ", ", |sql, column| {
            match &column.transform {
                Some(function) => sql.raw(function).raw("(").name(&column.name).raw(") AS ").name(&column.name),
                None => sql.name(&column.name),
            };
        });
        self.raw(" FROM ");
        if columns.is_empty() {
            if is_object {
                self.raw("(VALUES (1)) _ ");
            } else {
                self.raw(kind).raw("_array_elements(").raw(data).raw(") _ ");
            }
        } else {
            self.raw(kind).raw(if is_object { "_to_record(" } else { "_to_recordset(" }).raw(data).raw(") AS _(");
            self.join(columns, ", ", |sql, column| {
                sql.name(&column.name).raw(" ").raw(&column.data_type);
            });
            self.raw(if is_single { ") LIMIT 1" } else { ")" });
        }
        self.raw(") ").raw(BODY)
    }

    /// Appends a call.
    pub(super) fn call(&mut self, plan: &CallPlan) -> &mut Self {
        let is_scalar = plan.returns_scalar || plan.returns_set_of_scalar;
        self.raw("SELECT ");
        if is_scalar {
            self.raw("pgrst_call.pgrst_scalar");
        } else if plan.returning.is_empty() {
            self.raw("*");
        } else {
            self.columns_of(&unqualified("pgrst_call"), &plan.returning);
        }
        self.raw(" FROM ");
        let reads_body = !plan.is_positional && !plan.parameters.is_empty();
        if let (true, Arguments::Json(body)) = (reads_body, &plan.arguments) {
            let columns: Vec<ColumnRef> = plan
                .parameters
                .iter()
                .map(|parameter| ColumnRef {
                    name: parameter.name.clone(),
                    data_type: parameter.wide_type.clone(),
                    ..ColumnRef::default()
                })
                .collect();
            self.raw("(SELECT pgrst_body.* ");
            self.body_rows(BodyRows {
                body: body.as_ref(),
                columns: &columns,
                applies_defaults: false,
                is_single: true,
            });
            self.raw(") pgrst_body, LATERAL ");
        }
        if is_scalar {
            self.raw("(SELECT ");
        }
        self.qualified(&plan.name).raw("(").arguments(plan).raw(")");
        if is_scalar { self.raw(" pgrst_scalar) pgrst_call") } else { self.raw(" pgrst_call") }
    }

    fn arguments(&mut self, plan: &CallPlan) -> &mut Self {
        if plan.is_positional {
            return match plan.parameters.first() {
                Some(parameter) => self.whole_body(&plan.arguments, &parameter.data_type),
                None => self,
            };
        }
        self.join(&plan.parameters, ", ", |sql, parameter| {
            if parameter.variadic {
                sql.raw("VARIADIC ");
            }
            sql.name(&parameter.name).raw(" := ");
            match &plan.arguments {
                Arguments::Json(_) => {
                    sql.column(&unqualified(BODY), &parameter.name);
                }
                Arguments::Direct(arguments) => {
                    match arguments.get(&parameter.name) {
                        Some(Argument::One(text)) => sql.text(text),
                        Some(Argument::Many(texts)) => sql.text(&array_literal(texts.iter().map(String::as_str))),
                        None => sql.raw("NULL"),
                    }
                    .raw("::")
                    .raw(&parameter.wide_type);
                }
            }
        })
    }

    /// Appends the body as the argument of an unnamed parameter.
    fn whole_body(&mut self, arguments: &Arguments, data_type: &str) -> &mut Self {
        let body = match arguments {
            Arguments::Json(body) => body.clone(),
            Arguments::Direct(arguments) => {
                let members: serde_json::Map<String, serde_json::Value> = arguments
                    .iter()
                    .map(|(name, argument)| {
                        let value = match argument {
                            Argument::One(text) => text.clone().into(),
                            Argument::Many(texts) => texts.clone().into(),
                        };
                        (name.clone(), value)
                    })
                    .collect();
                Some(Bytes::from(serde_json::Value::Object(members).to_string()))
            }
        };
        let value = match body {
            Some(body) if data_type == "bytea" => Value::Binary(body),
            Some(body) => Value::Bytes(body),
            None => Value::Null,
        };
        self.value(value).raw("::").raw(data_type)
    }
}
