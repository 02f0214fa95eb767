//! Errors of row security that say what is missing.

use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::api::{TestApi, sign};

async fn upload(api: &TestApi, upsert: &str) -> Value {
    let token = sign(&json!({"role": "authenticated", "sub": "ada00000-1111-4111-8111-00000000ada0"}));
    let request = Request::post("/object/b/a.txt")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "text/plain")
        .header("x-upsert", upsert);
    let response = api.storage.handle(request.body("content".into()).unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn hint_names_the_commands_without_a_policy() {
    let api = TestApi::start(&[("BASALT_STORAGE_EXPLAIN_POLICIES", "true")]).await;
    let setup = "INSERT INTO storage.buckets (id, name) VALUES ('b', 'b'); \
        CREATE POLICY writers ON storage.objects FOR INSERT TO authenticated WITH CHECK (bucket_id = 'b')";
    api.admin.batch_execute(setup).await.unwrap();
    let refused = upload(&api, "true").await;
    assert_eq!(refused["message"], "new row violates row-level security policy");
    assert_eq!(
        refused["hint"],
        "storage.object.upload needs policies on storage.objects for INSERT, SELECT and UPDATE; authenticated has none \
         for SELECT and UPDATE"
    );
    api.admin.batch_execute("ALTER POLICY writers ON storage.objects WITH CHECK (bucket_id = 'c')").await.unwrap();
    let refused = upload(&api, "false").await;
    assert_eq!(
        refused["hint"],
        "storage.object.upload needs policies on storage.objects for INSERT; authenticated has some, and one of them is \
         false here"
    );
}

#[tokio::test]
async fn errors_have_no_hint_unless_the_settings_say_so() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    let refused = upload(&api, "false").await;
    assert_eq!((&refused["code"], refused.get("hint")), (&json!("AccessDenied"), None));
}
