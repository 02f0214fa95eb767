//! `basalt db anonymise` and `basalt users export --anonymise`: nothing of the original data remains.

use std::process::Output;

use rustix::process::Signal;
use serde_json::json;
use sqlx::{Connection, PgConnection, Row};

use super::support::{Basalt, TempFolder, run};

/// What is planted and must not be found afterwards.
const PLANTED: &[&str] = &[
    "planted.test",
    "4915112345678",
    "5112345678",
    "Plantagenet",
    "203.0.113.77",
    "2a00:1:2:3",
    "PlantedAgent",
    "planted-token",
    "PLANTEDSECRET",
    "JBSWY3DPEHPK3PXP",
    "planted-sub",
    "$2b$04$IF2TMY3joum",
    "0bc83cb571cd1c50ba6f3e8a78ef1346",
    "5d41402a-bc4b-4a76-b971-9d911017c592",
    "9e107d9d-372b-4826-bd81-d3542a419d67",
];

const SEED: &str = "a seed of enough characters";
const ANN: &str = "10000000-0000-4000-8000-000000000001";

/// Rows in tables that requests of this test do not write.
const ROWS: &str = "
    UPDATE auth.users SET recovery_token = 'planted-token-1', email_change = 'new@planted.test', phone_change = '4915112345678';
    INSERT INTO auth.audit_log_entries (id, payload, created_at, ip_address)
    VALUES (gen_random_uuid(),
            '{\"action\":\"login\",\"actor_id\":\"10000000-0000-4000-8000-000000000001\",\"actor_username\":\"ann@planted.test\",
              \"actor_name\":\"Ann Plantagenet\",\"traits\":{\"user_phone\":\"+4915112345678\",\"provider\":\"email\"}}',
            now(), '203.0.113.77');
    INSERT INTO auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
    SELECT gen_random_uuid(), id, 'recovery_token', 'planted-token-2', 'ann@planted.test' FROM auth.users WHERE email LIKE 'ann@%';
    INSERT INTO auth.flow_state (id, auth_code, provider_type, provider_access_token, authentication_method)
    VALUES (gen_random_uuid(), 'planted-token-3', 'google', 'planted-token-4', 'oauth');
    INSERT INTO auth.sso_providers (id, resource_id) VALUES ('20000000-0000-4000-8000-000000000001', 'Plantagenet');
    INSERT INTO auth.sso_domains (id, sso_provider_id, domain)
    VALUES (gen_random_uuid(), '20000000-0000-4000-8000-000000000001', 'planted.test');
    INSERT INTO auth.saml_providers (id, sso_provider_id, entity_id, metadata_xml)
    VALUES (gen_random_uuid(), '20000000-0000-4000-8000-000000000001', 'https://idp.planted.test', '<a>planted.test</a>');
    INSERT INTO auth.oauth_clients (id, client_secret_hash, registration_type, redirect_uris, grant_types, client_name,
                                    token_endpoint_auth_method)
    VALUES (gen_random_uuid(), 'planted-token-5', 'manual', 'https://app.example.com/?for=ann@planted.test', 'authorization_code',
            'App of Plantagenet', 'client_secret_basic');
    INSERT INTO auth.custom_oauth_providers (provider_type, identifier, name, client_id, client_secret, issuer)
    VALUES ('oidc', 'custom:own', 'Plantagenet', 'planted-token-6', 'PLANTEDSECRET', 'https://id.example.com');
    INSERT INTO basalt.submissions (id, description, created_at, peer, idempotency_key)
    VALUES (gen_random_uuid(), 'I am Ann Plantagenet, ann@planted.test, +49 151 12345678', now(), '203.0.113.77', 'planted-token-7'),
           (gen_random_uuid(), 'Plantagenet again', now(), '2a00:1:2:3::/64', NULL);
    INSERT INTO basalt.outbox (id, purpose, recipient, subject, html, text, headers, code, link, message_id, created_at, attempts,
                               next_attempt_at, give_up_at, last_error)
    VALUES (gen_random_uuid(), 'recovery', 'ann@planted.test', 'Hello Plantagenet', 'planted-token-8', 'planted-token-9',
            '[[\"Reply-To\", \"ann@planted.test\"]]', '123456', 'https://x/?token=planted-token-10', '<1@planted.test>', now(), 0, now(),
            now(), 'to ann@planted.test');
    INSERT INTO basalt.limits (key, full_at, room) VALUES ('submission/203.0.113.77/32', now(), '1 hour');
    INSERT INTO basalt.key_sets (name, version, sealed) VALUES ('planted', 1, 'PLANTEDSECRET')";

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A line of an import with everything that a user can have.
fn user_line() -> String {
    json!({
        "id": ANN, "email": "ann@planted.test", "phone": "4915112345678", "email_verified": true,
        "password_hash": "$2b$04$IF2TMY3joum/3o1mpkWu6OzgaHAsDzoIujGuY5mJBFzRIuhQIMqIK",
        "user_metadata": {
            "full_name": "Ann Plantagenet", "avatar_url": "https://planted.test/ann.png", "plan": "gold for ann@planted.test",
            "contacts": [{"mail": "Ann@Planted.test", "tel": "+49 151 12345678"}], "age": 42, "ann@planted.test": true,
            "gravatar_id": "0bc83cb571cd1c50ba6f3e8a78ef1346", "license": "urn:uuid:5d41402a-bc4b-4a76-b971-9d911017c592",
            "device": "{9e107d9d-372b-4826-bd81-d3542a419d67}"
        },
        "identities": [
            {"provider": "email", "provider_id": ANN, "identity_data": {"sub": ANN, "email": "ann@planted.test"}},
            {"provider": "google", "provider_id": "planted-sub", "identity_data":
                {"sub": "planted-sub", "email": "ann@planted.test", "name": "Ann Plantagenet", "iss": "https://accounts.google.com"}},
        ],
        "factors": [{"factor_type": "totp", "status": "unverified", "secret": "JBSWY3DPEHPK3PXP", "friendly_name": "Plantagenet"}],
        "passkeys": [{"credential_id": "\\x0102", "public_key": "\\x03", "friendly_name": "key of Plantagenet"}],
    })
    .to_string()
}

/// Starts a server and plants data in its database; returns the refresh token of a real sign-in, too.
async fn plant(server: &Basalt, scratch: &TempFolder) -> String {
    let url = server.text("database_url");
    let file = scratch.write("users.jsonl", &user_line());
    let imported = run(&["users", "--config", &scratch.path("config.toml"), "--database-url", &url, "import", &file]);
    assert!(imported.status.success(), "{}", output_text(&imported));
    let body = json!({"email": "ann@planted.test", "password": "password1"});
    let (status, session) = server.auth("/token?grant_type=password", Some(body)).await;
    assert_eq!(status, 200, "{session}");
    let mut db = PgConnection::connect(&url).await.expect("connected");
    sqlx::raw_sql(ROWS).execute(&mut db).await.expect("planted");
    sqlx::raw_sql("UPDATE auth.sessions SET ip = '203.0.113.77', user_agent = 'PlantedAgent/1.0'")
        .execute(&mut db)
        .await
        .expect("planted");
    session["refresh_token"].as_str().expect("a token").to_owned()
}

/// Returns every row of every table as text, with the names of the tables.
async fn dump(url: &str) -> Vec<String> {
    let mut db = PgConnection::connect(url).await.expect("connected");
    let tables =
        "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relkind = 'r'";
    let mut rows = Vec::new();
    for table in sqlx::raw_sql(tables).fetch_all(&mut db).await.expect("tables") {
        let table: String = table.get(0);
        let sql = format!("SELECT t::text FROM {table} t");
        for row in sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).fetch_all(&mut db).await.expect("rows") {
            rows.push(format!("{table}: {}", row.get::<String, _>(0)));
        }
    }
    rows
}

fn assert_nothing_planted(rows: &[String], token: &str) {
    for planted in PLANTED.iter().chain([&token]) {
        let found = rows.iter().find(|row| row.to_lowercase().contains(&planted.to_lowercase()));
        assert!(found.is_none(), "{planted} is left in {found:?}");
    }
}

async fn read_text(url: &str, sql: &'static str) -> String {
    let mut db = PgConnection::connect(url).await.expect("connected");
    sqlx::raw_sql(sql).fetch_one(&mut db).await.expect("a row").get(0)
}

#[tokio::test]
async fn no_original_value_remains_and_the_known_password_works() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let data = scratch.path("data");
    let server = Basalt::serve(&["--config", &config, "--data", &data]);
    let token = plant(&server, &scratch).await;
    let before = dump(&server.text("database_url")).await;
    for planted in PLANTED.iter().filter(|planted| !planted.starts_with("$2b$")) {
        assert!(
            before.iter().any(|row| row.to_lowercase().contains(&planted.to_lowercase())),
            "{planted} was not planted"
        );
    }
    let anonymise = ["db", "anonymise", "--config", &config, "--data", &data, "--seed", SEED];
    let refused = run(&anonymise);
    assert!(!refused.status.success() && output_text(&refused).contains("--yes"), "{}", output_text(&refused));
    let confirmed = [&anonymise[..], &["--yes"]].concat();
    assert!(!run(&confirmed).status.success(), "a server runs on the database");
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());

    let done = run(&confirmed);
    assert!(done.status.success(), "{}", output_text(&done));
    assert!(output_text(&done).contains("auth.users: 1 row changed"), "{}", output_text(&done));
    let server = Basalt::serve(&["--config", &config, "--data", &data]);
    let url = server.text("database_url");
    assert_nothing_planted(&dump(&url).await, &token);

    let email = read_text(&url, "SELECT email FROM auth.users").await;
    for same in [
        "SELECT identity_data ->> 'email' FROM auth.identities WHERE provider = 'google'",
        "SELECT payload ->> 'actor_username' FROM auth.audit_log_entries WHERE payload ->> 'log_type' IS NULL",
        "SELECT raw_user_meta_data -> 'contacts' -> 0 ->> 'mail' FROM auth.users",
        "SELECT recipient FROM basalt.outbox",
    ] {
        assert_eq!(read_text(&url, same).await, email, "{same}");
    }
    let domain = read_text(&url, "SELECT domain FROM auth.sso_domains").await;
    assert!(email.ends_with(&format!("@{domain}")), "{email} {domain}");
    let body = json!({"email": email, "password": "anonymised-password"});
    assert_eq!(server.auth("/token?grant_type=password", Some(body)).await.0, 200);
}

#[tokio::test]
async fn an_interrupted_run_is_continued_with_its_seed_only() {
    let server = Basalt::serve(&["--ephemeral"]);
    let url = server.text("database_url");
    let mut db = server.connect_after_indexes().await;
    let plant = "
        INSERT INTO auth.users (id, email, phone, raw_user_meta_data)
        SELECT gen_random_uuid(), 'user' || n || '@planted.test', (4915112340000 + n)::text, jsonb_build_object('number', n)
        FROM generate_series(1, 1200) n;
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END';
        CREATE TRIGGER refuse BEFORE UPDATE ON auth.users FOR EACH ROW
        WHEN (OLD.id > '80000000-0000-0000-0000-000000000000') EXECUTE FUNCTION public.refuse()";
    sqlx::raw_sql(plant).execute(&mut db).await.expect("planted");
    let anonymise = |seed: &str| run(&["db", "anonymise", "--database-url", &url, "--yes", "--force", "--seed", seed]);
    let connected = run(&["db", "anonymise", "--database-url", &url, "--yes", "--seed", SEED]);
    assert!(output_text(&connected).contains("other clients are connected"), "{}", output_text(&connected));
    let refused = anonymise(SEED);
    assert!(
        output_text(&refused).contains("the same command with the same seed continues"),
        "{}",
        output_text(&refused)
    );
    let count = |sql: &'static str| read_text(&url, sql);
    let done = "SELECT count(*)::text FROM auth.users WHERE email LIKE '%.example.com'";
    let first: u32 = count(done).await.parse().expect("a number");
    assert!((1..1200).contains(&first), "{first}");
    let sample = "SELECT string_agg(email || phone || (raw_user_meta_data ->> 'number'), ',' ORDER BY id)
                  FROM (SELECT * FROM auth.users WHERE email LIKE '%.example.com' ORDER BY id LIMIT 300) AS u";
    let before = count(sample).await;

    sqlx::raw_sql("DROP TRIGGER refuse ON auth.users").execute(&mut db).await.expect("dropped");
    assert!(output_text(&anonymise("another seed of enough characters")).contains("has another seed"));
    let finished = anonymise(SEED);
    assert!(finished.status.success(), "{}", output_text(&finished));
    assert_eq!(count(sample).await, before, "rows that were done have changed again");
    assert_eq!(count(done).await, "1200");
    assert_eq!(count("SELECT count(DISTINCT phone)::text FROM auth.users WHERE phone LIKE '999%'").await, "1200");
    assert_eq!(count("SELECT count(*)::text FROM pg_namespace WHERE nspname = 'basalt_anonymisation'").await, "0");
}

#[tokio::test]
async fn a_table_without_a_rule_is_refused_before_anything_changes() {
    let server = Basalt::serve(&["--ephemeral"]);
    let url = server.text("database_url");
    let mut db = PgConnection::connect(&url).await.expect("connected");
    let every = run(&["db", "anonymise", "--database-url", &url, "--yes", "--force", "--seed", SEED]);
    assert!(every.status.success(), "a table of the schema has no rule: {}", output_text(&every));
    let plant = "INSERT INTO auth.users (id, email) VALUES (gen_random_uuid(), 'ann@planted.test');
                 CREATE TABLE basalt.unknown (id uuid PRIMARY KEY, secret text);
                 ALTER TABLE auth.identities ADD COLUMN newer text";
    sqlx::raw_sql(plant).execute(&mut db).await.expect("planted");
    let refused = run(&["db", "anonymise", "--database-url", &url, "--yes", "--force", "--seed", SEED]);
    let text = output_text(&refused);
    assert!(!refused.status.success() && text.contains("basalt.unknown"), "{text}");
    assert!(text.contains("auth.identities.newer"), "{text}");
    assert_eq!(read_text(&url, "SELECT email FROM auth.users").await, "ann@planted.test");
    assert!(output_text(&run(&["db", "anonymise", "--yes", "--seed", "short"])).contains("16 characters"));
}

#[tokio::test]
async fn an_anonymised_export_has_the_pseudonyms_of_its_seed() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let server = Basalt::serve(&["--config", &config, "--data", &scratch.path("data")]);
    let token = plant(&server, &scratch).await;
    let url = server.text("database_url");
    let users = ["users", "--config", &config, "--database-url", &url, "export"];
    let (first, second, third) = (scratch.path("1.jsonl"), scratch.path("2.jsonl"), scratch.path("3.jsonl"));
    for (file, options) in [
        (&first, &["--seed", SEED][..]),
        (&second, &["--seed", SEED]),
        (&third, &["--remove-passwords", "--keep", "plan"]),
    ] {
        let output = run(&[&users[..], &[file, "--anonymise"], options].concat());
        assert!(output.status.success(), "{}", output_text(&output));
        assert_eq!(output_text(&output).contains("The seed is"), !options.contains(&"--seed"));
    }
    let [first_text, second_text, third_text] =
        [&first, &second, &third].map(|file| std::fs::read_to_string(file).expect("written"));
    assert_eq!(first_text, second_text);
    assert_ne!(first_text, third_text);
    assert_nothing_planted(&[first_text, third_text.clone()], &token);
    assert!(third_text.contains("\"plan\":\"gold for u") && !third_text.contains("$2b$"), "{third_text}");
    let unused = run(&[&users[..], &["-", "--remove-passwords"]].concat());
    assert!(output_text(&unused).contains("options of --anonymise"), "{}", output_text(&unused));

    let elsewhere = TempFolder::new();
    let config = elsewhere.write("config.toml", "");
    let copy = Basalt::serve(&["--config", &config, "--data", &elsewhere.path("data")]);
    let imported = run(&["users", "--config", &config, "--database-url", &copy.text("database_url"), "import", &first]);
    assert!(imported.status.success(), "{}", output_text(&imported));
    let email = read_text(&copy.text("database_url"), "SELECT email FROM auth.users").await;
    let body = json!({"email": email, "password": "anonymised-password"});
    assert_eq!(copy.auth("/token?grant_type=password", Some(body)).await.0, 200);
}

#[tokio::test]
async fn an_anonymised_export_is_refused_if_a_column_has_no_rule() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let server = Basalt::serve(&["--config", &config, "--data", &scratch.path("data")]);
    plant(&server, &scratch).await;
    let url = server.text("database_url");
    let mut db = server.connect_after_indexes().await;
    let add = "
        ALTER TABLE auth.users ADD COLUMN nickname text DEFAULT 'Plantagenet';
        ALTER TABLE auth.users ADD COLUMN title text GENERATED ALWAYS AS (raw_user_meta_data ->> 'full_name') STORED;
        ALTER TABLE auth.identities ADD COLUMN newer jsonb DEFAULT '{\"name\": \"Plantagenet\"}';
        ALTER TABLE auth.mfa_factors ADD COLUMN device text DEFAULT 'Plantagenet';
        ALTER TABLE auth.users ADD COLUMN logins bigint DEFAULT 7";
    sqlx::raw_sql(add).execute(&mut db).await.expect("added");
    let file = scratch.path("users.out");
    let export =
        |options: &[&str]| run(&[&["users", "--config", &config, "--database-url", &url, "export"], options].concat());
    let refused = export(&[&file, "--anonymise", "--seed", SEED]);
    let text = output_text(&refused);
    assert!(!refused.status.success(), "{text}");
    for column in
        ["auth.users.nickname", "auth.users.title", "auth.identities.newer", "auth.mfa_factors.device", "nothing was"]
    {
        assert!(text.contains(column), "{column}: {text}");
    }
    assert!(!text.contains("logins") && !text.contains("Plantagenet"), "{text}");
    assert!(!std::path::Path::new(&file).exists() && !std::path::Path::new(&scratch.path("users.part")).exists());
    let printed = export(&["-", "--anonymise", "--seed", SEED]);
    assert!(!printed.status.success() && printed.stdout.is_empty(), "{}", output_text(&printed));

    let plain = export(&[&file]);
    assert!(plain.status.success(), "{}", output_text(&plain));
    let drop =
        "ALTER TABLE auth.users DROP COLUMN nickname, DROP COLUMN title; ALTER TABLE auth.identities DROP COLUMN newer;
                ALTER TABLE auth.mfa_factors DROP COLUMN device";
    sqlx::raw_sql(drop).execute(&mut db).await.expect("dropped");
    let done = export(&[&file, "--anonymise", "--seed", SEED, "--force"]);
    assert!(done.status.success(), "{}", output_text(&done));
}

#[tokio::test]
async fn a_role_to_which_rows_are_hidden_is_refused() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "");
    let server = Basalt::serve(&["--ephemeral"]);
    let url = server.text("database_url");
    let mut db = PgConnection::connect(&url).await.expect("connected");
    let plant = "
        CREATE ROLE editor LOGIN PASSWORD 'editor';
        GRANT USAGE ON SCHEMA auth, basalt TO editor;
        GRANT ALL ON ALL TABLES IN SCHEMA auth, basalt TO editor;
        ALTER ROLE editor SET search_path = 'auth';
        DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO editor', current_database()); END $$;
        INSERT INTO auth.users (id, email, phone) VALUES (gen_random_uuid(), 'ann@planted.test', '4915112345678')";
    sqlx::raw_sql(plant).execute(&mut db).await.expect("planted");
    let operator = url.split(['/', '@']).nth(2).expect("the role and its password");
    let editor = url.replacen(operator, "editor:editor", 1);
    let refused = run(&["db", "anonymise", "--database-url", &editor, "--yes", "--force", "--seed", SEED]);
    let text = output_text(&refused);
    assert!(!refused.status.success() && text.contains("BYPASSRLS"), "{text}");
    assert_eq!(read_text(&url, "SELECT email FROM auth.users").await, "ann@planted.test");

    let file = scratch.path("users.jsonl");
    for options in [&[][..], &["--anonymise", "--seed", SEED]] {
        let export =
            run(&[&["users", "--config", &config, "--database-url", &editor, "export", &file], options].concat());
        let text = output_text(&export);
        assert!(!export.status.success() && text.contains("BYPASSRLS"), "{text}");
        assert!(!std::path::Path::new(&file).exists());
    }
}
