//! The SQL statements of the program that are declared, for the test that prepares them.

use platform::statements;

use crate::{keys, parity};

statements! {
    modules: keys, parity;
}

// Only the test lists them.
#[cfg(not(test))]
const _: platform::store::binding::StatementGroup = STATEMENTS;

#[cfg(test)]
mod tests {
    use gotrue_rs::testing::clone_migrated;
    use platform::testing::check_statements;

    use super::STATEMENTS;

    #[tokio::test]
    async fn statements_match_the_schema_and_their_attributes() {
        let mut connection = clone_migrated().await.pool().await.acquire().await.expect("the test server answers");
        assert_eq!(check_statements(&mut connection, STATEMENTS.list()).await, [""; 0]);
    }
}
