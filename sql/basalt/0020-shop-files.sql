-- Pictures and product files that owners upload at the desk. A file is named by the values `picture` and `product_file` of
-- basalt.catalogue_revisions; one that no revision names is deleted after a day.

CREATE TABLE shop_files (
    id          uuid NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('picture', 'product')),
    -- The name that browsers save it under.
    name        text NOT NULL,
    -- In bytes.
    size        bigint NOT NULL DEFAULT 0,
    -- False while its content arrives.
    is_complete boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL,
    CONSTRAINT shop_files_pkey PRIMARY KEY (id)
);

-- The content in rows of one size, so that a server reads and sends a large file by parts.
CREATE TABLE shop_file_chunks (
    file     uuid NOT NULL REFERENCES shop_files (id) ON DELETE CASCADE,
    -- From 0, without gaps.
    position integer NOT NULL,
    content  bytea NOT NULL,
    CONSTRAINT shop_file_chunks_pkey PRIMARY KEY (file, position)
);

DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.shop_files, basalt.shop_file_chunks TO supabase_auth_admin;
    END IF;
END
$$;
