use chrono::TimeDelta;
use gotrue_rs::testing::{DOCUMENT, TestUser, World, json_response};
use serde_json::json;

use super::IdTokenFixture;

const ANN: &str = "ann@example.com";

#[tokio::test]
async fn unknown_identity_gets_a_user_and_a_session() {
    let setting = IdTokenFixture::new().await;
    let answer = setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
    assert_eq!(answer.str("user/email"), ANN);
    assert_eq!(answer.json["user"]["app_metadata"], json!({"provider": "keycloak", "providers": ["keycloak"]}));
    assert_eq!(answer.json["user"]["identities"][0]["identity_data"]["name"], "Ann");
    let ann = TestUser::from_session(&answer);
    setting.world.get_as(&ann.access_token, "/user").await.expect(200);
    let again = setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
    assert_eq!(TestUser::from_session(&again).id, ann.id);
    assert_ne!(TestUser::from_session(&again).session, ann.session);
}

#[tokio::test]
async fn issuer_requests_hold_no_database_connection() {
    let setting = IdTokenFixture::of(World::builder().connections(1)).await;
    let (go, gate) = tokio::sync::watch::channel(false);
    let document = setting.issuer.document();
    setting.receiver.respond_after(&format!("/realm{DOCUMENT}"), move |_| {
        let (mut gate, document) = (gate.clone(), document.clone());
        Box::pin(async move {
            gate.wait_for(|open| *open).await.expect("the test opens it");
            json_response(200, &document)
        })
    });
    let (token, nothing) = (setting.user_token(ANN), json!({}));
    let asking = setting.give(&token, &nothing);
    let beside = async {
        setting.receiver.wait_for_calls(1).await;
        let bob = setting.world.post("/signup", json!({"email": "bob@example.com", "password": "correct horse"})).await;
        go.send_replace(true);
        bob
    };
    let (ann, bob) = tokio::join!(asking, beside);
    bob.expect(200);
    ann.expect(200);
}

#[tokio::test]
async fn user_with_unverified_email_must_confirm_it_first() {
    let setting = IdTokenFixture::new().await;
    let claims = json!({"sub": "7", "email": ANN, "email_verified": false});
    let answer = setting.give(&setting.token(&claims), &json!({})).await;
    assert_eq!(answer.refusal(), (422, "provider_email_needs_verification"));
    let code = setting.world.code(ANN);
    setting.world.post("/verify", json!({"type": "signup", "email": ANN, "token": code})).await.expect(200);
    setting.give(&setting.token(&claims), &json!({})).await.expect(200);
}

#[tokio::test]
async fn verified_email_links_to_the_existing_user() {
    for (is_verified, joins) in [(true, true), (false, false)] {
        let setting = IdTokenFixture::new().await;
        let ann = setting.world.create_user(ANN).await;
        let claims = json!({"sub": "7", "email": ANN, "email_verified": is_verified});
        let answer = setting.give(&setting.token(&claims), &json!({})).await;
        if joins {
            assert_eq!(TestUser::from_session(&answer).id, ann.id);
        } else {
            assert_eq!(answer.refusal(), (422, "provider_email_needs_verification"));
        }
    }
}

#[tokio::test]
async fn taken_over_account_shows_its_identities_as_they_were_loaded() {
    let setting = IdTokenFixture::new().await;
    setting.world.post("/signup", json!({"email": ANN, "password": "correct horse"})).await.expect(200);
    let answer = setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
    assert_eq!(answer.json["user"]["identities"][0]["provider"], "email", "{}", answer.text);
    let stored = setting.world.get_as(answer.str("access_token"), "/user").await.expect(200);
    let providers: Vec<_> = stored.json["identities"].as_array().expect("identities").iter().collect();
    assert_eq!((providers.len(), &providers[0]["provider"]), (1, &json!("keycloak")));
}

#[tokio::test]
async fn banned_user_is_refused() {
    let setting = IdTokenFixture::new().await;
    let ann = TestUser::from_session(&setting.give(&setting.user_token(ANN), &json!({})).await);
    let until = setting.world.now() + TimeDelta::hours(1);
    let sql = format!("UPDATE auth.users SET banned_until = '{}' WHERE id = '{}'", until.to_rfc3339(), ann.id);
    setting.world.database.query(&sql).await;
    assert_eq!(setting.give(&setting.user_token(ANN), &json!({})).await.refusal(), (403, "user_banned"));
}

#[tokio::test]
async fn disabled_sign_up_refuses_only_unknown_users() {
    let setting = IdTokenFixture::of(World::builder().policy(|policy| policy.sign_up.disabled = true)).await;
    let answer = setting.give(&setting.user_token(ANN), &json!({})).await;
    assert_eq!(answer.refusal(), (422, "signup_disabled"));
}

#[tokio::test]
async fn sign_in_failure_is_an_oauth_error() {
    let setting = IdTokenFixture::new().await;
    setting.world.faults.fail("COMMIT", 1);
    let answer = setting.give(&setting.user_token(ANN), &json!({})).await.expect(400);
    assert_eq!(answer.json, json!({"error": "server_error", "error_description": "Internal Server Error"}));
    setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
}

/// The stored password: NULL, as for a user whose password was removed.
#[tokio::test]
async fn user_created_by_id_token_has_no_password() {
    let setting = IdTokenFixture::new().await;
    setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
    let passwords = "SELECT count(*)::text FROM auth.users WHERE encrypted_password IS NULL";
    assert_eq!(setting.world.database.query(passwords).await, ["1"]);
}

#[tokio::test]
async fn autoconfirm_shows_a_new_identity_as_verified() {
    let setting = IdTokenFixture::of(World::builder().policy(|policy| policy.mail.autoconfirm = true)).await;
    let token = setting.token(&json!({"sub": "7", "email": ANN, "email_verified": false}));
    let answer = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(answer.json["user"]["identities"][0]["identity_data"]["email_verified"], true);
    let stored = "SELECT identity_data ->> 'email_verified' FROM auth.identities";
    assert_eq!(setting.world.database.query(stored).await, ["false"]);
    let again = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(again.json["user"]["identities"][0]["identity_data"]["email_verified"], false);
}

#[tokio::test]
async fn whitespace_around_the_token_is_ignored() {
    let setting = IdTokenFixture::new().await;
    let token = setting.user_token(ANN);
    let (header, rest) = token.split_once('.').expect("three parts");
    for odd in [format!("{token}\n"), format!(" \t{token}\u{a0}"), format!("{header}\r\n.{rest}")] {
        setting.give(&odd, &json!({})).await.expect(200);
    }
    for bad in [format!("{token}="), format!("{token}.x"), format!("{token}.")] {
        setting.give(&bad, &json!({})).await.expect(400);
    }
}

#[tokio::test]
async fn token_times_may_be_numeric_strings() {
    let setting = IdTokenFixture::new().await;
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
async fn claims_match_case_insensitively_and_the_last_wins() {
    let setting = IdTokenFixture::new().await;
    let claims = json!({"SUB": "7", "Email": ANN, "EMAIL_VERIFIED": true, "NAME": "Ann", "name": null});
    let answer = setting.give(&setting.token(&claims), &json!({})).await.expect(200);
    assert_eq!((answer.str("user/email"), answer.str("user/user_metadata/name")), (ANN, "Ann"));
    for odd in [json!({"sub": 7}), json!({"sub": "8", "email_verified": "true"}), json!({"sub": "8", "aud": [7]})] {
        setting.give(&setting.token(&odd), &json!({})).await.expect(400);
    }
}

/// The column and the identity data are in lower case.
#[tokio::test]
async fn new_identity_shows_the_email_in_the_case_of_the_claim() {
    let setting = IdTokenFixture::new().await;
    let token = setting.user_token("Ann@Example.com");
    let answer = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(answer.str("user/identities/0/email"), "Ann@Example.com");
    assert_eq!((answer.str("user/email"), answer.str("user/identities/0/identity_data/email")), (ANN, ANN));
    let again = setting.give(&token, &json!({})).await.expect(200);
    assert_eq!(again.str("user/identities/0/email"), ANN);
}

/// Creates a trigger on `auth.users` whose function has this body.
async fn create_trigger(world: &World, body: &str, when: &str) {
    let function = format!(
        "CREATE FUNCTION public.act() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $f$
         BEGIN {body} END $f$"
    );
    world.database.query(&function).await;
    world.database.query(&format!("CREATE TRIGGER act {when} FOR EACH ROW EXECUTE FUNCTION public.act()")).await;
}

#[tokio::test]
async fn user_of_a_provider_is_answered_as_triggers_store_it() {
    for builder in [World::builder(), World::builder().as_served()] {
        let setting = IdTokenFixture::of(builder).await;
        let body = "NEW.raw_app_meta_data = NEW.raw_app_meta_data || '{\"tier\": \"free\"}'; RETURN NEW;";
        create_trigger(&setting.world, body, "BEFORE INSERT ON auth.users").await;
        let answer = setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
        assert_eq!(answer.json["user"]["app_metadata"]["tier"], "free", "{}", answer.text);
        let claims = setting.world.decode_claims(answer.str("access_token"));
        assert_eq!(claims["app_metadata"]["tier"], "free");
    }
}

#[tokio::test]
async fn user_of_a_provider_that_a_trigger_refuses_is_an_error() {
    for builder in [World::builder(), World::builder().as_served()] {
        let setting = IdTokenFixture::of(builder).await;
        create_trigger(&setting.world, "RETURN NULL;", "BEFORE INSERT ON auth.users").await;
        setting.give(&setting.user_token(ANN), &json!({})).await.expect(500);
        let rows = "SELECT (SELECT count(*) FROM auth.users) + (SELECT count(*) FROM auth.identities)";
        assert_eq!(setting.world.database.query(&format!("SELECT ({rows})::text")).await, ["0"]);
    }
}

#[tokio::test]
async fn triggers_on_updates_see_the_confirmation_by_a_provider() {
    for builder in [World::builder(), World::builder().as_served()] {
        let setting = IdTokenFixture::of(builder).await;
        setting.world.database.query("CREATE TABLE public.seen (before text, after text)").await;
        let body =
            "INSERT INTO public.seen VALUES (OLD.email_confirmed_at::text, NEW.email_confirmed_at::text); RETURN NEW;";
        create_trigger(&setting.world, body, "AFTER UPDATE OF email_confirmed_at ON auth.users").await;
        let answer = setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
        assert_eq!(answer.str("user/role"), "authenticated");
        assert!(!answer.str("user/email_confirmed_at").is_empty(), "{}", answer.text);
        let seen = "SELECT (before IS NULL AND after IS NOT NULL)::text FROM public.seen";
        assert_eq!(setting.world.database.query(seen).await, ["true"]);
        // A later sign-in confirms nothing.
        setting.give(&setting.user_token(ANN), &json!({})).await.expect(200);
        assert_eq!(setting.world.database.query(seen).await, ["true"]);
    }
}
