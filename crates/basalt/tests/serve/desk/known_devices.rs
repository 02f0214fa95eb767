//! Guesses of others do not lock an owner out of a browser from which the owner has signed in.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::desk_client::{Answer, EMAIL, PASSWORD, Shop, code_of, send};
use crate::support::free_port;
use crate::telemetry::metrics;

/// The owner signed in from this address first.
const HOME: &str = "203.0.113.1";

/// A shop behind a proxy, with a low limit of wrong passwords for an account.
fn start(settings: &str) -> Shop {
    Shop::start_with(&format!(
        "[basalt]\ntrusted_proxies = [\"127.0.0.0/8\"]\n[basalt.rate_limit]\nwrong_passwords = 6\n{settings}"
    ))
}

/// A step of a sign-in, from an address and with the cookie of a device.
async fn post(shop: &Shop, path: &str, address: &str, device: &str, body: Value) -> Answer {
    let request = shop.request(&reqwest::Method::POST, path).header("x-forwarded-for", address).json(&body);
    send(with_device(request, device)).await
}

fn with_device(request: RequestBuilder, device: &str) -> RequestBuilder {
    if device.is_empty() { request } else { request.header("cookie", device) }
}

/// The cookie of the device that an answer sets.
fn device_of(answer: &Answer) -> String {
    let cookies = answer.headers.get_all("set-cookie").iter().filter_map(|cookie| cookie.to_str().ok());
    let cookie = cookies.map(str::to_owned).find(|cookie| cookie.starts_with("basalt_desk_device=")).expect("a device");
    assert!(cookie.contains("; Path=/_desk; HttpOnly; SameSite=Strict; Max-Age=15552000"), "{cookie}");
    cookie.split(';').next().expect("a pair").to_owned()
}

async fn send_password(shop: &Shop, address: &str, device: &str, email: &str, password: &str) -> Answer {
    post(shop, "/sign-in", address, device, json!({"email": email, "password": password})).await
}

/// Signs in at home with the code of a step; returns the secret of the app and the cookie of the device.
async fn sign_in_at_home(shop: &Shop) -> (String, String, Vec<String>) {
    let owner = shop.set_up().await;
    let codes = shop.change(reqwest::Method::POST, "/account/recovery-codes", &owner, json!({})).await;
    let codes =
        codes.body["codes"].as_array().expect("codes").iter().map(|code| code.as_str().expect("text").to_owned());
    let ticket = send_password(shop, HOME, "", EMAIL, PASSWORD).await.text("ticket");
    let body = json!({"ticket": ticket, "code": code_of(&owner.secret, 0)});
    let signed_in = post(shop, "/sign-in/totp", HOME, "", body).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    (owner.secret, device_of(&signed_in), codes.collect())
}

#[tokio::test]
async fn device_is_forgotten_when_other_sessions_are_ended() {
    let shop = start("");
    let owner = shop.set_up().await;
    let ticket = send_password(&shop, HOME, "", EMAIL, PASSWORD).await.text("ticket");
    let body = json!({"ticket": ticket, "code": code_of(&owner.secret, 0)});
    let device = device_of(&post(&shop, "/sign-in/totp", HOME, "", body).await);
    let ended = shop.change(reqwest::Method::DELETE, "/account/sessions", &owner, json!({})).await;
    assert_eq!(ended.status, 204, "{}", ended.body);
    for guess in 0..12 {
        send_password(&shop, &format!("198.51.100.{}", guess / 3), "", EMAIL, "guess").await;
    }
    let taken = send_password(&shop, "192.0.2.7", &device, EMAIL, PASSWORD).await;
    assert_eq!((taken.status, taken.code()), (429, "too_many_requests"));
}

#[tokio::test]
async fn wrong_passwords_of_other_networks_do_not_lock_a_known_device_out() {
    let shop = start("");
    let (secret, device, _) = sign_in_at_home(&shop).await;
    shop.execute("DELETE FROM auth.sessions").await;
    for network in 1..=4 {
        for guess in 0..3 {
            let address = format!("198.51.100.{network}");
            send_password(&shop, &address, "", EMAIL, &format!("guess {guess}")).await;
        }
    }
    let made_up = format!("basalt_desk_device={}", "A".repeat(43));
    for (case, device) in [("without a cookie", ""), ("with a cookie of its own making", made_up.as_str())] {
        let elsewhere = send_password(&shop, "192.0.2.7", device, EMAIL, PASSWORD).await;
        assert_eq!((elsewhere.status, elsewhere.code()), (429, "too_many_requests"), "{case}");
    }
    // On another network, as a telephone is.
    let first = send_password(&shop, "192.0.2.7", &device, EMAIL, PASSWORD).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let body = json!({"ticket": first.text("ticket"), "code": code_of(&secret, 1)});
    let signed_in = post(&shop, "/sign-in/totp", "192.0.2.7", &device, body).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    assert_eq!(device_of(&signed_in), device, "the device keeps its name");

    let mut statuses = Vec::new();
    for guess in 0..4 {
        statuses.push(send_password(&shop, "192.0.2.7", &device, EMAIL, &format!("guess {guess}")).await.status);
    }
    assert_eq!(statuses, [401, 401, 429, 429], "the device has a share of its own");
}

#[tokio::test]
async fn wrong_codes_of_a_client_with_the_password_do_not_lock_a_known_device_out() {
    let shop = start("");
    let (secret, device, recovery_codes) = sign_in_at_home(&shop).await;
    let wrong = code_of(&secret, 50);
    let mut statuses = Vec::new();
    for sign_in in 0..5 {
        let address = format!("198.51.100.{sign_in}");
        let ticket = send_password(&shop, &address, "", EMAIL, PASSWORD).await.text("ticket");
        for attempt in 0..5 {
            let (path, code) =
                if attempt == 0 { ("recovery", "aaaa-aaaa-aaaa-aaaa") } else { ("totp", wrong.as_str()) };
            let body = json!({"ticket": ticket, "code": code});
            statuses.push(post(&shop, &format!("/sign-in/{path}"), &address, "", body).await.status);
        }
    }
    assert_eq!((statuses[..20].iter().all(|status| *status == 401), statuses[20]), (true, 429), "{statuses:?}");
    let elsewhere = send_password(&shop, "192.0.2.7", "", EMAIL, PASSWORD).await.text("ticket");
    let body = json!({"ticket": elsewhere, "code": code_of(&secret, 1)});
    assert_eq!(post(&shop, "/sign-in/totp", "192.0.2.7", "", body).await.status, 429, "an unknown browser waits");

    let ticket = send_password(&shop, "192.0.2.7", &device, EMAIL, PASSWORD).await.text("ticket");
    let body = json!({"ticket": ticket, "code": code_of(&secret, 1)});
    assert_eq!(post(&shop, "/sign-in/totp", "192.0.2.7", &device, body).await.status, 200);
    let ticket = send_password(&shop, "192.0.2.7", &device, EMAIL, PASSWORD).await.text("ticket");
    let body = json!({"ticket": ticket, "code": recovery_codes[0]});
    let recovered = post(&shop, "/sign-in/recovery", "192.0.2.7", &device, body).await;
    assert_eq!((recovered.status, recovered.body["next"].as_str()), (200, Some("enroll")), "{}", recovered.body);
}

#[tokio::test]
async fn known_device_has_a_limit_of_wrong_codes() {
    let shop = start("");
    let (secret, device, _) = sign_in_at_home(&shop).await;
    let wrong = code_of(&secret, 50);
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let ticket = send_password(&shop, HOME, &device, EMAIL, PASSWORD).await.text("ticket");
        for _ in 0..5 {
            let body = json!({"ticket": ticket, "code": wrong});
            statuses.push(post(&shop, "/sign-in/totp", HOME, &device, body).await.status);
        }
    }
    assert!(statuses[20..].iter().all(|status| *status == 429), "{statuses:?}");
    let ticket = send_password(&shop, HOME, "", EMAIL, PASSWORD).await.text("ticket");
    let body = json!({"ticket": ticket, "code": wrong});
    assert_eq!(post(&shop, "/sign-in/totp", HOME, "", body).await.status, 429, "nor does a known address allow more");
}

#[tokio::test]
async fn known_device_tells_nothing_about_other_addresses() {
    let port = free_port();
    let shop = start(&format!("[basalt.metrics]\nport = {port}"));
    let (_, device, _) = sign_in_at_home(&shop).await;
    let user = json!({"email": "visitor@shop.example", "password": PASSWORD, "email_confirm": true});
    shop.admin(reqwest::Method::POST, "/users", user).await;
    let mut works = Vec::new();
    for (number, email) in [EMAIL, "nobody@shop.example", "visitor@shop.example"].into_iter().enumerate() {
        for device in ["", device.as_str()] {
            let address = format!("192.0.2.{number}");
            let before = list_statements(&metrics(&shop.server.client, port).await);
            let answer = send_password(&shop, &address, device, email, "another password").await;
            assert_eq!((answer.status, answer.code()), (401, "invalid_credentials"), "{email}");
            let after = list_statements(&metrics(&shop.server.client, port).await);
            works.push((device.is_empty(), difference(&before, &after)));
        }
    }
    for is_without in [true, false] {
        let of_case: Vec<_> =
            works.iter().filter(|(without, _)| *without == is_without).map(|(_, work)| work).collect();
        assert!(!of_case[0].is_empty() && of_case.iter().all(|work| *work == of_case[0]), "{works:#?}");
    }
}

/// The number of runs of each statement of a sign-in.
fn list_statements(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("basalt_database_statements_total{statement=\""));
    let counts = lines.filter_map(|line| {
        let (name, rest) = line.split_once('"')?;
        Some((name.to_owned(), rest.rsplit_once(' ')?.1.parse().ok()?))
    });
    // What background tasks run is not of the sign-in.
    let is_of_sign_in =
        |name: &str| name.starts_with("users.") || name.starts_with("desk_") || name.starts_with("sessions.");
    counts.filter(|(name, _)| is_of_sign_in(name)).collect()
}

fn difference(before: &[(String, f64)], after: &[(String, f64)]) -> Vec<(String, f64)> {
    let count = |name: &str| before.iter().find(|(known, _)| known == name).map_or(0.0, |(_, count)| *count);
    let mut changed: Vec<(String, f64)> = after.iter().map(|(name, now)| (name.clone(), now - count(name))).collect();
    changed.retain(|(_, more)| *more > 0.5);
    changed
}
