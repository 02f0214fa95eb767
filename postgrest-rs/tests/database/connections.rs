//! Connections: prepared statements, abandoned requests, failures.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use postgrest_rs::execute::settings;
use postgrest_rs::schema_cache::SchemaCache;

use crate::api::{TestApi, collect, get, text};

const ITEMS: &str =
    "CREATE TABLE items (id int PRIMARY KEY, name text); INSERT INTO items VALUES (1, 'one'), (2, 'two');
CREATE FUNCTION prepared() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_prepared_statements $$;
CREATE FUNCTION wait() RETURNS void LANGUAGE sql AS $$ SELECT pg_sleep(60) $$;";

#[tokio::test]
async fn repeated_statement_is_prepared() {
    let api = TestApi::start(ITEMS, &[]).await;
    // The settings are the same in every transaction.
    assert_eq!(text(&api.get("/rpc/prepared").await), "1");
    for id in [1, 2, 1] {
        assert_eq!(api.get(&format!("/items?id=eq.{id}")).await.status(), StatusCode::OK);
    }
    // The settings, the read, and the call itself.
    assert_eq!(text(&api.get("/rpc/prepared").await), "3");
    assert_eq!(text(&api.get("/items?id=eq.2").await), r#"[{"id":2,"name":"two"}]"#);
}

/// Behind a pooler a connection may have statements that another client has prepared by the names that ours get.
#[tokio::test]
async fn catalogs_are_read_beside_statements_of_another_client() {
    let api = TestApi::start(ITEMS, &[]).await;
    let taken: Vec<String> = (0..5_000).map(|number| format!("PREPARE s{number} AS SELECT 1;")).collect();
    api.admin.batch_execute(&taken.concat()).await.unwrap();
    settings::read_settings(&api.admin, None).await.unwrap();
    settings::read_role_settings(&api.admin).await.unwrap();
    let cache = SchemaCache::load(&api.admin, &api.api.config(), None).await.unwrap();
    assert!(cache.tables.values().any(|table| table.name == "items"));
}

#[tokio::test]
async fn time_zones_are_read_for_the_first_request_that_names_one() {
    let api = TestApi::start(ITEMS, &[]).await;
    let are_known = || api.api.cache().expect("it is loaded").timezones.are_known();
    let read_in = async |preference: &str| {
        let request = Request::get("/items").header("prefer", preference).body(()).unwrap();
        collect(api.api.handle(&request.into_parts().0, Bytes::new()).await).await
    };
    assert_eq!(read_in("count=exact").await.status(), StatusCode::OK);
    assert!(!are_known(), "no request has named one");
    let refused = read_in("handling=strict, timezone=Mars/Base").await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{}", text(&refused));
    assert!(are_known());
    api.api.reload_schema().await.unwrap();
    assert!(are_known(), "a new cache keeps them");
    assert_eq!(read_in("timezone=Europe/Oslo").await.headers()["preference-applied"], "timezone=Europe/Oslo");
}

/// The database has room for the connections of the test and of the pool, and for one more.
#[tokio::test]
async fn first_requests_that_name_a_time_zone_read_them_over_one_connection() {
    let api = TestApi::start(ITEMS, &[]).await;
    assert_eq!(api.get("/items").await.status(), StatusCode::OK);
    api.admin.batch_execute(&format!("ALTER DATABASE {} CONNECTION LIMIT 3", api.name)).await.unwrap();
    let read = || async {
        let request = Request::get("/items").header("prefer", "timezone=Europe/Oslo").body(()).unwrap();
        let response = collect(api.api.handle(&request.into_parts().0, Bytes::new()).await).await;
        (response.status(), text(&response))
    };
    for (status, answer) in futures::future::join_all((0..8).map(|_| read())).await {
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
}

#[tokio::test]
async fn setting_turns_prepared_statements_off() {
    let api = TestApi::start(ITEMS, &[("db-prepared-statements", "false")]).await;
    for _ in 0..4 {
        assert_eq!(text(&api.get("/rpc/prepared").await), "0");
    }
}

#[tokio::test]
async fn prepared_statement_follows_a_changed_column() {
    let api = TestApi::start(ITEMS, &[]).await;
    for _ in 0..4 {
        assert_eq!(api.get("/items?id=eq.1").await.status(), StatusCode::OK);
    }
    api.admin.batch_execute("ALTER TABLE items ALTER name TYPE int USING 7, ADD extra bool").await.unwrap();
    assert_eq!(text(&api.get("/items?id=eq.1").await), r#"[{"id":1,"name":7,"extra":null}]"#);
}

#[tokio::test]
async fn deallocated_statements_are_prepared_anew() {
    let objects =
        format!("{ITEMS} CREATE FUNCTION discard() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DEALLOCATE ALL; END $$;");
    let api = TestApi::start(&objects, &[]).await;
    for _ in 0..3 {
        assert_eq!(api.get("/items?id=eq.1").await.status(), StatusCode::OK);
    }
    let discarded = api.get("/rpc/discard").await;
    assert_eq!(discarded.status(), StatusCode::NO_CONTENT, "{}", text(&discarded));
    for _ in 0..4 {
        let response = api.get("/items?id=eq.1").await;
        assert_eq!(response.status(), StatusCode::OK, "{}", text(&response));
    }
}

#[tokio::test]
async fn abandoned_request_cancels_its_statement_and_frees_the_pool() {
    let api = TestApi::start(ITEMS, &[]).await;
    let abandoned = tokio::time::timeout(Duration::from_millis(500), api.get("/rpc/wait")).await;
    assert!(abandoned.is_err());
    // The pool has one connection.
    assert_eq!(api.get("/items?id=eq.1").await.status(), StatusCode::OK);
    let started = Instant::now();
    let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
    while api.admin.query_one(query, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(started.elapsed() < Duration::from_secs(10), "the statement still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn failed_statement_leaves_the_connection_usable() {
    let api = TestApi::start(ITEMS, &[]).await;
    for _ in 0..4 {
        assert_eq!(api.get("/items?id=eq.x").await.status(), StatusCode::BAD_REQUEST);
        assert_eq!(api.get("/items?id=eq.1").await.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn concurrent_requests_share_the_pool() {
    let api = TestApi::start(ITEMS, &[("db-pool", "3")]).await;
    let requests = (0..60).map(|number| {
        let api = std::sync::Arc::clone(&api.api);
        let id = number % 2 + 1;
        async move { get(&api, &format!("/items?id=eq.{id}&select=id")).await.body().clone() }
    });
    for (number, body) in futures::future::join_all(requests).await.into_iter().enumerate() {
        assert_eq!(body, format!(r#"[{{"id":{}}}]"#, number % 2 + 1));
    }
}

#[tokio::test]
async fn full_pool_answers_504() {
    let api = TestApi::start(ITEMS, &[("db-pool-acquisition-timeout", "1")]).await;
    let (waited, refused) = tokio::join!(tokio::time::timeout(Duration::from_secs(3), api.get("/rpc/wait")), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        api.get("/items").await
    });
    assert!(waited.is_err());
    assert_eq!(refused.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(text(&refused).contains("PGRST003"), "{}", text(&refused));
}

#[tokio::test]
async fn reload_renews_all_connections() {
    let objects = format!(
        "{ITEMS} CREATE FUNCTION process() RETURNS int LANGUAGE sql AS $$ SELECT pg_backend_pid() $$;
        CREATE FUNCTION pause() RETURNS int LANGUAGE sql AS $$ SELECT pg_backend_pid() FROM pg_sleep(0.5) $$;"
    );
    let api = TestApi::start(&objects, &[]).await;
    let idle = text(&api.get("/rpc/process").await);
    assert_eq!(text(&api.get("/rpc/process").await), idle);
    let (in_use, reloaded) = tokio::join!(api.get("/rpc/pause"), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        api.api.reload_schema().await
    });
    reloaded.unwrap();
    assert_eq!(text(&in_use), idle);
    assert_ne!(text(&api.get("/rpc/process").await), idle);
}

#[tokio::test]
async fn reads_survive_the_end_of_all_connections() {
    let api = TestApi::start(ITEMS, &[("db-pool", "4")]).await;
    let end_all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND usename = 'api_login'";
    for _ in 0..10 {
        let reads = futures::future::join_all((0..8).map(|_| api.get("/items?id=eq.1"))).await;
        assert!(reads.iter().all(|response| response.status() == StatusCode::OK));
        let ended: i64 = api.admin.query_one(end_all, &[]).await.unwrap().get(0);
        assert!(ended > 0);
    }
}
