//! OAuth clients: secrets, authentication and deletion.

use gotrue_rs::testing::{OAuthClient, encode_form};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";

use super::oauth_server::{clients_token, deleted, oauth_error, recorded, served};

#[tokio::test]
async fn f5_client_secret_is_returned_once_and_stored_hashed() {
    let world = served().await;
    let app = world.create_oauth_client(json!({})).await;
    let admin = world.service_token();
    let path = format!("/admin/oauth/clients/{}", app.id);
    let shown = [
        world.get_as(&admin, "/admin/oauth/clients").await.expect(200),
        world.get_as(&admin, &path).await.expect(200),
        world.put_as(&admin, &path, json!({"client_name": "New"})).await.expect(200),
        world.exchange_code(&OAuthClient { secret: "wrong".into(), ..app.clone() }, "unknown").await.expect(400),
    ];
    for answer in &shown {
        let hides = !answer.text.contains(&app.secret) && !answer.text.contains("secret_hash");
        assert!(hides && answer.json.get("client_secret").is_none(), "{}", answer.text);
    }
    let rows = world.database.query("SELECT c::text FROM auth.oauth_clients c").await.concat();
    assert!(!rows.contains(&app.secret), "{rows}");
}

#[tokio::test]
async fn c2_deleting_a_client_revokes_its_sessions() {
    let (served, recorded) = (served().await, recorded().await);
    for (world, status) in [(&served, 403), (&recorded, 200)] {
        let ann = world.create_user(ANN).await;
        let (app, other) = (world.create_oauth_client(json!({})).await, world.create_oauth_client(json!({})).await);
        let (token, others) = (clients_token(world, &app).await, clients_token(world, &other).await);
        deleted(world, &world.service_token(), &format!("/admin/oauth/clients/{}", app.id)).await.expect(204);
        world.get_as(&token, "/user").await.expect(status);
        world.get_as(&others, "/user").await.expect(200);
        world.get_as(&ann.access_token, "/user").await.expect(200);
    }
}

#[tokio::test]
async fn c5_client_must_use_its_registered_authentication_method() {
    let world = served().await;
    let secret = world.create_oauth_client(json!({})).await;
    let public = world.create_oauth_client(json!({"client_type": "public"})).await;
    let body = |app: &OAuthClient, secret: &str| {
        encode_form(&[("grant_type", "refresh_token"), ("client_id", &app.id), ("client_secret", secret)])
    };
    let basic = |id: &str, secret: &str| OAuthClient { id: id.into(), secret: secret.into() }.basic();
    for (form, header) in [
        (body(&secret, ""), None),
        (body(&secret, &secret.secret), None),
        (body(&public, "x"), None),
        (String::new(), Some(basic(&secret.id, ""))),
        (String::new(), Some(basic(&secret.id, &secret.secret[..42]))),
        (String::new(), Some(basic(&secret.id, &format!("{}=", secret.secret)))),
        (String::new(), Some(basic(&public.id, ""))),
        (String::new(), Some(basic(&public.id, &secret.secret))),
        // A wrong header is not made good by a right body.
        (body(&public, ""), Some(basic(&secret.id, "wrong"))),
        (body(&public, ""), Some("Basic !".to_owned())),
    ] {
        let answer = world.post_form("/oauth/token", &form, header.as_deref()).await;
        assert_eq!((answer.status.as_u16(), oauth_error(&answer).0), (400, "invalid_client"), "{form} {header:?}");
    }
    let empty: Value = world.refresh_client_session(&secret, "").await.expect(400).json;
    assert_eq!(empty["error"], json!("invalid_request"));
}
