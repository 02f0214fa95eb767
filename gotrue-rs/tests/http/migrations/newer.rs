//! A schema as Supabase Auth leaves it after v2.196: the migrations that are known, and additions that are not.

use platform::testing::TestDatabase;

/// What the migrations after v2.196 add, by version.
///
/// The tables are those of projects of September and October 2026; what the SCIM groups look like is not known, so
/// their table stands for any that this server does not know.
const MIGRATIONS: &[(&str, &str)] = &[
    (
        "20260821000000",
        "CREATE TABLE auth.scim_users (
             id uuid NOT NULL PRIMARY KEY,
             sso_provider_id uuid NOT NULL REFERENCES auth.sso_providers (id) ON DELETE CASCADE,
             user_id uuid REFERENCES auth.users (id) ON DELETE SET NULL,
             resource jsonb NOT NULL,
             user_name text GENERATED ALWAYS AS (lower(resource ->> 'userName')) STORED NOT NULL,
             external_id text GENERATED ALWAYS AS (resource ->> 'externalId') STORED,
             active boolean GENERATED ALWAYS AS (COALESCE((resource ->> 'active')::boolean, true)) STORED NOT NULL,
             created_at timestamptz NOT NULL DEFAULT now(),
             updated_at timestamptz NOT NULL DEFAULT now(),
             deleted_at timestamptz
         );
         CREATE UNIQUE INDEX scim_users_user_name_key ON auth.scim_users (sso_provider_id, user_name)
             WHERE deleted_at IS NULL",
    ),
    (
        "20260821010000",
        "CREATE TABLE auth.scim_tokens (
             id uuid NOT NULL PRIMARY KEY,
             sso_provider_id uuid NOT NULL REFERENCES auth.sso_providers (id) ON DELETE CASCADE,
             token_hash text NOT NULL CHECK (token_hash ~ '^[0-9a-f]{64}$'),
             prefix text NOT NULL,
             created_at timestamptz NOT NULL DEFAULT now(),
             expires_at timestamptz,
             revoked_at timestamptz,
             last_used_at timestamptz
         );
         CREATE UNIQUE INDEX scim_tokens_token_hash_key ON auth.scim_tokens (token_hash)",
    ),
    ("20260824000000", "ALTER TYPE auth.factor_type ADD VALUE IF NOT EXISTS 'recovery_code'"),
    (
        "20260824000001",
        "CREATE TABLE auth.mfa_recovery_code_sets (
             id uuid NOT NULL CONSTRAINT mfa_recovery_code_sets_pkey PRIMARY KEY,
             user_id uuid NOT NULL,
             mfa_factor_id uuid NOT NULL,
             failed_verification_count integer NOT NULL DEFAULT 0,
             verification_locked_until timestamptz,
             created_at timestamptz NOT NULL DEFAULT now(),
             updated_at timestamptz NOT NULL DEFAULT now(),
             CONSTRAINT mfa_recovery_code_sets_user_id_key UNIQUE (user_id),
             CONSTRAINT mfa_recovery_code_sets_mfa_factor_id_key UNIQUE (mfa_factor_id),
             CONSTRAINT mfa_recovery_code_sets_user_id_fkey
                 FOREIGN KEY (user_id) REFERENCES auth.users (id) ON DELETE CASCADE,
             CONSTRAINT mfa_recovery_code_sets_mfa_factor_id_fkey
                 FOREIGN KEY (mfa_factor_id) REFERENCES auth.mfa_factors (id) ON DELETE CASCADE,
             CONSTRAINT mfa_recovery_code_sets_failed_verification_count_check CHECK (failed_verification_count >= 0)
         );
         CREATE TABLE auth.mfa_recovery_codes (
             id uuid NOT NULL CONSTRAINT mfa_recovery_codes_pkey PRIMARY KEY,
             mfa_recovery_code_set_id uuid NOT NULL,
             code_hash text NOT NULL,
             consumed_at timestamptz,
             created_at timestamptz NOT NULL DEFAULT now(),
             CONSTRAINT mfa_recovery_codes_mfa_recovery_code_set_id_fkey FOREIGN KEY (mfa_recovery_code_set_id)
                 REFERENCES auth.mfa_recovery_code_sets (id) ON DELETE CASCADE
         );
         CREATE INDEX mfa_recovery_codes_set_id_idx ON auth.mfa_recovery_codes (mfa_recovery_code_set_id)",
    ),
    ("20260831180000", "ALTER TABLE auth.one_time_tokens ADD COLUMN expires_at timestamptz"),
    (
        "20260911120000",
        "ALTER TABLE auth.one_time_tokens ADD COLUMN link_token_hash text;
         CREATE INDEX one_time_tokens_link_token_hash_hash_idx ON auth.one_time_tokens USING hash (link_token_hash)",
    ),
    (
        "20260923120000",
        "ALTER TABLE auth.custom_oauth_providers
             ADD COLUMN token_endpoint_auth_method text,
             ADD COLUMN client_signing_key text,
             ADD COLUMN client_signing_key_id text",
    ),
    (
        "20260929000000",
        "CREATE TABLE auth.scim_groups (id uuid NOT NULL PRIMARY KEY, resource jsonb NOT NULL, of_project text NOT NULL)",
    ),
    (
        "20261007120000",
        "ALTER TABLE auth.mfa_factors DROP CONSTRAINT mfa_factors_last_challenged_at_key;
         ALTER TYPE auth.factor_type ADD VALUE 'unknown_proof';
         ALTER TYPE auth.aal_level ADD VALUE 'aal4';
         ALTER TYPE auth.one_time_token_type ADD VALUE 'unknown_token'",
    ),
];

/// Brings a database of v2.196 to the newer schema.
///
/// Tables of recovery codes that this server created are replaced.
pub(crate) async fn make_newer(database: &TestDatabase) {
    database.query("DROP TABLE IF EXISTS auth.mfa_recovery_codes, auth.mfa_recovery_code_sets").await;
    for (version, sql) in MIGRATIONS {
        let reset = "SET ROLE supabase_auth_admin;";
        // A new value of an enum cannot be used by other statements of its transaction; none of these does.
        database.query(&format!("{reset} {sql}")).await;
        database.query(&format!("INSERT INTO auth.schema_migrations VALUES ('{version}')")).await;
    }
}
