//! `/user/identities`: manual linking and unlinking.

mod unlink;
