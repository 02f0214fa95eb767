-- The objects of a database that PostgreSQL did not create itself: kind, name and definition, in a form that does not
-- depend on the release. A definition that is NULL cannot be compared. Run with an empty search_path by a superuser.
WITH members AS (
    SELECT classid, objid FROM pg_catalog.pg_depend WHERE deptype = 'e'
),
named AS (
    SELECT classid, objid FROM pg_catalog.pg_depend WHERE objid >= 16384 AND refclassid <> 0
    UNION SELECT 'pg_catalog.pg_namespace'::regclass, oid FROM pg_catalog.pg_namespace WHERE nspname = 'public' OR oid >= 16384
    UNION SELECT 'pg_catalog.pg_extension'::regclass, oid FROM pg_catalog.pg_extension
        WHERE oid >= 16384 AND extversion <> 'basalt'
    UNION SELECT 'pg_catalog.pg_publication'::regclass, oid FROM pg_catalog.pg_publication
    UNION SELECT 'pg_catalog.pg_subscription'::regclass, oid FROM pg_catalog.pg_subscription
    UNION SELECT 'pg_catalog.pg_cast'::regclass, oid FROM pg_catalog.pg_cast WHERE oid >= 16384
    UNION SELECT 'pg_catalog.pg_language'::regclass, oid FROM pg_catalog.pg_language WHERE oid >= 16384
    UNION SELECT 'pg_catalog.pg_foreign_data_wrapper'::regclass, oid FROM pg_catalog.pg_foreign_data_wrapper
    UNION SELECT 'pg_catalog.pg_foreign_server'::regclass, oid FROM pg_catalog.pg_foreign_server
    UNION SELECT 'pg_catalog.pg_user_mapping'::regclass, oid FROM pg_catalog.pg_user_mapping
    UNION SELECT 'pg_catalog.pg_event_trigger'::regclass, oid FROM pg_catalog.pg_event_trigger
),
objects AS (
    SELECT o.classid::regclass::text AS class, o.objid, i.type AS kind,
           -- Releases before 17 name the schema of this type.
           regexp_replace(i.identity, '\mpg_catalog\.json\M', 'json', 'g') AS name
    FROM named o
    CROSS JOIN LATERAL pg_catalog.pg_identify_object(o.classid, o.objid, 0) i
    WHERE (o.classid, o.objid) NOT IN (SELECT classid, objid FROM members)
      -- Types of the rows of an extension's tables and views, and their arrays, are its members since release 17.
      AND NOT (o.classid = 'pg_catalog.pg_type'::regclass
               AND EXISTS (SELECT FROM pg_catalog.pg_type t
                           LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
                           JOIN members m ON m.classid = 'pg_catalog.pg_class'::regclass AND m.objid IN (t.typrelid, e.typrelid)
                           WHERE t.oid = o.objid))
      AND i.schema IS DISTINCT FROM 'pg_toast'
      AND i.identity IS NOT NULL
      AND (i.schema IS NULL OR i.schema !~ '^pg_(temp|toast_temp)_')
      AND i.identity !~ '^(pg_toast|pg_temp|pg_toast_temp)_?[0-9]*$'
      -- An index whose creation was interrupted; pg_dump leaves it out, too.
      AND NOT (o.classid = 'pg_catalog.pg_class'::regclass
               AND EXISTS (SELECT FROM pg_catalog.pg_index n JOIN pg_catalog.pg_class c ON c.oid = n.indexrelid
                           WHERE n.indexrelid = o.objid AND NOT n.indisvalid AND c.relkind = 'i'))
      -- Triggers of constraints have names with numbers; NOT NULL is part of the column.
      AND NOT (o.classid = 'pg_catalog.pg_trigger'::regclass
               AND EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.oid = o.objid AND t.tgisinternal))
      AND NOT (o.classid = 'pg_catalog.pg_constraint'::regclass
               AND EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE c.oid = o.objid AND c.contype = 'n'))
),
access (class, objid, acl) AS (
    SELECT 'pg_class', oid, relacl FROM pg_catalog.pg_class
    UNION ALL SELECT 'pg_proc', oid, proacl FROM pg_catalog.pg_proc
    UNION ALL SELECT 'pg_namespace', oid, nspacl FROM pg_catalog.pg_namespace
    UNION ALL SELECT 'pg_type', oid, typacl FROM pg_catalog.pg_type
    UNION ALL SELECT 'pg_default_acl', oid, defaclacl FROM pg_catalog.pg_default_acl
),
definitions AS (
    SELECT 'pg_class' AS class, c.oid AS objid,
           concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.relowner::regrole,
                     c.reloptions::text, CASE WHEN c.relkind IN ('i', 'I') THEN pg_get_indexdef(c.oid) END,
                     pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),
                     (SELECT concat_ws(' ', format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmax, s.seqmin,
                                       s.seqcache, s.seqcycle)
                      FROM pg_catalog.pg_sequence s
                      WHERE s.seqrelid = c.oid),
                     (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                                                  a.attidentity, a.attgenerated, a.attcollation::regcollation, a.attacl::text),
                                        ', ' ORDER BY a.attname)
                      FROM pg_catalog.pg_attribute a
                      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                        AND c.relkind NOT IN ('i', 'I', 'S'))) AS definition
    FROM pg_catalog.pg_class c
    -- The text of views differs between releases.
    WHERE c.relkind IN ('r', 'p', 'i', 'I', 'S', 'c')
    UNION ALL
    -- Of views that the server itself creates, whose text is that of its release.
    SELECT 'pg_class', c.oid, concat_ws(' ', c.relowner::regrole, c.reloptions::text,
                                        (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
                                                           ORDER BY a.attnum)
                                         FROM pg_catalog.pg_attribute a
                                         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
    FROM pg_catalog.pg_class c
    WHERE c.relkind = 'v' AND c.relnamespace = to_regnamespace('vault')
    UNION ALL
    SELECT 'pg_rewrite', r.oid, r.ev_type::text
    FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
    WHERE c.relkind = 'v' AND c.relnamespace = to_regnamespace('vault')
    UNION ALL
    SELECT 'pg_proc', p.oid,
           concat_ws(' ', p.proowner::regrole, md5(concat(p.prosrc, p.probin)), l.lanname, p.provolatile, p.prosecdef,
                     p.proisstrict, p.proparallel, p.proleakproof, p.proconfig::text,
                     pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
    FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    WHERE p.prokind IN ('f', 'p') AND p.prosqlbody IS NULL
    UNION ALL
    SELECT 'pg_constraint', oid, pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint
    UNION ALL
    SELECT 'pg_trigger', oid, concat_ws(' ', tgenabled, pg_get_triggerdef(oid)) FROM pg_catalog.pg_trigger
    UNION ALL
    SELECT 'pg_type', t.oid,
           concat_ws(' ', t.typtype, t.typowner::regrole, format_type(nullif(t.typbasetype, 0), t.typtypmod), t.typnotnull,
                     t.typdefault,
                     (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
                      FROM pg_catalog.pg_enum e
                      WHERE e.enumtypid = t.oid))
    FROM pg_catalog.pg_type t
    WHERE t.typtype IN ('c', 'd', 'e') OR t.typcategory = 'A'
    UNION ALL
    SELECT 'pg_policy', oid,
           concat_ws(' ', polcmd, polpermissive, polroles::regrole[]::text, pg_get_expr(polqual, polrelid),
                     pg_get_expr(polwithcheck, polrelid))
    FROM pg_catalog.pg_policy
    UNION ALL
    SELECT 'pg_attrdef', oid, pg_get_expr(adbin, adrelid) FROM pg_catalog.pg_attrdef
    UNION ALL
    SELECT 'pg_namespace', oid, nspowner::regrole::text FROM pg_catalog.pg_namespace
    UNION ALL
    SELECT 'pg_extension', oid, '' FROM pg_catalog.pg_extension
    UNION ALL
    SELECT 'pg_publication', oid, concat_ws(' ', puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot)
    FROM pg_catalog.pg_publication
    UNION ALL
    SELECT 'pg_publication_rel', oid, concat_ws(' ', prattrs::text, pg_get_expr(prqual, prrelid))
    FROM pg_catalog.pg_publication_rel
    UNION ALL
    SELECT 'pg_default_acl', oid, '' FROM pg_catalog.pg_default_acl
    UNION ALL
    SELECT 'pg_event_trigger', oid, concat_ws(' ', evtevent, evtfoid::regprocedure, evtenabled, evttags::text)
    FROM pg_catalog.pg_event_trigger
)
SELECT o.kind, o.name,
       d.definition || coalesce((
           SELECT ' ' || string_agg(concat_ws(' ', CASE WHEN x.grantee <> 0 THEN x.grantee::regrole END, x.privilege_type,
                                              CASE WHEN x.is_grantable THEN '*' END),
                                    ', ' ORDER BY x.grantee::regrole::text COLLATE "C", x.privilege_type COLLATE "C")
           FROM access a
           CROSS JOIN LATERAL aclexplode(a.acl) x
           -- A privilege of release 17.
           WHERE a.class = o.class AND a.objid = o.objid AND x.privilege_type <> 'MAINTAIN'
       ), '') AS definition
FROM objects o
LEFT JOIN definitions d ON d.class = o.class AND d.objid = o.objid
UNION ALL
SELECT 'comment', i.type || ' ' || i.identity, md5(c.description)
FROM pg_catalog.pg_description c
CROSS JOIN LATERAL pg_catalog.pg_identify_object(c.classoid, c.objoid, c.objsubid) i
WHERE c.objoid >= 16384 AND (c.classoid, c.objoid) NOT IN (SELECT classid, objid FROM members)
  AND c.classoid <> 'pg_catalog.pg_extension'::regclass
UNION ALL
SELECT 'security label', objtype || ' ' || objname, NULL FROM pg_catalog.pg_seclabels
UNION ALL
SELECT 'large objects', count(*)::text, NULL FROM pg_catalog.pg_largeobject_metadata HAVING count(*) > 0
UNION ALL
SELECT 'table of an extension', c.oid::regclass::text, NULL
FROM pg_catalog.pg_class c
JOIN members m ON m.classid = 'pg_catalog.pg_class'::regclass AND m.objid = c.oid
WHERE c.relkind IN ('r', 'p')
ORDER BY 1, 2
