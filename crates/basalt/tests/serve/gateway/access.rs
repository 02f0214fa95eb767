//! Who may call which service.

use reqwest::Method;

use super::upstream::{self, serve};
use crate::support::{TempFolder, run};

#[tokio::test]
async fn each_service_requires_its_key() {
    let url = upstream::start(|mut exchange| exchange.echo(&[]));
    let names = ["rest", "storage", "realtime", "functions", "meta", "studio"];
    let (_scratch, server) = serve(&names.map(|name| format!("{name} = \"{url}\"")).join("\n"));
    let (publishable, secret) = (server.text("publishable_key"), server.text("secret_key"));
    // Rows: path; status without a key, with an invalid one, the publishable and the secret one.
    for (path, statuses) in [
        ("/rest/v1/todos", [401, 401, 200, 200]),
        ("/graphql/v1", [401, 401, 200, 200]),
        ("/realtime/v1/websocket", [401, 401, 200, 200]),
        ("/realtime/v1/api/tenants", [403, 403, 403, 403]),
        ("/realtime/v1/api/%74enants", [403, 403, 403, 403]),
        ("/storage/v1/object/public/a", [200, 401, 200, 200]),
        ("/functions/v1/hello", [200, 401, 200, 200]),
        ("/pg/tables", [401, 401, 403, 200]),
        ("/mcp", [403, 403, 403, 403]),
        ("/auth/v1/health", [200, 200, 200, 200]),
    ] {
        for (key, status) in [None, Some("sb_secret_guess"), Some(&*publishable), Some(&*secret)].iter().zip(statuses) {
            // A forwarded header shows that the caller is not on this machine.
            let mut request = server.client.get(server.url(path)).header("x-forwarded-for", "192.0.2.1");
            if let Some(key) = key {
                request = request.header("apikey", *key);
            }
            let response = request.send().await.expect("a response");
            assert_eq!(response.status(), status, "{path} {key:?}: {}", response.text().await.unwrap_or_default());
        }
    }
}

#[tokio::test]
async fn dashboard_needs_the_secret_key_as_password_unless_in_development() {
    let url = upstream::start(|mut exchange| exchange.echo(&["authorization"]));
    let (_scratch, server) = serve(&format!("studio = \"{url}\"\nmeta = \"{url}\""));
    let remote = || server.client.get(server.url("/project/default")).header("x-forwarded-for", "192.0.2.1");
    let refused = remote().send().await.expect("a response");
    assert_eq!(refused.status(), 401);
    assert!(refused.headers()["www-authenticate"].to_str().expect("text").starts_with("Basic realm="));
    let publishable = server.text("publishable_key");
    let wrong = remote().basic_auth("admin", Some(publishable)).send().await.expect("a response");
    assert_eq!(wrong.status(), 401);
    let secret = server.text("secret_key");
    let allowed = remote().basic_auth("admin", Some(&secret)).send().await.expect("a response");
    assert_eq!(allowed.text().await.expect("text"), "GET /project/default HTTP/1.1\nauthorization: -");
    // Browsers send the password with requests of other sites, too, and over plain HTTP name only their origin.
    let query = || {
        let request = server.client.post(server.url("/project/default")).header("x-forwarded-for", "192.0.2.1");
        request.basic_auth("admin", Some(&secret))
    };
    for (name, value) in [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        assert_eq!(query().header(name, value).send().await.expect("a response").status(), 403, "{value}");
    }
    let socket =
        remote().basic_auth("admin", Some(&secret)).header("connection", "upgrade").header("upgrade", "websocket");
    let socket = socket.header("origin", "http://evil.example").send().await.expect("a response");
    assert_eq!(socket.status(), 403);
    let own = query().header("origin", server.text("url")).send().await.expect("a response");
    assert_eq!(own.status(), 200);
    // On this machine, in development, no key is needed, but for pages of other sites.
    for (path, refusal) in [("/", 403), ("/pg/tables", 401)] {
        let local = server.client.get(server.url(path));
        assert_eq!(local.send().await.expect("a response").status(), 200, "{path}");
        let foreign = server.client.post(server.url(path)).header("sec-fetch-site", "cross-site");
        assert_eq!(foreign.send().await.expect("a response").status(), refusal, "{path}");
    }
}

#[tokio::test]
async fn preflight_is_answered_without_the_service() {
    let (_scratch, server) = serve("rest = \"http://127.0.0.1:1\"\nstorage = \"http://127.0.0.1:1\"");
    for path in ["/rest/v1/todos", "/graphql/v1", "/storage/v1/object/a/b"] {
        let request = server.client.request(Method::OPTIONS, server.url(path)).header("origin", "https://a.example");
        let request = request
            .header("access-control-request-method", "PATCH")
            .header("access-control-request-headers", "apikey,tus-resumable");
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), 204, "{path}");
        let header = |name: &str| response.headers()[name].to_str().expect("text");
        assert_eq!(header("access-control-allow-origin"), "*");
        assert_eq!(header("access-control-allow-headers"), "apikey,tus-resumable");
        assert!(header("access-control-allow-methods").contains("PATCH"));
    }
}

#[tokio::test]
async fn services_without_address_are_not_found() {
    let (_scratch, server) = serve("rest = \"http://127.0.0.1:1\"");
    let request = server.client.get(server.url("/realtime/v1/api"));
    let response = request.send().await.expect("a response");
    assert_eq!(response.status(), 404);
    let text = response.text().await.expect("text");
    assert!(text.contains("Basalt does not serve /realtime/v1") && text.contains("[basalt.upstreams]"), "{text}");
}

#[test]
fn check_warns_of_a_desk_beside_services() {
    let scratch = TempFolder::new();
    let check = |desk: &str| {
        let text = format!("[basalt.shop]\n[basalt.upstreams]\nstorage = \"http://127.0.0.1:1\"\n{desk}");
        let output = run(&["check", "--config", &scratch.write("config.toml", &text)]);
        String::from_utf8_lossy(&output.stdout).contains("give it a host of its own")
    };
    assert!(check(""));
    assert!(!check("[basalt.desk]\nurl = \"https://desk.example.com\"\n"));
    assert!(!check("[basalt.desk]\nenabled = false\n"));
}

#[test]
fn check_reports_unusable_addresses() {
    let scratch = TempFolder::new();
    let config = scratch.write(
        "config.toml",
        "[basalt.upstreams]\nrest = \"postgrest:3000\"\nrealtime = \"ws://realtime:4000\"\nmax_requests = 0\n",
    );
    let output = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for problem in [
        "line 2: basalt.upstreams.rest must be a URL, such as \"http://127.0.0.1:3000\"",
        "line 3: basalt.upstreams.realtime must begin with http:// or https://",
        "line 4: basalt.upstreams.max_requests must be a number of requests",
    ] {
        assert!(text.contains(problem), "{text}");
    }
}
