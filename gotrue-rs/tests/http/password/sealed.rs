//! Password hashes encrypted in the database, in the form and with the keys that the reference uses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chrono::TimeDelta;
use foundation::encryption::Encryption;
use foundation::secret::SecretKey;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::policy::{Policy, SecurityPolicy};
use platform::sealing;
use serde_json::{Value, json};
use uuid::Uuid;

use super::encryption;

const ANN: &str = "ann@example.com";
const OTHER: &str = "another good password";

fn sealing_with(id: &str) -> impl FnOnce(&mut Policy) {
    let encryption = encryption(Some(id));
    move |policy| {
        policy.mail.autoconfirm = true;
        policy.security = SecurityPolicy { encryption, ..policy.security.clone() };
    }
}

async fn stored(world: &World, id: &str) -> String {
    world.database.query(&format!("SELECT encrypted_password FROM auth.users WHERE id = '{id}'")).await.concat()
}

/// The hash behind what is stored, after making sure that it is sealed with that key for that account.
async fn hash_sealed_with(world: &World, key: &str, id: &str) -> String {
    let stored = stored(world, id).await;
    let sealed: Value = serde_json::from_str(&stored).unwrap_or_else(|_| panic!("{stored} is not sealed"));
    assert_eq!((&sealed["key_id"], &sealed["alg"]), (&json!(key), &json!("aes-gcm-hkdf")));
    let owner = Uuid::parse_str(id).expect("an id");
    let opened = sealing::unseal(&stored, owner, &encryption(Some(key))).expect("it opens");
    assert!(!opened.is_outdated);
    assert!(opened.plain.starts_with("$2a$"), "a hash");
    opened.plain.into_owned()
}

async fn store(world: &World, id: &str, password: &str) {
    world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{password}' WHERE id = '{id}'")).await;
}

#[tokio::test]
async fn every_password_change_encrypts_the_hash() {
    let world = World::with(sealing_with("old")).await;
    let user = world.create_user(ANN).await;
    let first = hash_sealed_with(&world, "old", &user.id).await;
    world.sign_in(ANN).await;

    world.put_as(&user.access_token, "/user", json!({"password": OTHER})).await.expect(200);
    let second = hash_sealed_with(&world, "old", &user.id).await;
    assert_ne!(first, second);
    world.try_password(ANN, OTHER).await.expect(200);
    world.try_password(ANN, PASSWORD).await.expect(400);

    let admin = world.service_token();
    let path = format!("/admin/users/{}", user.id);
    world.put_as(&admin, &path, json!({"password": PASSWORD})).await.expect(200);
    hash_sealed_with(&world, "old", &user.id).await;
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn admin_created_users_have_encrypted_hashes() {
    let world = World::with(sealing_with("old")).await;
    let hash = bcrypt::hash(OTHER, 4).expect("it can be hashed").replace("$2b$", "$2a$");
    for (email, body, password) in [
        ("a@example.com", json!({"password": PASSWORD}), Some(PASSWORD)),
        ("b@example.com", json!({"password_hash": hash}), Some(OTHER)),
        ("c@example.com", json!({}), None),
    ] {
        let mut body = body;
        body["email"] = json!(email);
        body["email_confirm"] = json!(true);
        let made = world.post_as(&world.service_token(), "/admin/users", body).await.expect(200);
        hash_sealed_with(&world, "old", made.str("id")).await;
        if let Some(password) = password {
            world.try_password(email, password).await.expect(200);
        }
    }
}

#[tokio::test]
async fn overlong_hash_stays_plain_until_sign_in_rehashes() {
    let world = World::with(sealing_with("old")).await;
    let params = argon2::Params::new(8, 1, 1, Some(128)).expect("parameters");
    let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let mut hash = [0; 128];
    argon2.hash_password_into(PASSWORD.as_bytes(), &[7; 16], &mut hash).expect("a hash");
    let [salt, hash] = [&[7; 16][..], &hash].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    let long = format!("$argon2id$v=19$m=8,t=1,p=1${salt}${hash}");
    let body = json!({"email": ANN, "email_confirm": true, "password_hash": long});
    let id = world.post_as(&world.service_token(), "/admin/users", body).await.expect(200).str("id").to_owned();
    assert_eq!(stored(&world, &id).await, long);
    world.sign_in(ANN).await;
    hash_sealed_with(&world, "old", &id).await;
    world.sign_in(ANN).await;
}

#[test]
fn new_hashes_fit_with_the_longest_key_id() {
    let entropy = platform::entropy::Entropy::from_seed(1);
    for (hash, room) in [(60, 80), (96, 32)] {
        let id = "k".repeat(room);
        let keys = [(id.clone(), SecretKey::new([1; 32]))].into();
        let encryption = Encryption { encrypt_with: Some(id), keys };
        let sealed = sealing::seal(&"h".repeat(hash), Uuid::nil(), &encryption, &entropy);
        assert_eq!(sealed.len(), 255);
    }
}

#[tokio::test]
async fn password_of_accepted_invitation_is_encrypted() {
    let world = World::with(|policy| {
        sealing_with("new")(policy);
        policy.mail.autoconfirm = false;
    })
    .await;
    let user = world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let id = user.str("id");
    let invited = format!("encrypted_password = '', invited_at = '{}'", world.now().to_rfc3339());
    world.database.query(&format!("UPDATE auth.users SET {invited} WHERE id = '{id}'")).await;
    let code = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", code).await.expect(200);
    hash_sealed_with(&world, "new", id).await;
}

#[tokio::test]
async fn sign_in_reencrypts_outdated_hash_once() {
    let world = World::with(sealing_with("new")).await;
    let id = world.create_user(ANN).await.id;
    let hash = hash_sealed_with(&world, "new", &id).await;
    let owner = Uuid::parse_str(&id).expect("an id");
    let under_old = sealing::seal(&hash, owner, &encryption(Some("old")), &world.app.entropy);
    for before in [hash.clone(), under_old] {
        store(&world, &id, &before).await;
        world.try_password(ANN, "wrong password").await.expect(400);
        assert_eq!(stored(&world, &id).await, before, "a wrong password changes nothing");
        world.sign_in(ANN).await;
        assert_eq!(world.journal().statements().len(), 3, "one statement more");
        assert_eq!(hash_sealed_with(&world, "new", &id).await, hash, "the same hash");
        world.sign_in(ANN).await;
        assert_eq!(world.journal().statements().len(), 2, "only once");
    }
}

#[tokio::test]
async fn failed_reencryption_does_not_block_sign_in() {
    let world = World::with(sealing_with("new")).await;
    let id = world.create_user(ANN).await.id;
    let hash = hash_sealed_with(&world, "new", &id).await;
    store(&world, &id, &hash).await;
    world.faults.fail("accounts.set_password", 1);
    world.sign_in(ANN).await;
    assert_eq!(stored(&world, &id).await, hash);
}

#[tokio::test]
async fn disabled_encryption_still_reads_encrypted_hashes() {
    let world = World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.security.encryption = encryption(None);
    })
    .await;
    let id = world.create_user(ANN).await.id;
    let hash = stored(&world, &id).await;
    assert!(hash.starts_with("$2a$"), "in the clear");
    let owner = Uuid::parse_str(&id).expect("an id");
    let sealed = sealing::seal(&hash, owner, &encryption(Some("old")), &world.app.entropy);
    store(&world, &id, &sealed).await;
    world.sign_in(ANN).await;
    assert_eq!(stored(&world, &id).await, sealed);
}

#[tokio::test]
async fn undecryptable_hash_is_an_internal_error_without_details() {
    let world = World::with(sealing_with("old")).await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    let of_bob = stored(&world, &bob.id).await;
    let of_another_key = stored(&world, &ann.id).await.replace("old", "lost");
    for broken in [of_bob, of_another_key] {
        store(&world, &ann.id, &broken).await;
        let answer = world.try_password(ANN, PASSWORD).await.expect(500);
        assert!(!answer.text.contains("lost") && !answer.text.contains("key"), "{}", answer.text);
        let own = world.put_as(&ann.access_token, "/user", json!({"password": OTHER})).await.expect(500);
        assert!(!own.text.contains("key"), "{}", own.text);
        assert_eq!(stored(&world, &ann.id).await, broken);
    }
    world.sign_in("bob@example.com").await;
}

#[tokio::test]
async fn current_and_same_password_checks_work_with_encryption() {
    let world = World::with(|policy| {
        sealing_with("old")(policy);
        policy.security.update_password_require_current_password = true;
    })
    .await;
    let user = world.create_user(ANN).await;
    for (current, new, refusal) in
        [("wrong password", OTHER, (400, "current_password_invalid")), (PASSWORD, PASSWORD, (422, "same_password"))]
    {
        let body = json!({"password": new, "current_password": current});
        assert_eq!(world.put_as(&user.access_token, "/user", body).await.refusal(), refusal);
    }
    let body = json!({"password": OTHER, "current_password": PASSWORD});
    world.put_as(&user.access_token, "/user", body).await.expect(200);
}

#[tokio::test]
async fn takeover_check_works_with_encryption() {
    let world = World::with(|policy| {
        sealing_with("old")(policy);
        policy.mail.autoconfirm = false;
        policy.sign_up.should_drop_contested_password = true;
    })
    .await;
    let sign_up = async |password: &str| {
        world.advance(TimeDelta::seconds(1));
        world.post("/signup", json!({"email": ANN, "password": password})).await.expect(200).str("id").to_owned()
    };
    let id = sign_up(PASSWORD).await;
    sign_up(PASSWORD).await;
    hash_sealed_with(&world, "old", &id).await;
    sign_up(OTHER).await;
    assert_eq!(stored(&world, &id).await, "");
}
