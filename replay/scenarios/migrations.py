"""The schema after the server's first start: equal to the reference's, so that the servers are interchangeable."""

from harness import schema
from harness.registry import scenario


@scenario()
def versions_are_recorded(flow):
    flow.note("versions", schema.rows(flow, "select version from auth.schema_migrations order by version"))
    flow.note("schema_migrations", schema.table(flow, "schema_migrations"))


@scenario()
def tables_enums_and_functions(flow):
    flow.note("relations", schema.rows(flow, "select relname, relkind from pg_class where relnamespace = 'auth'::regnamespace and relkind in ('r', 'v', 'm', 'S', 'p', 'f') order by 1"))
    flow.note("enums", schema.rows(flow, "select typname, string_agg(enumlabel, ', ' order by enumsortorder) from pg_type t join pg_enum e on e.enumtypid = t.oid where typnamespace = 'auth'::regnamespace group by 1 order by 1"))
    flow.note("functions", schema.rows(flow, "select proname, pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid), lanname, provolatile, prosecdef, pg_get_userbyid(proowner), coalesce(proacl::text, '') from pg_proc p join pg_language l on l.oid = prolang where pronamespace = 'auth'::regnamespace order by 1"))
    flow.note("triggers", schema.rows(flow, "select tgname, tgrelid::regclass from pg_trigger t join pg_class c on c.oid = tgrelid where not tgisinternal and relnamespace = 'auth'::regnamespace order by 1"))
    flow.note("policies", schema.rows(flow, "select tablename, policyname from pg_policies where schemaname = 'auth' order by 1, 2"))
    flow.note("sequences", schema.rows(flow, "select sequencename, data_type, start_value, increment_by from pg_sequences where schemaname = 'auth' order by 1"))
    flow.note("rights of the sequence", schema.rows(flow, "select pg_get_userbyid(relowner), pg_get_serial_sequence('auth.refresh_tokens', 'id') from pg_class where oid = 'auth.refresh_tokens_id_seq'::regclass"))
    flow.note("schema", schema.rows(flow, "select pg_get_userbyid(nspowner), coalesce(nspacl::text, '') from pg_namespace where nspname = 'auth'"))


@scenario()
def tables_of_accounts(flow):
    for name in ("users", "identities", "one_time_tokens", "audit_log_entries", "instances"):
        flow.note(name, schema.table(flow, name))


@scenario()
def tables_of_sessions_and_factors(flow):
    for name in ("sessions", "refresh_tokens", "mfa_amr_claims", "mfa_factors", "mfa_challenges", "webauthn_credentials", "webauthn_challenges"):
        flow.note(name, schema.table(flow, name))


@scenario()
def tables_of_other_providers(flow):
    for name in ("flow_state", "oauth_client_states", "custom_oauth_providers", "sso_providers", "sso_domains", "saml_providers", "saml_relay_states"):
        flow.note(name, schema.table(flow, name))


@scenario()
def tables_of_the_oauth_provider(flow):
    for name in ("oauth_clients", "oauth_authorizations", "oauth_consents"):
        flow.note(name, schema.table(flow, name))


@scenario()
def functions_read_the_request_settings(flow):
    def under(settings, call):
        return flow.database.query(f"select {', '.join(f'set_config({k!r}, {v!r}, true)' for k, v in settings.items())}; {call}").splitlines()[-1:]

    claims = '{"sub": "11111111-1111-4111-8111-111111111111", "role": "authenticated", "email": "ann@example.com"}'
    seen = "select coalesce(auth.uid()::text, 'null'), coalesce(auth.role(), 'null'), coalesce(auth.email(), 'null'), coalesce(auth.jwt()::text, 'null')"
    flow.note("claims", under({"request.jwt.claims": claims}, seen))
    flow.note("single claims win", under({"request.jwt.claims": claims, "request.jwt.claim.sub": "22222222-2222-4222-8222-222222222222", "request.jwt.claim.role": "anon", "request.jwt.claim.email": "bob@example.com"}, seen))
    flow.note("empty settings", under({"request.jwt.claims": "", "request.jwt.claim.sub": "", "request.jwt.claim.role": "", "request.jwt.claim.email": ""}, seen))
    flow.note("whole claim wins", under({"request.jwt.claim": '{"a": 1}', "request.jwt.claims": claims}, "select auth.jwt()"))
    flow.note("nothing set", schema.rows(flow, seen))
