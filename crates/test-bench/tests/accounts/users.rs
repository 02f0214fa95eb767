//! Creation of users in bulk.

use chrono::TimeDelta;
use foundation::secret::SecretKey;
use gotrue_rs::testing::{PASSWORD, TestUser, TotpFactor, World};
use http::StatusCode;
use serde_json::{Value, json};
use test_bench::{TestApiError, users};

const ID: &str = "0d8b1c1e-4ad1-4f0c-9d6c-2f4f6ac7b001";
const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

async fn create(world: &World, body: &Value) -> Result<Value, TestApiError> {
    users::create(&world.app, body.to_string().as_bytes()).await
}

async fn stored_users(world: &World) -> String {
    world.database.query("SELECT count(*) FROM auth.users").await.join("")
}

#[tokio::test]
async fn created_user_signs_in_with_the_given_password_and_id() {
    let world = World::new().await;
    let given = json!([{
        "id": ID, "email": "Ann@example.com", "phone": "+15550100", "password": PASSWORD,
        "user_metadata": {"name": "Ann"}, "app_metadata": {"plan": "pro"},
    }]);
    let created = create(&world, &given).await.expect("valid");
    let user = &created[0];
    assert_eq!(
        (&user["id"], &user["email"], &user["phone"]),
        (&json!(ID), &json!("ann@example.com"), &json!("15550100"))
    );
    assert_eq!(user["user_metadata"], json!({"name": "Ann"}));
    assert_eq!(user["app_metadata"], json!({"plan": "pro", "provider": "email", "providers": ["email", "phone"]}));
    let signed_in = world.sign_in("ann@example.com").await;
    assert_eq!(signed_in.id, ID);
    let shown = world.get_as(&world.service_token(), &format!("/admin/users/{ID}")).await.expect(200);
    let mut expected = shown.json.clone();
    expected.as_object_mut().expect("a user").shift_remove("last_sign_in_at");
    expected["updated_at"] = user["updated_at"].clone();
    assert_eq!(&expected, user, "the admin API shows the same");
}

#[tokio::test]
async fn unconfirmed_user_cannot_sign_in() {
    let world = World::new().await;
    create(&world, &json!([{"email": "a@b.co", "password": PASSWORD, "confirmed": false}])).await.expect("valid");
    let refused = world.try_password("a@b.co", PASSWORD).await;
    assert_eq!(refused.str("error_code"), "email_not_confirmed");
}

#[tokio::test]
async fn imported_hash_and_equal_passwords_are_accepted() {
    let world = World::new().await;
    create(&world, &json!([{"email": "a@b.co", "password": PASSWORD}, {"email": "b@b.co", "password": PASSWORD}]))
        .await
        .expect("valid");
    let hash = world.database.query("SELECT encrypted_password FROM auth.users WHERE email = 'a@b.co'").await.join("");
    create(&world, &json!([{"email": "c@b.co", "password_hash": hash}])).await.expect("valid");
    for email in ["a@b.co", "b@b.co", "c@b.co"] {
        assert_eq!(world.sign_in(email).await.email, email);
    }
}

#[tokio::test]
async fn factor_of_created_user_verifies_with_its_secret() {
    let world = World::builder()
        .policy(|policy| {
            let encryption = &mut policy.security.encryption;
            encryption.encrypt_with = Some("key".to_owned());
            encryption.keys.insert("key".to_owned(), SecretKey::new([7; 32]));
        })
        .build()
        .await;
    let factors = json!([{"secret": SECRET, "friendly_name": "app"}, {"friendly_name": "new"}]);
    let created = create(&world, &json!([{"email": "a@b.co", "password": PASSWORD, "factors": factors}])).await;
    let created = created.expect("valid");
    let shown = created[0]["factors"].as_array().expect("factors");
    assert_eq!((shown.len(), &shown[0]["secret"], &shown[0]["status"]), (2, &json!(SECRET), &json!("verified")));
    let stored = world.database.query("SELECT secret FROM auth.mfa_factors").await;
    assert!(stored.iter().all(|secret| secret.contains("aes-gcm-hkdf")), "{stored:?}");
    let user = world.sign_in("a@b.co").await;
    for factor in shown {
        let text = |name: &str| factor[name].as_str().unwrap_or_default().to_owned();
        let factor = TotpFactor { id: text("id"), secret: text("secret") };
        let verified = TestUser::from_session(&world.verify_totp(&user, &factor).await);
        assert_eq!(world.decode_claims(&verified.access_token)["aal"], "aal2");
    }
}

#[tokio::test]
async fn identities_are_linked_to_the_user() {
    let world = World::new().await;
    let identities = json!([{"provider": "google", "provider_id": "7", "identity_data": {"name": "Ann"}}]);
    let created = create(&world, &json!([{"email": "a@b.co", "identities": identities}])).await.expect("valid");
    let identity = &created[0]["identities"][0];
    assert_eq!((&identity["provider"], &identity["id"]), (&json!("google"), &json!("7")));
    assert_eq!(identity["identity_data"], json!({"name": "Ann", "sub": "7", "email": "a@b.co"}));
    assert_eq!(created[0]["app_metadata"]["providers"], json!(["google"]));
}

#[tokio::test]
async fn invalid_or_conflicting_entry_creates_no_user_and_is_named() {
    let world = World::new().await;
    create(&world, &json!([{"email": "ann@b.co", "phone": "15550100", "id": ID}])).await.expect("valid");
    let google = json!([{"provider": "google", "provider_id": "7"}]);
    for (entries, status, expected) in [
        (json!([{"email": "a@b.co"}, {"email": "b"}]), 400, "users[1]: email"),
        (json!([{"email": "a@b.co"}, {"email": "ANN@b.co"}]), 409, "users[1]: the user 0d8b1c1e"),
        (json!([{"phone": "+15550100"}]), 409, "has the number 15550100"),
        (json!([{"email": "a@b.co"}, {"email": "b@b.co", "id": ID}]), 409, "users[1]: a user with the id"),
        (json!([{"email": "a@b.co"}, {"email": "c@b.co"}, {"email": "a@b.co"}]), 409, "users[2]: the user"),
        (
            json!([{"email": "a@b.co", "id": "00000000-0000-4000-8000-000000000001"},
                   {"email": "c@b.co", "id": "00000000-0000-4000-8000-000000000001"}]),
            409,
            "users[1]: an entry before has the id",
        ),
        (
            json!([{"email": "a@b.co"}, {"email": "b@b.co", "identities": google},
                   {"email": "c@b.co"}, {"email": "d@b.co", "identities": google}]),
            409,
            "users[3]: duplicate key",
        ),
    ] {
        let error = create(&world, &entries).await.expect_err("refused");
        assert_eq!(error.status.as_u16(), status, "{entries}");
        assert!(error.message.contains(expected), "{entries}: {}", error.message);
        assert!(!error.hint.is_empty());
        assert_eq!(stored_users(&world).await, "1", "{entries}");
    }
}

#[tokio::test]
async fn body_that_is_no_list_or_too_large_is_rejected() {
    let world = World::new().await;
    for body in ["", "{}", "[", "null"] {
        let error = users::create(&world.app, body.as_bytes()).await.expect_err(body);
        assert_eq!(error.status, StatusCode::BAD_REQUEST, "{body}");
    }
    let many = format!("[{}]", vec!["{}"; users::MAX_USERS + 1].join(","));
    assert!(users::create(&world.app, many.as_bytes()).await.expect_err("too many").message.contains("more than"));
    let long = vec![b' '; users::MAX_BODY_BYTES + 1];
    assert!(users::create(&world.app, &long).await.expect_err("too long").message.contains("larger than"));
    assert_eq!(create(&world, &json!([])).await.expect("no user"), json!([]));
}

#[tokio::test]
async fn a_thousand_users_keep_their_order() {
    let world = World::new().await;
    let entry = |number: usize| json!({"email": format!("user{number}@b.co"), "password": PASSWORD});
    let entries: Value = (0..1000).map(entry).collect();
    let created = create(&world, &entries).await.expect("valid");
    let emails: Vec<&str> =
        created.as_array().expect("a list").iter().filter_map(|user| user["email"].as_str()).collect();
    assert_eq!((emails.len(), emails[0], emails[999]), (1000, "user0@b.co", "user999@b.co"));
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.sign_in("user500@b.co").await.id, created[500]["id"]);
}
