//! Every statement of the desk fits the schema and has the right attributes.

use gotrue_rs::testing::clone_migrated;
use platform::testing::{assert_part_is_repeated, check_statements, list_full_scans};
use sqlx::{Connection, PgConnection};

#[tokio::test]
async fn statements_match_the_schema_and_their_attributes() {
    let mut connection = clone_migrated().await.pool().await.acquire().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, desk::list_statements()).await, [""; 0]);
}

/// Every request of the desk executes one of them.
#[tokio::test]
async fn sessions_are_found_by_indexes() {
    let database = clone_migrated().await;
    let options = database.admin_options().options([("search_path", "auth")]);
    let mut connection = PgConnection::connect_with(&options).await.expect("the test server answers");
    let statements = desk::list_statements().into_iter();
    let of_sessions = statements.filter(|statement| statement.name().starts_with("desk_sessions."));
    assert_eq!(list_full_scans(&mut connection, of_sessions).await, [] as [(&str, String); 0]);
}

#[test]
fn statements_recognise_an_owner_alike() {
    let owner = r#"u.raw_app_meta_data ->> 'role' = 'owner' OR u.raw_app_meta_data -> 'roles' @> '["owner"]'::jsonb"#;
    assert_part_is_repeated(desk::list_statements(), "raw_app_meta_data ->", owner);
}
