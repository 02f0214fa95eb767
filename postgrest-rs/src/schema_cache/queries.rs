//! Queries of the catalogs. `$1` and `$2` are lists of schemas or settings.

/// Domains and the types below them.
pub(crate) const BASE_TYPES: &str = "WITH RECURSIVE chain (oid, base) AS (
  SELECT oid, typbasetype FROM pg_type WHERE typtype = 'd'
  UNION ALL
  SELECT chain.oid, t.typbasetype FROM chain JOIN pg_type t ON t.oid = chain.base WHERE t.typtype = 'd'
), bases AS MATERIALIZED (
  SELECT chain.oid, chain.base, t.typnamespace FROM chain JOIN pg_type t ON t.oid = chain.base WHERE t.typtype <> 'd'
)";

/// Relations; columns of those in the schemas $1 only. A column is an array of the members of its structure.
pub(super) const TABLES: &str = "SELECT
  n.nspname AS schema, c.relname AS name, o.description,
  c.relkind IN ('v', 'm') AS is_view,
  c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, true) & 8 = 8 AS insertable,
  c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, true) & 4 = 4 AS updatable,
  c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_relation_is_updatable(c.oid, true) & 16 = 16 AS deletable,
  COALESCE((
    SELECT json_agg(a.attname ORDER BY a.attname) FROM pg_constraint k
    JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
    WHERE k.conrelid = c.oid AND k.contype = 'p'
  ), '[]') AS key,
  COALESCE(l.columns, '[]') AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_description o ON o.objoid = c.oid AND o.classoid = 'pg_class'::regclass AND o.objsubid = 0
LEFT JOIN (
  SELECT a.attrelid, json_agg(json_build_array(
    a.attname,
    o.description,
    NOT (a.attnotnull OR t.typtype = 'd' AND t.typnotnull),
    CASE
      WHEN b.oid IS NOT NULL AND b.typnamespace = 'pg_catalog'::regnamespace THEN format_type(b.base, NULL)
      WHEN b.oid IS NULL AND t.typnamespace = 'pg_catalog'::regnamespace THEN format_type(a.atttypid, NULL)
      ELSE format_type(a.atttypid, a.atttypmod)
    END,
    format_type(a.atttypid, a.atttypmod),
    (
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
    CASE
      WHEN t.typbasetype <> 0 AND d.adbin IS NULL THEN pg_get_expr(t.typdefaultbin, 0)
      WHEN a.attidentity = 'd' THEN (
        SELECT format('nextval(%L)', s.objid::regclass) FROM pg_depend s
        WHERE s.refobjid = a.attrelid AND s.refobjsubid = a.attnum AND s.deptype = 'i' AND s.classid = 'pg_class'::regclass
        LIMIT 1
      )
      WHEN a.attgenerated = 's' THEN NULL
      ELSE pg_get_expr(d.adbin, d.adrelid)
    END,
    COALESCE((
      SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e
      WHERE t.typtype IN ('e', 'd') AND e.enumtypid = COALESCE(b.base, t.oid)
    ), '[]')
  ) ORDER BY a.attnum) AS columns
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN bases b ON b.oid = t.oid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN pg_description o ON o.objoid = c.oid AND o.classoid = 'pg_class'::regclass AND o.objsubid = a.attnum
  WHERE n.nspname = ANY ($1::text[]) AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
    AND a.attnum > 0 AND NOT a.attisdropped
  GROUP BY a.attrelid
) l ON l.attrelid = c.oid
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')";

/// Foreign keys, save those that partitions inherit.
pub(super) const FOREIGN_KEYS: &str = "SELECT
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

/// Columns of primary keys, and of both sides of foreign ones, of the relations that views read.
pub(super) const KEY_COLUMNS: &str = "SELECT
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
JOIN (
  SELECT DISTINCT refobjid FROM pg_depend WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass
) v ON v.refobjid = s.relation
JOIN pg_class c ON c.oid = s.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'pg_catalog'";

/// Views of the schemas $1 and $2 with the trees of their rules.
pub(super) const VIEWS: &str = "SELECT
  c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name, n.nspname = ANY ($1::text[]) AS is_exposed,
  (
    SELECT json_agg(json_build_array(a.attnum, a.attname)) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  ) AS columns,
  r.ev_action::text AS tree
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_rewrite r ON r.ev_class = c.oid
WHERE c.relkind IN ('v', 'm') AND r.rulename = '_RETURN' AND n.nspname = ANY ($1::text[] || $2::text[])";

/// Functions from a row to rows.
pub(super) const COMPUTED: &str = "SELECT
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
pub(super) const REPRESENTATIONS: &str = "SELECT
  c.castsource::regtype::text AS source, c.casttarget::regtype::text AS target, c.castfunc::regproc::text AS function
FROM pg_cast c JOIN pg_type s ON s.oid = c.castsource JOIN pg_type t ON t.oid = c.casttarget
WHERE c.castcontext = 'i' AND c.castmethod = 'f' AND has_function_privilege(c.castfunc, 'execute')
  AND (s.typtype = 'd' AND c.casttarget IN ('json'::regtype, 'text'::regtype)
    OR t.typtype = 'd' AND c.castsource IN ('json'::regtype, 'text'::regtype))";

/// Aggregates and functions of the schemas $1 that return a domain named as a media type.
pub(super) const HANDLERS: &str = "WITH media AS (
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
