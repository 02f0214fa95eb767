-- Reads kind, owner, name, detail and whether an insertion must give a value, for each column, word of an enum and
-- unique key of a schema. Names of the schema itself are left out of types and predicates: its name does not matter.
WITH t AS (
    SELECT c.oid, c.relname::text AS name, c.relnamespace, n.nspname::text AS namespace
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :namespace
      AND c.relkind IN ('r', 'p', 'f')
)
SELECT 'column' AS kind, t.name AS owner, a.attname::text AS name,
       CASE
           WHEN y.typnamespace = t.relnamespace THEN y.typname::text
           ELSE pg_catalog.format_type(a.atttypid, NULL)
       END AS detail,
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS is_demanded
FROM t
JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
UNION ALL
SELECT 'enum', y.typname::text, e.enumlabel::text, '', false
FROM pg_catalog.pg_enum e
JOIN pg_catalog.pg_type y ON y.oid = e.enumtypid
JOIN pg_catalog.pg_namespace n ON n.oid = y.typnamespace
WHERE n.nspname = :namespace
UNION ALL
SELECT 'key', t.name,
       (SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k)
        FROM pg_catalog.generate_series(1, i.indnkeyatts) k),
       COALESCE(pg_catalog.replace(pg_catalog.pg_get_expr(i.indpred, i.indrelid, true),
                                   pg_catalog.quote_ident(t.namespace) || '.', ''), ''),
       false
FROM t
JOIN pg_catalog.pg_index i ON i.indrelid = t.oid AND i.indisunique AND i.indisvalid
