//! Downloads while something else changes: row locks, and the key of the links.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use chrono::TimeDelta;
use http::Method;
use orders::Provider;
use orders::admin::{self, OrderFilter};
use sqlx::{ConnectOptions, Connection};

use crate::fixture::{TestShop, session};

/// Returns the path of the latest link.
async fn latest_link(shop: &TestShop) -> String {
    let links = shop.database.query("SELECT link FROM basalt.outbox ORDER BY number DESC LIMIT 1").await;
    links[0].strip_prefix("https://shop.example").expect("a link of the shop").to_owned()
}

async fn send(shop: &TestShop, method: Method, path: &str) -> u16 {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).expect("a request");
    shop.service.answer(request).await.status().as_u16()
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
