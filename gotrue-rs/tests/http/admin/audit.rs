//! `GET /admin/audit`.

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use platform::testing::Answer;
use serde_json::json;

use super::{ANN, create};

const BOB: &str = "bob@example.com";

async fn log(world: &World, query: &str) -> Answer {
    world.get_as(&world.service_token(), &format!("/admin/audit{query}")).await
}

fn actions(answer: &Answer) -> Vec<&str> {
    let entries = answer.json.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry["payload"]["action"].as_str()).collect()
}

/// Ann, called Ann Example, signed up and in; Bob was made by the administrator.
async fn a_day() -> World {
    let world = World::with(|policy| policy.mail.autoconfirm = true).await;
    let body = json!({"email": ANN, "password": "correct horse", "data": {"full_name": "Ann Example"}});
    world.post("/signup", body).await.expect(200);
    world.advance(TimeDelta::minutes(1));
    create(&world, json!({"email": BOB})).await.expect(200);
    world
}

#[tokio::test]
async fn entries_are_listed_newest_first_with_links_and_count_in_one_statement() {
    let world = a_day().await;
    let answer = log(&world, "?page=1&per_page=2").await.expect(200);
    assert_eq!(world.journal().statements(), ["audit_log_entries.page"]);
    assert_eq!(actions(&answer), ["user_signedup", "login"]);
    assert_eq!(answer.header("x-total-count"), "3");
    let links = "</admin/audit?page=2&per_page=2>; rel=\"next\", </admin/audit?page=2&per_page=2>; rel=\"last\"";
    assert_eq!(answer.header("link"), links);
    let rest = log(&world, "?page=2&per_page=2").await.expect(200);
    assert_eq!((actions(&rest), rest.header("x-total-count")), (vec!["user_signedup"], "3"));
}

#[tokio::test]
async fn entry_names_action_and_actor() {
    let world = a_day().await;
    let answer = log(&world, "").await.expect(200);
    let entry = &answer.json[0];
    assert_eq!(entry["payload"]["actor_username"], "service_role");
    assert_eq!(entry["payload"]["traits"]["user_email"], BOB);
    assert_eq!((&entry["ip_address"], &entry["created_at"]), (&json!(""), &json!("2026-06-01T12:01:00Z")));
}

#[tokio::test]
async fn actor_whose_name_is_null_is_named_null() {
    let world = World::new().await;
    let body = json!({"email": ANN, "password": "correct horse", "email_confirm": true,
                      "user_metadata": {"full_name": null}});
    create(&world, body).await.expect(200);
    let ann = world.try_password(ANN, "correct horse").await.expect(200);
    world.refresh(ann.str("refresh_token")).await.expect(200);
    let answer = log(&world, "").await.expect(200);
    for action in ["login", "token_refreshed", "token_revoked"] {
        let mut entries = answer.json.as_array().expect("entries").iter().map(|entry| &entry["payload"]);
        let payload = entries.find(|payload| payload["action"] == action).expect(action);
        assert_eq!(payload.get("actor_name"), Some(&json!(null)), "{action}");
    }
}

#[tokio::test]
async fn page_past_the_end_is_empty_with_total_count() {
    let world = a_day().await;
    let answer = log(&world, "?page=9").await.expect(200);
    assert_eq!((answer.text.trim(), answer.header("x-total-count")), ("[]", "3"));
}

#[tokio::test]
async fn author_action_and_log_are_searched_case_insensitively() {
    let world = a_day().await;
    for (query, found) in [
        ("author:ANN@", 2),
        ("author:example", 2),
        ("author:service", 1),
        ("action:LOG", 1),
        ("action:user_signedup", 2),
        ("type:team", 2),
        ("type:account", 1),
        ("action:", 3),
        ("action:l%25n", 1),
        ("action:log_n", 1),
        ("author:nobody", 0),
        ("action:login%5C", 0),
        ("author:%27%20OR%201=1", 0),
    ] {
        let answer = log(&world, &format!("?query={query}")).await.expect(200);
        assert_eq!(actions(&answer).len(), found, "{query}");
        assert_eq!(answer.header("x-total-count"), found.to_string(), "{query}");
    }
}

#[tokio::test]
async fn pagination_links_keep_the_search() {
    let world = a_day().await;
    let answer = log(&world, "?query=type:team&per_page=1").await.expect(200);
    assert!(answer.header("link").starts_with("</admin/audit?page=2&per_page=1&query=type%3Ateam>; rel=\"next\""));
}

#[tokio::test]
async fn unknown_scope_and_malformed_numbers_are_refused() {
    let world = a_day().await;
    for query in ["query=login", "query=colour:red", "query=:", "page=x", "per_page=-1", "page=x&query=login"] {
        assert_eq!(log(&world, &format!("?{query}")).await.refusal(), (400, "validation_failed"), "{query}");
    }
    assert_eq!(log(&world, "?query=colour:red").await.str("msg"), "Invalid query scope: colour:red");
}

#[tokio::test]
async fn foreign_entries_are_returned_unchanged() {
    let world = World::new().await;
    let sql = "INSERT INTO auth.audit_log_entries (instance_id, id, payload, created_at)
               VALUES ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), NULL, now()),
                      ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), '\"text\"', now()),
                      (gen_random_uuid(), gen_random_uuid(), '{}', now())";
    world.database.query(sql).await;
    let answer = log(&world, "").await.expect(200);
    assert_eq!(answer.json.as_array().map(Vec::len), Some(2));
    log(&world, "?query=action:login").await.expect(200);
}
