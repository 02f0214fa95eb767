use gotrue_rs::testing::World;
use serde_json::json;

use super::{Acting, create_user};

#[tokio::test]
async fn members_are_replaced_and_null_removes_them() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "data": { "cart": { "a": 1, "b": 2 }, "old": true } })).await.expect(200);

    let answer =
        ann.change(&world, json!({ "data": { "cart": { "c": 3 }, "old": null, "new": [null] } })).await.expect(200);

    let metadata = &answer.json["user_metadata"];
    assert_eq!((&metadata["cart"], &metadata["new"]), (&json!({ "c": 3 }), &json!([null])));
    assert!(metadata.get("old").is_none(), "{metadata}");
    assert_eq!(&ann.read_user(&world).await.json["user_metadata"], metadata);
}

#[tokio::test]
async fn every_finite_number_is_read_as_it_was_sent() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let numbers = json!([f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 31.245_270_191_439_438, 0.1 + 0.2, 1e23, 1_u64 << 53]);
    let answer = ann.change(&world, json!({ "data": { "numbers": numbers } })).await.expect(200);
    assert_eq!(answer.json["user_metadata"]["numbers"], numbers);
    assert_eq!(ann.read_user(&world).await.json["user_metadata"]["numbers"], numbers);
}

#[tokio::test]
async fn texts_and_numbers_are_written_as_by_go() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let data = json!({ "bio": "<b>Ann & Bob</b>\u{2028}", "large": 1e20, "larger": 1e21, "small": 1e-7 });
    ann.change(&world, json!({ "data": data })).await.expect(200);
    let answer = ann.read_user(&world).await;
    for written in [
        r#""bio":"\u003cb\u003eAnn \u0026 Bob\u003c/b\u003e\u2028""#,
        r#""large":100000000000000000000,"#,
        r#""larger":1e+21,"#,
        r#""small":1e-7,"#,
    ] {
        assert!(answer.text.contains(written), "{}", answer.text);
    }
    assert_eq!(answer.json["user_metadata"]["bio"], data["bio"]);
}

#[tokio::test]
async fn metadata_update_sends_one_statement_after_the_guard() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "data": { "name": "Ann" } })).await.expect(200);
    assert_eq!(world.journal().statements(), ["users.with_session", "accounts.update"]);
}

#[tokio::test]
async fn concurrent_updates_are_all_applied() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let updates = (0..8).map(|n| ann.change(&world, json!({ "data": { format!("n{n}"): n } })));
    for answer in futures::future::join_all(updates).await {
        answer.expect(200);
    }
    let metadata = &ann.read_user(&world).await.json["user_metadata"];
    for n in 0..8 {
        assert_eq!(metadata[format!("n{n}")], n, "{metadata}");
    }
}

#[tokio::test]
async fn stored_non_object_metadata_is_treated_as_empty() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    for stored in ["NULL", "'null'"] {
        ann.set(&world, &format!("raw_user_meta_data = {stored}")).await;
        let answer = ann.change(&world, json!({ "data": { "name": "Ann" } })).await.expect(200);
        assert_eq!(answer.json["user_metadata"], json!({ "name": "Ann" }));
    }
}

/// Metadata written by a user does not become trusted data.
#[tokio::test]
async fn f1_privileged_members_of_the_body_are_ignored() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.set(&world, "email_confirmed_at = NULL").await;
    let row = "(role, aud, raw_app_meta_data, email_confirmed_at, phone_confirmed_at, is_super_admin, is_anonymous,
                is_sso_user, banned_until, invited_at, email)";
    let before = ann.stored(&world, row).await;

    ann.change(
        &world,
        json!({
            "role": "service_role", "aud": "elsewhere", "app_metadata": null, "is_super_admin": true,
            "is_anonymous": true, "is_sso_user": true, "raw_app_meta_data": { "role": "admin" },
            "email_confirmed_at": "2020-01-01T00:00:00Z", "phone_confirmed_at": "2020-01-01T00:00:00Z",
            "confirmed_at": "2020-01-01T00:00:00Z", "email_confirm": true, "banned_until": null, "ban_duration": "none",
            "id": "11111111-2222-4333-8444-555555555555", "invited_at": "2020-01-01T00:00:00Z",
        }),
    )
    .await
    .expect(200);

    assert_eq!(ann.stored(&world, row).await, before);
}

/// Metadata is writable by the user, so it is never trusted.
#[tokio::test]
async fn f1_verified_flags_in_metadata_do_not_affect_identities() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let data = json!({ "email": "mallory@example.com", "email_verified": false, "phone_verified": true, "sub": "me" });
    let answer = ann.change(&world, json!({ "data": data })).await.expect(200);
    assert_eq!(answer.json["email"], "ann@example.com");
    let identity = &answer.json["identities"][0]["identity_data"];
    assert_eq!((&identity["email"], &identity["email_verified"]), (&json!("ann@example.com"), &json!(true)));
    assert_eq!((&identity["phone_verified"], &identity["sub"]), (&json!(false), &json!(ann.id)));
}

#[tokio::test]
async fn f1_app_metadata_is_writable_by_administrators_only() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    for metadata in [json!({ "role": "admin" }), json!({})] {
        let answer = ann.change(&world, json!({ "app_metadata": metadata, "data": { "a": 1 } })).await;
        assert_eq!(answer.refusal(), (403, "not_admin"));
    }
    assert!(ann.read_user(&world).await.json["user_metadata"].get("a").is_none());

    ann.set(&world, "role = 'supabase_admin'").await;
    let group = world.app.policy.jwt.admin_group.clone();
    ann.set(&world, &format!("role = '{group}'")).await;
    let answer = ann.change(&world, json!({ "app_metadata": { "tier": "gold", "providers": null } })).await.expect(200);
    assert_eq!(answer.json["app_metadata"], json!({ "provider": "email", "tier": "gold" }));
}

#[tokio::test]
async fn unchanged_request_is_only_logged() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let before = ann.stored(&world, "updated_at").await;
    for body in [json!({}), json!({ "data": null }), json!({ "email": "ANN@example.com", "phone": "" })] {
        ann.change(&world, body).await.expect(200);
        assert!(world.mailbox.all().len() == 1, "no code is sent");
    }
    assert_eq!(ann.stored(&world, "updated_at").await, before);
    assert_eq!(ann.log(&world).await[2..], ["user_modified"; 3]);
}

#[tokio::test]
async fn database_exception_is_returned_without_writes() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    world
        .database
        .query(
            "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION 'no such luck' USING hint = 'try the moon'; END $$;
             CREATE TRIGGER refuse BEFORE UPDATE ON auth.users FOR EACH ROW EXECUTE FUNCTION public.refuse()",
        )
        .await;
    let answer = ann.change(&world, json!({ "data": { "a": 1 } })).await.expect(500);
    assert_eq!(answer.json, json!({ "code": "P0001", "message": "no such luck", "hint": "try the moon" }));
    assert_eq!(ann.log(&world).await.len(), 2);
}
