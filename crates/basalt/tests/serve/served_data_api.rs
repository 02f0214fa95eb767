//! The data API of `basalt serve`: keys, roles, policies, and what keeps it current.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::{Basalt, TempFolder};

const TODOS: &str = "CREATE TABLE public.todos (
                         id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
                         title text NOT NULL,
                         owner uuid NOT NULL DEFAULT auth.uid()
                     );
                     ALTER TABLE public.todos ENABLE ROW LEVEL SECURITY;
                     CREATE POLICY own ON public.todos TO authenticated
                         USING (owner = (SELECT auth.uid())) WITH CHECK (owner = (SELECT auth.uid()));
                     CREATE FUNCTION public.greet(who text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT 'Hello ' || who $$;";

struct Project {
    server: Basalt,
    _folder: TempFolder,
}

impl Project {
    /// Starts a server whose project has these migrations.
    fn start(settings: &str, migration: &str) -> Self {
        let folder = TempFolder::new();
        std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
        let config = folder.write("supabase/config.toml", settings);
        folder.write("supabase/migrations/20260101000000_todos.sql", migration);
        let server = Basalt::serve(&["--ephemeral", "--config", &config]);
        Self { server, _folder: folder }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        key: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let mut request = self.server.client.request(method, self.server.url(&format!("/rest/v1{path}")));
        if !key.is_empty() {
            request = request.header("apikey", key).bearer_auth(token.unwrap_or(key));
        }
        if let Some(body) = body {
            request = request.header("prefer", "return=representation").json(&body);
        }
        let response = request.send().await.expect("a response");
        let status = response.status();
        let text = response.text().await.expect("text");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Signs a new user up and returns the access token.
    async fn sign_up(&self, email: &str) -> String {
        let body = json!({"email": email, "password": "a long password", "email_confirm": true});
        let service = self.server.text("secret_key");
        let admin = self.server.client.post(self.server.url("/auth/v1/admin/users")).header("apikey", &service);
        assert_eq!(admin.json(&body).send().await.expect("a response").status(), 200);
        let (_, session) = self.server.auth("/token?grant_type=password", Some(body)).await;
        session["access_token"].as_str().expect("a token").to_owned()
    }
}

#[tokio::test]
async fn new_tables_and_functions_are_served_at_once_in_development() {
    let project = Project::start("", TODOS);
    let key = project.server.text("secret_key");
    let missing = project.send(Method::GET, "/nothing", &key, None, None).await;
    assert_eq!((missing.0, &missing.1["code"]), (StatusCode::NOT_FOUND, &json!("PGRST205")));
    let mut db = PgConnection::connect(&project.server.text("database_url")).await.expect("connected");
    for number in 0..10 {
        let objects = format!(
            "CREATE TABLE public.t{number} (id int); GRANT SELECT ON public.t{number} TO service_role;
             CREATE FUNCTION public.f{number}() RETURNS int LANGUAGE sql AS $$ SELECT {number} $$;"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(objects)).execute(&mut db).await.expect("created");
        let (table, function) = (format!("/t{number}"), format!("/rpc/f{number}"));
        let read = project.send(Method::GET, &table, &key, None, None);
        let call = project.send(Method::POST, &function, &key, None, Some(json!({})));
        assert_eq!(tokio::join!(read, call), ((StatusCode::OK, json!([])), (StatusCode::OK, json!(number))));
    }
}

#[tokio::test]
async fn tables_of_migrations_are_served_under_their_policies() {
    let project = Project::start("", TODOS);
    let publishable = project.server.text("publishable_key");
    let (ann, bob) = (project.sign_up("ann@example.com").await, project.sign_up("bob@example.com").await);
    let insert = |token: &str| {
        let token = token.to_owned();
        let (project, publishable) = (&project, &publishable);
        async move { project.send(Method::POST, "/todos", publishable, Some(&token), Some(json!({"title": "first"}))).await }
    };
    let (status, rows) = insert(&ann).await;
    assert_eq!((status, &rows[0]["title"]), (StatusCode::CREATED, &json!("first")), "{rows}");
    let list =
        async |key: &str, token: Option<&str>| project.send(Method::GET, "/todos?select=title", key, token, None).await;
    assert_eq!(list(&publishable, Some(&ann)).await, (StatusCode::OK, json!([{"title": "first"}])));
    assert_eq!(list(&publishable, Some(&bob)).await, (StatusCode::OK, json!([])));
    assert_eq!(list(&publishable, None).await, (StatusCode::OK, json!([])));
    let secret = project.server.text("secret_key");
    assert_eq!(list(&secret, None).await.1, json!([{"title": "first"}]));
    let (status, refused) = project.send(Method::POST, "/todos", &publishable, None, Some(json!({"title": "x"}))).await;
    assert_eq!((status, &refused["code"]), (StatusCode::UNAUTHORIZED, &json!("42501")), "{refused}");
    let (status, refused) = project.send(Method::DELETE, "/todos", &secret, None, None).await;
    assert_eq!(
        (status, &refused["code"]),
        (StatusCode::BAD_REQUEST, &json!("21000")),
        "a DELETE without a filter: {refused}"
    );
    let greeted = project.send(Method::POST, "/rpc/greet", &publishable, None, Some(json!({"who": "Ann"}))).await;
    assert_eq!(greeted, (StatusCode::OK, json!("Hello Ann")));
    // As supabase-js sends a user's request: the key in a header and a query, the token of the user.
    let by_query = format!("/todos?select=title&apikey={publishable}");
    let url = project.server.url(&format!("/rest/v1{by_query}"));
    let found = project.server.client.get(url).bearer_auth(&ann).send().await.expect("a response");
    assert_eq!(found.json::<Value>().await.expect("JSON"), json!([{"title": "first"}]));
}

#[tokio::test]
async fn visitors_on_this_machine_need_no_key_in_development() {
    const NOTES: &str = "CREATE TABLE public.notes (id int PRIMARY KEY);
                         ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;
                         CREATE POLICY all_read ON public.notes FOR SELECT TO anon USING (true);
                         INSERT INTO public.notes VALUES (1);";
    let project = Project::start("", NOTES);
    let send = async |headers: &[(&str, &str)]| {
        let mut request = project.server.client.get(project.server.url("/rest/v1/notes?select=id"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("a response");
        (response.status(), response.json::<Value>().await.expect("JSON"))
    };
    // What local programs send, such as the client for Node and curl. The role is that of visitors.
    let own = project.server.url("");
    for headers in [&[][..], &[("sec-fetch-mode", "cors")], &[("origin", &own)]] {
        assert_eq!(send(headers).await, (StatusCode::OK, json!([{"id": 1}])), "{headers:?}");
    }
    let (status, refused) = project.send(Method::POST, "/notes", "", None, Some(json!({"id": 2}))).await;
    assert_eq!((status, &refused["code"]), (StatusCode::UNAUTHORIZED, &json!("42501")), "{refused}");
    // Pages of other sites, and callers behind a proxy.
    let foreign = [
        ("origin", "https://elsewhere.example"),
        ("origin", "http://localhost:3000"),
        ("sec-fetch-site", "cross-site"),
        ("x-forwarded-for", "198.51.100.7"),
        ("host", "elsewhere.example"),
    ];
    for header in foreign {
        assert_eq!(send(&[header]).await.0, StatusCode::UNAUTHORIZED, "{header:?}");
    }
    let public = Project::start("[basalt]\ndevelopment_pages = false\n", NOTES);
    assert_eq!(public.send(Method::GET, "/notes", "", None, None).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn requests_with_invalid_keys_and_tokens_are_refused() {
    let project = Project::start("", TODOS);
    let publishable = project.server.text("publishable_key");
    assert_eq!(
        project.send(Method::GET, "/todos", "sb_publishable_guess", None, None).await.0,
        StatusCode::UNAUTHORIZED
    );
    let (status, refused) = project.send(Method::GET, "/todos", &publishable, Some("a.b.c"), None).await;
    assert_eq!((status, &refused["code"]), (StatusCode::UNAUTHORIZED, &json!("PGRST301")), "{refused}");
    for schema in ["auth", "basalt", "pg_catalog"] {
        let request = project.server.client.get(project.server.url("/rest/v1/users")).header("apikey", &publishable);
        let response = request.header("accept-profile", schema).send().await.expect("a response");
        assert_eq!(response.status(), StatusCode::NOT_ACCEPTABLE, "{schema}");
    }
}

/// As on the platform of Supabase; the Supabase CLI, and a project in development, show it to every caller.
#[tokio::test]
async fn description_of_the_schema_needs_a_secret_key_outside_of_development() {
    let project = Project::start("[basalt]\ndevelopment_pages = false\n", TODOS);
    let (publishable, secret) = (project.server.text("publishable_key"), project.server.text("secret_key"));
    let ann = project.sign_up("ann@example.com").await;
    let forbidden = json!({
        "message": "Access to schema is forbidden",
        "hint": "Accessing the schema via the Data API is only allowed using a secret API key.",
    });
    for path in ["", "/", "/?select=*", "//"] {
        for token in [None, Some(ann.as_str())] {
            let refused = project.send(Method::GET, path, &publishable, token, None).await;
            assert_eq!(refused, (StatusCode::FORBIDDEN, forbidden.clone()), "{path}");
        }
    }
    assert_eq!(project.send(Method::HEAD, "/", &publishable, None, None).await.0, StatusCode::FORBIDDEN);
    for key in [&secret, &project.server.text("service_role_key")] {
        let (status, description) = project.send(Method::GET, "/", key, None, None).await;
        assert_eq!(status, StatusCode::OK, "{description}");
        assert!(description["paths"]["/todos"].is_object(), "{description}");
    }
    assert_eq!(project.send(Method::GET, "/todos", &publishable, None, None).await.0, StatusCode::OK);
    let development = Project::start("", TODOS);
    let key = development.server.text("publishable_key");
    assert_eq!(development.send(Method::GET, "/", &key, None, None).await.0, StatusCode::OK);
}

#[tokio::test]
async fn responses_have_cors_and_run_nothing_in_this_origin() {
    let migration = "CREATE DOMAIN public.\"text/html\" AS text;
                     CREATE FUNCTION public.page() RETURNS public.\"text/html\" LANGUAGE sql AS $$ SELECT '<script>1</script>' $$;";
    let project = Project::start("", migration);
    let request = project.server.client.get(project.server.url("/rest/v1/rpc/page"));
    let request = request.header("apikey", project.server.text("publishable_key")).header("accept", "text/html");
    let response = request.header("origin", "https://app.example").send().await.expect("a response");
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().expect("text").to_owned());
    assert_eq!(response.status(), 200);
    assert_eq!(header("access-control-allow-origin").as_deref(), Some("*"));
    assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"));
    assert!(header("content-security-policy").is_some_and(|policy| policy.starts_with("sandbox;")));
}

/// `psql` changes the schema of a running server.
#[tokio::test]
async fn changes_of_the_schema_are_noticed() {
    let project = Project::start("[api]\nmax_rows = 2\n", TODOS);
    let secret = project.server.text("secret_key");
    let (status, missing) = project.send(Method::GET, "/later", &secret, None, None).await;
    assert_eq!((status, &missing["code"]), (StatusCode::NOT_FOUND, &json!("PGRST205")), "{missing}");
    let mut database = PgConnection::connect(&project.server.text("database_url")).await.expect("connected");
    let sql = "CREATE TABLE public.later (id int PRIMARY KEY); INSERT INTO public.later SELECT generate_series(1, 5)";
    sqlx::raw_sql(sql).execute(&mut database).await.expect("created");
    for _ in 0..100 {
        let (status, rows) = project.send(Method::GET, "/later", &secret, None, None).await;
        if status == StatusCode::OK {
            assert_eq!(rows, json!([{"id": 1}, {"id": 2}]), "max_rows");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the new table is not served");
}

#[tokio::test]
async fn data_api_can_be_turned_off() {
    let project = Project::start("[api]\nenabled = false\n", TODOS);
    let (status, refused) = project.send(Method::GET, "/todos", &project.server.text("secret_key"), None, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("/rest/v1")), "{refused}");
}

/// The role of the API is named for a database of the operator, by an address as the guide to clusters has it.
#[tokio::test]
async fn database_of_an_operator_is_served_by_the_role_that_the_settings_name() {
    let own = Basalt::serve(&["--ephemeral"]);
    let url = own.text("database_url");
    let mut db = PgConnection::connect(&url).await.expect("connected");
    let objects = "CREATE ROLE api_login LOGIN NOINHERIT PASSWORD 'a password';
        GRANT anon, authenticated, service_role TO api_login;
        CREATE DATABASE application;";
    for statement in objects.split_inclusive(';') {
        sqlx::query(statement).execute(&mut db).await.expect("created");
    }
    let application = url.strip_suffix("/postgres").map(|rest| format!("{rest}/application")).expect("a URL");
    let mut db = PgConnection::connect(&application).await.expect("connected");
    let table = "CREATE TABLE public.things (id int PRIMARY KEY); INSERT INTO public.things VALUES (1);
                 GRANT USAGE ON SCHEMA public TO anon; GRANT SELECT ON public.things TO anon;";
    sqlx::raw_sql(table).execute(&mut db).await.expect("a table");
    let mut login = url::Url::parse(&application).expect("a URL");
    login.set_username("api_login").expect("a user");
    login.set_password(Some("a password")).expect("a password");
    login.query_pairs_mut().append_pair("target_session_attrs", "primary").append_pair("keepalives_count", "3");
    let folder = TempFolder::new();
    for (settings, expected) in [
        (format!("[basalt.data_api]\ndatabase_url = \"{login}\"\n"), StatusCode::OK),
        // The server before counts as a replica for a while.
        ("[basalt.replicas]\nallow_differences = true\n".to_owned(), StatusCode::NOT_FOUND),
    ] {
        let config = folder.write("config.toml", &settings);
        let server =
            Basalt::serve(&["--database-url", &application, "--config", &config, "--data", &folder.path("data")]);
        let request = server.client.get(server.url("/rest/v1/things"));
        let response = request.header("apikey", server.text("publishable_key")).send().await.expect("a response");
        assert_eq!(response.status(), expected);
        if expected == StatusCode::OK {
            assert_eq!(response.json::<Value>().await.expect("JSON"), json!([{"id": 1}]));
        }
    }
}

/// Two connections serve eight requests; statements are prepared as the settings say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_and_preparation_are_those_of_the_settings() {
    const SESSION: &str = "CREATE FUNCTION public.prepared() RETURNS bigint LANGUAGE sql
            AS $$ SELECT count(*) FROM pg_catalog.pg_prepared_statements $$;
        CREATE FUNCTION public.running() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_catalog.pg_advisory_xact_lock_shared(7);
            PERFORM pg_catalog.pg_sleep(0.2);
            RETURN (SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND objid = 7 AND classid = 0);
        END $$;";
    for prepares in [true, false] {
        let settings = format!("[basalt.data_api]\nmax_connections = 2\nprepared_statements = {prepares}\n");
        let project = Project::start(&settings, SESSION);
        let key = project.server.text("publishable_key");
        let call = async |function: &str| {
            let (status, answer) =
                project.send(Method::POST, &format!("/rpc/{function}"), &key, None, Some(json!({}))).await;
            assert_eq!(status, StatusCode::OK, "{answer}");
            answer.as_i64().expect("a number")
        };
        let running = futures::future::join_all((0..8).map(|_| call("running"))).await;
        assert_eq!(running.iter().max(), Some(&2), "{running:?}");
        for _ in 0..3 {
            call("prepared").await;
        }
        assert_eq!(call("prepared").await > 0, prepares);
    }
}

#[tokio::test]
async fn description_names_the_address_for_clients() {
    let project = Project::start("", TODOS);
    let key = project.server.text("secret_key");
    let (status, description) = project.send(Method::GET, "/", &key, None, None).await;
    let host = project.server.text("url").replace("http://", "");
    let described = [&description["host"], &description["basePath"], &description["schemes"][0]];
    assert_eq!((status, described), (StatusCode::OK, [&json!(host), &json!("/rest/v1"), &json!("http")]));
}
