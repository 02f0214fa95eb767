-- Tables of analytics and vector buckets, which this server does not serve: tools and the other server expect them.

CREATE TABLE IF NOT EXISTS storage.buckets_analytics (
    name       text NOT NULL,
    type       storage.buckettype NOT NULL DEFAULT 'ANALYTICS',
    format     text NOT NULL DEFAULT 'ICEBERG',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    deleted_at timestamptz,
    CONSTRAINT buckets_analytics_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX IF NOT EXISTS buckets_analytics_unique_name_idx
    ON storage.buckets_analytics (name) WHERE deleted_at IS NULL;

CREATE TABLE IF NOT EXISTS storage.iceberg_namespaces (
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    bucket_name text NOT NULL,
    name        text NOT NULL COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    metadata    jsonb NOT NULL DEFAULT '{}',
    catalog_id  uuid NOT NULL,
    CONSTRAINT iceberg_namespaces_pkey PRIMARY KEY (id),
    CONSTRAINT iceberg_namespaces_catalog_id_fkey
        FOREIGN KEY (catalog_id) REFERENCES storage.buckets_analytics (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_iceberg_namespaces_bucket_id ON storage.iceberg_namespaces (catalog_id, name);

CREATE TABLE IF NOT EXISTS storage.iceberg_tables (
    id              uuid NOT NULL DEFAULT gen_random_uuid(),
    namespace_id    uuid NOT NULL,
    bucket_name     text NOT NULL,
    name            text NOT NULL COLLATE "C",
    location        text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    remote_table_id text,
    shard_key       text,
    shard_id        text,
    catalog_id      uuid NOT NULL,
    CONSTRAINT iceberg_tables_pkey PRIMARY KEY (id),
    CONSTRAINT iceberg_tables_namespace_id_fkey
        FOREIGN KEY (namespace_id) REFERENCES storage.iceberg_namespaces (id) ON DELETE CASCADE,
    CONSTRAINT iceberg_tables_catalog_id_fkey
        FOREIGN KEY (catalog_id) REFERENCES storage.buckets_analytics (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_iceberg_tables_namespace_id
    ON storage.iceberg_tables (catalog_id, namespace_id, name);
CREATE UNIQUE INDEX IF NOT EXISTS idx_iceberg_tables_location ON storage.iceberg_tables (location);

CREATE TABLE IF NOT EXISTS storage.buckets_vectors (
    id         text NOT NULL,
    type       storage.buckettype NOT NULL DEFAULT 'VECTOR',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT buckets_vectors_pkey PRIMARY KEY (id)
);

CREATE TABLE IF NOT EXISTS storage.vector_indexes (
    id                     text NOT NULL DEFAULT gen_random_uuid(),
    name                   text NOT NULL COLLATE "C",
    bucket_id              text NOT NULL,
    data_type              text NOT NULL,
    dimension              integer NOT NULL,
    distance_metric        text NOT NULL,
    metadata_configuration jsonb,
    created_at             timestamptz NOT NULL DEFAULT now(),
    updated_at             timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT vector_indexes_pkey PRIMARY KEY (id),
    CONSTRAINT vector_indexes_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES storage.buckets_vectors (id)
);
CREATE UNIQUE INDEX IF NOT EXISTS vector_indexes_name_bucket_id_idx ON storage.vector_indexes (name, bucket_id);
