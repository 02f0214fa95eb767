-- What policies ask about names and operations, sizes, and the triggers.

-- The folders of a name, from the outermost: {a,b} of a/b/c.png. In SQL, so that it becomes a part of the policy.
CREATE OR REPLACE FUNCTION storage.foldername(name text) RETURNS text [] LANGUAGE sql IMMUTABLE AS $$
    SELECT (string_to_array(name, '/'))[1:array_length(string_to_array(name, '/'), 1) - 1]
$$;

-- The part behind the last slash: c.png of a/b/c.png.
CREATE OR REPLACE FUNCTION storage.filename(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (string_to_array(name, '/'))[cardinality(string_to_array(name, '/'))]
$$;

-- The part behind the last dot of the file name, or the whole file name where it has none.
CREATE OR REPLACE FUNCTION storage.extension(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT split_part((string_to_array(name, '/'))[cardinality(string_to_array(name, '/'))], '.', -1)
$$;

-- The operation of the API that runs the statement, for instance storage.object.list.
CREATE OR REPLACE FUNCTION storage.operation() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT current_setting('storage.operation', true)
$$;

-- Whether the operation is this one. The prefix "storage." does not count on either side.
CREATE OR REPLACE FUNCTION storage.allow_only_operation(expected_operation text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        regexp_replace(expected_operation, '^storage\.', '')
        = nullif(regexp_replace(storage.operation(), '^storage\.', ''), ''),
        false
    )
$$;

-- Whether the operation is one of these. The prefix "storage." does not count on either side.
CREATE OR REPLACE FUNCTION storage.allow_any_operation(expected_operations text [])
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        bool_or(storage.allow_only_operation(expected.operation)),
        false
    )
    FROM unnest(expected_operations) AS expected (operation)
$$;

-- The bytes of all objects by bucket, as far as the caller sees them.
CREATE OR REPLACE FUNCTION storage.get_size_by_bucket()
RETURNS TABLE (size bigint, bucket_id text) LANGUAGE sql STABLE AS $$
    SELECT
        sum((objects.metadata ->> 'size')::bigint)::bigint,
        objects.bucket_id
    FROM storage.objects AS objects
    GROUP BY objects.bucket_id
$$;

-- Fails with PT200 when the caller may insert the object, and otherwise with the error of the insertion. Nothing is kept.
CREATE OR REPLACE FUNCTION storage.can_insert_object(bucketid text, name text, owner uuid, metadata jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO storage.objects (bucket_id, name, owner, metadata)
    VALUES (bucketid, can_insert_object.name, can_insert_object.owner, can_insert_object.metadata);
    RAISE EXCEPTION USING
        ERRCODE = 'PT200',
        MESSAGE = 'ROLLBACK',
        DETAIL = 'rollback successful insert';
END
$$;

CREATE OR REPLACE FUNCTION storage.update_updated_at_column() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    new.updated_at := now();
    RETURN new;
END
$$;

CREATE OR REPLACE FUNCTION storage.enforce_bucket_name_length() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF length(new.name) > 100 THEN
        RAISE EXCEPTION 'bucket name "%" is too long (% characters). Max is 100.', new.name, length(new.name);
    END IF;
    RETURN new;
END
$$;

-- A row that is deleted by SQL would leave its file behind.
CREATE OR REPLACE FUNCTION storage.protect_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('storage.allow_delete_query', true) IS DISTINCT FROM 'true' THEN
        RAISE EXCEPTION 'Direct deletion from storage tables is not allowed. Use the Storage API instead.'
            USING ERRCODE = '42501',
                HINT = 'The files of the objects would stay. SET storage.allow_delete_query = ''true'' allows it.';
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER IF EXISTS update_objects_updated_at ON storage.objects;
CREATE TRIGGER update_objects_updated_at
    BEFORE UPDATE ON storage.objects
    FOR EACH ROW EXECUTE FUNCTION storage.update_updated_at_column();

DROP TRIGGER IF EXISTS enforce_bucket_name_length_trigger ON storage.buckets;
CREATE TRIGGER enforce_bucket_name_length_trigger
    BEFORE INSERT OR UPDATE OF name ON storage.buckets
    FOR EACH ROW EXECUTE FUNCTION storage.enforce_bucket_name_length();

DROP TRIGGER IF EXISTS protect_buckets_delete ON storage.buckets;
CREATE TRIGGER protect_buckets_delete
    BEFORE DELETE ON storage.buckets
    FOR EACH STATEMENT EXECUTE FUNCTION storage.protect_delete();

DROP TRIGGER IF EXISTS protect_objects_delete ON storage.objects;
CREATE TRIGGER protect_objects_delete
    BEFORE DELETE ON storage.objects
    FOR EACH STATEMENT EXECUTE FUNCTION storage.protect_delete();
