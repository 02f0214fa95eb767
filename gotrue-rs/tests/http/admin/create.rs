//! `POST /admin/users`.

use gotrue_rs::testing::World;
use serde_json::{Value, json};

use super::{ANN, account, create, read};

#[tokio::test]
async fn created_user_can_sign_in_and_takes_two_statements() {
    let world = World::new().await;
    account(&world, ANN).await;
    assert_eq!(world.journal().statements(), ["admin.find_taken", "admin.insert"]);
    world.try_password(ANN, "correct horse").await.expect(200);
}

#[tokio::test]
async fn response_matches_stored_row_except_derived_confirmation() {
    let world = World::new().await;
    let body = json!({
        "email": "Ann@Example.com", "phone": "+1 555 0100", "email_confirm": true, "phone_confirm": true,
        "role": "editor", "ban_duration": "24h", "user_metadata": {"name": "Ann", "gone": null},
        "app_metadata": {"plan": "gold"}});
    let made = create(&world, body).await.expect(200);
    let mut stored = read(&world, made.str("id")).await.expect(200).json;
    let derived = stored.as_object_mut().and_then(|members| members.remove("confirmed_at"));
    assert!(derived.is_some());
    assert_eq!(made.json, stored);
    assert_eq!(
        made.json["app_metadata"],
        json!({"provider": "email", "providers": ["email", "phone"], "plan": "gold"})
    );
    assert_eq!(made.json["user_metadata"], json!({"name": "Ann", "gone": null, "email_verified": true}));
}

#[tokio::test]
async fn unconfirmed_user_cannot_sign_in_and_gets_no_mail() {
    let world = World::new().await;
    create(&world, json!({"email": ANN, "password": "correct horse"})).await.expect(200);
    assert_eq!(world.try_password(ANN, "correct horse").await.refusal(), (400, "email_not_confirmed"));
    assert_eq!(world.mailbox.all().len(), 0);
}

#[tokio::test]
async fn user_without_password_gets_a_random_one() {
    let world = World::new().await;
    create(&world, json!({"email": ANN, "email_confirm": true})).await.expect(200);
    let hashes = world.database.query("SELECT left(encrypted_password, 4) FROM auth.users").await;
    assert_eq!(hashes, ["$2a$"]);
    assert_eq!(world.try_password(ANN, "").await.refusal(), (400, "invalid_credentials"));
}

#[tokio::test]
async fn imported_password_hash_is_stored_unchanged() {
    let world = World::new().await;
    let hash = "$argon2id$v=19$m=1024,t=2,p=1$cmVwbGF5IHNhbHQgMTIzNA$zEn6abfO+kcIBcDYyXhsUvNdgeOZQ6Z1pyVMR0zXu8c";
    create(&world, json!({"email": ANN, "email_confirm": true, "password_hash": hash})).await.expect(200);
    world.try_password(ANN, "correct horse").await.expect(200);
}

#[tokio::test]
async fn unsupported_password_hash_is_refused() {
    let world = World::new().await;
    for hash in ["nonsense", "$argon2id$v=16$m=1024,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g", "$fbscrypt$"] {
        let answer = create(&world, json!({"email": ANN, "password_hash": hash})).await.expect(500);
        assert_eq!(answer.str("msg"), "Error creating user");
    }
    assert_eq!(world.database.query("SELECT id::text FROM auth.users").await.len(), 0);
}

#[tokio::test]
async fn overlong_password_is_answered_like_gotrue() {
    let world = World::new().await;
    let answer = create(&world, json!({"email": ANN, "password": "x".repeat(73)})).await.expect(500);
    assert_eq!(answer.json, json!({"code": 500, "error_code": "unexpected_failure", "msg": "Internal Server Error"}));
}

#[tokio::test]
async fn overlong_password_is_an_input_error_with_hardened_policy() {
    let world = World::builder().as_served().build().await;
    for password in ["x".repeat(73), "ü".repeat(37)] {
        let answer = create(&world, json!({"email": ANN, "password": password})).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"));
        assert_eq!(answer.str("msg"), "Password cannot be longer than 72 characters");
    }
    create(&world, json!({"email": ANN, "password": "x".repeat(72)})).await.expect(200);
}

#[tokio::test]
async fn validation_errors_follow_the_documented_order() {
    let world = World::new().await;
    account(&world, ANN).await;
    for (body, refusal) in [
        (json!({"id": "x"}), (400, "validation_failed")),
        (json!({"email": ANN, "phone": "nonsense"}), (422, "email_exists")),
        (json!({"email": "new@example.com", "phone": "nonsense", "id": "x"}), (400, "validation_failed")),
        (json!({"email": "new@example.com", "password_hash": "x", "id": "x"}), (500, "unexpected_failure")),
        (json!({"email": "new@example.com", "id": "x", "ban_duration": "x"}), (400, "validation_failed")),
        (json!({"email": "new@example.com", "app_metadata": []}), (400, "bad_json")),
    ] {
        assert_eq!(create(&world, body.clone()).await.refusal(), refusal, "{body}");
    }
}

#[tokio::test]
async fn taken_email_is_detected_in_any_spelling() {
    let world = World::new().await;
    create(&world, json!({"email": ANN, "phone": "15550100"})).await.expect(200);
    for (body, code) in
        [(json!({"email": "ANN@example.com"}), "email_exists"), (json!({"phone": "+1 555 0100"}), "phone_exists")]
    {
        assert_eq!(create(&world, body).await.refusal(), (422, code));
    }
}

#[tokio::test]
async fn email_in_another_audience_is_refused_by_the_database() {
    let world = World::new().await;
    create(&world, json!({"email": ANN, "aud": "shop"})).await.expect(200);
    let answer = create(&world, json!({"email": ANN})).await.expect(500);
    assert_eq!(answer.str("code"), "23505");
    assert_eq!(create(&world, json!({"email": ANN, "aud": "shop"})).await.refusal(), (422, "email_exists"));
}

#[tokio::test]
async fn audit_log_names_the_administrator_by_role() {
    let world = World::new().await;
    let made = account(&world, ANN).await;
    let payloads = world.database.query("SELECT payload::text FROM auth.audit_log_entries").await;
    let [payload] = payloads.as_slice() else { panic!("one row: {payloads:?}") };
    let payload: Value = serde_json::from_str(payload).expect("it is JSON");
    let expected = json!({
        "action": "user_signedup", "actor_id": "00000000-0000-0000-0000-000000000000",
        "actor_username": "service_role", "actor_via_sso": false, "log_type": "team",
        "traits": {"user_id": made.str("id"), "user_email": ANN, "user_phone": "", "provider": "email"}});
    assert_eq!(payload, expected);
}

#[tokio::test]
async fn f1_unknown_members_set_nothing() {
    let world = World::new().await;
    let body = json!({
        "email": ANN, "is_super_admin": true, "is_anonymous": true, "is_sso_user": true, "instance_id": super::UNKNOWN_USER_ID,
        "email_confirmed_at": "2020-01-01T00:00:00Z", "confirmed_at": "2020-01-01T00:00:00Z",
        "created_at": "2020-01-01T00:00:00Z", "identities": [{"provider": "google", "id": "1"}]});
    let made = create(&world, body).await.expect(200);
    let plain = create(&world, json!({"email": "bob@example.com"})).await.expect(200);
    let names = |answer: &Value| answer.as_object().map(|members| members.keys().cloned().collect::<Vec<_>>());
    assert_eq!(names(&made.json), names(&plain.json));
    let sql = "SELECT concat_ws(' ', instance_id, is_super_admin, is_anonymous, is_sso_user) FROM auth.users";
    let rows = world.database.query(sql).await;
    assert_eq!(rows[0], rows[1]);
    assert_eq!(made.json["identities"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn password_and_hash_together_are_refused_even_if_password_is_empty() {
    let world = World::new().await;
    let hash = "$argon2id$v=19$m=1024,t=2,p=1$cmVwbGF5IHNhbHQgMTIzNA$zEn6abfO+kcIBcDYyXhsUvNdgeOZQ6Z1pyVMR0zXu8c";
    let refused = create(&world, json!({"email": ANN, "password": "", "password_hash": hash})).await.expect(400);
    assert_eq!(refused.str("msg"), "Only a password or a password hash should be provided");
    create(&world, json!({"email": ANN, "password": null, "password_hash": hash})).await.expect(200);
}

#[tokio::test]
async fn unmatchable_hash_is_stored_and_never_signs_in() {
    let world = World::new().await;
    let truncated = "$argon2id$v=19$m=1024,t=2,p=1$cmVwbGF5IHNhbHQgMTIzNA$zEn6abfO+kcIBcDYyXhsUvNdgeOZQ6Z1pyVMR0zXu8";
    for (name, hash) in [("a", truncated), ("b", &truncated.replace("m=1024", "m=0")), ("c", &truncated[..60])] {
        let email = format!("{name}@example.com");
        let body = json!({"email": email, "email_confirm": true, "password_hash": hash});
        create(&world, body).await.expect(200);
        assert_eq!(world.try_password(&email, "correct horse").await.refusal(), (400, "invalid_credentials"));
    }
}

#[tokio::test]
async fn hash_without_metadata_leaves_metadata_null() {
    let world = World::new().await;
    let hash = "$argon2id$v=19$m=1024,t=2,p=1$cmVwbGF5IHNhbHQgMTIzNA$zEn6abfO+kcIBcDYyXhsUvNdgeOZQ6Z1pyVMR0zXu8c";
    let made = create(&world, json!({"email": ANN, "password_hash": hash})).await.expect(200);
    assert_eq!(made.json["user_metadata"], Value::Null);
    let stored = world.database.query("SELECT raw_user_meta_data::text FROM auth.users").await;
    assert_eq!(stored, ["null"]);
    let shown = read(&world, made.str("id")).await.expect(200);
    assert_eq!(shown.json["user_metadata"], json!({}));
    let path = format!("/admin/users/{}", made.str("id"));
    let token = world.service_token();
    let changed = world.put_as(&token, &path, json!({"user_metadata": {"a": 1}})).await.expect(200);
    assert_eq!(changed.json["user_metadata"], json!({"a": 1}));
    for body in [
        json!({"email": "b@example.com", "password_hash": hash, "user_metadata": {}}),
        json!({"email": "c@example.com", "password": "correct horse", "user_metadata": null}),
    ] {
        assert_eq!(create(&world, body).await.expect(200).json["user_metadata"], json!({}));
    }
}

#[tokio::test]
async fn role_is_trimmed() {
    let world = World::new().await;
    let made = create(&world, json!({"email": ANN, "role": "\t editor\u{a0}\n"})).await.expect(200);
    assert_eq!(made.str("role"), "editor");
    let path = format!("/admin/users/{}", made.str("id"));
    for (role, kept) in [(" author ", "author"), ("", "author"), ("  ", "")] {
        let changed = world.put_as(&world.service_token(), &path, json!({ "role": role })).await.expect(200);
        assert_eq!(changed.str("role"), kept, "{role:?}");
    }
    assert_eq!(create(&world, json!({"email": "b@example.com", "role": " "})).await.expect(200).str("role"), "");
    let longest = format!(" {}", "x".repeat(255));
    create(&world, json!({"email": "c@example.com", "role": longest})).await.expect(200);
}

#[tokio::test]
async fn user_id_is_accepted_in_every_uuid_spelling() {
    let world = World::new().await;
    for (n, id) in [
        "6F0F4A9E-3C1B-4D53-9A51-2F7F0A6A7C20",
        "6f0f4a9e3c1b4d539a512f7f0a6a7c21",
        "{6f0f4a9e-3c1b-4d53-9a51-2f7f0a6a7c22}",
        "{6f0f4a9e3c1b4d539a512f7f0a6a7c23}",
        "urn:uuid:6f0f4a9e3c1b4d539a512f7f0a6a7c24",
    ]
    .into_iter()
    .enumerate()
    {
        let made = create(&world, json!({"email": format!("{n}@example.com"), "id": id})).await.expect(200);
        assert_eq!(made.str("id"), format!("6f0f4a9e-3c1b-4d53-9a51-2f7f0a6a7c2{n}"));
    }
    for id in ["URN:UUID:6f0f4a9e-3c1b-4d53-9a51-2f7f0a6a7c25", " 6f0f4a9e-3c1b-4d53-9a51-2f7f0a6a7c25", "{}"] {
        assert_eq!(create(&world, json!({"email": ANN, "id": id})).await.refusal(), (400, "validation_failed"));
    }
}
