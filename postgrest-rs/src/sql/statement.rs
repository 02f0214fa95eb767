//! Whole statements. Each answers one row: total, rows, location, body, headers, status, inserted.

use super::{Sql, array_literal};
use crate::plan::mutate::MutatePlan;
use crate::plan::{PlanKind, SOURCE, StatementPlan};
use crate::request::ApiRequest;
use crate::request::Mutation;
use crate::request::media_type::{MediaType, PlanFormat, PlanOption};
use crate::request::preferences::{PreferCount, PreferResolution, PreferReturn};
use crate::schema_cache::{Function, HandlerTarget, MediaHandler};

/// The settings that a function of the database may have set.
const OVERRIDES: &str = "nullif(current_setting('response.headers', true), '') AS response_headers, \
     nullif(current_setting('response.status', true), '') AS response_status, ";

/// The number of rows inserted by an upsert.
const INSERTED: &str = "nullif(current_setting('pgrst.inserted', true), '')::bigint AS response_inserted ";

/// The statement of a plan.
pub fn build(plan: &StatementPlan, request: &ApiRequest, maximum_rows: Option<i64>) -> Sql {
    let mut sql = Sql::default();
    if let MediaType::Plan { format, options, .. } = &plan.media_type {
        sql.explain(*format, options);
    }
    let count = request.preferences.count;
    match &plan.kind {
        PlanKind::Read { .. } => {
            sql.raw("WITH pgrst_source AS ( ").read(&plan.read).raw(" )");
            let limit = (count == Some(PreferCount::Estimated)).then_some(maximum_rows).flatten();
            sql.counted(plan, count, limit.map(|limit| limit.saturating_add(1)));
            sql.raw(" AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, NULL::text[] AS header, ");
            sql.body(&plan.handler, None).raw(" AS body, ").raw(OVERRIDES);
            sql.raw("NULL::bigint AS response_inserted FROM ( SELECT * FROM pgrst_source ) _postgrest_t");
        }
        PlanKind::Mutate { mutation, plan: write, .. } => {
            sql.raw("WITH pgrst_source AS (").mutate(write).raw(") SELECT NULL::bigint AS total_result_set, ");
            sql.raw("pg_catalog.count(_postgrest_t) AS page_total, ");
            sql.location(request, write).raw(" AS header, ").body(&plan.handler, None).raw(" AS body, ").raw(OVERRIDES);
            let merges = request.preferences.resolution == Some(PreferResolution::MergeDuplicates);
            sql.raw(match mutation {
                Mutation::SingleUpsert => INSERTED,
                Mutation::Insert if merges => INSERTED,
                // Other inserts answer 201 whatever they insert.
                Mutation::Insert => "1::bigint AS response_inserted ",
                _ => "NULL::bigint AS response_inserted ",
            });
            sql.raw("FROM (");
            if plan.handler == MediaHandler::Nothing {
                sql.raw("SELECT * FROM pgrst_source");
            } else {
                sql.read(&plan.read);
            }
            sql.raw(") _postgrest_t");
        }
        PlanKind::Call { function, plan: call, .. } => {
            sql.raw("WITH pgrst_source AS (").call(call).raw(")");
            sql.counted(plan, count, None);
            sql.raw(" AS total_result_set, ");
            sql.raw(if function.returns_set { "pg_catalog.count(_postgrest_t)" } else { "1::bigint" });
            sql.raw(" AS page_total, NULL::text[] AS header, ");
            sql.body(&plan.handler, Some(function)).raw(" AS body, ").raw(OVERRIDES);
            sql.raw("NULL::bigint AS response_inserted FROM (").read(&plan.read).raw(") _postgrest_t");
        }
    }
    sql
}

/// The statement whose plan tells the estimated number of rows, where it is asked for.
pub fn build_estimate(plan: &StatementPlan, request: &ApiRequest) -> Option<Sql> {
    let is_read = matches!(plan.kind, PlanKind::Read { .. }) && !matches!(plan.media_type, MediaType::Plan { .. });
    request.preferences.count.filter(|count| is_read && count.explains())?;
    let mut sql = Sql::default();
    sql.explain(PlanFormat::Json, &[]).count(&plan.read);
    Some(sql)
}

/// The statement that counts the rows that a read or a write with filters reaches, up to a limit; `None` for other plans.
pub fn build_count(plan: &StatementPlan, limit: u32) -> Option<Sql> {
    let mut sql = Sql::default();
    sql.raw("SELECT pg_catalog.count(*) FROM (");
    match &plan.kind {
        PlanKind::Read { .. } => sql.count(&plan.read),
        PlanKind::Mutate { plan, .. } => match &**plan {
            MutatePlan::Update { table, conditions, .. } | MutatePlan::Delete { table, conditions, .. } => {
                sql.raw("SELECT 1 FROM ").qualified(table).write_conditions(table, conditions)
            }
            MutatePlan::Insert { .. } => return None,
        },
        PlanKind::Call { .. } => return None,
    };
    sql.raw(" LIMIT ").raw(&limit.to_string()).raw(") rows");
    Some(sql)
}

impl Sql {
    fn explain(&mut self, format: PlanFormat, options: &[PlanOption]) -> &mut Self {
        self.raw("EXPLAIN (FORMAT ").raw(match format {
            PlanFormat::Json => "JSON",
            PlanFormat::Text => "TEXT",
        });
        for option in options {
            self.raw(", ").raw(&option.name().to_uppercase());
        }
        self.raw(") ")
    }

    /// Appends the counting query, where rows are counted, then `SELECT` and the total.
    fn counted(&mut self, plan: &StatementPlan, count: Option<PreferCount>, limit: Option<i64>) -> &mut Self {
        if !count.is_some_and(PreferCount::counts) {
            return self.raw(" SELECT NULL::bigint");
        }
        self.raw(", pgrst_source_count AS (").count(&plan.read);
        if let Some(limit) = limit {
            self.raw(" LIMIT ").raw(&limit.to_string());
        }
        self.raw(") SELECT (SELECT pg_catalog.count(*) FROM pgrst_source_count)")
    }

    /// Appends the primary key of the only row inserted, where its location is asked for.
    fn location(&mut self, request: &ApiRequest, plan: &MutatePlan) -> &mut Self {
        let key = match plan {
            MutatePlan::Insert { key, .. } if request.preferences.representation == Some(PreferReturn::HeadersOnly) => {
                key
            }
            _ => return self.raw("NULL::text[]"),
        };
        self.raw(
            "CASE WHEN pg_catalog.count(_postgrest_t) = 1 THEN (SELECT array_agg(pair.key || '=' || \
             coalesce('eq.' || pair.value, 'is.null')) FROM (SELECT row_to_json(s) AS row FROM pgrst_source AS s LIMIT 1) data \
             CROSS JOIN json_each_text(data.row) AS pair WHERE pair.key = ANY (",
        );
        self.text(&array_literal(key.iter().map(String::as_str))).raw("::text[])) END")
    }

    /// Appends the expression of the body.
    fn body(&mut self, handler: &MediaHandler, function: Option<&Function>) -> &mut Self {
        let is_scalar = function.is_some_and(Function::returns_scalar);
        let is_single = is_scalar || function.is_some_and(Function::returns_single_composite);
        let is_scalar_set = function.is_some_and(Function::returns_set_of_scalar);
        let rows = if is_scalar || is_scalar_set { "_postgrest_t.pgrst_scalar" } else { "_postgrest_t" };
        let strip = |strips: bool, text: String| if strips { format!("json_strip_nulls({text})") } else { text };
        let first = |row: &str, strips| format!("coalesce({}, 'null')", strip(strips, format!("json_agg({row})->0")));
        match handler {
            MediaHandler::Json | MediaHandler::StrippedArray => {
                let strips = *handler == MediaHandler::StrippedArray;
                let text = if is_single {
                    first(rows, strips)
                } else {
                    format!("coalesce({}, '[]')", strip(strips, format!("json_agg({rows})")))
                };
                self.raw(&text)
            }
            MediaHandler::SingleJson { strip_nulls } => {
                let rows = if is_scalar { "_postgrest_t.pgrst_scalar" } else { "_postgrest_t" };
                self.raw(&first(rows, *strip_nulls))
            }
            MediaHandler::GeoJson => self.raw(
                "json_build_object('type', 'FeatureCollection', 'features', \
                 coalesce(json_agg(ST_AsGeoJSON(_postgrest_t)::json), '[]'))",
            ),
            MediaHandler::Csv => self
                .raw("(SELECT coalesce(string_agg(a.k, ','), '') FROM (SELECT json_object_keys(r)::text AS k FROM ")
                .raw("(SELECT row_to_json(hh) AS r FROM ")
                .raw(SOURCE)
                .raw(" AS hh LIMIT 1) s) a) || E'\\n' || ")
                .raw("coalesce(string_agg(substring(_postgrest_t::text, 2, length(_postgrest_t::text) - 2), E'\\n'), '')"),
            MediaHandler::Custom(name, target) => {
                self.qualified(name).raw("(");
                match target {
                    _ if is_scalar => self.raw("_postgrest_t.pgrst_scalar"),
                    HandlerTarget::AnyElement => self.raw("_postgrest_t"),
                    HandlerTarget::Relation(relation) => self.raw("_postgrest_t::").qualified(relation),
                }
                .raw(")")
            }
            MediaHandler::Nothing => self.raw("''::text"),
        }
    }
}
