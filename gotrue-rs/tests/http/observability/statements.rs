//! A span per statement, inside that of the request.

use gotrue_rs::testing::World;
use platform::testing::{RecordedSpan, Recording};

fn name(span: &RecordedSpan) -> &str {
    span.fields.get("db.query.summary")
}

#[tokio::test]
async fn statement_spans_are_in_the_order_of_the_journal_inside_the_request() {
    let world = World::new().await;
    let (ann, factor) = world.create_user_with_totp("ann@example.com").await;
    let user = world.sign_in(&ann.email).await;
    let challenge = world.create_challenge(&user.access_token, &factor.id).await.expect(200).str("id").to_owned();
    world.advance(chrono::TimeDelta::seconds(60));
    let code = world.totp_code(&factor);
    Recording::start();
    world.verify_challenge(&user.access_token, &factor.id, &challenge, &code).await.expect(200);
    let recording = Recording::stop();
    let spans = recording.spans_named("statement");
    let names: Vec<&str> = spans.iter().map(|span| name(span)).collect();
    let is_statement = |name: &&str| !["BEGIN", "COMMIT", "ROLLBACK"].contains(name);
    assert_eq!(names.iter().copied().filter(is_statement).collect::<Vec<_>>(), world.journal().statements());
    assert_eq!(names.iter().filter(|name| **name == "COMMIT").count(), 1, "{names:?}");
    for span in spans {
        assert_eq!(recording.parent(span).map(|parent| parent.name), Some("request"), "{span:?}");
        assert_eq!((span.fields.get("db.system.name"), span.fields.get("error.type")), ("postgresql", ""));
    }
}

#[tokio::test]
async fn statement_span_has_the_number_of_rows_or_the_sqlstate() {
    let world = World::new().await;
    let ann = world.create_user("ann@example.com").await;
    Recording::start();
    world.get_as(&ann.access_token, "/user").await.expect(200);
    let recording = Recording::stop();
    let [read] = recording.spans_named("statement")[..] else { panic!("not one statement: {recording:?}") };
    assert_eq!(read.fields.get("db.response.returned_rows"), "1");

    world.database.query("ALTER TABLE auth.sessions RENAME TO renamed").await;
    Recording::start();
    world.get_as(&ann.access_token, "/user").await.expect(500);
    let recording = Recording::stop();
    let [failed] = recording.spans_named("statement")[..] else { panic!("not one statement: {recording:?}") };
    assert_eq!((failed.fields.get("db.response.returned_rows"), failed.fields.get("error.type")), ("", "42P01"));
}

#[tokio::test]
async fn statement_span_has_neither_sql_nor_values() {
    let world = World::new().await;
    let ann = world.create_user("ann@example.com").await;
    Recording::start();
    world.sign_in(&ann.email).await;
    let recording = Recording::stop();
    let spans = recording.spans_named("statement");
    assert!(!spans.is_empty());
    for value in spans.iter().flat_map(|span| span.fields.values()) {
        let is_name =
            !value.contains(|character: char| character.is_whitespace() || character == '@' || character == '$');
        assert!(is_name, "{value}");
    }
}
