-- Row security without a policy: until a project creates policies, only service_role sees and changes rows.

DO $$
DECLARE
    guarded text;
    grantor boolean := to_regrole('postgres') IS NOT NULL;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'buckets',
        'buckets_analytics',
        'buckets_vectors',
        'iceberg_namespaces',
        'iceberg_tables',
        'migrations',
        'objects',
        's3_multipart_uploads',
        's3_multipart_uploads_parts',
        'vector_indexes'
    ] LOOP
        EXECUTE format('ALTER TABLE storage.%I ENABLE ROW LEVEL SECURITY', guarded);
        IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            EXECUTE format('ALTER TABLE storage.%I OWNER TO supabase_storage_admin', guarded);
            IF grantor THEN
                EXECUTE format('GRANT ALL ON storage.%I TO postgres WITH GRANT OPTION', guarded);
            END IF;
        END IF;
    END LOOP;
END
$$;

GRANT ALL ON storage.buckets, storage.objects, storage.buckets_analytics TO anon, authenticated, service_role;

GRANT SELECT ON
    storage.s3_multipart_uploads,
    storage.s3_multipart_uploads_parts,
    storage.iceberg_namespaces,
    storage.iceberg_tables,
    storage.buckets_vectors,
    storage.vector_indexes
TO anon, authenticated, service_role;

GRANT ALL ON
    storage.s3_multipart_uploads,
    storage.s3_multipart_uploads_parts,
    storage.iceberg_namespaces,
    storage.iceberg_tables
TO service_role;

DO $$
DECLARE
    made regprocedure;
BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        ALTER TYPE storage.buckettype OWNER TO supabase_storage_admin;
        FOR made IN SELECT oid FROM pg_proc WHERE pronamespace = 'storage'::regnamespace LOOP
            EXECUTE format('ALTER FUNCTION %s OWNER TO supabase_storage_admin', made);
        END LOOP;
    END IF;
END
$$;
