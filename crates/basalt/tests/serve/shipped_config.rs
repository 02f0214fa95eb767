//! The repository's `config.toml`, unchanged.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};

use super::support::Basalt;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config.toml");
const PASSWORD: &str = "a long password";
const NUMBER: &str = "15550100";

struct Shop(Basalt);

impl Shop {
    fn start() -> Self {
        Self(Basalt::serve(&["--ephemeral", "--config", SHIPPED]))
    }

    async fn put_user(&self, token: &str, body: Value) -> (u16, Value) {
        let request = self.0.client.put(self.0.url("/auth/v1/user")).header("apikey", self.0.text("publishable_key"));
        let answer = request.bearer_auth(token).json(&body).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// Returns the latest mail to an address.
    async fn mail(&self, to: &str) -> Value {
        let path = format!("/_dev/inbox.json?to={}&wait=10", to.replace('+', "%2B"));
        let answer: Value =
            self.0.client.get(self.0.url(&path)).send().await.expect("mails").json().await.expect("JSON");
        answer["messages"][0].clone()
    }

    /// Signs a user up and confirms the address; returns an access token.
    async fn user(&self, email: &str) -> String {
        let body = json!({"email": email, "password": PASSWORD});
        let (status, answer) = self.0.auth("/signup", Some(body)).await;
        assert_eq!((status, &answer["access_token"]), (200, &Value::Null), "no session before confirmation: {answer}");
        let code = self.mail(email).await["code"].clone();
        let verify = json!({"type": "signup", "email": email, "token": code});
        let (status, session) = self.0.auth("/verify", Some(verify)).await;
        assert_eq!(status, 200, "{session}");
        session["access_token"].as_str().expect("a token").to_owned()
    }
}

#[tokio::test]
async fn phone_is_rejected_while_provider_is_disabled() {
    let shop = Shop::start();
    let (_, settings) = shop.0.auth("/settings", None).await;
    assert_eq!((&settings["external"]["phone"], &settings["phone_autoconfirm"]), (&json!(false), &json!(false)));
    let token = shop.user("ann@example.com").await;
    let (status, refused) = shop.put_user(&token, json!({"phone": NUMBER})).await;
    assert_eq!((status, &refused["error_code"]), (400, &json!("phone_provider_disabled")), "{refused}");
    let (status, user) = shop.put_user(&token, json!({"data": {"name": "Ann"}})).await;
    assert_eq!((status, &user["phone"], &user["user_metadata"]["name"]), (200, &json!(""), &json!("Ann")), "{user}");
    for path in ["/signup", "/otp"] {
        let (status, refused) = shop.0.auth(path, Some(json!({"phone": NUMBER, "password": PASSWORD}))).await;
        assert_eq!((status, &refused["error_code"]), (400, &json!("phone_provider_disabled")), "{path}: {refused}");
    }
}

#[tokio::test]
async fn an_anonymous_user_stays_anonymous_without_a_verified_contact() {
    let shop = Shop::start();
    let (status, guest) = shop.0.auth("/signup", Some(json!({}))).await;
    assert_eq!(status, 200, "{guest}");
    let token = guest["access_token"].as_str().expect("a session");
    for body in [
        json!({"phone": NUMBER, "password": PASSWORD}),
        json!({"password": PASSWORD}),
        json!({"email": "guest@example.com", "password": PASSWORD}),
    ] {
        let (_, answer) = shop.put_user(token, body.clone()).await;
        let request = shop.0.client.get(shop.0.url("/auth/v1/user")).bearer_auth(token);
        let request = request.header("apikey", shop.0.text("publishable_key"));
        let user: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        assert_eq!(
            (&user["is_anonymous"], &user["phone"], &user["email"]),
            (&json!(true), &json!(""), &json!("")),
            "{body} {answer}"
        );
    }
    for name in
        [json!({"phone": NUMBER, "password": PASSWORD}), json!({"email": "guest@example.com", "password": PASSWORD})]
    {
        assert_ne!(shop.0.auth("/token?grant_type=password", Some(name)).await.0, 200);
    }
}

#[tokio::test]
async fn signup_response_does_not_reveal_known_addresses() {
    let shop = Shop::start();
    // Created without a mail, which would delay the next one.
    let made = json!({"email": "ann@example.com", "password": PASSWORD, "email_confirm": true});
    let request = shop.0.client.post(shop.0.url("/auth/v1/admin/users")).header("apikey", shop.0.text("secret_key"));
    assert_eq!(request.json(&made).send().await.expect("an answer").status(), 200);
    let mut seen = Vec::new();
    for email in ["ann@example.com", "new@example.com"] {
        let (status, answer) = shop.0.auth("/signup", Some(json!({"email": email, "password": PASSWORD}))).await;
        let members: Vec<String> = answer.as_object().expect("an object").keys().cloned().collect();
        seen.push((status, members));
    }
    assert_eq!(seen[0].0, 200);
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn mail_links_lead_to_site_or_allowed_url() {
    let shop = Shop::start();
    shop.user("ann@example.com").await;
    let own = shop.0.text("url");
    for (n, (place, expected)) in [
        ("http://localhost:3000/welcome", "http://localhost:3000/welcome"),
        ("https://evil.example/", &own),
        ("javascript://127.0.0.1/%250aalert(1)", &own),
        ("http://ann@127.0.0.1/", &own),
    ]
    .into_iter()
    .enumerate()
    {
        let email = format!("guest{n}@example.com");
        let path = format!("/signup?redirect_to={place}");
        let (status, answer) = shop.0.auth(&path, Some(json!({"email": email, "password": PASSWORD}))).await;
        assert_eq!(status, 200, "{answer}");
        let link = shop.mail(&email).await["link"].as_str().expect("a link").to_owned();
        assert!(link.ends_with(&format!("redirect_to={expected}")), "{place}: {link}");
    }
}

#[tokio::test]
async fn concurrent_correct_passwords_all_succeed() {
    let shop = Shop::start();
    shop.user("ann@example.com").await;
    let body = json!({"email": "ann@example.com", "password": PASSWORD});
    let started = Instant::now();
    let sign_in = || async {
        loop {
            let (status, _) = shop.0.auth("/token?grant_type=password", Some(body.clone())).await;
            // A busy machine cannot hash all at once: it says so, and the request is repeated.
            if status != 503 || started.elapsed() > Duration::from_mins(1) {
                return status;
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    // More than the ten wrong passwords that a network may send; with repeats fewer than the thirty requests that it may.
    let statuses = join_all((0..14).map(|_| sign_in())).await;
    assert_eq!(statuses, vec![200; 14]);
}
