//! The data API of worlds: tables of the project, reset and fork, clock, faults, explanations.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::bench::{TestServer, World};
use super::support::{Basalt, TempFolder};

const MIGRATION: &str = "CREATE TABLE public.todos (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        title text NOT NULL,
        owner uuid NOT NULL DEFAULT auth.uid()
    );
    ALTER TABLE public.todos ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON public.todos TO authenticated
        USING (owner = (SELECT auth.uid())) WITH CHECK (owner = (SELECT auth.uid()));
    CREATE TABLE public.secrets (id int PRIMARY KEY);
    ALTER TABLE public.secrets ENABLE ROW LEVEL SECURITY;
    INSERT INTO public.secrets VALUES (1), (2);
    CREATE TABLE public.plain (id int PRIMARY KEY);
    REVOKE ALL ON public.plain FROM anon;
    CREATE ROLE reporter;
    CREATE TABLE public.ledger (id int PRIMARY KEY);
    REVOKE ALL ON public.ledger FROM anon, authenticated;
    CREATE VIEW public.todos_of_owner AS SELECT * FROM public.todos;
    CREATE VIEW public.todos_of_caller WITH (security_invoker = true) AS SELECT * FROM public.todos;
    CREATE VIEW public.nested AS SELECT * FROM public.todos_of_caller;
    CREATE VIEW public.ledger_of_caller WITH (security_invoker = on) AS SELECT * FROM public.ledger;
    CREATE VIEW public.ledger_of_reporter AS SELECT * FROM public.ledger;
    ALTER VIEW public.ledger_of_reporter OWNER TO reporter;
    GRANT SELECT ON public.todos TO reporter;
    CREATE VIEW public.todos_of_reporter AS SELECT * FROM public.todos;
    ALTER VIEW public.todos_of_reporter OWNER TO reporter;
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO anon, authenticated;
    REVOKE ALL ON public.ledger, public.plain FROM anon;
    REVOKE ALL ON public.ledger FROM authenticated;
    CREATE FUNCTION public.internal() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
    REVOKE EXECUTE ON FUNCTION public.internal FROM public, anon, authenticated;
    CREATE FUNCTION public.calls_internal() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN public.internal(); END $$;
    CREATE FUNCTION public.counts() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM public.ledger); END $$;
    CREATE FUNCTION public.counts_as_reporter() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        AS $$ BEGIN RETURN (SELECT count(*) FROM public.ledger); END $$;
    ALTER FUNCTION public.counts_as_reporter() OWNER TO reporter;
    CREATE FUNCTION public.adds() RETURNS void LANGUAGE plpgsql
        AS $$ BEGIN INSERT INTO public.todos (title, owner) VALUES ('x', gen_random_uuid()); END $$;
    CREATE FUNCTION public.who() RETURNS text LANGUAGE sql STABLE AS $$ SELECT auth.role() $$;";

fn start(folder: &TempFolder) -> TestServer {
    std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
    let config = folder.write("supabase/config.toml", "[auth.email]\nenable_confirmations = false\n");
    folder.write("supabase/migrations/20260101000000_todos.sql", MIGRATION);
    TestServer(Basalt::serve(&["--test", "--config", &config]))
}

/// Sends a request to the data API of a world.
async fn send(
    server: &TestServer,
    world: &World<'_>,
    method: Method,
    path: &str,
    token: &str,
    body: Option<Value>,
) -> Response {
    let url = format!("{}/rest/v1{path}", world.text("url"));
    let request = server.0.client.request(method, url).header("apikey", world.text("publishable_key"));
    let request = request.bearer_auth(token).header("prefer", "return=representation");
    let request = if let Some(body) = body { request.json(&body) } else { request };
    request.send().await.expect("an answer")
}

async fn read(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

async fn titles(server: &TestServer, world: &World<'_>, token: &str) -> Vec<String> {
    let (status, rows) =
        read(send(server, world, Method::GET, "/todos?select=title&order=id", token, None).await).await;
    assert_eq!(status, 200, "{rows}");
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row["title"].as_str().expect("a title").to_owned()).collect()
}

async fn insert(server: &TestServer, world: &World<'_>, token: &str, title: &str) {
    let body = Some(json!({"title": title}));
    let (status, rows) = read(send(server, world, Method::POST, "/todos", token, body).await).await;
    assert_eq!(status, 201, "{rows}");
}

fn token(session: &Value) -> &str {
    session["access_token"].as_str().expect("a token")
}

#[tokio::test]
async fn each_world_has_the_tables_of_the_project_and_rows_of_its_own() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let (first, second) = (server.world(json!({})).await, server.world(json!({})).await);
    let (ann, bob) = (first.sign_up("ann@example.com").await, second.sign_up("ann@example.com").await);
    insert(&server, &first, token(&ann), "one").await;
    assert_eq!(titles(&server, &first, token(&ann)).await, ["one"]);
    assert!(titles(&server, &second, token(&bob)).await.is_empty());
    let (status, refused) = read(send(&server, &second, Method::GET, "/todos", token(&ann), None).await).await;
    assert_eq!((status, &refused["code"]), (401, &json!("PGRST301")), "another world's token: {refused}");
    // The server itself is a world.
    let url = server.0.url("/rest/v1/rpc/who");
    let anonymous = server.0.client.get(url).header("apikey", server.0.text("publishable_key"));
    assert_eq!(read(anonymous.send().await.expect("an answer")).await, (200, json!("anon")));
}

#[tokio::test]
async fn fork_reset_and_restore_include_tables() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let ann = world.sign_up("ann@example.com").await;
    insert(&server, &world, token(&ann), "one").await;
    let fork = server.described(world.ok(Method::POST, "/fork", None).await);
    insert(&server, &world, token(&ann), "two").await;
    insert(&server, &fork, token(&ann), "three").await;
    assert_eq!(titles(&server, &world, token(&ann)).await, ["one", "two"]);
    assert_eq!(titles(&server, &fork, token(&ann)).await, ["one", "three"]);
    world.ok(Method::POST, "/snapshots/two", None).await;
    assert_eq!(titles(&server, &world, token(&ann)).await, ["one", "two"], "the source goes on");
    insert(&server, &world, token(&ann), "four").await;
    world.ok(Method::POST, "/snapshots/two/restore", None).await;
    assert_eq!(titles(&server, &world, token(&ann)).await, ["one", "two"]);
    world.ok(Method::POST, "/reset", None).await;
    let ann = world.sign_up("ann@example.com").await;
    assert!(titles(&server, &world, token(&ann)).await.is_empty());
    insert(&server, &world, token(&ann), "five").await;
}

#[tokio::test]
async fn forks_while_requests_arrive_lose_none() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let ann = world.sign_up("ann@example.com").await;
    for round in 0..6 {
        let requests = (0..8).map(|number| {
            let (server, world, ann) = (&server, &world, token(&ann));
            async move { insert(server, world, ann, &format!("{round}/{number}")).await }
        });
        let forks = futures::future::join(world.ok(Method::POST, "/fork", None), futures::future::join_all(requests));
        forks.await;
    }
    assert_eq!(titles(&server, &world, token(&ann)).await.len(), 48);
}

#[tokio::test]
async fn clock_of_a_world_expires_tokens_of_users_and_not_its_keys() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let before = world.sign_up("ann@example.com").await;
    world.ok(Method::POST, "/clock", Some(json!({"advance": "2h"}))).await;
    let (status, refused) = read(send(&server, &world, Method::GET, "/todos", token(&before), None).await).await;
    assert_eq!((status, &refused["code"]), (401, &json!("PGRST303")), "{refused}");
    for at in ["2001-01-01T00:00:00Z", "2060-01-01T00:00:00Z"] {
        world.ok(Method::POST, "/clock", Some(json!({"at": at}))).await;
        let session = world.sign_up(&format!("{}@example.com", &at[..4])).await;
        insert(&server, &world, token(&session), "of that time").await;
        let key = world.text("publishable_key");
        assert_eq!(read(send(&server, &world, Method::GET, "/rpc/who", key, None).await).await, (200, json!("anon")));
    }
}

#[tokio::test]
async fn faults_affect_the_data_api() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let ann = world.sign_up("ann@example.com").await;
    let get = || async { read(send(&server, &world, Method::GET, "/todos", token(&ann), None).await).await };
    let post = || async {
        let body = Some(json!({"title": "x"}));
        read(send(&server, &world, Method::POST, "/todos", token(&ann), body).await).await
    };
    let fault = |rule: Value| world.ok(Method::POST, "/faults", Some(rule));
    fault(json!({"target": "database", "count": 1, "do": {"failure": "serialization_failure"}})).await;
    let (status, refused) = get().await;
    assert_eq!((status, &refused["code"]), (500, &json!("40001")), "{refused}");
    assert_eq!(get().await.0, 200, "the rule has acted once");
    fault(json!({"target": "database", "count": 1, "do": {"failure": "read_only"}})).await;
    assert_eq!(get().await.0, 200, "reads go on");
    let (status, refused) = post().await;
    assert_eq!((status, &refused["code"]), (405, &json!("25006")), "{refused}");
    fault(json!({"target": "database", "count": 1, "do": {"failure": "lost_connection"}})).await;
    let (status, refused) = post().await;
    assert_eq!((status, &refused["code"]), (503, &json!("PGRST001")), "{refused}");
    let path = json!({"path": "/rest/v1/*"});
    fault(json!({"match": path, "count": 1, "do": {"error_code": "over_request_rate_limit"}})).await;
    let (status, refused) = get().await;
    assert_eq!((status, &refused["code"]), (429, &json!("over_request_rate_limit")), "{refused}");
    assert!(refused["message"].is_string() && refused["hint"].is_null(), "{refused}");
    assert_eq!(post().await.0, 201);
}

#[tokio::test]
async fn changes_of_the_schema_are_noticed_in_the_next_request() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let key = world.text("secret_key");
    assert_eq!(send(&server, &world, Method::GET, "/later", key, None).await.status(), 404);
    let mut database = PgConnection::connect(world.text("database_url")).await.expect("connected");
    for round in 0..3 {
        let sql = format!("CREATE TABLE public.later{round} (id int PRIMARY KEY)");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut database).await.expect("created");
        let path = format!("/later{round}");
        assert_eq!(read(send(&server, &world, Method::GET, &path, key, None).await).await, (200, json!([])));
    }
}

#[tokio::test]
async fn worlds_without_requests_keep_no_connection() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let ann = world.sign_up("ann@example.com").await;
    insert(&server, &world, token(&ann), "one").await;
    let url = server.0.text("database_url_tcp");
    let (host, _) = url.rsplit_once('/').expect("a database");
    let mut connection = PgConnection::connect(&format!("{host}/template1")).await.expect("a connection");
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'authenticator'";
    let mut sessions: i64 = 1;
    for _ in 0..100 {
        sessions = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a count");
        if sessions == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(sessions, 0);
    assert_eq!(titles(&server, &world, token(&ann)).await, ["one"], "the next request connects again");
}

/// Returns the explanation that a response links to.
async fn explanation(server: &TestServer, response: &Response) -> Value {
    let link = response.headers().get("x-basalt-explain").unwrap_or_else(|| panic!("no link: {response:?}"));
    let link = link.to_str().expect("text").to_owned();
    let page = server.0.client.get(&link).send().await.expect("an answer");
    assert_eq!(page.status(), 200);
    server.0.client.get(format!("{link}.json")).send().await.expect("an answer").json().await.expect("JSON")
}

#[tokio::test]
async fn empty_and_refused_answers_name_policy_table_and_role() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let (ann, bob) = (world.sign_up("ann@example.com").await, world.sign_up("bob@example.com").await);
    insert(&server, &world, token(&ann), "one").await;

    let empty = send(&server, &world, Method::GET, "/todos", token(&bob), None).await;
    let shown = explanation(&server, &empty).await;
    let reason = "0 rows: policy own of table public.todos for role authenticated; without policies the request has 1.";
    assert_eq!(shown["decision"]["reason"], reason, "{shown}");
    let link = empty.headers()["x-basalt-explain"].to_str().expect("text");
    let page = server.0.client.get(link).send().await.expect("an answer").text().await.expect("text");
    for text in [reason, "<li>role: authenticated</li>", "<li>table: public.todos</li>", "name: own", "command: ALL"] {
        assert!(page.contains(text), "{text} in {page}");
    }
    assert_eq!(read(empty).await, (200, json!([])));

    let none = send(&server, &world, Method::GET, "/secrets", world.text("publishable_key"), None).await;
    let shown = explanation(&server, &none).await;
    let reason = "0 rows: table public.secrets has row level security and no policy for SELECT and role anon; without \
                  policies the request has 2.";
    assert_eq!(shown["decision"]["reason"], reason, "{shown}");
    assert!(shown["remedy"].as_str().is_some_and(|text| text.contains("CREATE POLICY")), "{shown}");

    let changed =
        send(&server, &world, Method::PATCH, "/todos?id=eq.1", token(&bob), Some(json!({"title": "x"}))).await;
    let shown = explanation(&server, &changed).await;
    assert_eq!(shown["decision"]["inputs"]["command"], "UPDATE", "{shown}");

    let body = json!({"title": "x", "owner": ann["user"]["id"]});
    let refused = send(&server, &world, Method::POST, "/todos", token(&bob), Some(body)).await;
    let shown = explanation(&server, &refused).await;
    assert_eq!((refused.status().as_u16(), &shown["code"]), (403, &json!("42501")));
    assert_eq!(shown["decision"]["reason"], "Refused: policy own of table public.todos for role authenticated.");

    let denied = send(&server, &world, Method::GET, "/plain", world.text("publishable_key"), None).await;
    let shown = explanation(&server, &denied).await;
    assert_eq!(shown["decision"]["reason"], "The role anon has no privilege SELECT on the table plain.", "{shown}");
    assert_eq!(shown["remedy"], "Grant it: GRANT SELECT ON plain TO anon;");

    let unknown = send(&server, &world, Method::GET, "/todos?select=*,nothing(*)", token(&ann), None).await;
    let shown = explanation(&server, &unknown).await;
    let (status, answer) = read(unknown).await;
    assert_eq!((status, &shown["code"], &shown["message"]), (400, &json!("PGRST200"), &answer["message"]));
    assert_eq!(shown["decision"]["inputs"]["details"], answer["details"], "{shown}");

    for path in ["/todos?title=eq.nothing", "/plain"] {
        let empty = send(&server, &world, Method::GET, path, token(&ann), None).await;
        assert!(empty.headers().get("x-basalt-explain").is_none(), "{path}: no policy hides a row");
        assert_eq!(read(empty).await, (200, json!([])), "{path}");
    }
}

#[tokio::test]
async fn views_and_functions_are_named_with_the_role_whose_rights_count() {
    let folder = TempFolder::new();
    let server = start(&folder);
    let world = server.world(json!({})).await;
    let (ann, bob) = (world.sign_up("ann@example.com").await, world.sign_up("bob@example.com").await);
    insert(&server, &world, token(&ann), "one").await;
    let anonymous = world.text("publishable_key").to_owned();

    let owned = send(&server, &world, Method::GET, "/todos_of_owner?select=title", token(&bob), None).await;
    assert_eq!(read(owned).await, (200, json!([{"title": "one"}])), "a view has the rights of its owner");
    let own = "policy own of table public.todos for role authenticated";
    let by_caller = "which the view public.todos_of_caller reads with the rights of its caller (security_invoker)";
    let by_reporter = "on the table ledger, which the";
    for (path, token, expected) in [
        ("/todos_of_caller", token(&bob), format!("0 rows: {own}, {by_caller}; without policies the request has 1.")),
        ("/nested", token(&bob), format!("0 rows: {own}, {by_caller}; without policies the request has 1.")),
        (
            "/todos_of_reporter",
            token(&ann),
            "0 rows: table public.todos has row level security and no policy for SELECT and role reporter, which the view \
             public.todos_of_reporter reads with the rights of its owner reporter."
                .to_owned(),
        ),
        (
            "/ledger_of_caller",
            &anonymous,
            "The role anon has no privilege SELECT on the table ledger, which the view public.ledger_of_caller reads with \
             the rights of its caller (security_invoker)."
                .to_owned(),
        ),
        (
            "/ledger_of_reporter",
            &anonymous,
            format!(
                "The role reporter has no privilege SELECT {by_reporter} view public.ledger_of_reporter reads with the \
                 rights of its owner reporter."
            ),
        ),
        ("/rpc/internal", &anonymous, "The role anon has no privilege EXECUTE on the function internal.".to_owned()),
        (
            "/rpc/calls_internal",
            &anonymous,
            "The role anon has no privilege EXECUTE on the function internal, which the function public.calls_internal \
             uses with the rights of its caller (security invoker)."
                .to_owned(),
        ),
        (
            "/rpc/counts",
            &anonymous,
            "The role anon lacks a privilege on the table ledger, which the function public.counts uses with the rights of \
             its caller (security invoker)."
                .to_owned(),
        ),
        (
            "/rpc/counts_as_reporter",
            &anonymous,
            format!(
                "The role reporter lacks a privilege {by_reporter} function public.counts_as_reporter uses with the rights \
                 of its owner reporter."
            ),
        ),
        (
            "/rpc/adds",
            token(&bob),
            format!(
                "Refused: {own}, which the function public.adds uses with the rights of its caller (security invoker)."
            ),
        ),
    ] {
        let is_call = path.starts_with("/rpc");
        let (method, body) = if is_call { (Method::POST, Some(json!({}))) } else { (Method::GET, None) };
        let answer = send(&server, &world, method, path, token, body).await;
        let shown = explanation(&server, &answer).await;
        assert_eq!(shown["decision"]["reason"], expected, "{path}: {shown}");
    }
    let denied = send(&server, &world, Method::POST, "/rpc/internal", &anonymous, Some(json!({}))).await;
    let shown = explanation(&server, &denied).await;
    assert_eq!(shown["message"], "permission denied for function internal");
    assert_eq!(shown["remedy"], "Grant it: GRANT EXECUTE ON FUNCTION internal TO anon;");
}
