//! Moves between buckets: their limits, and the order of their locks.

use std::time::Duration;

use axum::body::Body;
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{TestApi, json_of, send};
use crate::cluster::cluster;
use crate::statements::name_databases_in_the_log;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn create_bucket(api: &TestApi, bucket: Value) {
    let created = send(&api.storage, "POST", "/bucket", &JSON, bucket.to_string()).await;
    assert_eq!(created.status(), StatusCode::OK, "{created:?}");
}

async fn store(api: &TestApi, path: &str) {
    let stored = send(&api.storage, "POST", path, &[("content-type", "text/plain")], "content").await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
}

/// Asks to move the object `x` to another bucket.
async fn move_between(api: &TestApi, from: &str, to: &str) -> StatusCode {
    let order = json!({"bucketId": from, "sourceKey": "x", "destinationBucket": to, "destinationKey": "x"});
    send(&api.storage, "POST", "/object/move", &JSON, order.to_string()).await.status()
}

/// Two buckets with an object of the same name.
async fn start_with_two_buckets() -> TestApi {
    let api = TestApi::start(&[]).await;
    for bucket in ["a", "b"] {
        create_bucket(&api, json!({ "name": bucket })).await;
        store(&api, &format!("/object/{bucket}/x")).await;
    }
    api
}

#[tokio::test]
async fn limits_of_a_bucket_apply_to_objects_that_move_into_it() {
    let api = TestApi::start(&[]).await;
    create_bucket(&api, json!({"name": "a"})).await;
    create_bucket(&api, json!({"name": "small", "file_size_limit": 4})).await;
    create_bucket(&api, json!({"name": "images", "allowed_mime_types": ["image/*"]})).await;
    store(&api, "/object/a/x").await;
    let files = api.count_files();
    for (bucket, code) in [("small", "EntityTooLarge"), ("images", "InvalidMimeType"), ("none", "InvalidRequest")] {
        for path in ["/object/copy", "/object/move"] {
            let order = json!({"bucketId": "a", "sourceKey": "x", "destinationBucket": bucket, "destinationKey": "y"});
            let answer = send(&api.storage, "POST", path, &JSON, order.to_string()).await;
            assert_eq!(json_of(&answer)["code"], code, "{path} to {bucket}: {answer:?}");
        }
    }
    assert_eq!(api.count_files(), files);
    // What is in a bucket may have been there before its limits.
    let update = json!({"allowed_mime_types": ["image/*"], "file_size_limit": 4}).to_string();
    send(&api.storage, "PUT", "/bucket/a", &JSON, update).await;
    let order = json!({"bucketId": "a", "sourceKey": "x", "destinationKey": "y"}).to_string();
    let moved = send(&api.storage, "POST", "/object/move", &JSON, order).await;
    assert_eq!(moved.status(), StatusCode::OK, "{moved:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn move_locks_the_rows_of_two_buckets_in_one_order() {
    let api = start_with_two_buckets().await;
    let lock = |bucket: &str, mode: &str| {
        format!("BEGIN; SELECT FROM storage.objects WHERE bucket_id = '{bucket}' FOR UPDATE {mode}")
    };
    for (from, to) in [("a", "b"), ("b", "a")] {
        api.admin.batch_execute(&lock("a", "")).await.unwrap();
        let waits = async {
            let other = cluster().connect(&api.database).await;
            let waiting = "SELECT count(*) FROM pg_stat_activity \
                WHERE datname = current_database() AND wait_event_type = 'Lock'";
            while other.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // It has not locked the row of the second bucket before that of the first.
            other.batch_execute(&lock("b", "NOWAIT")).await.unwrap();
            other.batch_execute("ROLLBACK").await.unwrap();
        };
        let mut moving = Box::pin(move_between(&api, from, to));
        tokio::select! {
            status = &mut moving => panic!("the move from {from} to {to} does not wait: {status}"),
            () = waits => {}
        }
        api.admin.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(moving.await, StatusCode::BAD_REQUEST, "the name is taken");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crosswise_moves_between_buckets_end_in_no_deadlock() {
    name_databases_in_the_log().await;
    let api = start_with_two_buckets().await;
    for _ in 0..40 {
        let moves = (0..8).map(|number| {
            let (from, to) = if number % 2 == 0 { ("a", "b") } else { ("b", "a") };
            move_between(&api, from, to)
        });
        futures::future::join_all(moves).await;
    }
    let log = std::fs::read_to_string(cluster().folder().join("log")).unwrap();
    let deadlock = format!("[{}] ERROR:  deadlock detected", api.database);
    assert_eq!(log.lines().filter(|line| *line == deadlock).count(), 0);
    for bucket in ["a", "b"] {
        let read = api.send("GET", &format!("/object/{bucket}/x"), Body::empty()).await;
        assert_eq!(read.status(), StatusCode::OK, "{read:?}");
    }
}
