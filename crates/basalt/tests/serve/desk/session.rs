//! What ends a session of the desk.

use reqwest::Method;
use serde_json::json;

use super::desk_client::{EMAIL, PASSWORD, Shop, SignedIn, code_of, send};

async fn status_of(shop: &Shop, owner: &SignedIn) -> u16 {
    shop.get("/session", Some(&owner.cookie)).await.status
}

async fn user_id(shop: &Shop) -> String {
    shop.query("SELECT id::text FROM auth.users").await
}

#[tokio::test]
async fn withdrawn_role_ends_the_session() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let path = format!("/users/{}", user_id(&shop).await);
    shop.admin(Method::PUT, &path, json!({"app_metadata": {"role": "editor"}})).await;
    let answer = shop.get("/session", Some(&owner.cookie)).await;
    assert_eq!((answer.status, answer.code()), (401, "desk_session_missing"));
    assert_eq!(shop.send_password(EMAIL, PASSWORD).await.status, 401);
    shop.admin(Method::PUT, &path, json!({"app_metadata": {"role": "owner"}})).await;
    assert_eq!(status_of(&shop, &owner).await, 401, "the session does not come back with the role");
    assert_eq!(shop.query("SELECT count(*)::text FROM auth.sessions").await, "0");
    assert_eq!(shop.sign_in(&owner.secret, 0).await.status, 200);
}

#[tokio::test]
async fn banned_and_deleted_users_have_no_session() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let path = format!("/users/{}", user_id(&shop).await);
    shop.admin(Method::PUT, &path, json!({"ban_duration": "1h"})).await;
    assert_eq!(status_of(&shop, &owner).await, 401);
    assert_eq!(shop.send_password(EMAIL, PASSWORD).await.code(), "invalid_credentials");
    shop.admin(Method::PUT, &path, json!({"ban_duration": "none"})).await;
    assert_eq!(status_of(&shop, &owner).await, 401, "the session does not come back after the ban");
    let again = shop.sign_in(&owner.secret, 0).await;
    let owner = SignedIn { cookie: again.cookie(), ..owner };
    assert_eq!(status_of(&shop, &owner).await, 200);
    shop.admin(Method::DELETE, &path, json!({"should_soft_delete": true})).await;
    assert_eq!(status_of(&shop, &owner).await, 401);
}

#[tokio::test]
async fn revoked_session_of_the_auth_api_ends_it() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    // The owner signs in elsewhere and signs out everywhere.
    let (_, session) =
        shop.server.auth("/token?grant_type=password", Some(json!({"email": EMAIL, "password": PASSWORD}))).await;
    let logout = shop.server.client.post(shop.server.url("/auth/v1/logout?scope=global"));
    let logout = logout.header("apikey", shop.server.text("publishable_key"));
    let token = session["access_token"].as_str().expect("a token");
    assert_eq!(logout.bearer_auth(token).send().await.expect("an answer").status(), 204);
    assert_eq!(status_of(&shop, &owner).await, 401);
}

#[tokio::test]
async fn lowered_and_expired_sessions_end_it() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    for (change, undo) in [
        ("UPDATE auth.sessions SET aal = 'aal1'", "UPDATE auth.sessions SET aal = 'aal2'"),
        ("UPDATE auth.sessions SET not_after = now() - interval '1 s'", "UPDATE auth.sessions SET not_after = NULL"),
        (
            "UPDATE basalt.desk_sessions SET last_used_at = now() - interval '12 hours 1 second'",
            "UPDATE basalt.desk_sessions SET last_used_at = now() - interval '11 hours'",
        ),
        (
            "UPDATE basalt.desk_sessions SET expires_at = now() - interval '1 second'",
            "UPDATE basalt.desk_sessions SET expires_at = now() + interval '1 hour'",
        ),
    ] {
        shop.execute(change).await;
        assert_eq!(status_of(&shop, &owner).await, 401, "{change}");
        shop.execute(undo).await;
        assert_eq!(status_of(&shop, &owner).await, 200, "{undo}");
    }
    let used = "SELECT (last_used_at > now() - interval '1 minute')::text FROM basalt.desk_sessions";
    assert_eq!(shop.query(used).await, "true", "a request records the use");
}

#[tokio::test]
async fn sign_out_ends_both_sessions_and_removes_the_cookie() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let second = shop.sign_in(&owner.secret, 0).await;
    assert_eq!(second.status, 200, "{}", second.body);
    let other = SignedIn { cookie: second.cookie(), csrf_token: second.text("csrf_token"), ..owner.clone() };
    let answer = shop.change(Method::DELETE, "/session", &owner, json!({})).await;
    assert_eq!(answer.status, 204, "{}", answer.body);
    let removed: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    assert!(removed.iter().all(|cookie| cookie.to_str().expect("text").contains("Max-Age=0")), "{removed:?}");
    assert_eq!((status_of(&shop, &owner).await, status_of(&shop, &other).await), (401, 200));
    assert_eq!(shop.query("SELECT count(*)::text FROM auth.sessions").await, "1");
    let log = shop.query("SELECT string_agg(action, ' ' ORDER BY id) FROM basalt.desk_events").await;
    assert_eq!(log, "setup sign_in sign_in sign_out");
}

#[tokio::test]
async fn activity_is_listed_by_pages_for_owners_alone() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    assert_eq!(shop.get("/account/activity", None).await.status, 401);
    assert_eq!(shop.send_password(EMAIL, "a wrong password").await.status, 401);
    shop.execute(
        "INSERT INTO basalt.desk_events (at, user_id, action, subject, address)
         SELECT now(), u.id, 'owner_removed', u.id::text, '192.0.2.1' FROM auth.users u, generate_series(1, 30)",
    )
    .await;
    let latest = shop.get("/account/activity", Some(&owner.cookie)).await;
    let events = latest.body["events"].as_array().cloned().unwrap_or_default();
    assert_eq!((events.len(), &latest.body["has_more"]), (20, &json!(true)), "{}", latest.body);
    assert_eq!(
        (&events[0]["subject"], &events[0]["email"], &events[0]["address"]),
        (&json!(EMAIL), &json!(EMAIL), &json!("192.0.2.1"))
    );
    let before = format!("/account/activity?before={}", events[19]["id"]);
    let earlier = shop.get(&before, Some(&owner.cookie)).await;
    let events = earlier.body["events"].as_array().cloned().unwrap_or_default();
    assert_eq!((events.len(), &earlier.body["has_more"]), (13, &json!(false)), "{}", earlier.body);
    let refused = &events[10];
    assert_eq!(
        (&refused["action"], &refused["subject"], &refused["email"]),
        (&json!("sign_in_failed"), &json!(EMAIL), &json!(null))
    );
    assert_eq!(events[12]["action"], "setup");
    for invalid in ["0", "x", "-1", "99999999999999999999"] {
        let answer = shop.get(&format!("/account/activity?before={invalid}"), Some(&owner.cookie)).await;
        assert_eq!(answer.status, 400, "{invalid}");
    }
}

#[tokio::test]
async fn sign_out_without_its_record_ends_both_sessions() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    shop.refuse_events().await;
    let answer = shop.change(Method::DELETE, "/session", &owner, json!({})).await;
    assert_eq!((answer.status, answer.headers.contains_key("set-cookie")), (204, true), "{}", answer.body);
    let left = "SELECT (SELECT count(*) FROM basalt.desk_sessions) || ' ' || (SELECT count(*) FROM auth.sessions)";
    assert_eq!(shop.query(left).await, "0 0");
}

#[tokio::test]
async fn reloaded_page_gets_the_same_token() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let first = shop.get("/session", Some(&owner.cookie)).await;
    assert_eq!(first.text("csrf_token"), owner.csrf_token, "a reloaded page gets the same token");
    let doubled = format!("basalt_desk=x; {}", owner.cookie);
    assert_eq!(shop.get("/session", Some(&doubled)).await.status, 200, "one that is no session hides none");
    let request =
        shop.request(&Method::POST, "/sign-in/totp").json(&json!({"ticket": "x", "code": code_of(&owner.secret, 0)}));
    assert_eq!(send(request).await.code(), "ticket_expired");
}
