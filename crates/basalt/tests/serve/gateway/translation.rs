//! Paths, API keys and headers as the services receive them.

use super::upstream::{self, serve};

/// The headers that the services here respond with.
const HEADERS: [&str; 5] = ["apikey", "authorization", "x-api-key", "sb-api-key", "content-profile"];

/// Starts a server whose services respond with request line and [`HEADERS`].
fn serve_echo() -> (super::super::support::TempFolder, super::super::support::Basalt) {
    let url = upstream::start(|mut exchange| exchange.echo(&HEADERS));
    let lines =
        ["rest", "storage", "realtime", "functions", "meta", "studio"].map(|name| format!("{name} = \"{url}\""));
    serve(&lines.join("\n"))
}

#[tokio::test]
async fn path_and_key_are_translated_for_each_service() {
    let (_scratch, server) = serve_echo();
    let (anon, service) = (server.text("anon_key"), server.text("service_role_key"));
    let (publishable, secret) = (server.text("publishable_key"), server.text("secret_key"));
    let user = "Bearer a.user.token";
    // Rows: path; `apikey`; `Authorization`; path there; `apikey`, `authorization` and a special header there.
    let bearer = |token: &str| format!("Bearer {token}");
    let cases = [
        ("/rest/v1/todos?id=eq.1", &publishable, None, "/todos?id=eq.1", &anon, bearer(&anon), "-"),
        ("/rest/v1/todos", &secret, None, "/todos", &service, bearer(&service), "-"),
        ("/rest/v1/todos", &anon, None, "/todos", &anon, bearer(&anon), "-"),
        ("/rest/v1/todos", &publishable, Some(user), "/todos", &anon, user.to_owned(), "-"),
        ("/graphql/v1", &publishable, None, "/rpc/graphql", &anon, bearer(&anon), "content-profile: graphql_public"),
        ("/storage/v1/object/a%2Fb", &secret, Some(user), "/object/a%2Fb", &service, user.to_owned(), "-"),
        ("/realtime/v1/api/broadcast", &publishable, None, "/api/broadcast", &anon, bearer(&anon), "x-api-key"),
        ("/functions/v1/hello", &publishable, None, "/hello", &publishable, bearer(&anon), "sb-api-key"),
    ];
    for (path, apikey, authorization, target, expected_key, expected_authorization, special) in cases {
        let mut request = server.client.get(server.url(path)).header("apikey", apikey);
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        let text = request.send().await.expect("a response").text().await.expect("text");
        assert!(text.starts_with(&format!("GET {target} HTTP/1.1\n")), "{path}: {text}");
        assert!(text.contains(&format!("\napikey: {expected_key}\n")), "{path}: {text}");
        assert!(text.contains(&format!("\nauthorization: {expected_authorization}\n")), "{path}: {text}");
        let special = if special.ends_with("-api-key") { format!("{special}: {anon}") } else { special.to_owned() };
        assert!(text.contains(&special), "{path}: {text}");
    }
}

#[tokio::test]
async fn key_in_the_query_and_as_bearer_is_translated() {
    let (_scratch, server) = serve_echo();
    let (anon, publishable) = (server.text("anon_key"), server.text("publishable_key"));
    for (request, target) in [
        (server.client.get(server.url(&format!("/rest/v1/todos?a=b&apikey={publishable}"))), "/todos?a=b".to_owned()),
        (server.client.get(server.url("/rest/v1/todos")).bearer_auth(&publishable), "/todos".to_owned()),
        (
            server.client.get(server.url(&format!("/realtime/v1/x?apikey={publishable}&vsn=1"))),
            format!("/socket/x?apikey={anon}&vsn=1"),
        ),
    ] {
        let text = request.send().await.expect("a response").text().await.expect("text");
        assert!(text.starts_with(&format!("GET {target} HTTP/1.1\n")), "{text}");
        assert!(text.contains(&format!("\nauthorization: Bearer {anon}\n")), "{text}");
        assert!(!text.contains(&publishable), "{text}");
    }
}

#[tokio::test]
async fn service_learns_the_client_and_no_header_of_the_connection() {
    let names = [
        "host",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-prefix",
        "x-real-ip",
        "via",
        "traceparent",
        "x-request-id",
        "x-named",
        "x-forwarded-user",
        "x-original-url",
        "te",
        "upgrade",
        "content-length",
    ];
    let url = upstream::start(move |mut exchange| exchange.echo(&names));
    let (_scratch, server) = serve(&format!("storage = \"{url}\""));
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = server.client.get(server.url("/storage/v1/object/public/a"));
    let request = request
        .header("connection", "x-named, upgrade")
        .header("upgrade", "h2c")
        .header("te", "trailers")
        .header("x-named", "a")
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-forwarded-host", "evil.example")
        .header("x-real-ip", "203.0.113.9")
        .header("x-forwarded-user", "admin")
        .header("x-original-url", "/admin")
        .header("x-request-id", "request-1")
        .header("traceparent", trace);
    let text = request.send().await.expect("a response").text().await.expect("text");
    let host = server.text("url").trim_start_matches("http://").to_owned();
    let expected = [
        "GET /object/public/a HTTP/1.1".to_owned(),
        format!("host: {}", url.trim_start_matches("http://")),
        "x-forwarded-for: 127.0.0.1".to_owned(),
        format!("x-forwarded-host: {host}"),
        "x-forwarded-proto: http".to_owned(),
        "x-forwarded-prefix: /storage/v1".to_owned(),
        "x-real-ip: 127.0.0.1".to_owned(),
        "via: 1.1 basalt".to_owned(),
        format!("traceparent: {trace}"),
        "x-request-id: request-1".to_owned(),
        "x-named: -".to_owned(),
        "x-forwarded-user: -".to_owned(),
        "x-original-url: -".to_owned(),
        "te: -".to_owned(),
        "upgrade: -".to_owned(),
        "content-length: -".to_owned(),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

/// The cookie of the desk has the path `/` with HTTPS.
#[tokio::test]
async fn services_do_not_get_the_cookie_of_the_desk() {
    let url = upstream::start(|mut exchange| exchange.echo(&["cookie"]));
    let (_scratch, server) = serve(&format!("storage = \"{url}\""));
    let request = server.client.get(server.url("/storage/v1/object/public/a"));
    let request = request.header("cookie", "a=b; __Host-basalt_desk=token; basalt_desk=token");
    let text = request.send().await.expect("a response").text().await.expect("text");
    assert_eq!(text.lines().last(), Some("cookie: a=b"), "{text}");
}

#[tokio::test]
async fn response_is_passed_on_with_cors_and_redirects_are_not_followed() {
    let url = upstream::start(|mut exchange| {
        exchange.send(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/private\r\nContent-Length: 2\r\n\
             Content-Range: 0-1/2\r\nVary: Accept\r\nAccess-Control-Allow-Credentials: true\r\n\
             Access-Control-Allow-Origin: https://other.example\r\nKeep-Alive: timeout=1\r\nConnection: close\r\n\r\nhi",
        );
    });
    let (_scratch, server) = serve(&format!("rest = \"{url}\""));
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
    let client = client.expect("a client");
    let request = client.get(server.url("/rest/v1/todos")).header("apikey", server.text("publishable_key"));
    let response = request.header("origin", "https://app.example").send().await.expect("a response");
    assert_eq!(response.status(), 307);
    for (name, value) in [
        ("location", Some("http://127.0.0.1:1/private")),
        ("content-range", Some("0-1/2")),
        ("vary", Some("Accept")),
        ("access-control-allow-origin", Some("*")),
        ("access-control-expose-headers", Some("*")),
        ("access-control-allow-credentials", None),
        ("keep-alive", None),
    ] {
        assert_eq!(response.headers().get(name).map(|value| value.to_str().expect("text")), value, "{name}");
    }
    assert_eq!(response.text().await.expect("text"), "hi");
}
