-- Lists of objects. All of them run with the rights of the caller, and seek by conditions on name COLLATE "C" alone: comparing
-- texts is leakproof, so PostgreSQL may use the index before the policies are evaluated. Conditions on lower(name) or with
-- LIKE are not: with them each seek evaluates the policies of all rows from the start of the bucket.

-- The beginning of a key up to the first delimiter behind the prefix; null where there is none.
CREATE OR REPLACE FUNCTION storage.get_common_prefix(p_key text, p_prefix text, p_delimiter text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT left(
        p_key,
        length(p_prefix) + nullif(position(p_delimiter IN substr(p_key, length(p_prefix) + 1)), 0)
    )
$$;

-- One level of a bucket in byte order: objects, and folders without their last slash.
-- start_after and next_token name the last entry of the page before. A folder may be named with its slash; an entry that ends
-- in chr(1) is an object whatever else begins with its name.
CREATE OR REPLACE FUNCTION storage.list_objects_with_delimiter(
    _bucket_id text,
    prefix_param text,
    delimiter_param text,
    max_keys integer DEFAULT 100,
    start_after text DEFAULT '',
    next_token text DEFAULT '',
    sort_order text DEFAULT 'asc'
)
RETURNS TABLE (
    name text,
    id uuid,
    metadata jsonb,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    ascending CONSTANT boolean := lower(coalesce(sort_order, 'asc')) = 'asc';
    beginning CONSTANT text := coalesce(prefix_param, '');
    after CONSTANT text := coalesce(nullif(next_token, ''), start_after, '');
    -- No text of the database is greater than this one.
    greatest_text CONSTANT text := CASE getdatabaseencoding() WHEN 'UTF8' THEN chr(1114111) ELSE chr(255) END;
    behind_delimiter CONSTANT text := chr(ascii(delimiter_param) + 1);
    page CONSTANT integer := coalesce(max_keys, 100);
    -- Names from low on, and less than high, are left.
    low text := beginning;
    high text;
    folder text;
    emitted integer := 0;
    peeked text;
    neighbours refcursor;
BEGIN
    high := CASE
        WHEN beginning = '' THEN greatest_text
        ELSE left(beginning, -1) || chr(CASE ascii(right(beginning, 1)) WHEN 55295 THEN 57344 ELSE ascii(right(beginning, 1)) + 1 END)
    END;

    IF after <> '' THEN
        folder := storage.get_common_prefix(after, beginning, delimiter_param);
        IF folder IS DISTINCT FROM after THEN
            folder := NULL;
            PERFORM FROM storage.objects
            WHERE bucket_id = _bucket_id
                AND name COLLATE "C" >= after || delimiter_param
                AND name COLLATE "C" < after || behind_delimiter
            LIMIT 1;
            IF FOUND THEN
                folder := after || delimiter_param;
            END IF;
        END IF;
        IF ascending THEN
            low := greatest(
                (CASE WHEN folder IS NULL THEN after || chr(1) ELSE left(folder, -1) || behind_delimiter END) COLLATE "C",
                low COLLATE "C"
            );
        ELSE
            high := least(coalesce(folder, rtrim(after, chr(1))) COLLATE "C", high COLLATE "C");
        END IF;
    END IF;

    <<entries>>
    WHILE emitted < page LOOP
        -- A folder costs one row, however many it holds.
        IF ascending THEN
            SELECT objects.name INTO peeked
            FROM storage.objects
            WHERE bucket_id = _bucket_id AND name COLLATE "C" >= low AND name COLLATE "C" < high
            ORDER BY name COLLATE "C" LIMIT 1;
        ELSE
            SELECT objects.name INTO peeked
            FROM storage.objects
            WHERE bucket_id = _bucket_id AND name COLLATE "C" >= low AND name COLLATE "C" < high
            ORDER BY name COLLATE "C" DESC LIMIT 1;
        END IF;
        EXIT entries WHEN peeked IS NULL;

        folder := storage.get_common_prefix(peeked, beginning, delimiter_param);
        IF folder IS NOT NULL THEN
            name := rtrim(folder, delimiter_param);
            id := NULL;
            metadata := NULL;
            updated_at := NULL;
            created_at := NULL;
            last_accessed_at := NULL;
            RETURN NEXT;
            emitted := emitted + 1;
            IF ascending THEN
                low := left(folder, -1) || behind_delimiter;
            ELSE
                high := folder;
            END IF;
            CONTINUE entries;
        END IF;

        -- Objects that follow one another are read together.
        IF ascending THEN
            OPEN neighbours FOR
                SELECT objects.name, objects.id, objects.metadata, objects.updated_at, objects.created_at, objects.last_accessed_at
                FROM storage.objects
                WHERE bucket_id = _bucket_id AND name COLLATE "C" >= low AND name COLLATE "C" < high
                ORDER BY name COLLATE "C" LIMIT page - emitted;
        ELSE
            OPEN neighbours FOR
                SELECT objects.name, objects.id, objects.metadata, objects.updated_at, objects.created_at, objects.last_accessed_at
                FROM storage.objects
                WHERE bucket_id = _bucket_id AND name COLLATE "C" >= low AND name COLLATE "C" < high
                ORDER BY name COLLATE "C" DESC LIMIT page - emitted;
        END IF;
        LOOP
            FETCH neighbours INTO name, id, metadata, updated_at, created_at, last_accessed_at;
            EXIT WHEN NOT FOUND OR position(delimiter_param IN substr(name, length(beginning) + 1)) > 0;
            RETURN NEXT;
            emitted := emitted + 1;
            IF ascending THEN
                low := name || chr(1);
            ELSE
                high := name;
            END IF;
        END LOOP;
        CLOSE neighbours;
    END LOOP;
END
$$;

-- One level of a bucket by a time, then by name. A folder is as old as its oldest object.
CREATE OR REPLACE FUNCTION storage.search_by_timestamp(
    p_prefix text,
    p_bucket_id text,
    p_limit integer,
    p_level integer,
    p_start_after text,
    p_sort_order text,
    p_sort_column text,
    p_sort_column_after text
)
RETURNS TABLE (
    key text,
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
) LANGUAGE sql STABLE AS $$
    WITH bounds AS (
        SELECT
            coalesce(p_prefix, '') AS low,
            CASE
                WHEN coalesce(p_prefix, '') = ''
                    THEN CASE getdatabaseencoding() WHEN 'UTF8' THEN chr(1114111) ELSE chr(255) END
                ELSE left(p_prefix, -1) || chr(CASE ascii(right(p_prefix, 1)) WHEN 55295 THEN 57344 ELSE ascii(right(p_prefix, 1)) + 1 END)
            END AS high
    ),
    found AS (
        SELECT objects.*, storage.get_common_prefix(objects.name, bounds.low, '/') AS folder
        FROM bounds
        INNER JOIN storage.objects
            ON objects.bucket_id = p_bucket_id
            AND objects.name COLLATE "C" >= bounds.low
            AND objects.name COLLATE "C" < bounds.high
    ),
    entries AS (
        SELECT
            rtrim(found.folder, '/') AS name,
            NULL::uuid AS id,
            min(found.created_at) AS updated_at,
            min(found.created_at) AS created_at,
            NULL::timestamptz AS last_accessed_at,
            NULL::jsonb AS metadata
        FROM found
        WHERE found.folder IS NOT NULL
        GROUP BY found.folder
        UNION ALL
        SELECT found.name, found.id, found.updated_at, found.created_at, found.last_accessed_at, found.metadata
        FROM found
        WHERE found.folder IS NULL
    ),
    -- Tokens of pages have milliseconds.
    timed AS (
        SELECT
            entries.*,
            coalesce(
                date_trunc('milliseconds', CASE p_sort_column WHEN 'updated_at' THEN entries.updated_at ELSE entries.created_at END),
                'epoch'::timestamptz
            ) AS sorted_by
        FROM entries
    )
    SELECT split_part(timed.name, '/', p_level), timed.name, timed.id, timed.updated_at, timed.created_at, timed.last_accessed_at, timed.metadata
    FROM timed
    WHERE coalesce(p_start_after, '') = ''
        OR CASE p_sort_order
            WHEN 'asc' THEN
                (timed.sorted_by, timed.name COLLATE "C")
                > (coalesce(nullif(p_sort_column_after, '')::timestamptz, 'epoch'::timestamptz), p_start_after)
            ELSE
                (timed.sorted_by, timed.name COLLATE "C")
                < (coalesce(nullif(p_sort_column_after, '')::timestamptz, 'epoch'::timestamptz), p_start_after)
        END
    ORDER BY
        CASE WHEN p_sort_order = 'asc' THEN timed.sorted_by END,
        CASE WHEN p_sort_order = 'asc' THEN timed.name COLLATE "C" END,
        timed.sorted_by DESC,
        timed.name COLLATE "C" DESC
    LIMIT p_limit
$$;

-- One level of a bucket by name, created_at or updated_at, with full names; key is the part of the name on this level.
CREATE OR REPLACE FUNCTION storage.search_v2(
    prefix text,
    bucket_name text,
    limits integer DEFAULT 100,
    levels integer DEFAULT 1,
    start_after text DEFAULT '',
    sort_order text DEFAULT 'asc',
    sort_column text DEFAULT 'name',
    sort_column_after text DEFAULT ''
)
RETURNS TABLE (
    key text,
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    page CONSTANT integer := least(coalesce(limits, 100), 1500);
    direction CONSTANT text := CASE lower(sort_order) WHEN 'desc' THEN 'desc' ELSE 'asc' END;
BEGIN
    IF lower(sort_column) IN ('created_at', 'updated_at') THEN
        RETURN QUERY
        SELECT *
        FROM storage.search_by_timestamp(
            prefix, bucket_name, page, levels, start_after, direction, lower(sort_column), sort_column_after
        );
    ELSE
        RETURN QUERY
        SELECT
            split_part(listed.name, '/', levels),
            listed.name,
            listed.id,
            listed.updated_at,
            listed.created_at,
            listed.last_accessed_at,
            listed.metadata
        FROM storage.list_objects_with_delimiter(
            bucket_name, prefix, '/', page, coalesce(start_after, ''), '', direction
        ) AS listed;
    END IF;
END
$$;

-- Uploads of the S3 protocol in progress: the oldest of each key; keys with a delimiter behind the prefix count as one.
CREATE OR REPLACE FUNCTION storage.list_multipart_uploads_with_delimiter(
    bucket_id text,
    prefix_param text,
    delimiter_param text,
    max_keys integer DEFAULT 100,
    next_key_token text DEFAULT '',
    next_upload_token text DEFAULT ''
)
RETURNS TABLE (key text, id text, created_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (grouped.name) grouped.name COLLATE "default", grouped.id, grouped.created_at
    FROM (
        SELECT
            coalesce(storage.get_common_prefix(uploads.key, prefix_param, delimiter_param), uploads.key) COLLATE "C" AS name,
            uploads.id,
            uploads.created_at
        FROM storage.s3_multipart_uploads AS uploads
        WHERE uploads.bucket_id = list_multipart_uploads_with_delimiter.bucket_id
            AND starts_with(uploads.key, prefix_param)
    ) AS grouped
    WHERE CASE
        WHEN next_upload_token <> '' THEN grouped.id COLLATE "C" > next_upload_token
        WHEN next_key_token <> '' THEN grouped.name > next_key_token
        ELSE true
    END
    ORDER BY grouped.name, grouped.created_at
    LIMIT max_keys;
END
$$;
