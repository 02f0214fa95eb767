//! Errors of row security that say what is missing.

use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::api::{TestApi, sign};

/// A body beyond the size up to which content is stored before the right to write it is tested.
const LARGE: usize = 300_000;

/// Uploads as a user, with the size in the head or without.
async fn upload(api: &TestApi, path: &str, headers: &[(&str, &str)], body: String, has_length: bool) -> Value {
    let token = sign(&json!({"role": "authenticated", "sub": "ada00000-1111-4111-8111-00000000ada0"}));
    let mut request = Request::post(path).header("authorization", format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if has_length {
        request = request.header("content-length", body.len());
    }
    let response = api.storage.handle(request.body(body.into()).unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap_or_else(|_| json!({"text": String::from_utf8_lossy(&body)}))
}

fn form(size: usize) -> String {
    let content = "x".repeat(size);
    format!(
        "--x\r\nContent-Disposition: form-data; name=\"\"; filename=\"a\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--x--\r\n"
    )
}

/// The answers to refused uploads of one kind: small and large ones, raw and as a form, with a size and without.
async fn refused_uploads(api: &TestApi, upsert: &str) -> Vec<(String, Value)> {
    let mut answers = Vec::new();
    for size in [7, LARGE] {
        for (kind, body) in [("text/plain", "x".repeat(size)), ("multipart/form-data; boundary=x", form(size))] {
            for has_length in [true, false] {
                let headers = [("content-type", kind), ("x-upsert", upsert)];
                let answer = upload(api, "/object/b/a.txt", &headers, body.clone(), has_length).await;
                answers.push((format!("{kind} of {size} bytes, size announced: {has_length}"), answer));
            }
        }
    }
    answers
}

#[tokio::test]
async fn hint_names_the_commands_without_a_policy_whatever_the_size() {
    let api = TestApi::start(&[("BASALT_STORAGE_EXPLAIN_POLICIES", "true")]).await;
    let setup = "INSERT INTO storage.buckets (id, name) VALUES ('b', 'b'); \
        CREATE POLICY writers ON storage.objects FOR INSERT TO authenticated WITH CHECK (bucket_id = 'b')";
    api.admin.batch_execute(setup).await.unwrap();
    for (kind, refused) in refused_uploads(&api, "true").await {
        assert_eq!(refused["message"], "new row violates row-level security policy", "{kind}: {refused}");
        assert_eq!(
            refused["hint"],
            "storage.object.upload needs policies on storage.objects for INSERT, SELECT and UPDATE; authenticated has none \
             for SELECT and UPDATE",
            "{kind}"
        );
    }
    api.admin.batch_execute("ALTER POLICY writers ON storage.objects WITH CHECK (bucket_id = 'c')").await.unwrap();
    for (kind, refused) in refused_uploads(&api, "false").await {
        assert_eq!(
            refused["hint"],
            "storage.object.upload needs policies on storage.objects for INSERT; authenticated has some, and one of them is \
             false here",
            "{kind}"
        );
    }
    let length = LARGE.to_string();
    let metadata = "bucketName Yg==,objectName YS50eHQ=,contentType dGV4dC9wbGFpbg==";
    let headers = [("tus-resumable", "1.0.0"), ("upload-length", length.as_str()), ("upload-metadata", metadata)];
    let refused = upload(&api, "/upload/resumable", &headers, String::new(), true).await;
    let text = refused["text"].as_str().unwrap_or_default();
    assert!(text.contains("needs policies on storage.objects for INSERT; authenticated has some"), "{refused}");
    assert_eq!(api.count_files(), 0);
}

#[tokio::test]
async fn errors_have_no_hint_unless_the_settings_say_so() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    for (kind, refused) in refused_uploads(&api, "false").await {
        assert_eq!((&refused["code"], refused.get("hint")), (&json!("AccessDenied"), None), "{kind}");
    }
}
