//! `/user/identities`: linked and unlinked by hand.

mod unlink;
