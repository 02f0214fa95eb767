//! Purchases with the payment simulator and with signed events, on the binary.

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::support::{Basalt, TempFolder, free_port, run};

pub(crate) const PRODUCTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../orders/tests/products");

pub(crate) struct Shop {
    pub server: Basalt,
    folder: TempFolder,
}

impl Shop {
    /// Starts a shop whose folder of products has a file for templates 1 to 8.
    fn start(payment: &str) -> Self {
        Self::start_with(PRODUCTS, payment)
    }

    /// Starts a shop with this folder of products.
    pub(crate) fn start_with(products: &str, payment: &str) -> Self {
        // The command line finds an ephemeral server by the configured port.
        let (folder, port) = (TempFolder::new(), free_port());
        let config = format!(
            "[api]\nport = {port}\n[basalt.shop]\nowner = \"owner@example.com\"\nname = \"Paper & Post\"\n\
             [basalt.shop.payment]\nproducts = \"{products}\"\n{payment}"
        );
        let config = folder.write("config.toml", &config);
        let arguments = ["--ephemeral", "--config", &config, "--port", &port.to_string()];
        let server = Basalt::serve(&arguments);
        Self { server, folder }
    }

    /// Pays at the simulator; returns status and text of its answer, without following redirects.
    pub(crate) async fn pay(&self, provider: &str, delivery: &str, email: &str) -> (u16, String) {
        let form =
            [("template", "1"), ("provider", provider), ("delivery", delivery), ("email", email), ("locale", "de")];
        self.post("/_dev/payment/pay", &form).await
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, String) {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("a client");
        let answer = client.post(self.server.url(path)).form(form).send().await.expect("an answer");
        let status = answer.status().as_u16();
        let location = answer.headers().get("location").map(|value| value.to_str().expect("a text").to_owned());
        (status, location.unwrap_or(answer.text().await.expect("a body")))
    }

    /// Returns the mails to an address.
    pub(crate) async fn mails(&self, to: &str) -> Vec<Value> {
        let path = format!("/_dev/inbox.json?to={to}&wait=5");
        let answer = self.server.client.get(self.server.url(&path)).send().await.expect("mails");
        let answer: Value = answer.json().await.expect("JSON");
        answer["messages"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the download link of the latest mail to an address.
    pub(crate) async fn link(&self, to: &str) -> String {
        self.mails(to).await[0]["link"].as_str().expect("a link").to_owned()
    }

    pub(crate) async fn get(&self, url: &str) -> reqwest::Response {
        self.server.client.get(url).send().await.expect("an answer")
    }

    /// Returns the orders as the command line lists them.
    pub(crate) fn orders(&self) -> Vec<Value> {
        let url = self.server.text("database_url");
        let output =
            run(&["orders", "--config", &self.folder.path("config.toml"), "--database-url", &url, "list", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub(crate) fn command(&self, action: &[&str]) -> (bool, String) {
        let (url, config) = (self.server.text("database_url"), self.folder.path("config.toml"));
        let output = run(&[&["orders", "--config", &config, "--database-url", &url], action].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}

#[tokio::test]
async fn purchase_of_each_provider_leads_to_mail_and_download() {
    let shop = Shop::start("");
    for provider in ["stripe", "paypal", "lemon_squeezy"] {
        let buyer = format!("{provider}@example.com");
        let (status, target) = shop.pay(provider, "once", &buyer).await;
        assert_eq!((status, target.split('?').next()), (303, Some("/thank-you")), "{provider}");
        let mail = shop.mails(&buyer).await;
        assert_eq!(mail.len(), 1, "{provider}");
        let language = if provider == "stripe" { "Ihre Vorlage" } else { "Your template" };
        assert_eq!(mail[0]["subject"], format!("{language}: Professional Newsletter"));
        let link = shop.link(&buyer).await;
        let head = shop.server.client.head(&link).send().await.expect("an answer");
        assert_eq!((head.status().as_u16(), head.headers()["content-length"].to_str().ok()), (200, Some("22")));
        let answer = shop.get(&link).await;
        let header = |name: &str| answer.headers()[name].to_str().expect("a text").to_owned();
        assert_eq!(answer.status(), 200, "{provider}");
        assert_eq!(header("content-type"), "application/zip");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("content-disposition"), "attachment; filename=\"01.zip\"");
        assert_eq!(&answer.bytes().await.expect("a file")[..4], b"PK\x05\x06");
    }
    let orders = shop.orders();
    let states: Vec<_> = orders
        .iter()
        .map(|order| (order["provider"].clone(), order["state"].clone(), order["downloads"].clone()))
        .collect();
    assert_eq!(
        states,
        ["lemon_squeezy", "paypal", "stripe"].map(|provider| (json!(provider), json!("delivered"), json!(1))),
        "a request of the head is no download"
    );
    assert!(orders.iter().all(|order| order["is_test"] == true && order["amount_minor"] == 2800));
}

#[tokio::test]
async fn repeated_stale_and_forged_events_are_refused_or_change_nothing() {
    let shop = Shop::start("");
    for provider in ["stripe", "paypal", "lemon_squeezy"] {
        let buyer = format!("{provider}@example.com");
        let (_, page) = shop.pay(provider, "repeated", &buyer).await;
        assert!(page.contains("200 ordered, then 200 repeated"), "{provider}: {page}");
        let (_, page) = shop.pay(provider, "forged", &buyer).await;
        assert!(page.contains("401 forged"), "{provider}: {page}");
        // Events of Lemon Squeezy have no time.
        if provider != "lemon_squeezy" {
            let (_, page) = shop.pay(provider, "stale", &buyer).await;
            assert!(page.contains("401 stale"), "{provider}: {page}");
        }
        assert_eq!(shop.mails(&buyer).await.len(), 1, "{provider}");
    }
    assert_eq!(shop.orders().len(), 3);
}

#[tokio::test]
async fn refund_ends_the_link() {
    let shop = Shop::start("");
    for provider in ["stripe", "paypal", "lemon_squeezy"] {
        let buyer = format!("{provider}@example.com");
        shop.pay(provider, "once", &buyer).await;
        let link = shop.link(&buyer).await;
        let order = shop.orders()[0]["id"].as_str().expect("an id").to_owned();
        let (_, page) = shop.post("/_dev/payment/refund", &[("order", &order), ("delivery", "repeated")]).await;
        assert!(page.contains("200 refunded, then 200 repeated"), "{provider}: {page}");
        let answer = shop.get(&link).await;
        assert_eq!(
            (answer.status().as_u16(), answer.headers()[CONTENT_TYPE].to_str().ok()),
            (410, Some("text/html; charset=utf-8"))
        );
        assert!(answer.text().await.expect("a page").contains("This order was refunded"));
    }
    assert!(shop.orders().iter().all(|order| order["state"] == "refunded"));
}

#[tokio::test]
async fn links_are_limited_renewed_and_unguessable() {
    let shop = Shop::start("max_downloads = 2\n");
    assert_eq!(shop.command(&["list"]), (true, "No orders.\n".to_owned()));
    shop.pay("stripe", "once", "ada@example.com").await;
    let link = shop.link("ada@example.com").await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(shop.get(&link).await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 410]);
    assert_eq!(
        shop.command(&["resend", "1"]),
        (true, "A mail with a new link is queued; older links have ended.\n".to_owned())
    );
    let renewed = shop.link("ada@example.com").await;
    assert_ne!(renewed, link);
    assert_eq!((shop.get(&link).await.status().as_u16(), shop.get(&renewed).await.status().as_u16()), (410, 200));
    let end = renewed.len() - 10;
    for other in ["x".to_owned(), format!("{}AAAAAAAAAA", &renewed[..end])] {
        let url = if other == "x" { shop.server.url("/shop/download/x") } else { other };
        assert_eq!(shop.get(&url).await.status(), 404, "{url}");
    }
}

#[tokio::test]
async fn orders_are_refunded_and_exported_by_the_command_line() {
    let shop = Shop::start("");
    for provider in ["stripe", "paypal", "lemon_squeezy"] {
        shop.pay(provider, "once", "ada@example.com").await;
    }
    for number in ["1", "2", "3"] {
        let (is_done, text) = shop.command(&["refund", number]);
        assert!(is_done && text.contains("Refunded 28.00 USD to ada@example.com"), "{text}");
    }
    let (is_done, text) = shop.command(&["refund", "1"]);
    assert!(!is_done && text.contains("the order is refunded already"), "{text}");
    let (_, shown) = shop.command(&["show", "1"]);
    let (_, line) = shop.command(&["show", "1", "--json"]);
    assert_eq!(line.trim_end().lines().count(), 1, "{line}");
    let (of_line, of_text): (Value, Value) =
        (serde_json::from_str(&line).expect("JSON"), serde_json::from_str(&shown).expect("JSON"));
    assert_eq!(of_line, of_text);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((&shown["state"], &shown["events"][1]["kind"]), (&json!("refunded"), &json!("refund")));
    let (_, csv) = shop.command(&["export", "-", "--state", "refunded"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].starts_with("number,id,paid_at")
            && lines[3].contains(",Professional Newsletter,ada@example.com,28.00,USD,stripe,")
    );
    assert!(csv.contains(",downloads,tax,discount,quantity,unit_price\r\n") && csv.ends_with("\r\n"), "{csv}");
    let folder = shop.folder.path("folder.csv");
    std::fs::create_dir(&folder).expect("a folder");
    let unrelated = shop.folder.write("folder.part", "notes");
    let (is_done, text) = shop.command(&["export", &folder, "--force"]);
    assert!(!is_done, "a folder is not replaced: {text}");
    assert_eq!(std::fs::read_to_string(unrelated).expect("a text"), "notes");
    assert!(!std::path::Path::new(&shop.folder.path("folder.csv.part")).exists(), "no addresses are left");
}

#[tokio::test]
async fn pages_of_payments_are_those_of_the_shop() {
    let shop = Shop::start("");
    let template = shop.get(&shop.server.url("/template/1")).await.text().await.expect("a page");
    assert!(template.contains("/_dev/payment?template=1") && !template.contains("payments.example/placeholder"));
    let answer = shop.get(&shop.server.url("/thank-you")).await;
    assert_eq!(answer.headers()["x-robots-tag"], "noindex");
    let page = answer.text().await.expect("a page");
    assert!(page.contains("<h1>Thank you</h1>") && page.contains("Paper &amp; Post"), "{page}");
    let german = shop.server.client.get(shop.server.url("/thank-you")).header("accept-language", "de-AT");
    assert!(german.send().await.expect("an answer").text().await.expect("a page").contains("Vielen Dank"));
    let answer =
        shop.server.client.post(shop.server.url("/shop/webhooks/stripe")).body("{}").send().await.expect("an answer");
    assert_eq!(answer.status(), 400, "no signature");
    let answer =
        shop.server.client.post(shop.server.url("/shop/webhooks/other")).body("{}").send().await.expect("an answer");
    assert_eq!(answer.status(), 404);
    let large = "x".repeat(300_000);
    let answer =
        shop.server.client.post(shop.server.url("/shop/webhooks/paypal")).body(large).send().await.expect("an answer");
    assert_eq!(answer.status(), 413);
    let answer = shop.get(&shop.server.url("/_dev/payment")).await;
    assert_eq!(answer.headers()["referrer-policy"], "same-origin", "forms carry the origin of the page");
    let form = [("template", "1"), ("provider", "stripe"), ("delivery", "forged"), ("email", "ada@example.com")];
    for (origin, expected) in [(shop.server.text("url"), 200), ("https://other.example".to_owned(), 403)] {
        let request =
            shop.server.client.post(shop.server.url("/_dev/payment/pay")).header("origin", origin).form(&form);
        assert_eq!(request.send().await.expect("an answer").status(), expected);
    }
}

#[test]
fn public_shop_is_not_started_with_what_it_cannot_sell() {
    const PUBLIC: &str =
        "[api]\nexternal_url = \"https://shop.example.com\"\n[auth]\nsite_url = \"https://shop.example.com\"\n";
    const STRIPE: &str = "[basalt.shop.payment.stripe]\nwebhook_secret = \"whsec_of_these_tests\"\n";
    const SMTP: &str = "[auth.email.smtp]\nhost = \"127.0.0.1\"\nport = 9\nuser = \"\"\npass = \"\"\nadmin_email = \"a@example.com\"\nsender_name = \"a\"\n";
    let folder = TempFolder::new();
    let refused = |config: &str, catalogue: &str| {
        let config = folder.write("config.toml", config);
        folder.write("catalogue.toml", catalogue);
        let served = run(&["serve", "--port", "0", "--ephemeral", "--config", &config]);
        assert!(!served.status.success());
        let checked = run(&["check", "--config", &config]);
        assert!(!checked.status.success());
        let (served, checked) = (
            String::from_utf8_lossy(&served.stderr).into_owned(),
            String::from_utf8_lossy(&checked.stderr).into_owned(),
        );
        served + &checked
    };
    let text = refused(&format!("{PUBLIC}[basalt.shop]\n"), "");
    assert!(
        text.matches("lead nowhere").count() == 2 && text.contains("Professional Newsletter, Product Promotion"),
        "{text}"
    );
    let links: Vec<String> =
        (1..=8).map(|id| format!("[[template]]\nid = {id}\nlink = \"https://buy.stripe.com/{id}\"\n")).collect();
    let links = links.concat();
    let text = refused(&format!("{PUBLIC}[basalt.shop]\n{STRIPE}"), &links);
    assert!(text.contains("[basalt.shop.payment] needs a mail server"), "{text}");
    let empty = folder.path("");
    folder.write("products.json", "{\"products\": []}");
    // With a desk, the files can be in the database, which a check does not ask.
    let without_desk = "[basalt.desk]\nenabled = false\n";
    let sells = format!("{PUBLIC}{SMTP}{without_desk}[basalt.shop.payment]\nproducts = \"{empty}\"\n{STRIPE}");
    let text = refused(&sells, &links);
    assert_eq!(text.matches("has no file for these templates").count(), 2, "{text}");
    assert!(text.contains("has no file for these templates") && text.contains("Holiday Greetings (8)"), "{text}");
}

#[tokio::test]
async fn simulator_shows_all_orders_by_pages_and_sells_several_copies() {
    let shop = Shop::start("");
    for provider in ["stripe", "paypal", "lemon_squeezy"] {
        let buyer = format!("{provider}@example.com");
        let form =
            [("template", "1"), ("provider", provider), ("delivery", "once"), ("email", &buyer), ("quantity", "3")];
        let (status, target) = shop.post("/_dev/payment/pay", &form).await;
        assert_eq!(status, 303, "{provider}: {target}");
        let mail = shop.mails(&buyer).await.swap_remove(0);
        let text = mail["text"].as_str().expect("a text");
        let line = if provider == "paypal" { "Quantity: 3\n" } else { "Quantity: 3 × $28.00\n" };
        assert!(text.contains(line) && text.contains("Total paid: $84.00"), "{provider}: {text}");
        let page = shop.get(&shop.server.url(&target)).await.text().await.expect("a page");
        let line = if provider == "paypal" { "<dd>3</dd>" } else { "<dd>3 × $28.00</dd>" };
        assert!(page.contains(&format!("<dt>Quantity</dt>{line}")), "{provider}: {page}");
    }
    for copies in ["0", "100", "x"] {
        let form = [
            ("template", "1"),
            ("provider", "stripe"),
            ("delivery", "once"),
            ("email", "a@example.com"),
            ("quantity", copies),
        ];
        assert_eq!(shop.post("/_dev/payment/pay", &form).await.0, 400, "{copies}");
    }
    for _ in 0..19 {
        assert_eq!(shop.pay("stripe", "once", "ada@example.com").await.0, 303);
    }
    let page = async |path: &str| shop.get(&shop.server.url(path)).await.text().await.expect("a page");
    let first = page("/_dev/payment").await;
    assert_eq!(first.matches("<li>").count(), 20);
    assert!(first.contains("No. 22:") && !first.contains("No. 2:") && !first.contains("Latest orders"), "{first}");
    let next = first.split("<a href=\"").find(|rest| rest.contains(">Older orders")).expect("a link");
    let older = page(next.split('#').next().expect("a path")).await;
    assert!(older.contains("No. 2:") && older.contains("No. 1:") && !older.contains("No. 3:"), "{older}");
    assert!(older.contains("Latest orders") && !older.contains("Older orders"), "{older}");
    let id = shop.orders().pop().expect("the first order")["id"].as_str().expect("an id").to_owned();
    let form = [("order", id.as_str()), ("delivery", "once"), ("before", "3")];
    let (_, refunded) = shop.post("/_dev/payment/refund", &form).await;
    assert!(refunded.contains("No. 1:") && refunded.contains("refunded"), "the page stays: {refunded}");
}

/// Sends purchases from a process of this user that closes each connection at once.
#[cfg(target_os = "linux")]
fn pay_and_close(shop: &Shop, user: u32, count: usize) {
    use std::os::unix::process::CommandExt;
    let url = shop.server.text("url");
    let (host, port) = url.trim_start_matches("http://").split_once(':').expect("a port");
    let form = "template=1&provider=stripe&delivery=once&email=eve%40example.com&locale=en";
    let head = format!(
        "POST /_dev/payment/pay HTTP/1.1\\r\\nhost: {host}:{port}\\r\\ncontent-type: application/x-www-form-urlencoded\\r\\n\
         content-length: {}\\r\\n\\r\\n{}",
        form.len(),
        form.replace('%', "%%")
    );
    let script = format!(
        "for n in $(seq {count}); do exec 3<>/dev/tcp/{host}/{port}; printf '{head}' >&3; exec 3<&- 3>&-; done"
    );
    let status = std::process::Command::new("bash").args(["-c", &script]).current_dir("/").uid(user).status();
    assert!(status.expect("bash starts").success());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn purchases_of_another_user_by_closed_connections_are_denied() {
    // Only root can run a process as another user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let shop = Shop::start("");
    pay_and_close(&shop, 65_534, 100);
    // A later purchase of the server's own user is delivered, and the only one.
    assert_eq!(shop.pay("stripe", "once", "ann@example.com").await.0, 303);
    assert_eq!(shop.mails("ann@example.com").await.len(), 1);
    let buyers: Vec<Value> = shop.orders().iter().map(|order| order["buyer_email"].clone()).collect();
    assert_eq!(buyers, ["ann@example.com"]);
}
