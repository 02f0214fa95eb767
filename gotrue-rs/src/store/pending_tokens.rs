//! The part of an `UPDATE` of `auth.users` that clears the pending one-time secrets of the user.

/// Assigns a value to a column where a condition holds.
macro_rules! assign_if {
    ($condition:literal, $column:literal, $value:literal) => {
        concat!($column, " = CASE WHEN ", $condition, " THEN ", $value, " ELSE ", $column, " END")
    };
}
pub(super) use assign_if;

/// Clears the tokens with their times of sending where a condition on the statement's parameters holds.
///
/// `with contact changes` also clears the requested address and number; without it they stay, like in the reference
/// after a change of the password. The statement itself assigns the confirmation token, and deletes the rows of
/// `one_time_tokens`. A condition of NULL clears nothing.
macro_rules! clear_pending_tokens {
    ($condition:literal) => {
        concat!(
            crate::store::pending_tokens::assign_if!($condition, "confirmation_sent_at", "NULL"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "recovery_token", "''"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "recovery_sent_at", "NULL"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "email_change_token_current", "''"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "email_change_token_new", "''"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "email_change_sent_at", "NULL"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "phone_change_token", "''"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "phone_change_sent_at", "NULL"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "reauthentication_token", "''"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "reauthentication_sent_at", "NULL")
        )
    };
    ($condition:literal, with contact changes) => {
        concat!(
            crate::store::pending_tokens::clear_pending_tokens!($condition),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "email_change", "''"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "email_change_confirm_status", "0"),
            ", ",
            crate::store::pending_tokens::assign_if!($condition, "phone_change", "''")
        )
    };
}
pub(super) use clear_pending_tokens;
