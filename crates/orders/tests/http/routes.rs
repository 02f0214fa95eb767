//! Paths, methods and limits of the routes.

use axum::body::Body;
use axum::extract::Request;
use http::{HeaderMap, Method};
use orders::Provider;

use crate::fixture::{TestShop, session};

/// What was answered: status, headers, body.
type Answer = (u16, HeaderMap, String);

async fn send(shop: &TestShop, method: &Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let (head, body) = shop.answer(request.body(Body::from(body)).expect("a request")).await.into_parts();
    let body = axum::body::to_bytes(body, 100_000).await.expect("a body");
    (head.status.as_u16(), head.headers, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn each_path_answers_its_methods_and_names_them_for_others() {
    let shop = TestShop::start().await;
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];
    let read = [("GET", 404), ("HEAD", 404)];
    let found = [("GET", 200), ("HEAD", 200)];
    let with_form = [("GET", 404), ("HEAD", 404), ("POST", 404)];
    for (path, answers, allowed) in [
        ("/orders", &[("GET", 200), ("HEAD", 200), ("POST", 400)][..], "GET, HEAD, POST"),
        ("/thank-you", &found, "GET, HEAD"),
        ("/thank-you?session_id=cs_0123456789abcdef", &found, "GET, HEAD"),
        ("/shop/page.css", &found, "GET, HEAD"),
        ("/shop/download/", &read, "GET, HEAD"),
        ("/shop/download/x", &read, "GET, HEAD"),
        ("/shop/download/x/y/", &read, "GET, HEAD"),
        ("/shop/download/%FF", &read, "GET, HEAD"),
        ("/shop/receipt/", &with_form, "GET, HEAD, POST"),
        ("/shop/receipt/x", &with_form, "GET, HEAD, POST"),
        ("/shop/receipt//", &with_form, "GET, HEAD, POST"),
        ("/shop/webhooks/stripe", &[("POST", 400)], "POST"),
        ("/shop/webhooks/stripe?x=1", &[("POST", 400)], "POST"),
        ("/shop/webhooks/paypal", &[("POST", 400)], "POST"),
        ("/shop/webhooks/lemon-squeezy", &[("POST", 400)], "POST"),
    ] {
        for method in methods {
            let sent = method.parse().expect("a method");
            let (status, headers, body) = send(&shop, &sent, path, &[], Vec::new()).await;
            let named = headers.get("allow").map(|value| value.to_str().expect("text"));
            match answers.iter().find(|(answered, _)| *answered == method) {
                Some((_, expected)) => assert_eq!((status, named), (*expected, None), "{method} {path}"),
                None => assert_eq!((status, named), (405, Some(allowed)), "{method} {path}"),
            }
            assert_eq!(body.is_empty(), method == "HEAD", "{method} {path}");
        }
    }
    for path in ["", "other", "Stripe", "%73tripe", "stripe/", "/stripe", "stripe/x", "lemon_squeezy"] {
        for method in methods {
            let (sent, path) = (method.parse().expect("a method"), format!("/shop/webhooks/{path}"));
            let (status, headers, _) = send(&shop, &sent, &path, &[], Vec::new()).await;
            assert_eq!((status, headers.get("allow")), (404, None), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn style_sheet_may_be_kept() {
    let shop = TestShop::start().await;
    let (status, headers, style) = send(&shop, &Method::GET, "/shop/page.css", &[], Vec::new()).await;
    assert_eq!((status, &headers["content-type"]), (200, &"text/css; charset=utf-8".parse().expect("a value")));
    assert_eq!(headers["cache-control"], "public, max-age=300");
    assert!(style.contains("url(\"/assets/besley-1.woff2\")"), "{style}");
    let (_, of_head, _) = send(&shop, &Method::HEAD, "/shop/page.css", &[], Vec::new()).await;
    assert_eq!(of_head, headers);
    assert_eq!(of_head["content-length"], style.len().to_string());
}

#[tokio::test]
async fn token_is_compared_as_it_is_in_the_path() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let links = shop.database.query("SELECT link FROM basalt.outbox ORDER BY number DESC LIMIT 1").await;
    let token = links[0].rsplit('/').next().expect("a token");
    let encoded = format!("%{:02X}{}", token.as_bytes()[0], &token[1..]);
    for area in ["/shop/download/", "/shop/receipt/"] {
        for method in [Method::GET, Method::HEAD] {
            for (form, expected) in [
                (token.to_owned(), 200),
                (format!("{token}?x=1"), 200),
                (encoded.clone(), 404),
                (format!("{token}/"), 404),
                (format!("/{token}"), 404),
                (format!("{token}%20"), 404),
                (format!("x/{token}"), 404),
            ] {
                let (status, ..) = send(&shop, &method, &format!("{area}{form}"), &[], Vec::new()).await;
                assert_eq!(status, expected, "{method} {area}{form}");
            }
        }
    }
    let counted = "SELECT downloads::text FROM basalt.orders";
    assert_eq!(shop.database.query(counted).await, ["2"]);
}

#[tokio::test]
async fn bodies_are_limited_after_the_other_checks() {
    const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
    const FOREIGN: (&str, &str) = ("sec-fetch-site", "cross-site");
    let shop = TestShop::start().await;
    for (path, limit, (fits, exceeds)) in [
        ("/shop/webhooks/stripe", 256 * 1024, (400, 413)),
        ("/shop/webhooks/other", 256 * 1024, (404, 404)),
        ("/shop/receipt/x", 8 * 1024, (404, 400)),
        ("/orders", 4 * 1024, (200, 400)),
    ] {
        for (size, expected) in [(limit, fits), (limit + 1, exceeds)] {
            let (status, ..) = send(&shop, &Method::POST, path, &[FORM], vec![b'a'; size]).await;
            assert_eq!(status, expected, "{path} {size}");
            let of_form = if path.starts_with("/shop/webhooks/") { expected } else { 403 };
            let (status, ..) = send(&shop, &Method::POST, path, &[FORM, FOREIGN], vec![b'a'; size]).await;
            assert_eq!(status, of_form, "{path} {size} of another site");
        }
    }
    for media_type in ["text/plain", "application/json", "application/x-www-form-urlencoded2"] {
        let headers = [("content-type", media_type)];
        assert_eq!(send(&shop, &Method::POST, "/orders", &headers, Vec::new()).await.0, 400, "{media_type}");
    }
    // What another site sends does not count, what is too large does.
    for expected in [200, 200, 200, 200, 200, 429] {
        assert_eq!(send(&shop, &Method::POST, "/orders", &[FORM, FOREIGN], Vec::new()).await.0, 403);
        assert_eq!(send(&shop, &Method::POST, "/orders", &[FORM], Vec::new()).await.0, expected);
    }
    assert_eq!(send(&shop, &Method::POST, "/orders", &[FORM], vec![b'a'; 5000]).await.0, 429);
    assert_eq!(send(&shop, &Method::GET, "/orders", &[], Vec::new()).await.0, 200);
}
