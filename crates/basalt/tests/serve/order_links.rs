//! Download links and numbers of orders, on the binary.

use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::orders::{PRODUCTS, Shop};
use super::support::{TempFolder, eventually};

const BUYER: &str = "ada@example.com";

#[tokio::test]
async fn orders_are_found_by_number_among_many() {
    let shop = Shop::start_with(PRODUCTS, "");
    shop.pay("stripe", "once", BUYER).await;
    let mut database =
        PgConnection::connect(&shop.server.text("database_url")).await.expect("the server has a database");
    let insert = "INSERT INTO basalt.orders (id, provider, provider_reference, template, template_title, buyer_email, amount_minor,
                                             currency, state, is_test, locale, paid_at, downloads_left, download_expires_at)
                  SELECT gen_random_uuid(), 'stripe', 'pi_' || n, 1, 'Sold 1', 'ann1@example.com', 2800, 'USD', 'paid', true, 'en',
                         now(), 5, now() + interval '1 day'
                  FROM generate_series(1, 250) n";
    sqlx::query(insert).execute(&mut database).await.expect("orders");
    let (is_found, text) = shop.command(&["show", "1"]);
    assert!(is_found && text.contains(BUYER), "{text}");
    let (is_found, text) = shop.command(&["resend", "2"]);
    assert!(is_found, "{text}");
    for missing in ["252", "0", "-1", "9223372036854775807"] {
        let (is_found, text) = shop.command(&["show", "--", missing]);
        assert!(!is_found && text.contains(&format!("there is no order {missing}")), "{text}");
    }
}

#[tokio::test]
async fn mistyped_address_is_changed_on_the_command_line() {
    let shop = Shop::start_with(PRODUCTS, "");
    shop.pay("stripe", "once", BUYER).await;
    let former = shop.link(BUYER).await;
    let (is_done, text) = shop.command(&["resend", "1", "--email", "no address"]);
    assert!(!is_done && text.contains("must be an email address"), "{text}");
    let (is_done, text) = shop.command(&["resend", "1", "--email", "Grace@Example.com"]);
    assert!(is_done && text.contains("The address is changed"), "{text}");
    assert_eq!(shop.orders()[0]["buyer_email"], "grace@example.com");
    let link = shop.link("grace@example.com").await;
    assert_eq!(shop.get(&former).await.status(), 410);
    assert_eq!(shop.get(&link).await.status(), 200);
    assert_eq!(shop.mails(BUYER).await.len(), 1);
}

#[tokio::test]
async fn prefetch_uses_up_no_download() {
    let shop = Shop::start_with(PRODUCTS, "max_downloads = 1\n");
    shop.pay("stripe", "once", BUYER).await;
    let link = shop.link(BUYER).await;
    for (name, value) in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-purpose", "preview"),
        ("x-moz", "prefetch"),
    ] {
        let answer = shop.server.client.get(&link).header(name, value).send().await.expect("an answer");
        let caching = answer.headers()["cache-control"].to_str().expect("text");
        assert_eq!((answer.status().as_u16(), caching), (503, "no-store"), "{name}: {value}");
    }
    let order = &shop.orders()[0];
    assert_eq!((&order["state"], &order["downloads"]), (&json!("paid"), &json!(0)));
    assert_eq!(shop.get(&link).await.status(), 200);
}

#[tokio::test]
async fn replaced_product_file_is_not_sent() {
    let products = TempFolder::new();
    for entry in std::fs::read_dir(PRODUCTS).expect("a folder").flatten() {
        std::fs::copy(entry.path(), products.0.join(entry.file_name())).expect("a copy");
    }
    let shop = Shop::start_with(&products.path(""), "");
    shop.pay("stripe", "once", BUYER).await;
    let link = shop.link(BUYER).await;
    let whole = std::fs::read(format!("{PRODUCTS}/01.zip")).expect("a file");
    products.write("01.zip", &format!("{}{}", String::from_utf8_lossy(&whole), "more"));
    assert_eq!(shop.get(&link).await.status(), 503);
    let order = &shop.orders()[0];
    assert_eq!((&order["state"], &order["downloads"]), (&json!("paid"), &json!(0)));
    eventually("the reason is logged", || shop.server.log().contains("restart the server"));
    std::fs::write(products.0.join("01.zip"), whole).expect("the file of before");
    assert_eq!(shop.get(&link).await.status(), 200);
}

#[tokio::test]
async fn log_has_no_download_token() {
    let shop = Shop::start_with(PRODUCTS, "[basalt]\nlog_level = \"debug\"\n");
    shop.pay("stripe", "once", BUYER).await;
    let link = shop.link(BUYER).await;
    assert_eq!(shop.get(&link).await.status(), 200);
    eventually("the download is logged", || shop.server.log().contains("/shop/download/"));
    assert_eq!(shop.get(&link.replace("/download/", "/receipt/")).await.status(), 200);
    eventually("the receipt is logged", || shop.server.log().contains("/shop/receipt/"));
    let token = link.rsplit('/').next().expect("a token");
    assert!(token.len() > 60 && !shop.server.log().contains(token), "{}", shop.server.log());
}
