use chrono::TimeDelta;
use gotrue_rs::testing::{DOCUMENT, Person, World, said};
use serde_json::json;

use super::Setting;

const ANN: &str = "ann@example.com";

#[tokio::test]
async fn a_new_person_gets_an_account_and_a_session() {
    let setting = Setting::new().await;
    let answer = setting.give(&setting.person(ANN), &json!({})).await.expect(200);
    assert_eq!(answer.str("user/email"), ANN);
    assert_eq!(answer.json["user"]["app_metadata"], json!({"provider": "keycloak", "providers": ["keycloak"]}));
    assert_eq!(answer.json["user"]["identities"][0]["identity_data"]["name"], "Ann");
    let ann = Person::of(&answer);
    setting.world.get_as(&ann.access_token, "/user").await.expect(200);
    let again = setting.give(&setting.person(ANN), &json!({})).await.expect(200);
    assert_eq!(Person::of(&again).id, ann.id);
    assert_ne!(Person::of(&again).session, ann.session);
}

#[tokio::test]
async fn no_connection_is_held_while_an_issuer_is_asked() {
    let setting = Setting::of(World::builder().connections(1)).await;
    let (go, gate) = tokio::sync::watch::channel(false);
    let document = setting.issuer.document();
    setting.receiver.respond_after(&format!("/realm{DOCUMENT}"), move |_| {
        let (mut gate, document) = (gate.clone(), document.clone());
        Box::pin(async move {
            gate.wait_for(|open| *open).await.expect("the test opens it");
            said(200, &document)
        })
    });
    let (token, nothing) = (setting.person(ANN), json!({}));
    let asking = setting.give(&token, &nothing);
    let beside = async {
        setting.receiver.called(1).await;
        let bob = setting.world.post("/signup", json!({"email": "bob@example.com", "password": "correct horse"})).await;
        go.send_replace(true);
        bob
    };
    let (ann, bob) = tokio::join!(asking, beside);
    bob.expect(200);
    ann.expect(200);
}

#[tokio::test]
async fn a_person_with_an_unverified_address_confirms_it_first() {
    let setting = Setting::new().await;
    let claims = json!({"sub": "7", "email": ANN, "email_verified": false});
    let answer = setting.give(&setting.token(&claims), &json!({})).await;
    assert_eq!(answer.refusal(), (422, "provider_email_needs_verification"));
    let code = setting.world.code(ANN);
    setting.world.post("/verify", json!({"type": "signup", "email": ANN, "token": code})).await.expect(200);
    setting.give(&setting.token(&claims), &json!({})).await.expect(200);
}

#[tokio::test]
async fn whoever_has_the_address_already_is_joined_if_the_issuer_vouches_for_it() {
    for (is_verified, joins) in [(true, true), (false, false)] {
        let setting = Setting::new().await;
        let ann = setting.world.person(ANN).await;
        let claims = json!({"sub": "7", "email": ANN, "email_verified": is_verified});
        let answer = setting.give(&setting.token(&claims), &json!({})).await;
        if joins {
            assert_eq!(Person::of(&answer).id, ann.id);
        } else {
            assert_eq!(answer.refusal(), (422, "provider_email_needs_verification"));
        }
    }
}

#[tokio::test]
async fn a_banned_person_is_not_let_in() {
    let setting = Setting::new().await;
    let ann = Person::of(&setting.give(&setting.person(ANN), &json!({})).await);
    let until = setting.world.now() + TimeDelta::hours(1);
    let sql = format!("UPDATE auth.users SET banned_until = '{}' WHERE id = '{}'", until.to_rfc3339(), ann.id);
    setting.world.database.query(&sql).await;
    assert_eq!(setting.give(&setting.person(ANN), &json!({})).await.refusal(), (403, "user_banned"));
}

#[tokio::test]
async fn closed_sign_up_is_closed_to_newcomers_only() {
    let setting = Setting::of(World::builder().policy(|policy| policy.sign_up.disabled = true)).await;
    let answer = setting.give(&setting.person(ANN), &json!({})).await;
    assert_eq!(answer.refusal(), (422, "signup_disabled"));
}

#[tokio::test]
async fn what_fails_while_somebody_is_let_in_is_told_in_the_words_of_oauth() {
    let setting = Setting::new().await;
    setting.world.faults.fail("COMMIT", 1);
    let answer = setting.give(&setting.person(ANN), &json!({})).await.expect(400);
    assert_eq!(answer.json, json!({"error": "server_error", "error_description": "Internal Server Error"}));
    setting.give(&setting.person(ANN), &json!({})).await.expect(200);
}

/// What is stored in the place of a password: NULL, as if one of somebody else had been taken away.
#[tokio::test]
async fn an_account_made_by_a_token_has_no_password() {
    let setting = Setting::new().await;
    setting.give(&setting.person(ANN), &json!({})).await.expect(200);
    let passwords = "SELECT count(*)::text FROM auth.users WHERE encrypted_password IS NULL";
    assert_eq!(setting.world.database.query(passwords).await, ["1"]);
}

#[tokio::test]
async fn where_addresses_count_at_once_a_new_identity_is_shown_as_verified() {
    let setting = Setting::of(World::builder().policy(|policy| policy.mail.autoconfirm = true)).await;
    let token = setting.token(&json!({"sub": "7", "email": ANN, "email_verified": false}));
    let answer = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(answer.json["user"]["identities"][0]["identity_data"]["email_verified"], true);
    let stored = "SELECT identity_data ->> 'email_verified' FROM auth.identities";
    assert_eq!(setting.world.database.query(stored).await, ["false"]);
    let again = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(again.json["user"]["identities"][0]["identity_data"]["email_verified"], false);
}

#[tokio::test]
async fn white_space_in_a_token_counts_for_nothing() {
    let setting = Setting::new().await;
    let token = setting.person(ANN);
    let (header, rest) = token.split_once('.').expect("three parts");
    for odd in [format!("{token}\n"), format!(" \t{token}\u{a0}"), format!("{header}\r\n.{rest}")] {
        setting.give(&odd, &json!({})).await.expect(200);
    }
    for bad in [format!("{token}="), format!("{token}.x"), format!("{token}.")] {
        setting.give(&bad, &json!({})).await.expect(400);
    }
}

#[tokio::test]
async fn times_of_a_token_may_be_texts_that_hold_numbers() {
    let setting = Setting::new().await;
    let now = setting.world.now().timestamp();
    // Azure's claims have times of that kind; a standard issuer's are numbers.
    let claims = json!({"sub": "7", "email": ANN, "email_verified": true, "nbf": now.to_string()});
    setting.give(&setting.token(&claims), &json!({})).await.expect(200);
    for (name, value) in [("nbf", json!((now + 9999).to_string())), ("nbf", json!("soon")), ("exp", json!("1"))] {
        let mut claims = claims.clone();
        claims[name] = value;
        setting.give(&setting.token(&claims), &json!({})).await.expect(400);
    }
}

#[tokio::test]
async fn claims_are_read_in_any_letters_and_the_last_wins() {
    let setting = Setting::new().await;
    let claims = json!({"SUB": "7", "Email": ANN, "EMAIL_VERIFIED": true, "NAME": "Ann", "name": null});
    let answer = setting.give(&setting.token(&claims), &json!({})).await.expect(200);
    assert_eq!((answer.str("user/email"), answer.str("user/user_metadata/name")), (ANN, "Ann"));
    for odd in [json!({"sub": 7}), json!({"sub": "8", "email_verified": "true"}), json!({"sub": "8", "aud": [7]})] {
        setting.give(&setting.token(&odd), &json!({})).await.expect(400);
    }
}
