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
