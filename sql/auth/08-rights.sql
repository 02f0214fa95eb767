-- Row security without a policy: nobody but the owner sees a row, whatever an operator grants by mistake.
-- The role postgres may read, and may pass that on. The newer tables have neither.

DO $$
DECLARE
    guarded regclass;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'audit_log_entries',
        'flow_state',
        'identities',
        'instances',
        'mfa_amr_claims',
        'mfa_challenges',
        'mfa_factors',
        'one_time_tokens',
        'refresh_tokens',
        'saml_providers',
        'saml_relay_states',
        'schema_migrations',
        'sessions',
        'sso_domains',
        'sso_providers',
        'users'
    ]::regclass[] LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('GRANT SELECT ON %s TO postgres WITH GRANT OPTION', guarded);
    END LOOP;
END
$$;
