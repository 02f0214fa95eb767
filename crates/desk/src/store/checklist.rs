//! What the checklist reads.

use platform::store::{Connection, Result};
use platform::{bind, statements};

statements! {
    #[repeatable]
    HAS_TEST_ORDER = "checklist.has_test_order": "
        SELECT EXISTS (SELECT
                       FROM basalt.orders
                       WHERE is_test)";
}

/// Whether a test order was placed.
pub(crate) async fn has_test_order(db: &mut Connection) -> Result<bool> {
    let (has_test_order,): (bool,) = db.fetch_one(bind!(HAS_TEST_ORDER)).await?;
    Ok(has_test_order)
}
