//! Who reaches the desk: cookie, origin, token against forged requests, headers.

use std::path::Path;

use reqwest::Method;
use serde_json::json;

use super::desk_client::{EMAIL, PASSWORD, Shop, code_of, send};
use crate::support::{Basalt, TempFolder, free_port};

#[tokio::test]
async fn api_needs_the_cookie() {
    let shop = Shop::start();
    shop.set_up().await;
    for path in ["/session", "/passkeys", "/orders", "/submissions", "/figures", "/nothing", ""] {
        let answer = shop.get(path, None).await;
        assert_eq!((answer.status, answer.code()), (401, "desk_session_missing"), "{path}");
    }
    for cookie in ["basalt_desk=", "basalt_desk=x", &format!("basalt_desk={}", "A".repeat(43))] {
        assert_eq!(shop.get("/session", Some(cookie)).await.status, 401, "{cookie}");
    }
    let request = shop.request(&Method::GET, "/session").header("apikey", shop.server.text("secret_key"));
    assert_eq!(send(request.bearer_auth(shop.server.text("service_role_key"))).await.status, 401);
}

#[tokio::test]
async fn token_with_the_role_owner_does_not_help() {
    let shop = Shop::start();
    let user = json!({"email": EMAIL, "password": PASSWORD, "email_confirm": true, "role": "owner"});
    shop.admin(Method::POST, "/users", user).await;
    let (_, session) =
        shop.server.auth("/token?grant_type=password", Some(json!({"email": EMAIL, "password": PASSWORD}))).await;
    let token = session["access_token"].as_str().expect("a token");
    for request in [
        shop.request(&Method::GET, "/session").bearer_auth(token),
        shop.request(&Method::GET, "/session").header("cookie", format!("basalt_desk={token}")),
    ] {
        assert_eq!(send(request).await.status, 401);
    }
    assert_eq!(shop.send_password(EMAIL, PASSWORD).await.code(), "invalid_credentials");
    assert_eq!(shop.get("/session", None).await.body["setup"], true, "the claim makes nobody an owner");
}

#[tokio::test]
async fn changes_need_the_token_of_the_session() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let second = shop.sign_in(&owner.secret, 0).await;
    let delete = || shop.request(&Method::DELETE, "/session").header("cookie", &owner.cookie);
    for request in [
        delete(),
        delete().header("x-desk-csrf", ""),
        delete().header("x-desk-csrf", second.text("csrf_token")),
        delete().header("x-desk-csrf", owner.cookie.split_once('=').expect("a pair").1),
    ] {
        let answer = send(request).await;
        assert_eq!((answer.status, answer.code()), (403, "desk_csrf"), "{}", answer.body);
    }
    assert_eq!(send(delete().header("x-desk-csrf", &owner.csrf_token)).await.status, 204);
}

#[tokio::test]
async fn foreign_origins_are_refused() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let url = shop.server.url("/_desk/api/session");
    let delete = || {
        let request = shop.server.client.delete(&url).header("cookie", &owner.cookie);
        request.header("x-desk-csrf", &owner.csrf_token)
    };
    let own = shop.server.text("url");
    for request in [
        delete(),
        delete().header("origin", "https://evil.example"),
        delete().header("origin", "null"),
        delete().header("origin", format!("{own}0")),
        delete().header("origin", &own).header("sec-fetch-site", "cross-site"),
        delete().header("origin", &own).header("sec-fetch-site", "same-site"),
    ] {
        let answer = send(request).await;
        assert_eq!((answer.status, answer.code()), (403, "desk_csrf"), "{}", answer.body);
    }
    let sign_in =
        shop.server.client.post(shop.server.url("/_desk/api/sign-in")).header("origin", "https://evil.example");
    assert_eq!(send(sign_in.json(&json!({"email": EMAIL, "password": PASSWORD}))).await.code(), "desk_csrf");
    let preflight = shop.server.client.request(Method::OPTIONS, &url).header("origin", "https://evil.example");
    let preflight = send(preflight.header("access-control-request-method", "DELETE")).await;
    assert!(!preflight.headers.contains_key("access-control-allow-origin"));
    assert_eq!(send(delete().header("origin", &own).header("sec-fetch-site", "same-origin")).await.status, 204);
}

#[tokio::test]
async fn cookies_of_neighbouring_pages_do_not_lock_the_owner_out() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    for cookies in [
        format!("x=ü; {}", owner.cookie),
        format!("{}; x=\u{e9}", owner.cookie),
        format!("basalt_desk=junk; {}", owner.cookie),
        format!("basalt_desk=; basalt_desk; basalt_desk=ü; {}", owner.cookie),
    ] {
        let bytes = reqwest::header::HeaderValue::from_bytes(cookies.as_bytes()).expect("a value");
        let answer = send(shop.request(&Method::GET, "/session").header("cookie", bytes)).await;
        assert_eq!(answer.status, 200, "{cookies}");
    }
}

#[tokio::test]
async fn documents_of_other_areas_are_refused() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let own = shop.server.text("url");
    let get = || shop.request(&Method::GET, "/session").header("cookie", &owner.cookie);
    for request in [
        get().header("referer", format!("{own}/storage/v1/object/public/files/a.svg")),
        get().header("referer", format!("{own}/")),
        get().header("sec-fetch-dest", "document"),
        get().header("sec-fetch-dest", "iframe"),
        get().header("sec-fetch-site", "same-site"),
        get().header("sec-fetch-site", "cross-site"),
        get().header("referer", format!("{own}/functions/v1/page")).header("sec-fetch-site", "same-origin"),
    ] {
        let answer = send(request).await;
        assert_eq!((answer.status, answer.code()), (403, "desk_csrf"), "{}", answer.body);
    }
    let own_page = get().header("sec-fetch-site", "same-origin").header("sec-fetch-dest", "empty");
    assert_eq!(send(own_page.header("referer", format!("{own}/_desk/orders"))).await.status, 200);
    assert_eq!(send(get()).await.status, 200);
}

#[tokio::test]
async fn name_that_others_point_at_this_machine_is_another_site() {
    let shop = Shop::start();
    shop.set_up().await;
    let port = url::Url::parse(&shop.server.text("url")).ok().and_then(|url| url.port()).expect("a port");
    let code = async |host: &str| {
        let host = format!("{host}:{port}");
        let request = shop.server.client.post(shop.server.url("/_desk/api/sign-in")).header("host", &host);
        let request = request.header("origin", format!("http://{host}")).header("sec-fetch-site", "same-origin");
        send(request.json(&json!({"email": EMAIL, "password": "wrong"}))).await.code().to_owned()
    };
    for host in ["rebind.example", "127.0.0.1.rebind.example"] {
        assert_eq!(code(host).await, "desk_csrf", "{host}");
    }
    for host in ["localhost", "127.0.0.1", "192.0.2.7"] {
        assert_eq!(code(host).await, "invalid_credentials", "{host}");
    }
}

#[tokio::test]
async fn desk_with_a_host_of_its_own_is_nowhere_else() {
    let port = free_port().to_string();
    let folder = TempFolder::new();
    let settings = format!(
        "[basalt.shop]\nowner = \"owner@shop.example\"\n[basalt.desk]\nurl = \"http://desk.localhost:{port}\"\n"
    );
    let config = folder.write("config.toml", &settings);
    let server = Basalt::serve(&["--config", &config, "--ephemeral", "--port", &port]);
    let host = format!("desk.localhost:{port}");
    let link = server.text("desk_setup_url");
    let token = link.strip_prefix(&format!("http://{host}/_desk/#setup=")).expect("the address of the desk").to_owned();
    let get = |path: &str, host: Option<&str>| {
        let request = server.client.get(server.url(path));
        let request = host.into_iter().fold(request, |request, host| request.header("host", host));
        async { request.send().await.expect("an answer").status().as_u16() }
    };
    assert_eq!(get("/_desk/", Some(&host)).await, 200);
    for path in ["/auth/v1/health", "/_dev/inbox", "/submit", "/storage/v1/object/public/a"] {
        assert_eq!(get(path, Some(&host)).await, 404, "{path}");
    }
    for path in ["/_desk/", "/_desk/api/session"] {
        assert_eq!(get(path, None).await, 404, "{path}");
    }
    assert_eq!(get("/auth/v1/health", None).await, 200);
    let setup = |origin: String| {
        let request = server.client.post(server.url("/_desk/api/setup")).header("host", &host).header("origin", origin);
        send(request.json(&json!({"token": token, "email": EMAIL, "password": PASSWORD})))
    };
    assert_eq!(setup(server.text("url")).await.code(), "desk_csrf");
    assert_eq!(setup(format!("http://{host}")).await.status, 200);
}

#[tokio::test]
async fn cookie_is_for_the_desk_alone() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let plain = shop.sign_in(&owner.secret, 0).await;
    let cookie = plain.headers["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.starts_with("basalt_desk="), "{cookie}");
    assert!(cookie.ends_with("; Path=/_desk; HttpOnly; SameSite=Strict"), "{cookie}");

    let folder = TempFolder::new();
    let settings = "[api]\nexternal_url = \"https://shop.example\"\n[basalt.shop]\nowner = \"owner@shop.example\"\n\
                    [basalt.shop.payment]\nallow_placeholder_links = true\n";
    let config = folder.write("config.toml", settings);
    let listening = free_port().to_string();
    let server = Basalt::serve(&["--config", &config, "--ephemeral", "--port", &listening]);
    let link = server.text("desk_setup_url");
    let token = link.strip_prefix("https://shop.example/_desk/#setup=").expect("the address of the site").to_owned();
    // The URLs of the announcement are those of the proxy in front of the server.
    let address = format!("http://127.0.0.1:{listening}");
    let post = |path: &str, body| {
        let request = server.client.post(format!("{address}/_desk/api{path}")).header("origin", "https://shop.example");
        send(request.json(&body))
    };
    let made = post("/setup", json!({"token": token, "email": EMAIL, "password": PASSWORD})).await;
    let secret = made.body["totp"]["secret"].as_str().expect("a secret");
    let session = post("/setup/totp", json!({"ticket": made.text("ticket"), "code": code_of(secret, 0)})).await;
    let cookie = session.headers["set-cookie"].to_str().expect("text");
    assert!(cookie.starts_with("__Host-basalt_desk="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; Secure; SameSite=Strict"), "{cookie}");
    let get = |cookie: String| send(server.client.get(format!("{address}/_desk/api/session")).header("cookie", cookie));
    assert_eq!(get(session.cookie()).await.status, 200);
    assert_eq!(get(session.cookie().replace("__Host-", "")).await.status, 401, "a cookie of plain HTTP");
}

#[tokio::test]
async fn responses_have_strict_headers() {
    let shop = Shop::start();
    for path in ["/_desk", "/_desk/", "/_desk/orders", "/_desk/nothing.js", "/_desk/api/session"] {
        let answer = shop.server.client.get(shop.server.url(path)).send().await.expect("an answer");
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let policy = header("content-security-policy");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        let is_api = path.contains("/api/");
        let is_script = Path::new(path).extension().is_some_and(|ending| ending == "js");
        assert_eq!(header("cache-control") == "no-store", is_api || is_script, "{path}");
        assert_eq!(
            answer.status(),
            if is_api {
                401
            } else if is_script {
                404
            } else {
                200
            },
            "{path}"
        );
    }
}

#[tokio::test]
async fn desk_can_be_disabled_and_needs_a_shop() {
    let shop = Shop::start_with("[basalt.desk]\nenabled = false");
    assert!(shop.server.announcement.get("desk_setup_url").is_none());
    let page = shop.server.client.get(shop.server.url("/_desk/api/session")).send().await.expect("an answer");
    assert_eq!(
        (page.status().as_u16(), page.headers()["content-type"].to_str().ok()),
        (404, Some("text/html; charset=utf-8"))
    );
    let server = Basalt::serve(&["--ephemeral"]);
    assert!(server.announcement.get("desk_setup_url").is_none());
    assert_eq!(server.client.get(server.url("/_desk/")).send().await.expect("an answer").status(), 404);
}

#[tokio::test]
async fn malformed_requests_get_clear_errors() {
    let shop = Shop::start();
    let large = json!({"email": "x".repeat(300_000), "password": "x"});
    for (request, status) in [
        (shop.request(&Method::POST, "/sign-in").body("{"), 400),
        (shop.request(&Method::POST, "/sign-in").header("content-type", "application/json").body("{"), 400),
        (shop.request(&Method::POST, "/sign-in").json(&json!([])), 400),
        (shop.request(&Method::POST, "/sign-in").json(&json!({"email": 1})), 400),
        (shop.request(&Method::POST, "/sign-in").json(&json!({"email": "a\u{0}@b.c", "password": "x"})), 400),
        (shop.request(&Method::POST, "/sign-in").json(&large), 413),
        (shop.request(&Method::POST, "/sign-in/passkey").json(&json!({"ticket": "x", "credential": {}})), 401),
    ] {
        let answer = send(request).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.body["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", answer.body);
    }
}
