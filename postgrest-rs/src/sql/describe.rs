//! What the description of a schema asks the database.

use super::{Sql, array_literal};
use crate::schema_cache::queries::{BASE_TYPES, FUNCTIONS};

/// The comment on a schema, in one row.
pub fn comment(schema: &str) -> Sql {
    let mut sql = Sql::default();
    sql.raw("SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ").text(schema);
    sql
}

/// The names of the relations of a schema that the role may use in any way, in one row with an array.
pub fn usable_relations(schema: &str) -> Sql {
    let mut sql = Sql::default();
    sql.raw(
        "SELECT COALESCE(array_agg(c.relname::text), '{}') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition AND n.nspname = ",
    );
    sql.text(schema).raw(
        " AND (pg_has_role(c.relowner, 'USAGE') \
         OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))",
    );
    sql
}

/// The functions of a schema that the role may call, in one row with JSON.
pub fn usable_functions(schema: &str) -> Sql {
    let mut sql = Sql::default();
    sql.raw(BASE_TYPES).raw(" SELECT COALESCE(json_agg(q), '[]')::text FROM (").raw(FUNCTIONS);
    sql.raw(" AND has_function_privilege(p.oid, 'execute')) q");
    let none = array_literal(std::iter::empty());
    sql.values.extend([array_literal(std::iter::once(schema)), none].map(super::Value::Text));
    sql
}
