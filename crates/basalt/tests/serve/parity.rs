//! `basalt parity`, at the real binary.

use std::process::Output;

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, run, run_with};

/// A secret that no output may contain.
const SECRET: &str = "a-secret-of-the-project-with-40-characters";

/// A Compose file of the form of the official self-hosting, with fewer services.
const COMPOSE: &str = "\
name: project
x-common: &common
  restart: unless-stopped
services:
  auth:
    <<: *common
    image: supabase/gotrue:v2.196.0
    healthcheck:
      test: [ \"CMD\", \"wget\",
        \"http://localhost:9999/health\" ]
    environment:
      GOTRUE_API_HOST: 0.0.0.0
      GOTRUE_API_PORT: 9999
      API_EXTERNAL_URL: ${PUBLIC_URL:?it is needed}
      GOTRUE_DB_DRIVER: postgres
      GOTRUE_DB_DATABASE_URL: postgres://auth:${DB_PASSWORD}@db:5432/postgres
      GOTRUE_SITE_URL: ${SITE_URL:-http://localhost:3000}
      GOTRUE_JWT_SECRET: ${JWT_SECRET}
      GOTRUE_JWT_EXP: ${JWT_EXPIRY:-3600}
      GOTRUE_MAILER_AUTOCONFIRM: ${AUTOCONFIRM}
      GOTRUE_OPERATOR_TOKEN: ${JWT_SECRET}
      GOTRUE_EXTERNAL_AZURE_ENABLED: \"true\"
      GOTRUE_EXTERNAL_AZURE_CLIENT_ID: a-client
      GOTRUE_EXTERNAL_AZURE_SECRET: ${DB_PASSWORD}
      GOTRUE_EXTERNAL_AZURE_REDIRECT_URI: ${PUBLIC_URL}/auth/v1/callback
  kong:
    image: kong:2.8.1
    entrypoint: bash -c 'eval \"echo \\\"$$(cat ~/temp.yml)\\\"\" > ~/kong.yml'
  storage:
    image: supabase/storage-api:v1
    environment:
      - ANON_KEY=${ANON_KEY:-}
  db:
    image: supabase/postgres:15
";

fn compose_project(auth_lines: &str) -> TempFolder {
    let folder = TempFolder::new();
    folder.write("docker-compose.yml", &COMPOSE.replace("  kong:\n", &format!("{auth_lines}  kong:\n")));
    let variables = format!(
        "PUBLIC_URL=http://localhost:8000\nJWT_SECRET={SECRET}\nDB_PASSWORD={SECRET}\nAUTOCONFIRM=\"false\"\n# a comment\n"
    );
    folder.write(".env", &variables);
    folder
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", output_text(output)))
}

fn verdict<'v>(report: &'v Value, name: &str) -> &'v Value {
    let settings = report["settings"].as_array().expect("settings");
    settings.iter().find(|setting| setting["name"] == name).unwrap_or_else(|| panic!("{name} is not in {report}"))
}

#[test]
fn compose_file_is_reported_without_its_secrets() {
    let folder = compose_project("");
    let file = folder.path("docker-compose.yml");
    let output = run(&["parity", "--compose", &file, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let found = report(&output);
    assert_eq!(verdict(&found, "GOTRUE_SITE_URL")["verdict"], "honoured");
    assert_eq!(verdict(&found, "GOTRUE_OPERATOR_TOKEN")["verdict"], "no_effect");
    let azure = verdict(&found, "GOTRUE_EXTERNAL_AZURE_ENABLED");
    assert_eq!((&azure["verdict"], azure["row"].is_string()), (&Value::from("different"), true));
    assert_eq!((&found["problems"], &found["matters"]), (&serde_json::json!([]), &Value::from(false)));
    let services = found["services"].as_array().expect("services");
    let outcomes: Vec<&str> = services.iter().filter_map(|service| service["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["replaced", "replaced", "forwarded", "kept"]);

    let text = output_text(&run(&["parity", "--compose", &file]));
    for expected in ["To switch\n", "--no-deps auth", "[basalt.upstreams] storage = \"http://storage:5000\""] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains(SECRET) && !found.to_string().contains(SECRET), "{text}");
}

/// Anchors inside values, comments after the head of a block, and texts over several lines, as other tools accept them.
#[test]
fn compose_file_may_use_all_of_yaml() {
    let folder = compose_project("");
    let service = "  worker:\n    image: &image busybox\n    command: >  # options\n      run\n      -c file\n    entrypoint: [\"sh\", \"-c\", \"echo a\n      b\"]\n    \
                   volumes:\n      - &mount type: bind\n        source: ./a\n    labels:\n      - &label a=b\n      - *label\n  other: {image: *image}\n  kong:\n";
    folder.write("docker-compose.yml", &COMPOSE.replace("  kong:\n", service));
    let output = run(&["parity", "--compose", &folder.path("docker-compose.yml"), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let found = report(&output);
    let names = found["services"].as_array().expect("services").iter().filter_map(|service| service["name"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["auth", "worker", "other", "kong", "storage", "db"]);
}

#[test]
fn unknown_names_and_missing_settings_have_an_exit_status() {
    let folder = compose_project("      GOTRUE_JWT_EXPP: 60\n");
    let output = run(&["parity", "--compose", &folder.path("docker-compose.yml"), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(verdict(&report(&output), "GOTRUE_JWT_EXPP")["suggestion"], "GOTRUE_JWT_EXP");

    let file = folder.write("auth.env", "GOTRUE_SITE_URL=http://localhost:3000\nPOSTGRES_DB=postgres\n");
    let output = run(&["parity", "--env", &file, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(report(&output)["problems"].to_string().contains("GOTRUE_JWT_SECRET"), "{}", output_text(&output));
    assert_eq!(report(&output)["other_variables"], serde_json::json!(["POSTGRES_DB"]));

    for arguments in [["--env", "missing.env"], ["--compose", "missing.yml"], ["--config", "missing.toml"]] {
        let output = run(&["parity", arguments[0], &folder.path(arguments[1])]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", output_text(&output));
    }
    let broken = folder.write("broken.yml", "services:\n  auth: \"x\n");
    assert!(output_text(&run(&["parity", "--compose", &broken])).contains("line 2"));
}

#[test]
fn unread_variables_of_the_auth_server_are_to_be_looked_at() {
    for (lines, expected) in [
        ("    env_file: [missing.env]\n", "missing.env"),
        ("    extends: { file: x.yml, service: auth }\n", "`extends`"),
    ] {
        let folder = compose_project(lines);
        let file = folder.path("docker-compose.yml");
        let output = run(&["parity", "--compose", &file]);
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("  ! service auth: ") && text.contains(expected), "{text}");
        let found = report(&run(&["parity", "--compose", &file, "--json"]));
        assert!(found["unread"][0].to_string().contains(expected), "{found}");
    }
    // The settings of another service do not matter.
    let folder = compose_project("  other:\n    image: other:1\n    env_file: missing.env\n");
    let output = run(&["parity", "--compose", &folder.path("docker-compose.yml")]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(output_text(&output).contains("service other: "), "{}", output_text(&output));
}

#[test]
fn config_file_of_the_cli_is_reported_by_line() {
    let folder = TempFolder::new();
    std::fs::create_dir(folder.0.join("supabase")).expect("a folder");
    folder.write("supabase/.env", &format!("GITHUB_SECRET={SECRET}\n"));
    let text = "project_id = \"shop\"\n[api]\nport = 54321\nauto_expose_new_tables = true\n[auth]\nsite_url = \"http://127.0.0.1:3000\"\n\
                enable_sign_up = true\n[auth.external.github]\nenabled = true\nclient_id = \"x\"\nsecret = \"env(GITHUB_SECRET)\"\n\
                [realtime]\nenabled = true\n[auth.email]\nmax_frequency = \"0s\"\n";
    let file = folder.write("supabase/config.toml", text);
    let output = run(&["parity", "--config", &file, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    let found = report(&output);
    assert_eq!(verdict(&found, "api.auto_expose_new_tables")["verdict"], "honoured");
    assert_eq!(verdict(&found, "auth.external.github.secret")["verdict"], "honoured");
    let unknown = verdict(&found, "auth.enable_sign_up");
    assert_eq!((&unknown["suggestion"], &unknown["line"]), (&Value::from("auth.enable_signup"), &Value::from(7)));
    assert!(
        verdict(&found, "auth.email.max_frequency")["row"].as_str().is_some_and(|row| row.contains("max_frequency"))
    );
    assert_eq!(verdict(&found, "realtime")["matters"], true);
    assert_eq!(found["problems"], serde_json::json!([]));
    assert!(!output_text(&output).contains(SECRET));
}

/// A database with rows and roles of a test.
struct SeededDatabase {
    url: String,
    _server: Basalt,
}

impl SeededDatabase {
    async fn start(sql: &'static str) -> Self {
        let server = Basalt::serve(&["--ephemeral"]);
        let url = server.text("database_url");
        let mut db = PgConnection::connect(&url).await.expect("connected");
        sqlx::raw_sql(sql).execute(&mut db).await.expect("the test's SQL is right");
        Self { url, _server: server }
    }

    /// The URL for a role whose password is its name.
    fn url_of(&self, role: &str) -> String {
        let operator = self.url.split(['/', '@']).nth(2).expect("the role and its password");
        self.url.replacen(operator, &format!("{role}:{role}"), 1)
    }
}

#[tokio::test]
async fn database_is_read_by_a_role_that_may_only_read() {
    let database = SeededDatabase::start(
        "CREATE ROLE reader LOGIN BYPASSRLS PASSWORD 'reader';
        GRANT USAGE ON SCHEMA auth TO reader;
        GRANT SELECT ON auth.users, auth.identities, auth.schema_migrations TO reader;
        INSERT INTO auth.users (id, email, encrypted_password) VALUES
            ('10000000-0000-4000-8000-000000000001', 'a@example.com', '$2a$10$aaaaaaaaaaaaaaaaaaaaaa'),
            ('10000000-0000-4000-8000-000000000002', 'b@example.com', '$2a$18$aaaaaaaaaaaaaaaaaaaaaa'),
            ('10000000-0000-4000-8000-000000000003', 'c@example.com', 'md5');
        INSERT INTO auth.identities (user_id, provider, provider_id, identity_data) VALUES
            ('10000000-0000-4000-8000-000000000001', 'github', '1', '{}');
        INSERT INTO auth.schema_migrations VALUES ('20990101000000')",
    )
    .await;
    let reader = database.url_of("reader");
    let folder = TempFolder::new();
    let file = folder.write("auth.env", "GOTRUE_SITE_URL=http://localhost:3000\n");
    let output = run_with(&["parity", "--env", &file, "--database", &reader, "--json"], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    let database = &report(&output)["database"];
    let sections = &database["sections"];
    assert_eq!(sections["Users"]["all"], "3");
    assert_eq!(sections["Identities by provider"]["github"], "1");
    assert_eq!(sections["Passwords by hash"]["bcrypt cost 10"], "1");
    assert_eq!(
        (&sections["Schema auth"]["newer or foreign"], &sections["Database"]["role"]),
        (&Value::from("1"), &Value::from("reader"))
    );
    assert!(sections["Schema auth"]["schema"].to_string().contains("served: a newer Supabase Auth"), "{sections}");
    let warnings = database["warnings"].to_string();
    for expected in
        ["identities of github", "bcrypt cost 18", "other format", "1 user with identities only of providers"]
    {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
    assert!(!warnings.contains("20990101000000"), "it is served: {warnings}");
    assert!(database["unreadable"].to_string().contains("Second factors"), "{database}");
    assert!(!output_text(&output).contains("a@example.com"));

    let alone = run_with(&["parity", "--database-url", &reader], &[]);
    let text = output_text(&alone);
    assert!(text.starts_with("No settings are looked at: ") && text.contains("bcrypt cost 18"), "{text}");
    assert!(!text.contains("GOTRUE_") && !text.contains("To switch"), "{text}");
    let variables = [("GOTRUE_EXTERNAL_GITHUB_ENABLED", "true")];
    let configured = output_text(&run_with(&["parity", "--database-url", &reader], &variables));
    assert!(configured.contains("GOTRUE_JWT_SECRET") && !configured.contains("identities of github"), "{configured}");
    let nowhere = run(&["parity", "--env", &file, "--database", "postgresql://127.0.0.1:9/nowhere"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", output_text(&nowhere));
}

#[tokio::test]
async fn what_a_newer_auth_stored_and_is_not_served_is_named() {
    let database = SeededDatabase::start(
        "CREATE ROLE reader LOGIN BYPASSRLS PASSWORD 'reader';
        DROP TABLE auth.mfa_recovery_codes, auth.mfa_recovery_code_sets;
        CREATE TABLE auth.scim_tokens (id uuid PRIMARY KEY, token_hash text);
        INSERT INTO auth.scim_tokens VALUES (gen_random_uuid(), 'a'), (gen_random_uuid(), 'b');
        ALTER TABLE auth.custom_oauth_providers ADD COLUMN token_endpoint_auth_method text;
        ALTER TYPE auth.factor_type ADD VALUE 'unknown_proof';
        INSERT INTO auth.users (id) VALUES ('10000000-0000-4000-8000-000000000001');
        GRANT USAGE ON SCHEMA auth TO reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA auth TO reader",
    )
    .await;
    let reader = database.url_of("reader");
    let folder = TempFolder::new();
    let file = folder.write("auth.env", "GOTRUE_SITE_URL=http://localhost:3000\n");
    let arguments = ["parity", "--env", &file, "--database", &reader, "--json"];
    let found = report(&run_with(&arguments, &[]))["database"].clone();
    assert!(found["warnings"].to_string().contains("2 SCIM tokens"), "{found}");
    assert_eq!(found["unreadable"], serde_json::json!([]), "{found}");
    let tables = found["sections"]["Schema auth"]["tables of recovery codes"].to_string();
    assert!(tables.contains("absent"), "{found}");

    let mut db = PgConnection::connect(&database.url).await.expect("connected");
    let rows = "INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
                VALUES (gen_random_uuid(), '10000000-0000-4000-8000-000000000001', 'unknown_proof', 'verified', now(), now());
                INSERT INTO auth.custom_oauth_providers
                    (provider_type, identifier, name, client_id, client_secret, issuer, token_endpoint_auth_method)
                VALUES ('oidc', 'custom:acme', 'Acme', 'id', '', 'https://acme.example.com', 'private_key_jwt')";
    sqlx::raw_sql(rows).execute(&mut db).await.expect("the test's SQL is right");
    let found = report(&run_with(&arguments, &[]))["database"].clone();
    let warnings = found["warnings"].to_string();
    for expected in ["1 factor of type unknown_proof", "1 custom provider with private_key_jwt", "2 SCIM tokens"] {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
    let tables = "CREATE TABLE auth.mfa_recovery_code_sets (id uuid PRIMARY KEY, owner uuid);
                  CREATE TABLE auth.mfa_recovery_codes (id uuid PRIMARY KEY, code text);
                  GRANT SELECT ON ALL TABLES IN SCHEMA auth TO reader";
    sqlx::raw_sql(tables).execute(&mut db).await.expect("the test's SQL is right");
    let found = report(&run_with(&arguments, &[]))["database"].clone();
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("the tables of recovery codes cannot be used: "), "{warnings}");
}

#[tokio::test]
async fn a_database_that_cannot_be_read_does_not_look_clear() {
    let database = SeededDatabase::start(
        "CREATE ROLE nobody LOGIN BYPASSRLS PASSWORD 'nobody';
        CREATE ROLE hidden LOGIN PASSWORD 'hidden';
        CREATE ROLE reader LOGIN BYPASSRLS PASSWORD 'reader';
        GRANT USAGE ON SCHEMA auth TO hidden, reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA auth TO hidden, reader;
        INSERT INTO auth.users (id, email) VALUES (gen_random_uuid(), 'a@example.com')",
    )
    .await;
    let folder = compose_project("");
    let file = folder.path("docker-compose.yml");
    for (role, is_clear) in [("nobody", false), ("hidden", false), ("reader", true)] {
        let url = database.url_of(role);
        let output = run(&["parity", "--compose", &file, "--database", &url]);
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(i32::from(!is_clear)), "{role}: {text}");
        assert_eq!(text.contains("Nothing stands in the way"), is_clear, "{role}: {text}");
        assert_eq!(text.contains("! the users: "), !is_clear, "{role}: {text}");
        let found = report(&run(&["parity", "--compose", &file, "--database", &url, "--json"]));
        assert_eq!(found["matters"], !is_clear, "{role}: {found}");
    }
}
