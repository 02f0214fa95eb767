//! Every statement of the desk fits the schema and has the right attributes.

use gotrue_rs::testing::clone_migrated;
use platform::testing::{assert_part_is_repeated, check_statements};

#[tokio::test]
async fn statements_match_the_schema_and_their_attributes() {
    let mut connection = clone_migrated().await.pool().await.acquire().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, desk::list_statements()).await, [""; 0]);
}

#[test]
fn statements_recognise_an_owner_alike() {
    let owner = r#"u.raw_app_meta_data ->> 'role' = 'owner' OR u.raw_app_meta_data -> 'roles' @> '["owner"]'::jsonb"#;
    assert_part_is_repeated(desk::list_statements(), "raw_app_meta_data", owner);
}
