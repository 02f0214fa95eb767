-- Prepares a database for the first start of the auth server: roles and schema. Idempotent.
do $$
begin
  if not exists (select from pg_roles where rolname = 'supabase_auth_admin') then
    create role supabase_auth_admin noinherit createrole login noreplication password 'root';
    alter role supabase_auth_admin set search_path = 'auth';
  end if;
  if not exists (select from pg_roles where rolname = 'supabase_admin') then
    create role supabase_admin login createrole createdb replication bypassrls;
  end if;
  if not exists (select from pg_roles where rolname = 'anon') then create role anon nologin; end if;
  if not exists (select from pg_roles where rolname = 'authenticated') then create role authenticated nologin; end if;
  if not exists (select from pg_roles where rolname = 'service_role') then create role service_role nologin bypassrls; end if;
  execute format('grant create on database %I to supabase_auth_admin', current_database());
end $$;
create schema if not exists auth authorization supabase_auth_admin;
