//! Statements that create the roles of a cluster, their settings and those of the database again.

use sqlx::{PgConnection, Result};

use super::query::{execute, fetch_texts};

/// Roles with passwords and attributes, and their memberships.
///
/// Those of PostgreSQL itself exist in every cluster.
const ROLES: &str = "
    SELECT statement
    FROM (
        SELECT 1 AS step, format('CREATE ROLE %I', rolname) AS statement
        FROM pg_authid
        WHERE oid >= 16384
        UNION ALL
        SELECT 2, format('ALTER ROLE %I WITH %s CONNECTION LIMIT %s VALID UNTIL %L PASSWORD %L', rolname,
                         concat_ws(' ', CASE WHEN rolsuper THEN 'SUPERUSER' ELSE 'NOSUPERUSER' END,
                                   CASE WHEN rolinherit THEN 'INHERIT' ELSE 'NOINHERIT' END,
                                   CASE WHEN rolcreaterole THEN 'CREATEROLE' ELSE 'NOCREATEROLE' END,
                                   CASE WHEN rolcreatedb THEN 'CREATEDB' ELSE 'NOCREATEDB' END,
                                   CASE WHEN rolcanlogin THEN 'LOGIN' ELSE 'NOLOGIN' END,
                                   CASE WHEN rolreplication THEN 'REPLICATION' ELSE 'NOREPLICATION' END,
                                   CASE WHEN rolbypassrls THEN 'BYPASSRLS' ELSE 'NOBYPASSRLS' END),
                         rolconnlimit, coalesce(rolvaliduntil::text, 'infinity'), rolpassword)
        FROM pg_authid
        WHERE rolname !~ '^pg_'
        UNION ALL
        -- Inheritance and SET are options of a membership since release 16. They are named if they are not the default.
        SELECT 3, concat(g.statement, ' WITH ADMIN ' || nullif(bool_or(a.admin_option), false),
                         format('; %s WITH INHERIT ', g.statement)
                         || nullif(bool_or((to_jsonb(a) ->> 'inherit_option')::boolean), m.rolinherit),
                         format('; %s WITH SET ', g.statement)
                         || nullif(bool_or((to_jsonb(a) ->> 'set_option')::boolean), true))
        FROM pg_auth_members a
        JOIN pg_authid r ON r.oid = a.roleid
        JOIN pg_authid m ON m.oid = a.member
        CROSS JOIN LATERAL (SELECT format('GRANT %I TO %I', r.rolname, m.rolname) AS statement) g
        WHERE m.rolname !~ '^pg_'
        GROUP BY g.statement, m.rolinherit
    ) AS statements
    ORDER BY step, statement COLLATE \"C\"";

/// Settings of roles and of the database, and who may do what with the database.
const SETTINGS: &str = "
    SELECT statement
    FROM (
        SELECT 1 AS step,
               format('ALTER %s SET %I = %s',
                      CASE
                          WHEN r.rolname IS NULL AND s.setdatabase = 0 THEN 'ROLE ALL'
                          WHEN r.rolname IS NULL THEN format('DATABASE %I', current_database())
                          WHEN s.setdatabase = 0 THEN format('ROLE %I', r.rolname)
                          ELSE format('ROLE %I IN DATABASE %I', r.rolname, current_database())
                      END,
                      split_part(setting, '=', 1),
                      -- The value of a list is stored with its quotes.
                      CASE
                          WHEN split_part(setting, '=', 1) IN ('search_path', 'temp_tablespaces', 'local_preload_libraries',
                                                               'session_preload_libraries')
                              THEN replace(substr(setting, strpos(setting, '=') + 1), '\"\"', '''''')
                          ELSE quote_literal(substr(setting, strpos(setting, '=') + 1))
                      END) AS statement
        FROM pg_db_role_setting s
        CROSS JOIN unnest(s.setconfig) AS setting
        LEFT JOIN pg_roles r ON r.oid = s.setrole
        WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
        UNION ALL
        SELECT 2, format('REVOKE ALL ON DATABASE %I FROM PUBLIC', datname)
        FROM pg_database
        WHERE datname = current_database() AND datacl IS NOT NULL
        UNION ALL
        SELECT 3, format('GRANT %s ON DATABASE %I TO %s%s', a.privilege_type, d.datname,
                         coalesce(quote_ident(r.rolname), 'PUBLIC'), CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END)
        FROM pg_database d
        CROSS JOIN LATERAL aclexplode(d.datacl) a
        LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE d.datname = current_database()
    ) AS statements
    ORDER BY step, statement COLLATE \"C\"";

/// Statements that create the roles of a cluster and their rights again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleStatements {
    /// The roles. They contain the verifiers of passwords.
    pub roles: Vec<String>,
    /// The settings and rights that need the database.
    pub settings: Vec<String>,
}

/// Lists the statements that create roles, memberships and settings again.
pub async fn list_role_statements(connection: &mut PgConnection) -> Result<RoleStatements> {
    let roles = fetch_texts(connection, ROLES).await?;
    Ok(RoleStatements { roles, settings: fetch_texts(connection, SETTINGS).await? })
}

/// Runs statements together: if one fails, none has an effect.
pub async fn run_statements(connection: &mut PgConnection, statements: &[String]) -> Result<()> {
    if statements.is_empty() { Ok(()) } else { execute(connection, statements.join("; ")).await }
}

/// Removes the verifiers of passwords, which differ for equal passwords.
pub fn without_passwords(statements: &[String]) -> Vec<&str> {
    statements.iter().map(|statement| statement.split(" PASSWORD ").next().unwrap_or_default()).collect()
}
