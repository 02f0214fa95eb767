//! Submissions at the desk: from the form to a reply, and who may see them.

use reqwest::Method;
use serde_json::{Value, json};

use super::desk_client::{EMAIL, Shop, SignedIn};

const FORM: &str = "[functions.send-submission]\nverify_jwt = false\n";

async fn submit(shop: &Shop, text: &str) -> String {
    let request = shop.server.client.post(shop.server.url("/functions/v1/send-submission"));
    let request = request.header("apikey", shop.server.text("publishable_key"));
    let answer = request.json(&json!({ "description": text })).send().await.expect("an answer");
    let answer: Value = answer.json().await.expect("JSON");
    answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn get(shop: &Shop, owner: &SignedIn, path: &str) -> Value {
    let answer = shop.get(path, Some(&owner.cookie)).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

#[tokio::test]
async fn submission_is_answered_closed_and_deleted() {
    let shop = Shop::start_with(FORM);
    let owner = shop.set_up().await;
    let id = submit(&shop, "Blue, please: ada@example.com").await;
    let list = get(&shop, &owner, "/submissions?status=new&search=blue").await;
    assert_eq!((&list["submissions"][0]["id"], &list["counts"]["new"]), (&json!(id), &json!(1)));

    let path = format!("/submissions/{id}");
    let reply = json!({ "to": "ada@example.com", "subject": "Blue", "text": "Blue it is." });
    let sent = shop.change(Method::POST, &format!("{path}/reply"), &owner, reply).await;
    assert_eq!((sent.status, &sent.body["message"]["author"]), (202, &json!(EMAIL)), "{}", sent.body);
    let note = shop.change(Method::POST, &format!("{path}/notes"), &owner, json!({ "text": "called" })).await;
    assert_eq!(note.status, 201, "{}", note.body);
    let details = get(&shop, &owner, &path).await;
    assert_eq!((&details["status"], details["messages"].as_array().map(Vec::len)), (&json!("answered"), Some(3)));

    let inbox = shop.server.client.get(shop.server.url("/_dev/messages?to=ada@example.com")).send().await;
    let inbox: Value = inbox.expect("an answer").json().await.expect("JSON");
    let texts: Vec<&str> =
        inbox["messages"].as_array().into_iter().flatten().filter_map(|mail| mail["text"].as_str()).collect();
    let quoted = |text: &&&str| text.starts_with("Blue it is.") && text.contains("> Blue, please: ada@example.com");
    assert_eq!(texts.iter().filter(quoted).count(), 1, "{inbox}");

    let closed = shop.change(Method::PATCH, &path, &owner, json!({ "status": "closed" })).await;
    assert_eq!((closed.status, &closed.body["status"]), (200, &json!("closed")));
    let exported = shop.request(&Method::GET, "/submissions/export?format=csv").header("cookie", &owner.cookie);
    let exported = exported.send().await.expect("an answer");
    assert_eq!(exported.headers()["content-disposition"], "attachment; filename=\"submissions.csv\"");
    assert!(exported.text().await.expect("a text").contains("\"Blue, please: ada@example.com\""));
    assert_eq!(shop.change(Method::DELETE, &path, &owner, json!({})).await.status, 204);
    assert_eq!(shop.get(&path, Some(&owner.cookie)).await.status, 404);
    let recorded = shop
        .query("SELECT string_agg(action, ' ' ORDER BY id) FROM basalt.desk_events WHERE action LIKE 'submission.%'")
        .await;
    let expected = "submission.reply submission.note submission.status submission.export submission.delete";
    assert_eq!(recorded, expected);
}

#[tokio::test]
async fn submissions_are_for_the_owner_alone() {
    let shop = Shop::start_with(FORM);
    let owner = shop.set_up().await;
    let id = submit(&shop, "Blue, please: ada@example.com").await;
    let path = format!("/submissions/{id}");
    for path in ["/submissions", &path, "/submissions/export"] {
        let refused = shop.get(path, None).await;
        assert_eq!((refused.status, refused.code()), (401, "desk_session_missing"), "{path}");
    }
    let forged = SignedIn { csrf_token: "other".to_owned(), ..owner.clone() };
    let refused = shop.change(Method::DELETE, &path, &forged, json!({})).await;
    assert_eq!((refused.status, refused.code()), (403, "desk_csrf"));
    let reply = json!({ "to": "eve@example.com", "subject": "Blue", "text": "Hello" });
    let refused = shop.change(Method::POST, &format!("{path}/reply"), &owner, reply).await;
    assert_eq!((refused.status, refused.code()), (400, "recipient_not_named"));
    assert_eq!(get(&shop, &owner, &path).await["status"], "new");
    for query in ["?order=asc", "?limit=1&limit=2", "/export?format=csv&order=asc"] {
        let refused = shop.get(&format!("/submissions{query}"), Some(&owner.cookie)).await;
        assert_eq!((refused.status, refused.code()), (400, "validation_failed"), "{query}");
    }
}
