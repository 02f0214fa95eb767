"""The auth schema as the database describes it: one derived structure per kind of object, no definitions' text."""

import json

COLUMNS = """
select json_agg(concat_ws(' ', column_name,
  case when data_type = 'USER-DEFINED' then udt_name when data_type = 'ARRAY' then udt_name else data_type end
    || coalesce('(' || character_maximum_length || ')', ''),
  case when is_nullable = 'NO' then 'not null' end,
  case when is_generated = 'ALWAYS' then 'generated ' || generation_expression end,
  'default ' || column_default) order by ordinal_position)
from information_schema.columns where table_schema = 'auth' and table_name = '%s'"""

CONSTRAINTS = """
select coalesce(json_object_agg(conname, pg_get_constraintdef(oid)), '{}')
from pg_constraint where conrelid = 'auth.%s'::regclass"""

INDEXES = """
select coalesce(json_object_agg(indexname, regexp_replace(indexdef, '^CREATE (UNIQUE )?INDEX .* USING', '\\1')), '{}')
from pg_indexes where schemaname = 'auth' and tablename = '%s'"""

RIGHTS = """
select json_build_object('owner', pg_get_userbyid(relowner), 'row security', relrowsecurity, 'forced', relforcerowsecurity,
  'rights', (
    select json_object_agg(grantee, rights) from (
      select grantee, string_agg(privilege_type || case when is_grantable = 'YES' then '*' else '' end, ' ' order by privilege_type) rights
      from information_schema.role_table_grants where table_schema = 'auth' and table_name = relname group by grantee) g))
from pg_class where oid = 'auth.%s'::regclass"""


def table(flow, name):
    def ask(sql):
        return json.loads(flow.database.query(sql % name))

    return {"columns": ask(COLUMNS), "constraints": ask(CONSTRAINTS), "indexes": ask(INDEXES), **ask(RIGHTS)}


def rows(flow, sql):
    """Return the output lines of a query."""
    return flow.database.query(sql).splitlines()


def refusal(flow, sql):
    """Return the error of a statement, or None if it succeeds."""
    try:
        flow.database.query(sql)
    except RuntimeError as error:
        return str(error).split("ERROR:")[1].splitlines()[0].strip()
    return None
