//! Pictures, files for buyers and new templates of the desk.

use std::io::Cursor;

use image::{ImageFormat, RgbaImage};
use reqwest::Method;
use serde_json::{Value, json};

use super::catalogue::{change, page, start_replicas, wait_for};
use super::desk_client::{Answer, Shop, SignedIn, send};
use crate::orders::PRODUCTS;
use crate::support::{Basalt, run};

/// A ZIP archive of one empty file, followed by a comment.
fn archive(comment: &[u8]) -> Vec<u8> {
    let mut file = b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a".to_vec();
    let start = u32::try_from(file.len()).expect("a short file");
    let mut entry = vec![0; 46];
    entry[..4].copy_from_slice(b"PK\x01\x02");
    entry[28] = 1;
    entry.push(b'a');
    file.extend(&entry);
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend(u32::try_from(entry.len()).expect("short").to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend(u16::try_from(comment.len()).expect("a short comment").to_le_bytes());
    file.extend(comment);
    file
}

/// An archive whose file has this many bytes, not compressed.
fn long_archive(size: usize) -> Vec<u8> {
    let short = archive(b"");
    let (head, rest) = short.split_at(31);
    let mut file = head.to_vec();
    file.extend((0..size).map(|at| u8::try_from(at * 7 % 251).expect("a byte")));
    let start = u32::try_from(file.len()).expect("a short file");
    file.extend(&rest[..rest.len() - 6]);
    file.extend(start.to_le_bytes());
    file.extend(b"\0\0");
    file
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbaImage::from_pixel(width, height, image::Rgba([200, 40, 40, 255]));
    picture.write_to(&mut bytes, ImageFormat::Png).expect("encoded");
    bytes.into_inner()
}

async fn upload(shop: &Shop, owner: &SignedIn, path: &str, content: Vec<u8>) -> Answer {
    let request = shop.request(&Method::POST, &format!("/catalogue{path}")).header("cookie", &owner.cookie);
    let request = request.header("x-desk-csrf", &owner.csrf_token).header("content-type", "application/octet-stream");
    send(request.body(content)).await
}

async fn upload_picture(shop: &Shop, owner: &SignedIn) -> String {
    let stored = upload(shop, owner, "/pictures", png(2000, 1000)).await;
    assert_eq!(stored.status, 201, "{}", stored.body);
    stored.text("file")
}

async fn upload_product(shop: &Shop, owner: &SignedIn, name: &str, content: Vec<u8>) -> String {
    let size = content.len();
    let stored = upload(shop, owner, &format!("/product-files?name={name}"), content).await;
    assert_eq!((stored.status, &stored.body["size"]), (201, &json!(size)), "{}", stored.body);
    stored.text("file")
}

/// Returns the path of the picture of a page that the desk has given it.
fn find_picture(page: &str) -> Option<String> {
    let end = page.find(".webp\"").filter(|_| page.contains("The letter"))? + ".webp".len();
    let start = page[..end].rfind("/assets/")?;
    Some(page[start..end].to_owned())
}

fn new_template() -> Value {
    json!({
        "title": "Wedding Letter", "category": "Weddings", "price": "$12", "summary": "For guests.",
        "description": "A letter for guests.", "features": ["a", "b", "c", "d", "e"],
        "link": "https://payments.example/placeholder/wedding",
    })
}

async fn add(shop: &Shop, owner: &SignedIn, values: Value) -> Answer {
    shop.change(Method::POST, "/catalogue", owner, json!({ "values": values })).await
}

/// Buys a template at the simulator, and returns the link of the mail.
async fn buy(shop: &Shop, template: &str, email: &str) -> String {
    let form = [("template", template), ("provider", "stripe"), ("delivery", "once"), ("email", email)];
    let paid = shop.server.client.post(shop.server.url("/_dev/payment/pay")).form(&form).send().await;
    assert!(paid.expect("an answer").status().is_success());
    let path = format!("/_dev/inbox.json?to={email}&wait=5");
    let mails: Value =
        shop.server.client.get(shop.server.url(&path)).send().await.expect("mails").json().await.expect("JSON");
    mails["messages"][0]["link"].as_str().expect("a link").to_owned()
}

#[tokio::test]
async fn picture_is_shown_at_once_and_taken_back() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let before = page(&shop, "/template/4").await.1;
    let picture = upload_picture(&shop, &owner).await;
    let undescribed = change(&shop, &owner, 4, 0, json!({ "picture": picture })).await;
    assert_eq!((undescribed.status, undescribed.code()), (400, "catalogue_refused"), "{}", undescribed.body);
    let values = json!({ "picture": picture, "picture_alt": "The letter on a table" });
    let changed = change(&shop, &owner, 4, 0, values).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let shown = page(&shop, "/template/4").await.1;
    assert!(shown.contains("The letter on a table"));
    let path = find_picture(&shown).expect("a picture");
    let answer = shop.server.client.get(shop.server.url(&path)).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "image/webp");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    let content = answer.bytes().await.expect("bytes");
    let decoded = image::load_from_memory(&content).expect("a picture");
    assert_eq!((decoded.width(), decoded.height()), (1600, 800), "it is scaled down");
    let at_desk = shop.request(&Method::GET, "/catalogue/4/picture").header("cookie", &owner.cookie);
    assert_eq!(at_desk.send().await.expect("an answer").bytes().await.expect("bytes"), content);

    let removed = change(&shop, &owner, 4, 1, json!({ "picture": "" })).await;
    assert_eq!((removed.status, &removed.body["changed"]), (200, &json!([])), "{}", removed.body);
    assert_eq!(page(&shop, "/template/4").await.1, before);
    let undone = shop.change(Method::POST, "/catalogue/4/restore", &owner, json!({ "revision": 2, "to": 1 })).await;
    assert_eq!(undone.status, 200, "{}", undone.body);
    assert_eq!(find_picture(&page(&shop, "/template/4").await.1), Some(path));
}

#[tokio::test]
async fn files_that_cannot_be_used_are_refused() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec();
    let mut bomb = png(4, 4);
    bomb[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    let whole = png(40, 40);
    for content in [svg, b"text".to_vec(), Vec::new(), bomb, whole[..60].to_vec()] {
        let refused = upload(&shop, &owner, "/pictures", content).await;
        assert_eq!((refused.status, refused.code()), (400, "picture_refused"), "{}", refused.body);
        assert!(!refused.text("hint").is_empty());
    }
    let large = upload(&shop, &owner, "/pictures", vec![0; 11 * 1024 * 1024]).await;
    assert_eq!((large.status, large.code()), (413, "file_too_large"), "{}", large.body);
    let whole = archive(b"");
    for content in [b"text".to_vec(), Vec::new(), whole[..whole.len() - 1].to_vec(), png(4, 4)] {
        let refused = upload(&shop, &owner, "/product-files", content).await;
        assert_eq!((refused.status, refused.code()), (400, "product_file_refused"), "{}", refused.body);
    }
    assert_eq!(shop.query("SELECT count(*)::text FROM basalt.shop_files").await, "0");

    let picture = upload_picture(&shop, &owner).await;
    let unknown = "0b6f9a9c-7d1c-4f0e-9a3b-2f6f6b1f2a11";
    for values in [json!({ "product_file": picture }), json!({ "picture": unknown, "picture_alt": "A" })] {
        let refused = change(&shop, &owner, 4, 0, values).await;
        assert_eq!((refused.status, refused.code()), (400, "catalogue_refused"), "{}", refused.body);
    }
    for path in ["/pictures", "/product-files"] {
        let request = shop.request(&Method::POST, &format!("/catalogue{path}")).body(archive(b""));
        assert_eq!(send(request.header("cookie", &owner.cookie)).await.code(), "desk_csrf");
        let request = shop.request(&Method::POST, &format!("/catalogue{path}")).body(archive(b""));
        assert_eq!(send(request).await.status, 401);
    }
}

#[tokio::test]
async fn added_template_is_hidden_then_sold_and_its_new_file_reaches_earlier_buyers() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let incomplete = add(&shop, &owner, json!({ "title": "A" })).await;
    assert_eq!((incomplete.status, incomplete.code()), (400, "catalogue_refused"), "{}", incomplete.body);
    let (picture, first) = (upload_picture(&shop, &owner).await, long_archive(600_000));
    let product = upload_product(&shop, &owner, "letters.zip", first.clone()).await;
    let mut values = new_template();
    values["picture"] = picture.into();
    values["picture_alt"] = "The letter".into();
    values["product_file"] = product.into();
    let added = add(&shop, &owner, values).await;
    assert_eq!((added.status, &added.body["id"]), (201, &json!(13)), "{}", added.body);
    assert_eq!(added.body["product"], json!({ "name": "letters.zip", "size": first.len(), "is_uploaded": true }));
    assert_eq!(page(&shop, "/template/13").await.0, 404, "it is hidden");

    let shown = change(&shop, &owner, 13, 1, json!({ "visible": true })).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    let (status, text) = page(&shop, "/template/13").await;
    assert_eq!(status, 200);
    assert!(text.contains("Wedding Letter") && find_picture(&text).is_some(), "{text}");
    assert!(page(&shop, "/").await.1.contains("Wedding Letter"));
    let link = buy(&shop, "13", "guest@example.com").await;
    let answer = shop.server.client.get(&link).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-disposition"], "attachment; filename=\"letters.zip\"");
    assert_eq!(answer.headers()["content-type"], "application/zip");
    assert_eq!(answer.bytes().await.expect("a file"), first);

    let second = archive(b"the second edition");
    let product = upload_product(&shop, &owner, "second.zip", second.clone()).await;
    let values = json!({ "product_file": product, "visible": false });
    assert_eq!(change(&shop, &owner, 13, 2, values).await.status, 200);
    let answer = shop.server.client.get(&link).send().await.expect("an answer");
    assert_eq!(answer.bytes().await.expect("a file"), second, "also of a hidden template");
    let refused = shop.change(Method::POST, "/catalogue/13/restore", &owner, json!({ "revision": 3, "to": 0 })).await;
    assert_eq!((refused.status, refused.code()), (400, "catalogue_refused"), "{}", refused.body);
    let all = shop.get("/catalogue", Some(&owner.cookie)).await;
    assert_eq!(all.body["templates"][12]["is_added"], true, "{}", all.body);
    let opened = shop.get("/catalogue/13", Some(&owner.cookie)).await;
    assert_eq!(opened.body["files"].as_array().map(Vec::len), Some(3), "{}", opened.body);
    let (one, other) = tokio::join!(add(&shop, &owner, new_template()), add(&shop, &owner, new_template()));
    let mut ids = [one.body["id"].as_u64(), other.body["id"].as_u64()];
    ids.sort_unstable();
    assert_eq!(ids, [Some(14), Some(15)], "each has its own number: {} {}", one.body, other.body);
}

#[tokio::test]
async fn other_replica_shows_and_delivers_what_was_uploaded() {
    let (shop, second, _folder) = start_replicas();
    let owner = shop.set_up().await;
    let picture = upload_picture(&shop, &owner).await;
    let file = archive(b"of the first server");
    let product = upload_product(&shop, &owner, "letters.zip", file.clone()).await;
    let mut values = new_template();
    values["picture"] = picture.into();
    values["picture_alt"] = "The letter".into();
    values["product_file"] = product.into();
    values["visible"] = true.into();
    assert_eq!(add(&shop, &owner, values).await.status, 201);
    wait_for(&second, "/template/13", "The letter").await;
    let text = second.client.get(second.url("/template/13")).send().await.expect("an answer").text().await;
    let path = find_picture(&text.expect("text")).expect("a picture");
    assert_eq!(second.client.get(second.url(&path)).send().await.expect("an answer").status(), 200);
    let link = buy(&shop, "13", "guest@example.com").await;
    let path = &link[link.find("/shop/download/").expect("a download link")..];
    let answer = second.client.get(second.url(path)).send().await.expect("an answer");
    assert_eq!(answer.bytes().await.expect("a file"), file);
}

/// A shop whose folder of products has files for templates 1 to 8 alone.
fn start_with_products() -> Shop {
    Shop::start_with(&format!("[basalt.shop.payment]\nproducts = \"{PRODUCTS}\"\n"))
}

fn assert_refused(answer: &Answer, message: &str, remedy: &str) {
    assert_eq!((answer.status, answer.code()), (400, "catalogue_refused"), "{}", answer.body);
    assert!(answer.text("message").contains(message) && answer.text("hint").contains(remedy), "{}", answer.body);
}

#[tokio::test]
async fn template_without_a_file_is_not_put_on_sale() {
    const REFUSED: (&str, &str) = ("would pay and get no file", "Upload the file for buyers");
    let shop = start_with_products();
    let owner = shop.set_up().await;
    let linked = json!({ "link": "https://buy.stripe.com/nine" });
    assert_refused(&change(&shop, &owner, 9, 0, linked.clone()).await, REFUSED.0, REFUSED.1);
    let mut added = new_template();
    added["link"] = "https://buy.stripe.com/wedding".into();
    added["visible"] = true.into();
    assert_refused(&add(&shop, &owner, added.clone()).await, REFUSED.0, REFUSED.1);
    added["visible"] = false.into();
    let added = add(&shop, &owner, added).await;
    assert_eq!((added.status, &added.body["id"]), (201, &json!(13)), "hidden, it is prepared: {}", added.body);
    let visible = json!({ "visible": true });
    assert_refused(&change(&shop, &owner, 13, 1, visible.clone()).await, REFUSED.0, REFUSED.1);
    let product = upload_product(&shop, &owner, "letters.zip", archive(b"")).await;
    let with_file = json!({ "visible": true, "product_file": product });
    assert_eq!(change(&shop, &owner, 13, 1, with_file).await.body["state"], "sells");
    let without = json!({ "product_file": "" });
    assert_refused(&change(&shop, &owner, 13, 2, without.clone()).await, REFUSED.0, REFUSED.1);
    let restored = shop.change(Method::POST, "/catalogue/13/restore", &owner, json!({ "revision": 2, "to": 1 })).await;
    assert_eq!(restored.status, 200, "hidden again, nobody has bought it: {}", restored.body);
    assert_eq!(change(&shop, &owner, 1, 0, json!({ "link": "https://buy.stripe.com/one" })).await.status, 200);

    // What is so already does not keep the owner from other changes.
    let stored = "INSERT INTO basalt.catalogue_revisions (template, revision, created_at, author, changes)
                  VALUES (10, 1, now(), 'a', '{\"link\": \"https://buy.stripe.com/ten\"}')";
    shop.execute(stored).await;
    assert_eq!(change(&shop, &owner, 10, 1, json!({ "title": "Corrected" })).await.status, 200);
}

#[tokio::test]
async fn file_of_earlier_buyers_is_not_taken_away() {
    let shop = start_with_products();
    let owner = shop.set_up().await;
    let product = upload_product(&shop, &owner, "letters.zip", archive(b"")).await;
    let mut values = new_template();
    values["product_file"] = product.into();
    values["visible"] = true.into();
    assert_eq!(add(&shop, &owner, values).await.status, 201);
    let link = buy(&shop, "13", "guest@example.com").await;
    let hidden = json!({ "product_file": "", "visible": false });
    assert_refused(&change(&shop, &owner, 13, 1, hidden.clone()).await, "would lose their file", "hide it");
    assert_eq!(change(&shop, &owner, 13, 1, json!({ "visible": false })).await.status, 200);
    assert_eq!(shop.server.client.get(&link).send().await.expect("an answer").status(), 200);
    shop.execute("UPDATE basalt.orders SET state = 'refunded', refunded_at = now()").await;
    assert_eq!(change(&shop, &owner, 13, 2, hidden).await.status, 200, "nobody is left who could want it");
}

#[tokio::test]
async fn shop_with_a_provider_starts_again_with_files_of_the_desk() {
    let (shop, second, folder) = start_replicas();
    let owner = shop.set_up().await;
    drop(second);
    folder.write("products.json", "{\"products\": []}");
    let config = std::fs::read_to_string(folder.path("config.toml")).expect("the settings");
    let links: Vec<String> = (1..=8)
        .map(|id| match id {
            4 => format!("[[template]]\nid = {id}\nlink = \"https://buy.stripe.com/{id}\"\n"),
            _ => format!("[[template]]\nid = {id}\nlink = \"\"\n"),
        })
        .collect();
    folder.write("catalogue.toml", &links.concat());
    let payment = format!(
        "[basalt.shop.payment]\nproducts = \"{}\"\n[basalt.shop.payment.stripe]\nwebhook_secret = \"whsec_of_these_tests\"\n",
        folder.path("")
    );
    let config = folder.write("config.toml", &format!("{config}{payment}"));
    let (data, database) = (folder.path("data"), shop.server.text("database_url"));
    let arguments = ["--config", &config, "--data", &data, "--database-url", &database];
    let refused = run(&[&["serve"][..], &arguments].concat());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("Company Announcement (4)"), "{text}");
    assert!(text.contains("upload them at the desk"), "{text}");
    let checked = run(&["check", "--config", &config]);
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && text.contains("unless they are uploaded at the desk"), "{text}");

    let product = upload_product(&shop, &owner, "crier.zip", archive(b"")).await;
    assert_eq!(change(&shop, &owner, 4, 0, json!({ "product_file": product })).await.status, 200);
    let again = Basalt::serve(&arguments);
    let answer = again.client.get(again.url("/template/4")).send().await.expect("an answer");
    assert!(answer.text().await.expect("text").contains("https://buy.stripe.com/4"));
}
