//! Orders at the desk: lists, details, new links, refunds.

use reqwest::Method;
use serde_json::{Value, json};

use super::desk_client::{EMAIL, Shop};

async fn insert_orders(shop: &Shop) {
    shop.execute(
        "INSERT INTO basalt.orders (id, provider, provider_reference, template, template_title, buyer_email, amount_minor,
                                    currency, state, is_test, locale, paid_at, refunded_at, downloads_left, download_expires_at)
         SELECT o.id::uuid, 'stripe', o.reference, o.template, 'Sold ' || o.template, o.email, 2800, 'USD', o.state, true, 'en',
                o.paid_at, o.refunded_at, 5, '2026-02-01T00:00:00Z'
         FROM (VALUES ('00000000-0000-4000-8000-000000000001', 'pi_1', 3, 'ann@example.com', 'paid',
                       '2026-01-02T00:00:00Z'::timestamptz, NULL::timestamptz),
                      ('00000000-0000-4000-8000-000000000002', 'pi_2', 5, 'bob@example.com', 'refunded',
                       '2026-01-03T23:59:59.999Z', '2026-01-04T00:00:00Z'))
              AS o (id, reference, template, email, state, paid_at, refunded_at)",
    )
    .await;
}

const PAID: &str = "/orders/00000000-0000-4000-8000-000000000001";
const REFUNDED: &str = "/orders/00000000-0000-4000-8000-000000000002";

#[tokio::test]
async fn orders_are_listed_and_shown() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    insert_orders(&shop).await;
    let list = shop.get("/orders?limit=1", Some(&owner.cookie)).await;
    assert_eq!(list.status, 200, "{}", list.body);
    assert_eq!(list.body["orders"][0]["buyer_email"], "bob@example.com");
    assert_eq!((&list.body["counts"]["paid"], &list.body["counts"]["refunded"]), (&json!(1), &json!(1)));
    let next = shop.get(&format!("/orders?limit=1&before={}", list.text("next")), Some(&owner.cookie)).await;
    assert_eq!((&next.body["orders"][0]["buyer_email"], &next.body["next"]), (&json!("ann@example.com"), &json!(null)));
    for query in ["search=ann@", "state=paid", "template=3"] {
        let found = shop.get(&format!("/orders?{query}"), Some(&owner.cookie)).await;
        let orders = found.body["orders"].as_array().expect("orders");
        assert_eq!((orders.len(), &orders[0]["state"]), (1, &json!("paid")), "{query}");
    }
    let order = shop.get(PAID, Some(&owner.cookie)).await;
    assert_eq!((order.status, order.body["provider_reference"].as_str()), (200, Some("pi_1")), "{}", order.body);
    for query in [
        "state=lost",
        "limit=0",
        "limit=201",
        "template=x",
        "before=-1",
        "search=%00",
        "from=2026-02-30",
        "to=1.2.2026",
        "from=2026-01-03&to=2026-01-02",
    ] {
        let answer = shop.get(&format!("/orders?{query}"), Some(&owner.cookie)).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{query}");
    }
    for path in ["/orders/x", "/orders/00000000-0000-4000-8000-000000000009"] {
        assert_eq!(shop.get(path, Some(&owner.cookie)).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn days_limit_the_list_and_its_export() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    insert_orders(&shop).await;
    for (query, expected) in [
        ("from=2026-01-02&to=2026-01-03", 2),
        ("from=2026-01-02&to=2026-01-02", 1),
        ("from=2026-01-03", 1),
        ("to=2026-01-02", 1),
        ("from=2026-01-04", 0),
        ("to=2026-01-01", 0),
        ("from=2026-01-03&search=ann", 0),
        ("to=9999-12-31", 2),
    ] {
        let list = shop.get(&format!("/orders?{query}"), Some(&owner.cookie)).await;
        let counts = list.body["counts"].as_object().expect("numbers").values().filter_map(serde_json::Value::as_u64);
        let listed = list.body["orders"].as_array().expect("orders").len();
        assert_eq!((list.status, listed, counts.sum()), (200, expected, expected as u64), "{query}: {}", list.body);
        let request = shop.request(&Method::GET, &format!("/orders/export?{query}")).header("cookie", &owner.cookie);
        let csv = request.send().await.expect("an answer").text().await.expect("a file");
        assert_eq!(csv.lines().count(), expected + 1, "{query}: {csv}");
    }
    let wrong = shop.get("/orders?from=2026-13-01", Some(&owner.cookie)).await;
    assert_eq!(wrong.text("message"), "from must be a day, such as 2026-01-31.");
    let wrong = shop.get("/orders/export?from=2026-01-03&to=2026-01-02", Some(&owner.cookie)).await;
    assert_eq!((wrong.status, wrong.text("message").as_str()), (400, "from must not be after to."));
}

#[tokio::test]
async fn link_is_sent_again_and_changes_are_recorded() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    insert_orders(&shop).await;
    let sent = shop.change(Method::POST, &format!("{PAID}/resend"), &owner, json!({})).await;
    assert_eq!(sent.status, 202, "{}", sent.body);
    let generation = "SELECT download_generation::text FROM basalt.orders WHERE state = 'paid'";
    assert_eq!(shop.query(generation).await, "2", "older links end");
    let order = shop.get(PAID, Some(&owner.cookie)).await;
    assert_eq!(order.body["messages"][0]["to"], "ann@example.com", "{}", order.body);
    for (path, status, code) in [
        (format!("{REFUNDED}/resend"), 409, "already_refunded"),
        (format!("{REFUNDED}/refund"), 409, "already_refunded"),
        ("/orders/x/refund".to_owned(), 404, "not_found"),
        (format!("{PAID}/other"), 404, "not_found"),
    ] {
        let answer = shop.change(Method::POST, &path, &owner, json!({})).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{path}: {}", answer.body);
    }
    let recorded = "SELECT string_agg(action || ' ' || subject, ', ' ORDER BY id) FROM basalt.desk_events WHERE action LIKE 'order.%'";
    let id = PAID.trim_start_matches("/orders/");
    let refunded = REFUNDED.trim_start_matches("/orders/");
    assert_eq!(shop.query(recorded).await, format!("order.resend {id}, order.refund_failed {refunded}"));
    let request = shop.request(&Method::POST, &format!("{PAID}/resend")).header("cookie", &owner.cookie);
    assert_eq!(super::desk_client::send(request).await.code(), "desk_csrf");
}

#[tokio::test]
async fn mistyped_address_is_changed_and_recorded_without_addresses() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    insert_orders(&shop).await;
    let resend = async |path: &str, body: Value| {
        let answer = shop.change(Method::POST, &format!("{path}/resend"), &owner, body).await;
        (answer.status, answer.code().to_owned())
    };
    let long = format!("{}@example.com", "a".repeat(300));
    for email in [json!(""), json!("no address"), json!("cid@example.com, dan@example.com"), json!(long), json!(7)] {
        let refused = resend(PAID, json!({"email": email})).await;
        assert_eq!(refused, (400, "invalid_request".to_owned()), "{email}");
    }
    for (path, previous, status, code) in [
        (PAID, "other@example.com", 409, "conflict"),
        (REFUNDED, "bob@example.com", 409, "already_refunded"),
        ("/orders/00000000-0000-4000-8000-000000000009", "ann@example.com", 404, "not_found"),
    ] {
        let refused = resend(path, json!({"email": "cid@example.com", "previous_email": previous})).await;
        assert_eq!(refused, (status, code.to_owned()), "{path}");
    }
    let stored =
        "SELECT string_agg(buyer_email || ' ' || download_generation, ', ' ORDER BY number) FROM basalt.orders";
    assert_eq!(shop.query(stored).await, "ann@example.com 1, bob@example.com 1");

    let body = json!({"email": " Cid@Example.com ", "previous_email": "ann@example.com"});
    assert_eq!(resend(PAID, body.clone()).await.0, 202);
    assert_eq!(resend(PAID, body).await, (409, "conflict".to_owned()), "another owner has read the former address");
    assert_eq!(resend(PAID, json!({"email": null, "previous_email": "cid@example.com"})).await.0, 202);
    assert_eq!(resend(PAID, json!({"email": "cid@example.com"})).await.0, 202);
    assert_eq!(shop.query(stored).await, "cid@example.com 4, bob@example.com 1");
    let order = shop.get(PAID, Some(&owner.cookie)).await;
    assert_eq!(order.body["buyer_email"], "cid@example.com");
    assert_eq!(order.body["messages"][0]["to"], "cid@example.com", "{}", order.body);
    let recorded = "SELECT string_agg(action || ' ' || subject || ' ' || u.email, ', ' ORDER BY e.id)
                    FROM basalt.desk_events e
                    JOIN auth.users u ON u.id = e.user_id
                    WHERE action LIKE 'order.%'";
    let id = PAID.trim_start_matches("/orders/");
    let expected = ["change_address", "resend", "resend"].map(|action| format!("order.{action} {id} {EMAIL}"));
    assert_eq!(shop.query(recorded).await, expected.join(", "));
}

#[tokio::test]
async fn changes_without_their_record_are_answered_as_done() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    insert_orders(&shop).await;
    shop.refuse_events().await;
    let sent = shop.change(Method::POST, &format!("{PAID}/resend"), &owner, json!({})).await;
    assert_eq!(sent.status, 202, "{}", sent.body);
    let refused = shop.change(Method::POST, &format!("{REFUNDED}/refund"), &owner, json!({})).await;
    assert_eq!((refused.status, refused.code()), (409, "already_refunded"), "{}", refused.body);
}
