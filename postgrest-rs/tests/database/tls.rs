//! TLS to the database.

use http::StatusCode;
use postgrest_rs::service::DataApi;

use crate::api::{TestApi, get, sources, text};
use crate::cluster::cluster;

const ENCRYPTED: &str = "CREATE FUNCTION encrypted() RETURNS bool LANGUAGE sql SECURITY DEFINER AS
$$ SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid() $$;";

/// What an API answers that connects with these parameters: whether its connection is encrypted.
async fn answer(host: &str, parameters: &str) -> Result<String, String> {
    let api = TestApi::start(ENCRYPTED, &[]).await;
    let database: String = api.admin.query_one("SELECT current_database()::text", &[]).await.unwrap().get(0);
    let uri = format!("postgres://api_login@{host}:{}/{database}?{parameters}", cluster().port);
    let api = DataApi::new(sources(uri, &[]))?;
    api.reload_config(None).await?;
    api.reload_schema().await?;
    let response = get(&api, "/rpc/encrypted").await;
    assert_eq!(response.status(), StatusCode::OK, "{}", text(&response));
    Ok(text(&response))
}

#[tokio::test]
async fn modes_encrypt_and_verify() {
    let roots = format!("sslrootcert={}", cluster().folder().join("server.crt").display());
    let encrypted = |host: &'static str, parameters: String| async move { answer(host, &parameters).await };
    assert_eq!(encrypted("127.0.0.1", "sslmode=disable".to_owned()).await.unwrap(), "false");
    assert_eq!(encrypted("127.0.0.1", "sslmode=prefer".to_owned()).await.unwrap(), "true");
    assert_eq!(encrypted("127.0.0.1", "sslmode=require".to_owned()).await.unwrap(), "true");
    assert_eq!(encrypted("127.0.0.1", format!("sslmode=verify-ca&{roots}")).await.unwrap(), "true");
    assert_eq!(encrypted("localhost", format!("sslmode=verify-full&{roots}")).await.unwrap(), "true");
}

#[tokio::test]
async fn certificate_that_is_not_trusted_is_refused() {
    let roots = format!("sslrootcert={}", cluster().folder().join("server.crt").display());
    assert!(answer("localhost", "sslmode=verify-full").await.is_err(), "an unknown issuer");
    assert!(answer("localhost", "sslmode=verify-ca").await.is_err(), "an unknown issuer");
    assert!(answer("127.0.0.1", &format!("sslmode=verify-full&{roots}")).await.is_err(), "another name");
}
