-- Gives the roles of the services their password, and Realtime its schema. Runs once, when the database is created.
\set password `echo "$POSTGRES_PASSWORD"`

ALTER ROLE authenticator WITH PASSWORD :'password';
ALTER ROLE supabase_auth_admin WITH PASSWORD :'password';
ALTER ROLE supabase_storage_admin WITH PASSWORD :'password';

CREATE SCHEMA IF NOT EXISTS _realtime;
ALTER SCHEMA _realtime OWNER TO supabase_admin;
