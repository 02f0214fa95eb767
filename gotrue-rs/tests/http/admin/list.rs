//! `GET /admin/users`.

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use platform::testing::Answer;
use serde_json::json;

use super::create;

/// Five accounts, made a minute apart: ann first, emil last.
async fn five(world: &World) {
    for name in ["ann", "bob", "carl", "dora", "emil"] {
        world.advance(TimeDelta::minutes(1));
        let full_name = if name == "carl" { "Bobby" } else { "" };
        let body = json!({"email": format!("{name}@example.com"), "user_metadata": {"full_name": full_name}});
        create(world, body).await.expect(200);
    }
}

async fn list(world: &World, query: &str) -> Answer {
    world.get_as(&world.service_token(), &format!("/admin/users{query}")).await
}

fn names(answer: &Answer) -> Vec<&str> {
    let users = answer.json["users"].as_array().map(Vec::as_slice).unwrap_or_default();
    users.iter().filter_map(|user| user["email"].as_str()?.split('@').next()).collect()
}

#[tokio::test]
async fn users_are_listed_newest_first_with_links_and_count_in_one_statement() {
    let world = World::new().await;
    five(&world).await;
    let answer = list(&world, "?page=2&per_page=2").await.expect(200);
    assert_eq!(names(&answer), ["carl", "bob"]);
    assert_eq!(world.journal().statements(), ["admin.page_newest_first"]);
    assert_eq!(answer.header("x-total-count"), "5");
    let links = "</admin/users?page=3&per_page=2>; rel=\"next\", </admin/users?page=3&per_page=2>; rel=\"last\"";
    assert_eq!(answer.header("link"), links);
    assert_eq!(answer.str("aud"), "authenticated");
    assert!(answer.json["users"][0]["identities"].is_null());
}

#[tokio::test]
async fn page_past_the_end_is_empty_with_total_count() {
    let world = World::new().await;
    five(&world).await;
    let answer = list(&world, "?page=9&per_page=2").await.expect(200);
    assert_eq!((names(&answer).len(), answer.header("x-total-count")), (0, "5"));
}

#[tokio::test]
async fn users_are_filtered_by_email_or_full_name() {
    let world = World::new().await;
    five(&world).await;
    for (query, expected) in [
        ("?filter=bob", vec!["carl", "bob"]),
        ("?filter=BOB", vec!["carl"]),
        ("?filter=nobody", vec![]),
        ("?filter=bob&sort=created_at%20asc", vec!["bob", "carl"]),
        ("?filter=%27%20OR%20true%20--", vec![]),
    ] {
        assert_eq!(names(&list(&world, query).await.expect(200)), expected, "{query}");
    }
}

#[tokio::test]
async fn only_users_of_the_audience_are_listed() {
    let world = World::new().await;
    create(&world, json!({"email": "ann@example.com", "aud": "other"})).await.expect(200);
    create(&world, json!({"email": "bob@example.com"})).await.expect(200);
    assert_eq!(names(&list(&world, "").await), ["bob"]);
}

#[tokio::test]
async fn malformed_numbers_are_refused() {
    let world = World::new().await;
    for query in ["?page=x", "?page=-1", "?per_page=1.5", "?sort=email", "?sort=created_at%20up"] {
        assert_eq!(list(&world, query).await.refusal(), (400, "validation_failed"), "{query}");
    }
    let nothing = list(&world, "?per_page=0").await.expect(500);
    assert_eq!(nothing.str("msg"), "Internal Server Error");
}

#[tokio::test]
async fn cursors_visit_every_user_once() {
    let world = World::with(|policy| policy.experimental.cursor_pagination_enabled = true).await;
    five(&world).await;
    let mut seen = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let answer = list(&world, &query).await.expect(200);
        seen.extend(names(&answer).into_iter().map(str::to_owned));
        assert_eq!(answer.header("x-total-count"), "");
        let next = answer.str("pagination/next_cursor").to_owned();
        assert_eq!(answer.json["pagination"]["has_more"], !next.is_empty());
        if next.is_empty() {
            assert_eq!(answer.header("link"), "");
            break;
        }
        let link = format!("</admin/users?cursor={next}&limit=2>; rel=\"next\"");
        assert_eq!(answer.header("link"), link);
        query = format!("?limit=2&cursor={next}");
    }
    assert_eq!(seen, ["emil", "dora", "carl", "bob", "ann"]);
}

#[tokio::test]
async fn users_with_equal_timestamps_appear_on_one_page_each() {
    let world = World::with(|policy| policy.experimental.cursor_pagination_enabled = true).await;
    five(&world).await;
    world.database.query("UPDATE auth.users SET created_at = '2026-01-01 00:00:00Z'").await;
    let mut seen = Vec::new();
    for page in 1..=3 {
        seen.extend(names(&list(&world, &format!("?page={page}&per_page=2")).await).into_iter().map(str::to_owned));
    }
    seen.sort();
    assert_eq!(seen, ["ann", "bob", "carl", "dora", "emil"]);
    let first = list(&world, "?limit=3").await;
    let rest = list(&world, &format!("?limit=3&cursor={}", first.str("pagination/next_cursor"))).await;
    let mut seen = [names(&first), names(&rest)].concat();
    seen.sort_unstable();
    assert_eq!(seen, ["ann", "bob", "carl", "dora", "emil"]);
}

#[tokio::test]
async fn cursors_are_ignored_unless_enabled() {
    let world = World::new().await;
    five(&world).await;
    let answer = list(&world, "?cursor=nonsense&limit=x").await.expect(200);
    assert_eq!((names(&answer).len(), answer.json.get("pagination")), (5, None));
}

#[tokio::test]
async fn g1_filter_with_nul_byte_is_refused() {
    let world = World::new().await;
    assert_eq!(list(&world, "?filter=a%00").await.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn every_sort_key_is_validated_before_the_page() {
    let world = World::new().await;
    five(&world).await;
    for (query, words) in [
        ("?sort=", "Bad Sort Parameters: bad field for sort ''"),
        ("?sort", "Bad Sort Parameters: bad field for sort ''"),
        ("?sort=created_at&sort=", "Bad Sort Parameters: bad field for sort ''"),
        ("?sort=created_at%20", "Bad Sort Parameters: bad direction for sort '', only 'asc' and 'desc' allowed"),
        ("?sort=email&page=x", "Bad Sort Parameters: bad field for sort 'email'"),
    ] {
        let answer = list(&world, query).await;
        assert_eq!((answer.refusal(), answer.str("msg")), ((400, "validation_failed"), words), "{query}");
    }
    let answer = list(&world, "?sort=created_at%20asc&sort=created_at&per_page=1").await.expect(200);
    assert_eq!(names(&answer), ["ann"]);
}
