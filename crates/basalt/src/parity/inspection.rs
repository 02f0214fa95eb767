//! Figures about a database that another program may own: read only, and each statement alone.

use gotrue_rs::store::migrate::shape::{READ_SCHEMA, SchemaRow, SchemaShape};
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;

statements! {
    READ_ONLY = "inspection.read_only": "SET TRANSACTION READ ONLY";

    STATEMENT_TIMEOUT = "inspection.statement_timeout": "SET LOCAL statement_timeout = '20s'";

    /// A role that policies restrict gets an error in place of wrong figures.
    ROW_SECURITY = "inspection.row_security": "SET LOCAL row_security = off";

    LOCK_TIMEOUT = "inspection.lock_timeout": "SET LOCAL lock_timeout = '1s'";

    SERVER = "inspection.server":
        "SELECT split_part(version(), ' ', 2) AS version,
                current_user::text AS role,
                pg_is_in_recovery() AS is_standby,
                pg_size_pretty(pg_database_size(current_database())) AS size";

    #[repeatable]
    VERSIONS = "inspection.versions": "SELECT version::text FROM auth.schema_migrations ORDER BY version";

    #[repeatable]
    HAS_VERSIONS = "inspection.has_versions": "SELECT to_regclass('auth.schema_migrations') IS NOT NULL AS holds";

    SCHEMA = "inspection.schema": READ_SCHEMA;

    #[repeatable]
    USERS = "inspection.users":
        "SELECT count(*) AS total,
                count(*) FILTER (WHERE is_anonymous) AS anonymous,
                count(*) FILTER (WHERE is_sso_user) AS sso,
                count(*) FILTER (WHERE phone <> '') AS with_phone,
                count(*) FILTER (WHERE deleted_at IS NOT NULL) AS deleted
         FROM auth.users";

    #[repeatable]
    PROVIDERS = "inspection.providers":
        "SELECT CASE WHEN provider LIKE 'sso:%' THEN 'sso' ELSE provider END AS name, count(*) AS identities
         FROM auth.identities
         GROUP BY 1
         ORDER BY 1";

    #[repeatable]
    HASHES = "inspection.hashes":
        "SELECT CASE
                    WHEN encrypted_password ~ '^[$]2[abxy]?[$][0-9]{2}[$]'
                        THEN 'bcrypt cost ' || split_part(encrypted_password, '$', 3)
                    WHEN encrypted_password LIKE '$argon2%' THEN split_part(encrypted_password, '$', 2)
                    WHEN encrypted_password LIKE '$fbscrypt$%' THEN 'firebase scrypt'
                    WHEN encrypted_password LIKE '$scrypt$%' THEN 'scrypt'
                    WHEN encrypted_password LIKE '{%' THEN 'encrypted'
                    ELSE 'other format'
                END AS name,
                count(*) AS users
         FROM auth.users
         WHERE encrypted_password <> ''
         GROUP BY 1
         ORDER BY 1";

    #[repeatable]
    FACTORS = "inspection.factors":
        "SELECT factor_type::text || ' ' || status::text AS name, count(*) AS factors
         FROM auth.mfa_factors
         GROUP BY 1
         ORDER BY 1";

    #[repeatable]
    PASSKEYS = "inspection.passkeys": "SELECT 'passkeys' AS name, count(*) AS passkeys FROM auth.webauthn_credentials";

    #[repeatable]
    SSO_PROVIDERS = "inspection.sso_providers":
        "SELECT 'SAML identity providers' AS name, count(*) AS providers FROM auth.saml_providers";

    /// The column is one of Supabase Auth after v2.196.
    #[repeatable]
    CUSTOM_PROVIDERS = "inspection.custom_providers":
        "SELECT CASE
                    WHEN to_jsonb(p) ->> 'token_endpoint_auth_method' = 'private_key_jwt' THEN 'private_key_jwt'
                    ELSE 'client secret'
                END AS name,
                count(*) AS providers
         FROM auth.custom_oauth_providers p
         GROUP BY 1
         ORDER BY 1";

    /// The table is one of Supabase Auth after v2.196, so that the statement must not name it where it is absent.
    SCIM_TOKENS = "inspection.scim_tokens":
        "SELECT 'SCIM tokens' AS name,
                (pg_catalog.xpath('/row/n/text()', pg_catalog.query_to_xml(
                    'SELECT count(*) AS n FROM auth.scim_tokens', false, true, '')))[1]::text::bigint AS tokens
         WHERE to_regclass('auth.scim_tokens') IS NOT NULL";

    #[repeatable]
    OAUTH_CLIENTS = "inspection.oauth_clients":
        "SELECT 'OAuth clients' AS name, count(*) AS clients FROM auth.oauth_clients WHERE deleted_at IS NULL";

    SIZES = "inspection.sizes":
        "SELECT n.nspname || '.' || c.relname AS name, pg_total_relation_size(c.oid) AS size
         FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('auth', 'basalt')
           AND c.relkind = 'r'
         ORDER BY 2 DESC, 1
         LIMIT 12";

    #[repeatable]
    STRANDED = "inspection.stranded":
        "SELECT count(*) AS users
         FROM (SELECT i.user_id
               FROM auth.identities i
               GROUP BY i.user_id
               HAVING bool_and(i.provider = ANY (:providers))) AS stranded";
}

/// A figure with its name.
pub(crate) type Figure = (String, i64);

/// The server and the role of the connection.
#[derive(Debug, Clone)]
pub(crate) struct InspectedServer {
    /// The version of PostgreSQL.
    pub version: String,
    pub role: String,
    /// Whether the server is a standby.
    pub is_standby: bool,
    /// The size of the database, with its unit.
    pub size: String,
}

/// Numbers of users.
#[derive(Debug, Clone)]
pub(crate) struct UserCounts {
    /// All users.
    pub total: i64,
    /// Anonymous users.
    pub anonymous: i64,
    /// Users of SAML identity providers.
    pub sso: i64,
    /// Users with a number.
    pub with_phone: i64,
    /// Users that were deleted and kept as a row.
    pub deleted: i64,
}

/// A list of figures that a database may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FigureKind {
    /// Identities by provider.
    Providers,
    /// Passwords by the format of their hash.
    Hashes,
    /// Second factors by type and state.
    Factors,
    Passkeys,
    /// SAML identity providers.
    SsoProviders,
    /// Custom providers by how the server authenticates to them.
    CustomProviders,
    /// Tokens with which identity providers provision users.
    ScimTokens,
    OAuthClients,
    /// Sizes of the largest tables, in bytes.
    Sizes,
}

/// Makes an open transaction unable to write, to wait for locks and to run long. Must be first in it.
pub(crate) async fn restrict(db: &mut Connection) -> Result<()> {
    db.execute(bind!(READ_ONLY)).await?;
    db.execute(bind!(STATEMENT_TIMEOUT)).await?;
    db.execute(bind!(ROW_SECURITY)).await?;
    db.execute(bind!(LOCK_TIMEOUT)).await.map(|_| ())
}

/// Returns the server and the role.
pub(crate) async fn read_server(db: &mut Connection) -> Result<InspectedServer> {
    let (version, role, is_standby, size) = db.fetch_one(bind!(SERVER)).await?;
    Ok(InspectedServer { version, role, is_standby, size })
}

/// Returns the columns, words of enums and unique keys of schema `auth`.
pub(crate) async fn read_shape(db: &mut Connection) -> Result<SchemaShape> {
    let rows: Vec<SchemaRow> = db.fetch_all(bind!(SCHEMA, namespace: "auth")).await?;
    Ok(SchemaShape::from_rows(rows))
}

/// Returns the recorded migrations of schema `auth`, in order; none if they are not recorded.
pub(crate) async fn list_versions(db: &mut Connection) -> Result<Vec<String>> {
    if !db.fetch_one::<(bool,)>(bind!(HAS_VERSIONS)).await?.0 {
        return Ok(Vec::new());
    }
    let rows: Vec<(String,)> = db.fetch_all(bind!(VERSIONS)).await?;
    Ok(rows.into_iter().map(|(version,)| version).collect())
}

pub(crate) async fn count_users(db: &mut Connection) -> Result<UserCounts> {
    let (total, anonymous, sso, with_phone, deleted) = db.fetch_one(bind!(USERS)).await?;
    Ok(UserCounts { total, anonymous, sso, with_phone, deleted })
}

/// Returns a list of figures.
pub(crate) async fn list_figures(db: &mut Connection, kind: FigureKind) -> Result<Vec<Figure>> {
    let bound = match kind {
        FigureKind::Providers => bind!(PROVIDERS),
        FigureKind::Hashes => bind!(HASHES),
        FigureKind::Factors => bind!(FACTORS),
        FigureKind::Passkeys => bind!(PASSKEYS),
        FigureKind::SsoProviders => bind!(SSO_PROVIDERS),
        FigureKind::CustomProviders => bind!(CUSTOM_PROVIDERS),
        FigureKind::ScimTokens => bind!(SCIM_TOKENS),
        FigureKind::OAuthClients => bind!(OAUTH_CLIENTS),
        FigureKind::Sizes => bind!(SIZES),
    };
    db.fetch_all(bound).await
}

/// Counts the users whose identities are all of these providers.
pub(crate) async fn count_stranded_users(db: &mut Connection, providers: &[String]) -> Result<i64> {
    db.fetch_one::<(i64,)>(bind!(STRANDED, providers)).await.map(|(users,)| users)
}
