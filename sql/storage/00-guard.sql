-- The files of this folder run in the order of their names, in one transaction, by a superuser or by the owner of the schema.
-- They may run again. A schema that Supabase Storage made is left alone: this statement fails with 42P06 there, before
-- anything has changed.

DO $$
BEGIN
    IF to_regclass('storage.objects') IS NOT NULL
        AND coalesce(obj_description(to_regnamespace('storage'), 'pg_namespace'), '') NOT LIKE 'Basalt:%'
    THEN
        RAISE EXCEPTION 'the schema storage exists and was not made by Basalt'
            USING ERRCODE = 'duplicate_schema';
    END IF;
END
$$;
