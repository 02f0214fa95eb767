//! Downloads while something else changes: row locks, and the key of the links.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use chrono::TimeDelta;
use http::Method;
use orders::Provider;
use orders::admin::{self, OrderFilter};
use sqlx::{ConnectOptions, Connection};

use crate::fixture::{TestShop, capture, refund, session};

/// Returns the path of the latest link.
async fn latest_link(shop: &TestShop) -> String {
    let links = shop.database.query("SELECT link FROM basalt.outbox ORDER BY number DESC LIMIT 1").await;
    links[0].strip_prefix("https://shop.example").expect("a link of the shop").to_owned()
}

async fn send(shop: &TestShop, method: Method, path: &str) -> u16 {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).expect("a request");
    shop.answer(request).await.status().as_u16()
}

#[tokio::test]
async fn request_of_the_head_waits_for_no_lock() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let link = latest_link(&shop).await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    let mut holder = connection.begin().await.expect("a transaction");
    sqlx::query("SELECT id FROM basalt.orders FOR UPDATE").execute(&mut *holder).await.expect("a lock");
    let answered = tokio::time::timeout(Duration::from_secs(5), send(&shop, Method::HEAD, &link)).await;
    assert_eq!(answered.expect("it does not wait"), 200);
    holder.rollback().await.expect("a rollback");
    assert_eq!(send(&shop, Method::GET, &link).await, 200);
    let counted = "SELECT state || ' ' || downloads || ' ' || downloads_left FROM basalt.orders";
    assert_eq!(shop.database.query(counted).await, ["delivered 1 9"]);
}

#[tokio::test]
async fn deleting_the_key_ends_all_links_of_a_running_server() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    shop.deliver(Provider::Stripe, &session("evt_2", "pi_2", 2800, "plink_1")).await.expect("an order");
    let old = latest_link(&shop).await;
    assert_eq!(send(&shop, Method::GET, &old).await, 200);
    shop.database.query("DELETE FROM basalt.download_keys RETURNING id::text").await;
    // The command line is another process on the same database.
    let command_line = shop.with_settings(|_| {});
    let list = admin::list(&shop.service, &OrderFilter::default()).await.expect("a list");
    admin::resend_download(&command_line.service, list.orders[1].id).await.expect("a link");
    let new = latest_link(&shop).await;
    shop.clock.advance(TimeDelta::seconds(61));
    assert_eq!(send(&shop, Method::GET, &new).await, 200, "the new key is used");
    assert_eq!(send(&shop, Method::GET, &old).await, 404, "the link has another key");
}

/// Sends the form of the page of lost links.
async fn ask_again(shop: &TestShop, form: &str) -> (u16, String) {
    let request = Request::builder().method(Method::POST).uri("/orders");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let response = shop.answer(request.body(Body::from(form.to_owned())).expect("a request")).await;
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 100_000).await.expect("a page");
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

#[tokio::test]
async fn form_of_lost_links_is_refused_from_other_sites() {
    let shop = TestShop::start().await;
    for (headers, status) in [
        (vec![("sec-fetch-site", "cross-site")], 403),
        (vec![("host", "shop.example"), ("origin", "https://evil.example")], 403),
        (vec![("host", "shop.example"), ("origin", "https://shop.example")], 200),
        (vec![("sec-fetch-site", "same-origin")], 200),
    ] {
        let request = Request::builder().method(Method::POST).uri("/orders");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = shop.answer(request.body(Body::from("email=ann%40example.com")).expect("a request")).await;
        assert_eq!(answer.status(), status, "{headers:?}");
    }
}

#[tokio::test]
async fn receipt_names_whom_the_buyer_enters_and_stores_nothing() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let receipt = latest_link(&shop).await.replace("/shop/download/", "/shop/receipt/");
    let enter = async |path: &str, site: &str| {
        let request = Request::builder().method(Method::POST).uri(path).header("sec-fetch-site", site);
        let form = "addressee=+Mill+%26+Co+%0D%0A%3Cb%3E1+Mill+Lane%0D%0A%0D%0AVAT+GB123";
        let response = shop.answer(request.body(Body::from(form)).expect("a request")).await;
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 100_000).await.expect("a page");
        (status, String::from_utf8(body.to_vec()).expect("text"))
    };
    let (status, page) = enter(&receipt, "same-origin").await;
    assert_eq!(status, 200);
    let lines = "Mill &amp; Co\n&lt;b&gt;1 Mill Lane\nVAT GB123";
    for part in [format!("<dt>Billed to</dt><dd>{lines}</dd>"), format!(">{lines}</textarea>")] {
        assert!(page.contains(&part) && !page.contains("ada@example.com"), "{part}: {page}");
    }
    assert_eq!(enter(&receipt, "cross-site").await.0, 403);
    assert_eq!(enter("/shop/receipt/abc", "same-origin").await.0, 404);
    let request = Request::builder().uri(&receipt).body(Body::empty()).expect("a request");
    let again = axum::body::to_bytes(shop.answer(request).await.into_body(), 100_000).await.expect("a page");
    assert!(!String::from_utf8_lossy(&again).contains("Mill"), "nothing is stored");
}

#[tokio::test]
async fn receipt_is_shown_also_after_the_end_of_the_link() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let link = latest_link(&shop).await;
    let receipt = link.replace("/shop/download/", "/shop/receipt/");
    let open = async |path: &str, language: &str| {
        let request = Request::builder().uri(path).header("accept-language", language).body(Body::empty());
        let response = shop.answer(request.expect("a request")).await;
        let status = response.status().as_u16();
        assert_eq!(response.headers()["referrer-policy"], "no-referrer");
        assert_eq!(response.headers()["cache-control"], "no-store");
        let body = axum::body::to_bytes(response.into_body(), 100_000).await.expect("a page");
        (status, String::from_utf8(body.to_vec()).expect("text"))
    };
    let (status, page) = open(&receipt, "en").await;
    assert_eq!(status, 200);
    for line in ["<h1>Receipt</h1>", "<dd>$28.00</dd>", "<dd>Stripe</dd>", "Ctrl + P"] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(!page.contains("refunded") && !page.contains("<p></p>"), "{page}");
    let (_, german) = open(&receipt, "de").await;
    assert!(german.contains("<h1>Beleg</h1>") && german.contains("<dd>28,00\u{a0}$</dd>"), "{german}");
    shop.clock.advance(TimeDelta::days(400));
    assert_eq!(send(&shop, Method::GET, &link).await, 410);
    assert_eq!(open(&receipt, "en").await, (200, page), "the receipt stays as it was");
    shop.deliver(Provider::Stripe, &refund("evt_1b", "pi_1", 1000)).await.expect("a part of a refund");
    let (_, page) = open(&receipt, "en").await;
    for line in ["<dt>Refunded</dt><dd>$10.00</dd>", "<dt>Remains paid</dt><dd>$18.00</dd>"] {
        assert!(page.contains(line) && !page.contains("The amount was refunded."), "{line}: {page}");
    }
    shop.deliver(Provider::Stripe, &refund("evt_2", "pi_1", 2800)).await.expect("a refund");
    let (status, page) = open(&receipt, "en").await;
    assert!(status == 200 && page.contains("The amount was refunded."), "{page}");
    assert!(page.contains("<dt>Remains paid</dt><dd>$0.00</dd>"), "{page}");
    let downloads = "SELECT downloads::text FROM basalt.orders";
    assert_eq!(shop.database.query(downloads).await, ["0"], "a receipt is no download");
    for unknown in ["/shop/receipt/", "/shop/receipt/abc", &format!("{receipt}x")] {
        assert_eq!(open(unknown, "en").await.0, 404, "{unknown}");
    }
    shop.database.query("ALTER TABLE basalt.orders RENAME TO orders_of_another_place").await;
    let (status, page) = open(&receipt, "en").await;
    assert!(status == 503 && page.contains("The receipt cannot be shown at the moment."), "{page}");
}

/// Waits for the number of mails, which are written after the answer.
async fn wait_for_mails(shop: &TestShop, expected: usize) {
    for _ in 0..200 {
        if shop.mails().await.len() == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(shop.mails().await.len(), expected);
}

#[tokio::test]
async fn links_are_sent_again_to_their_buyer_alone() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    shop.deliver(Provider::Stripe, &session("evt_2", "pi_2", 2800, "plink_1")).await.expect("an order");
    let (known, unknown) =
        (ask_again(&shop, "email=Ada%40example.com").await, ask_again(&shop, "email=nobody%40example.com").await);
    assert_eq!(known, unknown, "the answer is the same");
    assert_eq!(known.0, 200);
    shop.clock.advance(TimeDelta::minutes(11));
    // Requests at the same time are one: each would find that no mail is recent.
    let asked = (0..4).map(|_| ask_again(&shop, "email=Ada%40example.com"));
    assert!(futures::future::join_all(asked).await.iter().all(|answer| *answer == known));
    wait_for_mails(&shop, 4).await;
    shop.deliver(Provider::Stripe, &session("evt_3", "pi_3", 2800, "plink_1")).await.expect("an order");
    assert_eq!(shop.mails().await.len(), 5);
    assert!(shop.mails().await.iter().all(|mail| mail == "order_delivery ada@example.com"));
    for form in ["", "email=", "email=no+address", "token=forged"] {
        assert_eq!(ask_again(&shop, form).await, known, "{form}");
    }
    for _ in 0..10 {
        ask_again(&shop, "email=").await;
    }
    assert_eq!(ask_again(&shop, "email=ada%40example.com").await.0, 429);
}

#[tokio::test]
async fn link_is_mailed_as_often_as_its_mail_says() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let ask = async || ask_again(&shop, "email=ada%40example.com").await;
    // The mail of the purchase is one of four, and a receipt of a refund is none.
    shop.deliver(Provider::Stripe, &refund("evt_2", "pi_1", 1000)).await.expect("a part of a refund");
    for mails in [3, 4, 5, 5, 5] {
        shop.clock.advance(TimeDelta::minutes(11));
        let (status, page) = ask().await;
        assert!(status == 200 && page.contains("every ten minutes at most, and four for an order within 24 hours"));
        wait_for_mails(&shop, mails).await;
        ask().await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    wait_for_mails(&shop, 5).await;
    shop.clock.advance(TimeDelta::hours(24));
    ask().await;
    wait_for_mails(&shop, 6).await;
    let texts = shop.database.query("SELECT text FROM basalt.outbox WHERE purpose = 'order_delivery'").await;
    for text in &texts {
        let rule = "höchstens alle zehn Minuten und vier E-Mails in 24 Stunden, diese mitgezählt";
        assert!(text.contains(rule), "{text}");
    }
    assert_eq!(texts.len(), 5);
}

#[tokio::test]
async fn ended_link_is_renewed_unless_the_order_is_refunded() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let old = latest_link(&shop).await;
    shop.clock.advance(TimeDelta::days(60));
    assert_eq!(send(&shop, Method::GET, &old).await, 410);
    let token = old.rsplit('/').next().expect("a token");
    assert_eq!(ask_again(&shop, &format!("token={token}")).await.0, 200);
    wait_for_mails(&shop, 2).await;
    let new = latest_link(&shop).await;
    assert_ne!(new, old);
    assert_eq!(send(&shop, Method::GET, &new).await, 200);
    shop.deliver(Provider::Stripe, &refund("evt_2", "pi_1", 2800)).await.expect("a refund");
    assert_eq!(shop.mails().await.last().map(String::as_str), Some("order_refund ada@example.com"));
    shop.clock.advance(TimeDelta::days(1));
    ask_again(&shop, &format!("token={token}")).await;
    ask_again(&shop, "email=ada%40example.com").await;
    // What is asked for later is sent: the requests about the refunded order have been answered by then.
    shop.deliver(Provider::Stripe, &session("evt_3", "pi_3", 2800, "plink_1")).await.expect("an order");
    shop.clock.advance(TimeDelta::minutes(11));
    ask_again(&shop, "email=ada%40example.com").await;
    wait_for_mails(&shop, 5).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(shop.mails().await.len(), 5);
}

/// Opens the page after a payment; returns the header `Refresh` and the page.
async fn thank_you(shop: &TestShop, query: &str) -> (String, String) {
    let request = Request::builder().uri(format!("/thank-you{query}")).header("accept-language", "en");
    let response = shop.answer(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(response.status().as_u16(), 200);
    assert_eq!(response.headers()["cache-control"], "no-store");
    let refresh = response.headers().get("refresh").map(|value| value.to_str().expect("text").to_owned());
    let body = axum::body::to_bytes(response.into_body(), 100_000).await.expect("a page");
    (refresh.unwrap_or_default(), String::from_utf8(body.to_vec()).expect("text"))
}

#[tokio::test]
async fn page_after_a_payment_shows_the_order_of_its_checkout() {
    let shop = TestShop::start().await;
    let checkout = "?session_id=cs_pi_0123456789abcdef";
    let (refresh, page) = thank_you(&shop, checkout).await;
    assert_eq!(refresh, "3; url=/thank-you?session_id=cs_pi_0123456789abcdef&attempt=1", "the event is awaited");
    assert!(!page.contains("/shop/download/"));
    assert_eq!(thank_you(&shop, &format!("{checkout}&attempt=10")).await.0, "", "it does not wait for ever");
    for query in ["", "?session_id=short", "?session_id=cs_%22%3E%3Cscript%3E0123456789", "?session_id="] {
        let (refresh, page) = thank_you(&shop, query).await;
        assert!(refresh.is_empty() && !page.contains("<script"), "{query}");
    }
    let paid = session("evt_1", "pi_0123456789abcdef", 2800, "plink_1");
    shop.deliver(Provider::Stripe, &paid).await.expect("an order");
    let (refresh, page) = thank_you(&shop, checkout).await;
    assert_eq!(refresh, "");
    for part in ["Professional Newsletter", "#1", "$28.00", "Download the template"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("ada@example.com"), "the address of the buyer is not shown");
    let start = page.find("/shop/download/").expect("a link");
    let link: String = page[start..].chars().take_while(|character| *character != '"').collect();
    assert_eq!(link, latest_link(&shop).await);
    assert_eq!(send(&shop, Method::GET, &link).await, 200);
    shop.clock.advance(TimeDelta::hours(25));
    assert!(!thank_you(&shop, checkout).await.1.contains("/shop/download/"), "an address in a history ends");
    shop.clock.advance(TimeDelta::hours(-24));
    shop.deliver(Provider::Stripe, &refund("evt_2", "pi_0123456789abcdef", 2800)).await.expect("a refund");
    assert!(!thank_you(&shop, checkout).await.1.contains("/shop/download/"));
}

#[tokio::test]
async fn page_after_a_payment_at_paypal_waits_for_the_signed_event() {
    let shop = TestShop::start().await;
    // PayPal appends the capture, or the order and its payer; neither is signed.
    let queries =
        ["?tx=0AB12345CD678901E&st=Completed&amt=28.00&cc=USD", "?token=5O190127TN364715T&PayerID=QYR5Z8XDVJNXQ"];
    for (query, id) in queries.iter().zip(["tx=0AB12345CD678901E", "token=5O190127TN364715T"]) {
        let (refresh, page) = thank_you(&shop, query).await;
        assert_eq!(refresh, format!("3; url=/thank-you?{id}&attempt=1"));
        assert!(
            page.contains("We are waiting for PayPal to confirm your payment.") && page.contains("href=\"/orders\"")
        );
        assert!(!page.contains("/shop/download/"), "{page}");
    }
    for query in ["?PayerID=QYR5Z8XDVJNXQ", "?tx=&st=Pending", "?tx=short", "?token=%3Cscript%3E0123456789abc"] {
        let (refresh, page) = thank_you(&shop, query).await;
        assert!(
            refresh.is_empty() && page.contains("We are waiting for PayPal") && !page.contains("<script"),
            "{query}"
        );
    }
    let mut paid = capture(Some("5O190127TN364715T"));
    paid["resource"]["id"] = "0AB12345CD678901E".into();
    paid["resource"]["payer"] = serde_json::json!({"email_address": "ada@example.com"});
    shop.deliver(Provider::PayPal, &paid).await.expect("an order");
    for query in queries {
        let (refresh, page) = thank_you(&shop, query).await;
        assert!(refresh.is_empty() && page.contains("/shop/download/") && page.contains("<dd>PayPal "), "{page}");
        assert!(!page.contains("ada@example.com"), "the address of the buyer is not shown");
    }
    // Only PayPal sends buyers back with the reference of the payment.
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_0123456789abcdef", 2800, "plink_1")).await.expect("an order");
    assert!(!thank_you(&shop, "?tx=pi_0123456789abcdef").await.1.contains("/shop/download/"));
    shop.clock.advance(TimeDelta::hours(25));
    for query in queries {
        assert!(!thank_you(&shop, query).await.1.contains("/shop/download/"), "an address in a history ends");
    }
}

#[tokio::test]
async fn page_of_lost_links_is_found_and_tells_who_asks_too_often_in_the_language_of_the_page() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "cs_0123456789abcdef", 2800, "plink_1")).await.expect("an order");
    let open = async |method: Method, path: &str, body: &'static str| {
        let request = Request::builder().method(method).uri(path).header("accept-language", "de");
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(Body::from(body));
        let answer = shop.answer(request.expect("a request")).await;
        let (head, body) = answer.into_parts();
        let body = axum::body::to_bytes(body, 64 * 1024).await.expect("a body");
        (head, String::from_utf8(body.to_vec()).expect("text"))
    };
    for path in ["/thank-you", "/thank-you?session_id=cs_cs_0123456789abcdef"] {
        let (head, page) = open(Method::GET, path, "").await;
        assert_eq!(head.status, 200);
        assert!(page.contains("href=\"/orders\">Noch einmal anfordern</a>"), "{path}: {page}");
        assert_eq!(page.contains("Vorlage herunterladen"), path.contains("session_id"), "{path}: {page}");
        assert!(page.contains("<a class=\"quiet\" href=\"/terms\">AGB</a>"), "{path}: {page}");
        assert!(page.contains("href=\"/refunds\">Erstattungen</a>") && !page.contains("/privacy"), "{path}: {page}");
    }
    let html = shop.database.query("SELECT html FROM basalt.outbox").await.concat();
    assert!(html.contains("<a href=\"https://shop.example/orders\""), "{html}");
    let (head, page) = open(Method::GET, "/orders", "").await;
    assert!(
        !head.headers.contains_key("x-robots-tag") && page.contains("<meta name=\"description\" content=\"Geben Sie"),
        "{page}"
    );
    for _ in 0..10 {
        let (head, _) = open(Method::POST, "/orders", "email=bob%40example.com").await;
        assert_eq!((head.status.as_u16(), &head.headers["x-robots-tag"]), (200, &"noindex".parse().expect("a value")));
    }
    let (head, page) = open(Method::POST, "/orders", "email=bob%40example.com").await;
    assert_eq!((head.status.as_u16(), head.headers["content-language"].to_str().ok()), (429, Some("de")));
    assert_eq!(head.headers["retry-after"], "600");
    assert!(page.contains("<h1>Bitte in zehn Minuten noch einmal versuchen</h1>"), "{page}");
}
