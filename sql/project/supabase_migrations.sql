-- What records the migrations and seed files of a project, as the Supabase CLI does. Roles without special rights may create it.
CREATE SCHEMA IF NOT EXISTS supabase_migrations;
CREATE TABLE IF NOT EXISTS supabase_migrations.schema_migrations (
    version    text PRIMARY KEY,
    statements text [],
    name       text
);
-- Earlier releases of the CLI have made the table without these columns.
ALTER TABLE supabase_migrations.schema_migrations ADD COLUMN IF NOT EXISTS statements text [];
ALTER TABLE supabase_migrations.schema_migrations ADD COLUMN IF NOT EXISTS name text;
CREATE TABLE IF NOT EXISTS supabase_migrations.seed_files (
    path text PRIMARY KEY,
    hash text NOT NULL -- SHA-256 of the file, in hexadecimal
);
-- Statements of files that ran without them. The CLI does not know this table.
CREATE TABLE IF NOT EXISTS supabase_migrations.skipped_statements (
    path       text NOT NULL,
    ordinal    integer NOT NULL, -- the position of the statement in its file, from 1
    line       integer NOT NULL,
    statement  text NOT NULL,
    reason     text NOT NULL,
    remedy     text,
    is_note    boolean NOT NULL DEFAULT false, -- nothing else of the project depends on the statement
    skipped_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (path, ordinal)
);
