-- The dependencies between the objects of `objects.sql`: id of an object, and id of one that exists before it.
WITH mapped AS (
    SELECT
        CASE d.classid
            WHEN 'pg_rewrite'::regclass THEN format('%s:%s', 'pg_class'::regclass::oid, (SELECT w.ev_class FROM pg_rewrite AS w WHERE w.oid = d.objid))
            WHEN 'pg_attrdef'::regclass THEN format('%s:%s', 'pg_class'::regclass::oid, (SELECT a.adrelid FROM pg_attrdef AS a WHERE a.oid = d.objid))
            ELSE format('%s:%s', d.classid, d.objid)
        END AS id,
        CASE d.classid
            WHEN 'pg_attrdef'::regclass THEN (SELECT a.adnum FROM pg_attrdef AS a WHERE a.oid = d.objid)
            ELSE d.objsubid
        END AS id_column,
        CASE
            WHEN d.refclassid = 'pg_type'::regclass AND t.typrelid <> 0 THEN format('%s:%s', 'pg_class'::regclass::oid, t.typrelid)
            WHEN d.refclassid = 'pg_type'::regclass AND e.typrelid <> 0 THEN format('%s:%s', 'pg_class'::regclass::oid, e.typrelid)
            WHEN d.refclassid = 'pg_type'::regclass AND e.oid IS NOT NULL THEN format('%s:%s', 'pg_type'::regclass::oid, e.oid)
            ELSE format('%s:%s', d.refclassid, d.refobjid)
        END AS before,
        d.refobjsubid AS before_column
    FROM pg_depend AS d
    LEFT JOIN pg_type AS t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
    LEFT JOIN pg_type AS e ON e.oid = t.typelem AND t.typlen = -1
    WHERE d.deptype IN ('n', 'a', 'i')
      AND d.objid >= 16384
      -- A sequence exists before the column that owns it.
      AND NOT (d.deptype = 'a' AND d.classid = 'pg_class'::regclass
               AND EXISTS (SELECT FROM pg_class AS c WHERE c.oid = d.objid AND c.relkind = 'S'))
)

SELECT DISTINCT i.id, b.id AS before
FROM mapped AS m,
    unnest(ARRAY[m.id, CASE WHEN m.id_column > 0 THEN m.id || ':' || m.id_column END]) AS i (id),
    unnest(ARRAY[m.before, CASE WHEN m.before_column > 0 THEN m.before || ':' || m.before_column END]) AS b (id)
WHERE i.id IS NOT NULL AND b.id IS NOT NULL AND i.id <> b.id
