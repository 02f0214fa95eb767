//! A database of a newer Supabase Auth is served: accounts, sessions, factors, one-time tokens, single sign-on.

use chrono::TimeDelta;
use gotrue_rs::testing::{RedirectTarget, World, clone_migrated};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::newer::make_newer;
use crate::saml::company::{CALLBACK, Company, with_saml};

const EMAIL: &str = "ann@example.com";
const PASSWORD: &str = "a-long-passphrase-of-ann";

/// Worlds as `basalt gotrue` and `basalt serve` serve them, on databases of a newer schema.
async fn worlds(change: fn(&mut Policy)) -> [World; 2] {
    let mut worlds = Vec::new();
    for is_served in [false, true] {
        let database = clone_migrated().await;
        make_newer(&database).await;
        let builder = World::builder().policy(change).with_database(database).with_phones();
        let builder = if is_served { builder.as_served() } else { builder };
        worlds.push(builder.build().await);
    }
    worlds.try_into().expect("two worlds")
}

#[tokio::test]
async fn users_sign_up_sign_in_refresh_and_change() {
    for world in worlds(|policy| policy.mail.autoconfirm = true).await {
        let body = json!({"email": EMAIL, "password": PASSWORD, "data": {"name": "Ann"}});
        world.post("/signup", body.clone()).await.expect(200);
        let signed_in = world.post("/token?grant_type=password", body).await.expect(200);
        let refreshed = world.refresh(signed_in.str("refresh_token")).await.expect(200);
        let token = refreshed.str("access_token");
        let changed = world.put_as(token, "/user", json!({"data": {"name": "Anna"}})).await.expect(200);
        assert_eq!(changed.str("user_metadata/name"), "Anna");
        let listed = world.get_as(&world.service_token(), "/admin/users").await.expect(200);
        assert_eq!(listed.str("users/0/email"), EMAIL);
        let id = listed.str("users/0/id");
        world
            .put_as(&world.service_token(), &format!("/admin/users/{id}"), json!({"phone": "15550100"}))
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn one_time_tokens_are_stored_and_accepted() {
    for world in worlds(|_| {}).await {
        world.post("/otp", json!({"email": EMAIL})).await.expect(200);
        let code = world.code(EMAIL);
        let ann = world.post("/verify", json!({"type": "email", "email": EMAIL, "token": code})).await.expect(200);
        world.advance(TimeDelta::minutes(2));
        world.post("/recover", json!({"email": EMAIL})).await.expect(200);
        let link = world.link(EMAIL);
        assert!(world.get(&link).await.header("location").contains("access_token="));
        world.advance(TimeDelta::minutes(2));
        let token = ann.str("access_token");
        world.put_as(token, "/user", json!({"email": "new@example.com"})).await.expect(200);
        let stored = "SELECT count(*) FROM auth.one_time_tokens WHERE token_type::text LIKE 'email_change%'";
        assert_ne!(world.database.query(stored).await, ["0"]);
    }
}

#[tokio::test]
async fn what_one_server_began_the_other_completes() {
    let database = clone_migrated().await;
    make_newer(&database).await;
    let change = |policy: &mut Policy| policy.mail.autoconfirm = false;
    let gotrue = World::builder().policy(change).with_database(database).build().await;
    let served = World::builder().as_served().policy(change).sharing_state_with(&gotrue).build().await;
    for (email, first, second) in [(EMAIL, &gotrue, &served), ("bob@example.com", &served, &gotrue)] {
        first.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
        let confirmed = RedirectTarget::from_response(&second.get(&first.link(email)).await.expect(303));
        let session = first.refresh(confirmed.fragment("refresh_token")).await.expect(200);
        second.get_as(session.str("access_token"), "/user").await.expect(200);
        first.advance(TimeDelta::minutes(2));
        first.post("/recover", json!({"email": email})).await.expect(200);
        let recovered = RedirectTarget::from_response(&second.get(&first.link(email)).await.expect(303));
        assert_eq!(recovered.fragment("type"), "recovery");
        second.try_password(email, PASSWORD).await.expect(200);
    }
}

#[tokio::test]
async fn factors_and_recovery_codes_raise_the_session() {
    for world in worlds(|policy| {
        policy.mfa.recovery_codes.enroll_enabled = true;
        policy.mfa.recovery_codes.verify_enabled = true;
    })
    .await
    {
        let (ann, app) = world.create_user_with_totp(EMAIL).await;
        // Without the unique constraint, times of challenges may be equal.
        world.create_challenge(&ann.access_token, &app.id).await.expect(200);
        world.create_challenge(&ann.access_token, &app.id).await.expect(200);
        let codes = world.post_as(&ann.access_token, "/factors/recovery-codes", json!({})).await.expect(200);
        let body = json!({"code": codes.str("codes/0")});
        let raised = world.post_as(&ann.access_token, "/factors/recovery-codes/verify", body).await.expect(200);
        assert_eq!(world.decode_claims(raised.str("access_token"))["aal"], "aal2");
    }
}

#[tokio::test]
async fn single_sign_on_signs_in_changes_and_is_deleted() {
    for world in worlds(with_saml).await {
        let company = Company::in_world(world).await;
        let requested = company.start(json!({"redirect_to": CALLBACK})).await;
        let response = company.idp.signed_response(&company.assertion_for_request(&requested));
        let arrived = company.post_response(&requested, &response).await;
        let user = company.world.get_as(&arrived.token(), "/user").await.expect(200);
        assert_eq!(user.str("app_metadata/provider"), format!("sso:{}", company.id));
        // A row of provisioning that this server does not know belongs to the provider and the user.
        let provisioned = format!(
            "INSERT INTO auth.scim_users (id, sso_provider_id, user_id, resource)
             VALUES (gen_random_uuid(), '{}', '{}', '{{\"userName\": \"ann\"}}')",
            company.id,
            user.str("id")
        );
        company.world.database.query(&provisioned).await;
        company.change(json!({"domains": ["b.example.com"]})).await;
        let listed = company.world.get_as(&company.world.service_token(), "/admin/sso/providers").await.expect(200);
        assert_eq!(listed.str("items/0/domains/0/domain"), "b.example.com");
        let token = format!("Bearer {}", company.world.service_token());
        let headers = [("authorization", token.as_str())];
        let user_path = format!("/admin/users/{}", user.str("id"));
        company.world.request(http::Method::DELETE, &user_path, &headers, None).await.expect(200);
        let kept = "SELECT count(*) FROM auth.scim_users WHERE user_id IS NULL";
        assert_eq!(company.world.database.query(kept).await, ["1"]);
        let path = format!("/admin/sso/providers/{}", company.id);
        company.world.request(http::Method::DELETE, &path, &headers, None).await.expect(200);
        assert_eq!(company.world.database.query("SELECT count(*) FROM auth.scim_users").await, ["0"]);
    }
}

#[tokio::test]
async fn unknown_words_and_rows_are_read_and_left_alone() {
    for world in worlds(|_| {}).await {
        let ann = world.create_user(EMAIL).await;
        let (id, session) = (&ann.id, &ann.session);
        for sql in [
            format!(
                "INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
                 VALUES ('5c1f8b39-8a3e-4b3c-9a55-6b1f4c3d2e10', '{id}', 'x', 'unknown_proof', 'verified', now(), now())"
            ),
            format!(
                "INSERT INTO auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to, expires_at)
                 VALUES (gen_random_uuid(), '{id}', 'unknown_token', 'abc', 'x', now())"
            ),
            format!("UPDATE auth.sessions SET aal = 'aal4' WHERE id = '{session}'"),
        ] {
            world.database.query(&sql).await;
        }
        let shown = world.get_as(&ann.access_token, "/user").await.expect(200);
        assert_eq!(shown.str("factors/0/factor_type"), "unknown_proof");
        let refreshed = world.refresh(&ann.refresh_token).await.expect(200);
        let path = "/factors/5c1f8b39-8a3e-4b3c-9a55-6b1f4c3d2e10";
        let challenged = world.post_as(refreshed.str("access_token"), &format!("{path}/challenge"), json!({})).await;
        assert_eq!(challenged.refusal(), (400, "validation_failed"));
        let admin = format!("/admin/users/{id}");
        world.get_as(&world.service_token(), &format!("{admin}/factors")).await.expect(200);
        let headers = [("authorization", format!("Bearer {}", world.service_token()))];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        world.request(http::Method::DELETE, &format!("{admin}{path}"), &headers, None).await.expect(200);
        let kept = "SELECT count(*) FROM auth.one_time_tokens WHERE token_type::text = 'unknown_token'";
        assert_eq!(world.database.query(kept).await, ["1"]);
        world.request(http::Method::DELETE, &admin, &headers, None).await.expect(200);
    }
}
