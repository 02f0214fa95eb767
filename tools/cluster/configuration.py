"""The configurations of the parts."""

ROLES = """
CREATE ROLE supabase_auth_admin LOGIN CREATEROLE; CREATE ROLE anon; CREATE ROLE authenticated; CREATE ROLE service_role;
CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin; GRANT CREATE ON DATABASE postgres TO supabase_auth_admin;
ALTER ROLE supabase_auth_admin SET search_path = auth;
CREATE TABLE public.probe (port int PRIMARY KEY, writes int NOT NULL);
"""
# 20 s is the shortest time to live that Patroni accepts. The second version of etcd's API, because Patroni 3.0 with the third
# takes the lock back without a comparison after it stood still (acknowledged writes are lost), and keeps a stale key of
# the synchronous standby (no standby may be promoted any more).
PATRONI = """
scope: basalt
name: {name}
etcd: {{host: "127.0.0.1:{etcd}"}}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql: {{use_pg_rewind: true, parameters: {{max_connections: 200, wal_keep_size: 256MB}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {data}
  bin_dir: {programs}
  pgpass: {home}/pgpass-{name}
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: replicator}}
    rewind: {{username: postgres}}
  parameters: {{unix_socket_directories: "{home}"}}
"""
# While no replica is ready, those that serve answer: they wait for a new primary, or say when to try again.
HAPROXY = """
global
  maxconn 2000
  log stdout format raw local0 notice
defaults
  mode tcp
  log global
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout check 1s
  default-server inter 500ms fall 2 rise 1
frontend api
  mode http
  bind 127.0.0.1:{api}
  use_backend serving if {{ nbsrv(ready) eq 0 }}
  default_backend ready
backend ready
  mode http
  option redispatch
  option httpchk GET {ready}
  http-response set-header x-replica %s
{replicas}
backend serving
  mode http
  option redispatch
  option httpchk GET {live}
  http-response set-header x-replica %s
{replicas}
frontend primary
  bind 127.0.0.1:{primary}
  default_backend nodes
backend nodes
  option httpchk GET /primary
  default-server on-marked-down shutdown-sessions
{nodes}
"""
# After a failed connection to the database clients are refused for server_login_retry; one that is not answered holds up
# all others for server_connect_timeout. Both are 15 s by default.
PGBOUNCER = """
[databases]
* = host=127.0.0.1 port={primary}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {pgbouncer}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = {mode}
max_client_conn = 500
default_pool_size = 40
server_login_retry = 0.1
server_connect_timeout = 2
"""
EVERY_REPLICA = {
    "GOTRUE_MAILER_AUTOCONFIRM": "true", "GOTRUE_RATE_LIMIT_HEADER": "x-client", "GOTRUE_RATE_LIMIT_ANONYMOUS_USERS": "1000000",
    "GOTRUE_RATE_LIMIT_TOKEN_REFRESH": "1000000", "GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED": "true",
}
METRICS = {"GOTRUE_METRICS_ENABLED": "true", "GOTRUE_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1"}
