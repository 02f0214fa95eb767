//! Sign-in with password and code.

use reqwest::Method;
use serde_json::json;

use super::desk_client::{EMAIL, PASSWORD, Shop, code_of};
use crate::support::{eventually, free_port};
use crate::telemetry::{metrics, value};

#[tokio::test]
async fn wrong_code_is_refused_and_a_ticket_has_five_attempts() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let ticket = shop.send_password(EMAIL, PASSWORD).await.text("ticket");
    let wrong = code_of(&owner.secret, 50);
    for _ in 0..5 {
        let answer = shop.post("/sign-in/totp", json!({"ticket": ticket, "code": wrong})).await;
        assert_eq!((answer.status, answer.code()), (401, "invalid_code"), "{}", answer.body);
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    let right = json!({"ticket": ticket, "code": code_of(&owner.secret, 0)});
    let answer = shop.post("/sign-in/totp", right).await;
    assert_eq!((answer.status, answer.code()), (401, "ticket_expired"));
    let failures =
        "SELECT count(*)::text FROM basalt.desk_events WHERE action = 'code_failed' AND address = '127.0.0.1'";
    assert_eq!(shop.query(failures).await, "5");
    assert_eq!(shop.sign_in(&owner.secret, 0).await.status, 200);
}

#[tokio::test]
async fn code_and_ticket_count_once() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let ticket = shop.send_password(EMAIL, PASSWORD).await.text("ticket");
    let used = shop.post("/sign-in/totp", json!({"ticket": ticket, "code": owner.code})).await;
    assert_eq!((used.status, used.code()), (401, "invalid_code"), "the code of the setup");
    let body = json!({"ticket": ticket, "code": code_of(&owner.secret, 0)});
    assert_eq!(shop.post("/sign-in/totp", body.clone()).await.status, 200);
    let again = shop.post("/sign-in/totp", body).await;
    assert_eq!((again.status, again.code()), (401, "ticket_expired"));
}

#[tokio::test]
async fn unknown_user_wrong_password_and_other_users_get_the_same_answer() {
    let shop = Shop::start();
    shop.set_up().await;
    for (email, app_metadata, role) in [
        ("visitor@shop.example", json!({}), "authenticated"),
        ("claim@shop.example", json!({}), "owner"),
        ("editor@shop.example", json!({"role": "editor", "roles": ["editor"]}), "authenticated"),
    ] {
        let user = json!({"email": email, "password": PASSWORD, "email_confirm": true, "role": role,
                          "app_metadata": app_metadata, "user_metadata": {"role": "owner"}});
        shop.admin(Method::POST, "/users", user).await;
    }
    let mut bodies = Vec::new();
    for (email, password) in [
        ("nobody@shop.example", PASSWORD),
        (EMAIL, "another password"),
        ("visitor@shop.example", PASSWORD),
        ("visitor@shop.example", "another password"),
        ("claim@shop.example", PASSWORD),
        ("editor@shop.example", PASSWORD),
    ] {
        let answer = shop.send_password(email, password).await;
        assert_eq!((answer.status, answer.code()), (401, "invalid_credentials"), "{email}");
        bodies.push(answer.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    let sessions = "SELECT count(*)::text FROM auth.sessions s JOIN auth.users u ON u.id = s.user_id WHERE u.email <> 'owner@shop.example'";
    assert_eq!(shop.query(sessions).await, "0", "users who are no owners get no session");
    assert_eq!(shop.query("SELECT count(*)::text FROM basalt.desk_events WHERE action = 'sign_in_failed'").await, "6");
}

#[tokio::test]
async fn listed_role_signs_in() {
    let shop = Shop::start();
    let user = json!({"email": EMAIL, "password": PASSWORD, "email_confirm": true,
                      "app_metadata": {"roles": ["editor", "owner"]}});
    shop.admin(Method::POST, "/users", user).await;
    assert_eq!(shop.get("/session", None).await.body["setup"], false);
    let first = shop.send_password(&EMAIL.to_uppercase(), PASSWORD).await;
    let secret = first.body["totp"]["secret"].as_str().expect("a secret");
    let body = json!({"ticket": first.text("ticket"), "code": code_of(secret, 0)});
    let session = shop.post("/sign-in/totp", body).await;
    assert_eq!((session.status, session.body["user"]["email"].as_str()), (200, Some(EMAIL)), "{}", session.body);
}

#[tokio::test]
async fn guesses_at_one_account_are_limited() {
    let shop = Shop::start_with("[basalt.rate_limit]\nwrong_passwords = 6");
    shop.set_up().await;
    for email in [EMAIL, "nobody@shop.example"] {
        let mut statuses = Vec::new();
        for number in 0..4 {
            let answer = shop.send_password(email, &format!("guess number {number}")).await;
            if answer.status == 429 {
                assert_eq!(answer.code(), "too_many_requests");
                assert!(answer.headers.contains_key("retry-after"));
            }
            statuses.push(answer.status);
        }
        assert_eq!(statuses, [401, 401, 429, 429], "a network has a third of the limit, for {email} too");
    }
}

#[tokio::test]
async fn passkey_signs_in_if_it_verifies_the_user() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let mut authenticator = shop.authenticator();
    let made = shop.add_passkey(&owner, &mut authenticator).await;
    let listed = shop.get("/passkeys", Some(&owner.cookie)).await;
    assert_eq!(listed.body["passkeys"][0]["name"], "Laptop");

    for (is_user_verified, status) in [(false, 401), (true, 200)] {
        authenticator.is_user_verified = is_user_verified;
        let offered = shop.post("/sign-in/passkey/options", json!({})).await;
        let credential = authenticator.get(&offered.body["options"]);
        let body = json!({"ticket": offered.text("ticket"), "credential": credential});
        let answer = shop.post("/sign-in/passkey", body.clone()).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(shop.post("/sign-in/passkey", body).await.status, 401, "a response counts once");
    }

    let deleted = shop.change(Method::DELETE, &format!("/passkeys/{}", made.text("id")), &owner, json!({})).await;
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert_eq!(shop.get("/passkeys", Some(&owner.cookie)).await.body, json!({"passkeys": []}));
}

#[tokio::test]
async fn passkey_counts_with_the_challenge_of_its_ticket_alone() {
    let shop = Shop::start_with(
        "[auth.passkey]\nenabled = true\n[auth.webauthn]\nrp_id = \"localhost\"\nrp_display_name = \"Shop\"\n\
         rp_origins = [\"http://localhost:9\"]",
    );
    let owner = shop.set_up().await;
    let mut authenticator = shop.authenticator();
    shop.add_passkey(&owner, &mut authenticator).await;
    authenticator.is_user_verified = true;
    let other_ticket = shop.post("/sign-in/passkey/options", json!({})).await;
    // A challenge of the auth API may do without verification of the user.
    let (status, of_auth_api) = shop.server.auth("/passkeys/authentication/options", Some(json!({}))).await;
    assert_eq!(status, 200, "{of_auth_api}");
    for options in [Some(&other_ticket.body["options"]), Some(&of_auth_api["options"]), None] {
        let ours = shop.post("/sign-in/passkey/options", json!({})).await;
        let credential = authenticator.get(options.unwrap_or(&ours.body["options"]));
        let body = json!({"ticket": ours.text("ticket"), "credential": credential});
        let answer = shop.post("/sign-in/passkey", body).await;
        let expected = if options.is_some() { (401, "invalid_credentials") } else { (200, "") };
        assert_eq!((answer.status, answer.code()), expected, "{}", answer.body);
    }
}

#[tokio::test]
async fn passkeys_without_their_record_are_stored_with_a_name_and_deleted() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    shop.refuse_events().await;
    let made = shop.add_passkey(&owner, &mut shop.authenticator()).await;
    let listed = shop.get("/passkeys", Some(&owner.cookie)).await;
    assert_eq!(listed.body["passkeys"][0]["name"], "Laptop", "{}", listed.body);
    let deleted = shop.change(Method::DELETE, &format!("/passkeys/{}", made.text("id")), &owner, json!({})).await;
    assert_eq!(deleted.status, 204, "{}", deleted.body);
}

#[tokio::test]
async fn refused_attempts_without_their_record_are_refused_alike() {
    let port = free_port();
    let shop = Shop::start_with(&format!("[basalt.metrics]\nport = {port}"));
    let owner = shop.set_up().await;
    let ticket = shop.send_password(EMAIL, PASSWORD).await.text("ticket");
    let passkey = shop.post("/sign-in/passkey/options", json!({})).await.text("ticket");
    shop.refuse_events().await;
    let link = "A".repeat(43);
    for (path, body, code) in [
        ("/sign-in", json!({"email": EMAIL, "password": "another password"}), "invalid_credentials"),
        ("/sign-in", json!({"email": "nobody@shop.example", "password": PASSWORD}), "invalid_credentials"),
        ("/sign-in/totp", json!({"ticket": ticket, "code": code_of(&owner.secret, 50)}), "invalid_code"),
        ("/sign-in/passkey", json!({"ticket": passkey, "credential": {}}), "invalid_credentials"),
        ("/setup", json!({"token": link, "email": EMAIL, "password": PASSWORD}), "setup_link_invalid"),
    ] {
        let answer = shop.post(path, body).await;
        assert_eq!((answer.status, answer.code()), (401, code), "{path}: {}", answer.body);
    }
    let series = "basalt_database_statements_total{statement=\"desk_events.insert\",outcome=\"23514\"}";
    assert!((value(&metrics(&shop.server.client, port).await, series) - 5.0).abs() < f64::EPSILON, "each is counted");
    eventually("each is logged", || shop.server.log().matches("is refused, and not recorded").count() == 5);
}
