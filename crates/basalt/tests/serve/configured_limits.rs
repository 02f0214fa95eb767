//! `[auth.rate_limit]` and `max_frequency` have the meaning that the Supabase CLI documents.

use serde_json::json;

use super::support::{Basalt, TempFolder};

const PASSWORD: &str = "correct horse";

fn serve(config: &str) -> (TempFolder, Basalt) {
    let scratch = TempFolder::new();
    let file = scratch.write("config.toml", config);
    let server = Basalt::serve(&["--ephemeral", "--config", &file]);
    (scratch, server)
}

async fn sign_up(server: &Basalt, number: usize) -> u16 {
    let body = json!({"email": format!("user{number}@example.com"), "password": PASSWORD});
    server.auth("/signup", Some(body)).await.0
}

async fn sign_in(server: &Basalt) -> (u16, serde_json::Value) {
    let body = json!({"email": "user0@example.com", "password": PASSWORD});
    server.auth("/token?grant_type=password", Some(body)).await
}

#[tokio::test]
async fn sign_in_sign_ups_limits_sign_ups_and_sign_ins_together() {
    let (_scratch, server) = serve("[auth.rate_limit]\nsign_in_sign_ups = 4\n");
    assert_eq!([sign_up(&server, 0).await, sign_up(&server, 1).await], [200, 200]);
    let (first, session) = sign_in(&server).await;
    assert_eq!([first, sign_in(&server).await.0, sign_in(&server).await.0], [200, 200, 429]);
    assert_eq!(sign_up(&server, 2).await, 429);
    // A refresh is no sign-in.
    let refresh = json!({"refresh_token": session["refresh_token"]});
    assert_eq!(server.auth("/token?grant_type=refresh_token", Some(refresh)).await.0, 200);
}

#[tokio::test]
async fn token_refresh_limits_refreshes_alone() {
    let (_scratch, server) = serve("[auth.rate_limit]\ntoken_refresh = 1\n");
    assert_eq!(sign_up(&server, 0).await, 200);
    let mut token = sign_in(&server).await.1["refresh_token"].clone();
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let (status, body) =
            server.auth("/token?grant_type=refresh_token", Some(json!({"refresh_token": token}))).await;
        token = body["refresh_token"].clone();
        statuses.push(status);
    }
    assert_eq!(statuses, [200, 429]);
    assert_eq!(sign_in(&server).await.0, 200);
}

#[tokio::test]
async fn limit_of_zero_allows_none() {
    let config = "[auth]\nenable_anonymous_sign_ins = true\n[auth.rate_limit]\nsign_in_sign_ups = 0\nanonymous_users = 0\n\
                  token_verifications = 0\n";
    let (_scratch, server) = serve(config);
    assert_eq!(sign_up(&server, 0).await, 429);
    assert_eq!(sign_in(&server).await.0, 429);
    assert_eq!(server.auth("/signup", Some(json!({}))).await.0, 429);
    let verification = json!({"type": "email", "email": "user0@example.com", "token": "123456"});
    assert_eq!(server.auth("/verify", Some(verification)).await.0, 429);
}

#[tokio::test]
async fn pause_of_zero_allows_the_next_message_at_once() {
    for (pause, expected) in [("0s", [200, 200, 200]), ("1h", [200, 429, 429])] {
        let (_scratch, server) = serve(&format!("[auth.email]\nmax_frequency = \"{pause}\"\n"));
        assert_eq!(sign_up(&server, 0).await, 200);
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(server.auth("/recover", Some(json!({"email": "user0@example.com"}))).await.0);
        }
        assert_eq!(statuses, expected, "{pause}");
    }
}
