//! `PUT /admin/users/{id}`.

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use serde_json::{Value, json};

use super::{ANN, UNKNOWN_USER_ID, account, create, read, update};

#[tokio::test]
async fn update_sends_two_statements_including_the_guard() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let body = json!({"email": "anna@example.com", "phone": "15550100", "password": "another horse", "role": "editor"});
    update(&world, ann.str("id"), body).await.expect(200);
    assert_eq!(world.journal().statements(), ["users.with_session", "admin.update"]);
}

#[tokio::test]
async fn user_is_found_by_every_spelling_of_its_id() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let (id, plain) = (ann.str("id"), ann.str("id").replace('-', ""));
    for spelling in [id.to_uppercase(), plain.clone(), format!("%7B{plain}%7D"), format!("urn:uuid:{plain}")] {
        assert_eq!(update(&world, &spelling, json!({})).await.expect(200).str("id"), id, "{spelling}");
    }
}

#[tokio::test]
async fn metadata_is_merged_and_null_removes_members() {
    let world = World::new().await;
    let body = json!({"email": ANN, "user_metadata": {"a": {"x": 1}, "b": 2}, "app_metadata": {"plan": "gold"}});
    let ann = create(&world, body).await.expect(200);
    let body = json!({"user_metadata": {"a": {"y": 1}, "b": null}, "app_metadata": {"plan": null, "roles": ["a"]}});
    let answer = update(&world, ann.str("id"), body).await.expect(200);
    let stored = read(&world, ann.str("id")).await;
    for json in [answer.json, stored.json] {
        assert_eq!(json["user_metadata"], json!({"a": {"y": 1}}));
        assert_eq!(json["app_metadata"], json!({"provider": "email", "providers": ["email"], "roles": ["a"]}));
    }
}

#[tokio::test]
async fn concurrent_updates_both_apply() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let gate = world.faults.wait("admin.update", 1);
    let first = update(&world, ann.str("id"), json!({"user_metadata": {"first": 1}}));
    let second = async {
        gate.wait_until_reached().await;
        let answer = update(&world, ann.str("id"), json!({"user_metadata": {"second": 2}})).await;
        gate.open();
        answer
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    let stored = read(&world, ann.str("id")).await;
    assert_eq!(stored.json["user_metadata"], json!({"email_verified": true, "first": 1, "second": 2}));
}

#[tokio::test]
async fn c2_new_password_revokes_sessions_and_pending_tokens() {
    let world = World::new().await;
    let (first, second) = (world.create_user(ANN).await, world.sign_in(ANN).await);
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    let answer = update(&world, &first.id, json!({"password": "another horse"})).await.expect(200);
    assert!(answer.json.get("recovery_sent_at").is_none());
    for user in [first, second] {
        assert_eq!(world.get_as(&user.access_token, "/user").await.refusal(), (403, "session_not_found"));
        assert_eq!(world.refresh(&user.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
    }
    assert_eq!(world.database.query("SELECT token_type::text FROM auth.one_time_tokens").await.len(), 0);
    assert_eq!(world.database.query("SELECT recovery_token FROM auth.users").await, [""]);
    assert_eq!(world.try_password(ANN, "correct horse").await.refusal(), (400, "invalid_credentials"));
    world.try_password(ANN, "another horse").await.expect(200);
}

#[tokio::test]
async fn a_weak_password_is_refused_and_changes_nothing() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    for password in ["", "abc"] {
        let answer = update(&world, &ann.id, json!({"password": password, "role": "editor"})).await;
        assert_eq!(answer.refusal(), (422, "weak_password"));
    }
    let long = update(&world, &ann.id, json!({"password": "x".repeat(73)})).await;
    assert_eq!(long.refusal(), (400, "validation_failed"));
    assert_eq!(world.get_as(&ann.access_token, "/user").await.expect(200).str("role"), "authenticated");
}

#[tokio::test]
async fn identity_follows_new_email_but_response_shows_the_previous_identity() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let body = json!({"email": "anna@example.com", "email_confirm": true});
    let answer = update(&world, ann.str("id"), body).await.expect(200);
    assert_eq!((answer.str("email"), answer.str("identities/0/email")), ("anna@example.com", ANN));
    let stored = read(&world, ann.str("id")).await;
    assert_eq!(stored.str("identities/0/email"), "anna@example.com");
    let data = &stored.json["identities"][0]["identity_data"];
    assert_eq!((&data["email_verified"], &data["phone_verified"]), (&json!(true), &json!(false)));
    world.try_password("anna@example.com", "correct horse").await.expect(200);
}

#[tokio::test]
async fn first_phone_adds_an_identity_and_keeps_providers() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    world.advance(TimeDelta::minutes(1));
    let answer = update(&world, ann.str("id"), json!({"phone": "+15550100", "phone_confirm": true})).await.expect(200);
    let stored = read(&world, ann.str("id")).await;
    assert_eq!(answer.json["identities"], stored.json["identities"]);
    assert_eq!(stored.json["identities"][1]["identity_data"]["phone_verified"], true);
    assert_eq!(stored.json["app_metadata"], json!({"provider": "email", "providers": ["email"]}));
}

#[tokio::test]
async fn email_of_another_user_is_refused_by_the_database() {
    let world = World::new().await;
    create(&world, json!({"email": ANN, "phone": "15550100"})).await.expect(200);
    let bob = account(&world, "bob@example.com").await;
    for body in [json!({"email": ANN}), json!({"phone": "15550100"})] {
        let answer = update(&world, bob.str("id"), body).await.expect(500);
        assert_eq!(answer.str("code"), "23505");
    }
}

#[tokio::test]
async fn confirming_clears_pending_tokens_and_never_unconfirms() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": "correct horse"})).await.expect(200);
    let id = world.database.query("SELECT id::text FROM auth.users").await.remove(0);
    update(&world, &id, json!({"email_confirm": false})).await.expect(200);
    assert_eq!(world.try_password(ANN, "correct horse").await.refusal(), (400, "email_not_confirmed"));
    let answer = update(&world, &id, json!({"email_confirm": true})).await.expect(200);
    assert!(answer.json.get("email_confirmed_at").is_some() && answer.json.get("confirmed_at").is_none());
    assert_eq!(world.database.query("SELECT token_type::text FROM auth.one_time_tokens").await.len(), 0);
    update(&world, &id, json!({"email_confirm": false})).await.expect(200);
    world.try_password(ANN, "correct horse").await.expect(200);
}

#[tokio::test]
async fn banned_user_is_refused_until_the_ban_ends() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    update(&world, &ann.id, json!({"ban_duration": "10m"})).await.expect(200);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "user_banned"));
    assert_eq!(world.refresh(&ann.refresh_token).await.refusal(), (400, "user_banned"));
    assert_eq!(world.try_password(ANN, "correct horse").await.refusal(), (400, "user_banned"));
    world.advance(TimeDelta::minutes(10));
    world.get_as(&ann.access_token, "/user").await.expect(200);
    update(&world, &ann.id, json!({"ban_duration": "876000h"})).await.expect(200);
    let lifted = update(&world, &ann.id, json!({"ban_duration": "none"})).await.expect(200);
    assert!(lifted.json.get("banned_until").is_none());
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn empty_update_writes_no_column_and_is_logged() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    world.advance(TimeDelta::minutes(1));
    let answer = update(&world, ann.str("id"), json!({})).await.expect(200);
    assert_eq!(answer.str("updated_at"), ann.str("updated_at"));
    assert_eq!(read(&world, ann.str("id")).await.str("updated_at"), ann.str("updated_at"));
    let actions = "SELECT payload ->> 'action' FROM auth.audit_log_entries ORDER BY created_at";
    assert_eq!(world.database.query(actions).await, ["user_signedup", "user_modified"]);
}

#[tokio::test]
async fn audit_log_names_the_user_at_the_time_of_the_update() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    update(&world, ann.str("id"), json!({"phone": "15550100"})).await.expect(200);
    let sql = "SELECT payload::text FROM auth.audit_log_entries WHERE payload ->> 'action' = 'user_modified'";
    let payload: Value = serde_json::from_str(&world.database.query(sql).await[0]).expect("it is JSON");
    assert_eq!(payload["traits"], json!({"user_id": ann.str("id"), "user_email": ANN, "user_phone": "15550100"}));
    assert_eq!(payload["actor_username"], "service_role");
}

#[tokio::test]
async fn f1_create_only_members_are_ignored() {
    let world = World::new().await;
    let ann = account(&world, ANN).await;
    let hash = "$2a$10$abcdefghijklmnopqrstuu5Lq0Vu3yYpbYQvTQkVpCxPBcUPjzBWy";
    let body =
        json!({"id": UNKNOWN_USER_ID, "aud": "shop", "password_hash": hash, "is_anonymous": true, "is_sso_user": true});
    let answer = update(&world, ann.str("id"), body).await.expect(200);
    assert_eq!(answer.json, read(&world, ann.str("id")).await.json);
    assert_eq!((answer.str("id"), answer.str("aud")), (ann.str("id"), "authenticated"));
    world.try_password(ANN, "correct horse").await.expect(200);
}

#[tokio::test]
async fn anonymous_user_becomes_permanent_only_by_confirmed_email() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let anonymous = world.post("/signup", json!({})).await.expect(200);
    let id = anonymous.str("user/id");
    let answer = update(&world, id, json!({"email": ANN})).await.expect(200);
    assert_eq!(answer.json["is_anonymous"], true);
    let answer = update(&world, id, json!({"email": ANN, "email_confirm": true, "password": "correct horse"})).await;
    assert_eq!(answer.json["is_anonymous"], false);
    assert_eq!(read(&world, id).await.json["is_anonymous"], false);
    world.try_password(ANN, "correct horse").await.expect(200);
}

#[tokio::test]
async fn first_password_adds_email_identity_if_enabled() {
    let world = World::with(|policy| policy.experimental.create_email_identity_on_password_set = true).await;
    let ann = account(&world, ANN).await;
    let id = ann.str("id");
    for sql in [
        format!("UPDATE auth.users SET encrypted_password = NULL, email_confirmed_at = now() WHERE id = '{id}'"),
        format!("UPDATE auth.identities SET provider = 'github', provider_id = 'octocat' WHERE user_id = '{id}'"),
    ] {
        world.database.query(&sql).await;
    }
    let body = json!({ "password": "another horse", "app_metadata": { "plan": "gold" } });
    let answer = update(&world, id, body).await.expect(200);
    let stored = read(&world, id).await;
    for json in [answer.json, stored.json] {
        assert_eq!(json["app_metadata"]["providers"], json!(["github", "email"]), "{json}");
        assert_eq!(json["app_metadata"]["plan"], "gold");
        let identities = json["identities"].as_array().into_iter().flatten();
        let mut providers: Vec<_> = identities.map(|identity| identity["provider"].as_str()).collect();
        providers.sort_unstable();
        assert_eq!(providers, [Some("email"), Some("github")]);
    }
}

#[tokio::test]
async fn changed_contact_keeps_the_update_time_of_existing_identities() {
    let world = World::new().await;
    let ann = create(&world, json!({"email": ANN, "phone": "15550100"})).await.expect(200);
    world.advance(TimeDelta::minutes(1));
    let answer = update(&world, ann.str("id"), json!({"email": "anna@example.com", "phone": "15550101"})).await;
    let stored = read(&world, ann.str("id")).await;
    for json in [answer.expect(200).json, stored.json] {
        assert_ne!(json["updated_at"], ann.json["updated_at"]);
        for at in 0..2 {
            assert_eq!(json["identities"][at]["updated_at"], ann.json["identities"][at]["updated_at"], "{json}");
        }
    }
}
