-- Recovery codes of second factors, as the reference has them since its migrations 20260824000000 and 20260824000001.
-- It runs where the tables are absent; every statement may find its object made by the reference.

ALTER TYPE factor_type ADD VALUE IF NOT EXISTS 'recovery_code';

CREATE TABLE IF NOT EXISTS mfa_recovery_code_sets (
    id                        uuid NOT NULL,
    user_id                   uuid NOT NULL,
    mfa_factor_id             uuid NOT NULL,
    failed_verification_count integer NOT NULL DEFAULT 0,
    verification_locked_until timestamptz,
    created_at                timestamptz NOT NULL DEFAULT now(),
    updated_at                timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT mfa_recovery_code_sets_pkey PRIMARY KEY (id),
    CONSTRAINT mfa_recovery_code_sets_user_id_key UNIQUE (user_id),
    CONSTRAINT mfa_recovery_code_sets_mfa_factor_id_key UNIQUE (mfa_factor_id),
    CONSTRAINT mfa_recovery_code_sets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT mfa_recovery_code_sets_mfa_factor_id_fkey
        FOREIGN KEY (mfa_factor_id) REFERENCES mfa_factors (id) ON DELETE CASCADE,
    CONSTRAINT mfa_recovery_code_sets_failed_verification_count_check CHECK (failed_verification_count >= 0)
);

CREATE TABLE IF NOT EXISTS mfa_recovery_codes (
    id                       uuid NOT NULL,
    mfa_recovery_code_set_id uuid NOT NULL,
    code_hash                text NOT NULL,
    consumed_at              timestamptz,
    created_at               timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT mfa_recovery_codes_pkey PRIMARY KEY (id),
    CONSTRAINT mfa_recovery_codes_mfa_recovery_code_set_id_fkey
        FOREIGN KEY (mfa_recovery_code_set_id) REFERENCES mfa_recovery_code_sets (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS mfa_recovery_codes_set_id_idx ON mfa_recovery_codes (mfa_recovery_code_set_id);
