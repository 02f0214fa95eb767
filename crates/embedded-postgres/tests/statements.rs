//! Every statement of backups fits the schema and has the right attributes.

use gotrue_rs::testing::clone_migrated;
use platform::testing::check_statements;

#[tokio::test]
async fn statements_match_the_schema_and_their_attributes() {
    let mut connection = clone_migrated().await.pool().await.acquire().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, embedded_postgres::backup::list_statements()).await, [""; 0]);
}
