//! The catalogue at the desk: changes are shown at once, kept, and can be taken back.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::desk_client::{Answer, EMAIL, Shop, SignedIn};
use crate::orders::PRODUCTS;
use crate::support::{Basalt, TempFolder};

pub(super) async fn change(shop: &Shop, owner: &SignedIn, id: u16, revision: i32, values: Value) -> Answer {
    let body = json!({ "revision": revision, "values": values });
    shop.change(Method::PATCH, &format!("/catalogue/{id}"), owner, body).await
}

pub(super) async fn page(shop: &Shop, path: &str) -> (u16, String) {
    let answer = shop.server.client.get(shop.server.url(path)).send().await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("text"))
}

#[tokio::test]
async fn change_is_shown_at_once_and_can_be_taken_back() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let all = shop.get("/catalogue", Some(&owner.cookie)).await;
    assert_eq!(all.status, 200, "{}", all.body);
    let templates = all.body["templates"].as_array().expect("templates");
    assert_eq!((templates.len(), &templates[3]["values"]["price"]), (12, &json!("$700")));
    assert_eq!((&templates[3]["revision"], &templates[3]["changed"]), (&json!(0), &json!([])));
    let (_, before) = page(&shop, "/template/4").await;

    let values = json!({ "title": "Town <Crier>", "price": "$720.50", "link": "https://buy.stripe.com/crier" });
    let changed = change(&shop, &owner, 4, 0, values).await;
    assert_eq!((changed.status, &changed.body["revision"]), (200, &json!(1)), "{}", changed.body);
    assert_eq!(changed.body["changed"], json!(["title", "price", "link"]));
    let (status, shown) = page(&shop, "/template/4").await;
    assert_eq!(status, 200);
    for text in ["Town &lt;Crier&gt;", "$720.50", "https://buy.stripe.com/crier"] {
        assert!(shown.contains(text), "{text}");
    }
    assert!(!shown.contains("<Crier>"), "markup of the owner is text");
    let (_, listed) = page(&shop, "/").await;
    assert!(listed.contains("Town &lt;Crier&gt;"));

    let hidden = change(&shop, &owner, 4, 1, json!({ "visible": false })).await;
    assert_eq!(hidden.status, 200, "{}", hidden.body);
    assert_eq!(page(&shop, "/template/4").await.0, 404);
    let opened = shop.get("/catalogue/4", Some(&owner.cookie)).await;
    let history = opened.body["history"].as_array().expect("a history");
    assert_eq!((history.len(), &history[0]["author"]), (2, &json!(EMAIL)));
    assert_eq!(history[0]["fields"], json!([{ "name": "visible", "before": true, "after": false }]));
    assert_eq!(
        history[1]["fields"][0],
        json!({ "name": "title", "before": "Company Announcement", "after": "Town <Crier>" })
    );

    for (revision, to) in [(2, 1), (3, 0)] {
        let body = json!({ "revision": revision, "to": to });
        let restored = shop.change(Method::POST, "/catalogue/4/restore", &owner, body).await;
        assert_eq!(restored.status, 200, "{}", restored.body);
        assert_eq!(page(&shop, "/template/4").await.1.contains("Town &lt;Crier&gt;"), to == 1);
    }
    assert_eq!(page(&shop, "/template/4").await.1, before, "the words are those of the file again");
    let recorded =
        "SELECT string_agg(action || ' ' || subject, ', ') FROM basalt.desk_events WHERE action LIKE 'catalogue%'";
    assert_eq!(shop.query(recorded).await, ["catalogue.change 4"; 4].join(", "));
}

#[tokio::test]
async fn list_says_what_each_template_lacks() {
    let shop = Shop::start_with(&format!("[basalt.shop.payment]\nproducts = \"{PRODUCTS}\"\n"));
    let owner = shop.set_up().await;
    let mut linked = json!({ "link": "https://buy.stripe.com/two" });
    assert_eq!(change(&shop, &owner, 2, 0, linked.clone()).await.body["state"], "sells");
    linked["visible"] = false.into();
    assert_eq!(change(&shop, &owner, 9, 0, linked).await.body["state"], "no_product_file");
    let all = shop.get("/catalogue", Some(&owner.cookie)).await;
    let states: Vec<&str> = all.body["templates"]
        .as_array()
        .expect("templates")
        .iter()
        .map(|template| template["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(&states[..3], ["placeholder_link", "sells", "placeholder_link"]);
    assert_eq!(&states[8..], ["no_product_file", "made_to_order", "made_to_order", "made_to_order"]);
    let first = &all.body["templates"][0];
    assert_eq!((&first["values"]["category"], &first["page"]), (&json!("Newsletter"), &json!("/template/1")));
    assert_eq!(first["has_picture"], true);
}

#[tokio::test]
async fn picture_is_sent_to_owners_alone() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let request = shop.request(&Method::GET, "/catalogue/1/picture").header("cookie", &owner.cookie);
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert_eq!(
        (&answer.headers()["content-type"], &answer.headers()["x-content-type-options"]),
        (&"image/jpeg".parse().expect("a value"), &"nosniff".parse().expect("a value"))
    );
    let shown = shop.server.client.get(shop.server.url("/shared/01.jpg")).send().await.expect("an answer");
    assert_eq!(answer.bytes().await.expect("bytes"), shown.bytes().await.expect("bytes"));
    assert_eq!(shop.get("/catalogue/1/picture", None).await.status, 401);
    assert_eq!(shop.get("/catalogue/99/picture", Some(&owner.cookie)).await.status, 404);
}

#[tokio::test]
async fn second_of_two_owners_is_told() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let values = |title: &str| json!({ "title": title });
    let at_once = futures::future::join_all((0..8).map(|turn| {
        let (shop, owner) = (&shop, &owner);
        async move { change(shop, owner, 1, 0, values(&format!("Title {turn}"))).await }
    }))
    .await;
    let stored: Vec<&Answer> = at_once.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(stored.len(), 1, "one is stored");
    for refused in at_once.iter().filter(|answer| answer.status != 200) {
        assert_eq!((refused.status, refused.code()), (409, "catalogue_outdated"), "{}", refused.body);
        assert!(refused.text("message").contains(EMAIL) && !refused.text("hint").is_empty(), "{}", refused.body);
    }
    assert_eq!(shop.query("SELECT count(*)::text FROM basalt.catalogue_revisions").await, "1");
    let title = stored[0].body["values"]["title"].as_str().expect("a title").to_owned();
    assert!(page(&shop, "/template/1").await.1.contains(&title));
}

#[tokio::test]
async fn values_that_do_not_fit_are_refused() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    for (values, code) in [
        (json!({ "price": "28" }), "catalogue_refused"),
        (json!({ "title": "" }), "catalogue_refused"),
        (json!({ "title": "x".repeat(81) }), "catalogue_refused"),
        (json!({ "link": "javascript:alert(1)" }), "catalogue_refused"),
        (json!({ "link": "http://pay.example/x" }), "catalogue_refused"),
        (json!({ "features": ["one"] }), "catalogue_refused"),
        (json!({ "title": "A\"\nlink = \"https://evil.example/\"\n#" }), "catalogue_refused"),
        (json!({ "title": 1 }), "invalid_request"),
        (json!({ "picture": "../../etc/passwd" }), "invalid_request"),
        (json!({ "id": 2 }), "invalid_request"),
        (json!([]), "invalid_request"),
    ] {
        let refused = change(&shop, &owner, 1, 0, values.clone()).await;
        assert_eq!((refused.status, refused.code()), (400, code), "{values}: {}", refused.body);
        let message = refused.text("message");
        assert!(!message.contains("catalogue.toml") && !message.contains("in quotes"), "{message}");
    }
    assert_eq!(change(&shop, &owner, 99, 0, json!({ "title": "A" })).await.status, 404);
    assert_eq!(shop.get("/catalogue/x", Some(&owner.cookie)).await.status, 404);
    assert_eq!(shop.get("/catalogue", None).await.status, 401);
    let shared = json!({ "payment_reference": ["plink_1"] });
    assert_eq!(change(&shop, &owner, 1, 0, shared.clone()).await.status, 200);
    let twice = change(&shop, &owner, 2, 0, shared).await;
    assert_eq!((twice.status, twice.code()), (400, "catalogue_refused"), "{}", twice.body);
    for id in 1..=12 {
        let revision = i32::from(id == 1);
        let hidden = change(&shop, &owner, id, revision, json!({ "visible": false })).await;
        assert_eq!(hidden.status, if id == 12 { 400 } else { 200 }, "one template stays: {}", hidden.body);
    }
    let request = shop.request(&Method::PATCH, "/catalogue/12").header("cookie", &owner.cookie);
    assert_eq!(super::desk_client::send(request).await.code(), "desk_csrf");
}

#[tokio::test]
async fn payments_are_compared_with_the_changed_price() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    assert_eq!(change(&shop, &owner, 1, 0, json!({ "price": "$31" })).await.status, 200);
    let form = [("template", "1"), ("provider", "stripe"), ("delivery", "once"), ("email", "buyer@example.com")];
    let paid = shop.server.client.post(shop.server.url("/_dev/payment/pay")).form(&form).send().await;
    assert!(paid.expect("an answer").status().is_success());
    assert_eq!(shop.query("SELECT amount_minor::text FROM basalt.orders").await, "3100");
}

/// Starts two shops on one database.
pub(super) fn start_replicas() -> (Shop, Basalt, TempFolder) {
    let keys = "[auth]\njwt_secret = \"a secret for the replicas of a test, long enough\"\n\
                publishable_key = \"sb_publishable_0123456789abcdefghijkl\"\n\
                secret_key = \"sb_secret_0123456789abcdefghijkl\"\n[basalt.replicas]\nallow_differences = true\n";
    let first = Shop::start_with(keys);
    let folder = TempFolder::new();
    let config = folder.write("config.toml", &format!("{keys}\n[basalt.shop]\nowner = \"{EMAIL}\"\n"));
    let (data, database) = (folder.path("data"), first.server.text("database_url"));
    let second = Basalt::serve(&["--config", &config, "--data", &data, "--database-url", &database]);
    (first, second, folder)
}

/// Waits until a page of a server has a text.
pub(super) async fn wait_for(server: &Basalt, path: &str, text: &str) {
    for _ in 0..100 {
        let answer = server.client.get(server.url(path)).send().await.expect("an answer");
        if answer.text().await.expect("text").contains(text) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("{path} has no {text}");
}

#[tokio::test]
async fn other_replica_shows_the_change_and_its_undoing() {
    let (shop, second, _folder) = start_replicas();
    let owner = shop.set_up().await;
    let changed = change(&shop, &owner, 7, 0, json!({ "title": "Of the first server" })).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    wait_for(&second, "/template/7", "Of the first server").await;
    let body = json!({ "revision": 1, "to": 0 });
    assert_eq!(shop.change(Method::POST, "/catalogue/7/restore", &owner, body).await.status, 200);
    wait_for(&second, "/template/7", "Survey &amp; Feedback").await;
    let refused = change(&shop, &owner, 7, 1, json!({ "title": "Late" })).await;
    assert_eq!((refused.status, refused.code()), (409, "catalogue_outdated"), "{}", refused.body);
}

#[tokio::test]
async fn change_survives_a_restart() {
    let (shop, second, folder) = start_replicas();
    let owner = shop.set_up().await;
    assert_eq!(change(&shop, &owner, 3, 0, json!({ "price": "$114" })).await.status, 200);
    drop(second);
    let (config, data) = (folder.path("config.toml"), folder.path("data"));
    let database = shop.server.text("database_url");
    let again = Basalt::serve(&["--config", &config, "--data", &data, "--database-url", &database]);
    let answer = again.client.get(again.url("/template/3")).send().await.expect("an answer");
    assert!(answer.text().await.expect("text").contains("$114"), "the first page after the start has it");
}
