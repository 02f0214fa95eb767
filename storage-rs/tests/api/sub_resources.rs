//! Operations of the S3 protocol on sub-resources of buckets and objects.

use axum::body::Body;
use http::StatusCode;
use serde_json::json;

use crate::api::{TestApi, send};
use crate::multipart::request_with;

/// Sub-resources of a bucket that are not served by any method.
const OF_BUCKET: [&str; 23] = [
    "abac",
    "accelerate",
    "acl",
    "analytics&id=1",
    "cors",
    "encryption",
    "intelligent-tiering&id=1",
    "inventory&id=1",
    "lifecycle",
    "logging",
    "metadataConfiguration",
    "metrics&id=1",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "tagging",
    "versions",
    "website",
];

/// Sub-resources of an object that are not served by any method.
const OF_OBJECT: [&str; 9] =
    ["acl", "attributes", "encryption", "legal-hold", "renameObject", "restore", "retention", "select", "torrent"];

#[tokio::test]
async fn operations_on_other_sub_resources_change_nothing() {
    let api = TestApi::start(&[]).await;
    for name in ["b", "empty"] {
        let body = json!({ "name": name }).to_string();
        send(&api.storage, "POST", "/bucket", &[("content-type", "application/json")], body).await;
    }
    send(&api.storage, "POST", "/object/b/a.txt", &[("content-type", "text/plain")], "content").await;
    let mut requests = Vec::new();
    for sub_resource in OF_BUCKET {
        requests.extend(["GET", "PUT", "DELETE", "POST"].map(|method| (method, format!("/s3/empty?{sub_resource}"))));
    }
    for sub_resource in OF_OBJECT {
        requests.extend(["GET", "PUT", "DELETE", "POST"].map(|method| (method, format!("/s3/b/a.txt?{sub_resource}"))));
    }
    for (method, target) in [
        ("PUT", "/s3/b/a.txt?tagging"),
        ("DELETE", "/s3/b/a.txt?tagging"),
        ("PUT", "/s3/b/a.txt?tagging="),
        ("PUT", "/s3/b/a.txt?uploads"),
        ("DELETE", "/s3/b/a.txt?uploads"),
        ("PUT", "/s3/empty?versioning"),
        ("DELETE", "/s3/empty?location"),
    ] {
        requests.push((method, target.to_owned()));
    }
    for (method, target) in requests {
        let answer = request_with(&api.storage, method, &target, &[], "<Tagging><TagSet/></Tagging>").await;
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        assert_eq!(answer.status(), StatusCode::NOT_IMPLEMENTED, "{method} {target}: {text}");
        assert!(text.contains("<Code>NotImplemented</Code>"), "{method} {target}: {text}");
    }
    let read = api.send("GET", "/object/b/a.txt", Body::empty()).await;
    assert_eq!((read.status(), &read.body()[..]), (StatusCode::OK, &b"content"[..]));
    let buckets: i64 = api.admin.query_one("SELECT count(*) FROM storage.buckets", &[]).await.unwrap().get(0);
    assert_eq!(buckets, 2);
}

#[tokio::test]
async fn sub_resources_that_are_served_stay() {
    let api = TestApi::start(&[]).await;
    let body = json!({"name": "b"}).to_string();
    send(&api.storage, "POST", "/bucket", &[("content-type", "application/json")], body).await;
    send(&api.storage, "POST", "/object/b/a.txt", &[("content-type", "text/plain")], "content").await;
    for (method, target, root) in [
        ("GET", "/s3/b?location", "<LocationConstraint"),
        ("GET", "/s3/b?versioning", "<VersioningConfiguration"),
        ("GET", "/s3/b?uploads", "<ListMultipartUploadsResult"),
        ("GET", "/s3/b?list-type=2", "<ListBucketResult"),
        ("GET", "/s3/b/a.txt?tagging", "<Tagging"),
        ("POST", "/s3/b/new.txt?uploads", "<InitiateMultipartUploadResult"),
    ] {
        let answer = request_with(&api.storage, method, target, &[], "").await;
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        assert_eq!(answer.status(), StatusCode::OK, "{method} {target}: {text}");
        assert!(text.contains(root), "{method} {target}: {text}");
    }
    let names = "<Delete><Object><Key>a.txt</Key></Object></Delete>";
    let deleted = request_with(&api.storage, "POST", "/s3/b?delete", &[], names).await;
    assert_eq!(deleted.status(), StatusCode::OK, "{deleted:?}");
    // A parameter that names no sub-resource says nothing.
    let stored = request_with(&api.storage, "PUT", "/s3/b/a.txt?x-id=PutObject", &[], "content").await;
    assert_eq!(stored.status(), StatusCode::OK, "{stored:?}");
}

#[tokio::test]
async fn errors_have_no_namespace_and_other_documents_have_one() {
    let api = TestApi::start(&[]).await;
    for (target, root, namespace) in [
        ("/s3/none", "Error", None),
        ("/s3/", "ListAllMyBucketsResult", Some("http://s3.amazonaws.com/doc/2006-03-01/")),
    ] {
        let answer = request_with(&api.storage, "GET", target, &[], "").await;
        let document = roxmltree::Document::parse(std::str::from_utf8(answer.body()).unwrap()).unwrap();
        let found = document.root_element().tag_name();
        assert_eq!((found.name(), found.namespace()), (root, namespace), "{target}");
    }
    let [get, head] = ["GET", "HEAD"].map(|method| request_with(&api.storage, method, "/s3/none", &[], ""));
    let (get, head) = (get.await, head.await);
    assert_eq!(head.headers()["content-length"], get.body().len().to_string().as_str());
}
