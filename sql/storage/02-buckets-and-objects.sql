-- Buckets, objects and the parts of uploads of the S3 protocol. Names, types, indexes and their order are those of Supabase
-- Storage, so that either server can use a database of the other.

DO $$
BEGIN
    IF to_regtype('storage.buckettype') IS NULL THEN
        CREATE TYPE storage.buckettype AS ENUM ('STANDARD', 'ANALYTICS', 'VECTOR');
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS storage.buckets (
    id                 text NOT NULL,
    name               text NOT NULL,
    owner              uuid, -- owner_id, where that is a UUID
    created_at         timestamptz DEFAULT now(),
    updated_at         timestamptz DEFAULT now(),
    public             boolean DEFAULT false,
    avif_autodetection boolean DEFAULT false, -- without effect
    file_size_limit    bigint, -- bytes
    allowed_mime_types text [],
    owner_id           text, -- the claim sub of the request that created the bucket
    type               storage.buckettype NOT NULL DEFAULT 'STANDARD',
    versioning_status  text NOT NULL DEFAULT 'DISABLED',
    CONSTRAINT buckets_pkey PRIMARY KEY (id),
    CONSTRAINT buckets_versioning_status_check CHECK (versioning_status IN ('DISABLED', 'ENABLED', 'SUSPENDED')),
    CONSTRAINT buckets_versioning_standard_only_check CHECK (type = 'STANDARD' OR versioning_status = 'DISABLED'),
    CONSTRAINT buckets_versioning_dark_check CHECK (versioning_status = 'DISABLED')
);
COMMENT ON COLUMN storage.buckets.owner IS 'Field is deprecated, use owner_id instead';
CREATE UNIQUE INDEX IF NOT EXISTS bname ON storage.buckets (name);

CREATE TABLE IF NOT EXISTS storage.objects (
    id               uuid NOT NULL DEFAULT gen_random_uuid(),
    bucket_id        text,
    name             text,
    owner            uuid, -- owner_id, where that is a UUID
    created_at       timestamptz DEFAULT now(),
    updated_at       timestamptz DEFAULT now(),
    last_accessed_at timestamptz DEFAULT now(), -- not changed by reads
    metadata         jsonb, -- of the file: eTag, size, mimetype, cacheControl, lastModified, contentLength, httpStatusCode
    path_tokens      text [] GENERATED ALWAYS AS (string_to_array(name, '/')) STORED,
    version          text, -- a part of the name of the file; new with every write
    owner_id         text, -- the claim sub of the request that wrote the object
    user_metadata    jsonb,
    archived_at      timestamptz,
    is_delete_marker boolean NOT NULL DEFAULT false,
    is_versioned     boolean NOT NULL DEFAULT false,
    CONSTRAINT objects_pkey PRIMARY KEY (id),
    CONSTRAINT "objects_bucketId_fkey" FOREIGN KEY (bucket_id) REFERENCES storage.buckets (id)
);
COMMENT ON COLUMN storage.objects.owner IS 'Field is deprecated, use owner_id instead';
CREATE UNIQUE INDEX IF NOT EXISTS bucketid_objname ON storage.objects (bucket_id, name);
CREATE INDEX IF NOT EXISTS name_prefix_search ON storage.objects (name text_pattern_ops);
CREATE INDEX IF NOT EXISTS idx_objects_bucket_id_name ON storage.objects (bucket_id, name COLLATE "C");
CREATE INDEX IF NOT EXISTS idx_objects_bucket_id_name_lower ON storage.objects (bucket_id, (lower(name)) COLLATE "C");

CREATE TABLE IF NOT EXISTS storage.s3_multipart_uploads (
    id               text NOT NULL,
    in_progress_size bigint NOT NULL DEFAULT 0, -- bytes of all parts
    upload_signature text NOT NULL, -- protects in_progress_size against changes by others
    bucket_id        text NOT NULL,
    key              text NOT NULL COLLATE "C",
    version          text NOT NULL,
    owner_id         text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    user_metadata    jsonb,
    metadata         jsonb,
    CONSTRAINT s3_multipart_uploads_pkey PRIMARY KEY (id),
    CONSTRAINT s3_multipart_uploads_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES storage.buckets (id)
);
CREATE INDEX IF NOT EXISTS idx_multipart_uploads_list ON storage.s3_multipart_uploads (bucket_id, key, created_at);

CREATE TABLE IF NOT EXISTS storage.s3_multipart_uploads_parts (
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    upload_id   text NOT NULL,
    size        bigint NOT NULL DEFAULT 0, -- bytes
    part_number integer NOT NULL,
    bucket_id   text NOT NULL,
    key         text NOT NULL COLLATE "C",
    etag        text NOT NULL,
    owner_id    text,
    version     text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT s3_multipart_uploads_parts_pkey PRIMARY KEY (id),
    CONSTRAINT s3_multipart_uploads_parts_upload_id_fkey
        FOREIGN KEY (upload_id) REFERENCES storage.s3_multipart_uploads (id) ON DELETE CASCADE,
    CONSTRAINT s3_multipart_uploads_parts_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES storage.buckets (id)
);
