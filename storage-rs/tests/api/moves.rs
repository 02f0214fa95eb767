//! Moves between buckets.

use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{TestApi, json_of, send};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn create_bucket(api: &TestApi, bucket: Value) {
    let created = send(&api.storage, "POST", "/bucket", &JSON, bucket.to_string()).await;
    assert_eq!(created.status(), StatusCode::OK, "{created:?}");
}

async fn store(api: &TestApi, path: &str) {
    let stored = send(&api.storage, "POST", path, &[("content-type", "text/plain")], "content").await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
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
