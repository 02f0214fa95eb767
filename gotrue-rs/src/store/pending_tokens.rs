//! The part of an `UPDATE` of `auth.users` that clears the pending one-time secrets of the user.

/// Clears the tokens with their times of sending where a condition on the statement's parameters holds.
///
/// The requested address and number stay, like in the reference after a change of the password. The statement itself
/// assigns the confirmation token, and deletes the rows of `one_time_tokens`. A condition of NULL clears nothing.
///
/// It is a macro, so that no statement forgets one of the secrets.
#[rustfmt::skip]
macro_rules! clear_pending_tokens {
    ($condition:literal) => {
        concat!(
            "confirmation_sent_at = CASE WHEN ", $condition, " THEN NULL ELSE confirmation_sent_at END, ",
            "recovery_token = CASE WHEN ", $condition, " THEN '' ELSE recovery_token END, ",
            "recovery_sent_at = CASE WHEN ", $condition, " THEN NULL ELSE recovery_sent_at END, ",
            "email_change_token_current = CASE WHEN ", $condition, " THEN '' ELSE email_change_token_current END, ",
            "email_change_token_new = CASE WHEN ", $condition, " THEN '' ELSE email_change_token_new END, ",
            "email_change_sent_at = CASE WHEN ", $condition, " THEN NULL ELSE email_change_sent_at END, ",
            "phone_change_token = CASE WHEN ", $condition, " THEN '' ELSE phone_change_token END, ",
            "phone_change_sent_at = CASE WHEN ", $condition, " THEN NULL ELSE phone_change_sent_at END, ",
            "reauthentication_token = CASE WHEN ", $condition, " THEN '' ELSE reauthentication_token END, ",
            "reauthentication_sent_at = CASE WHEN ", $condition, " THEN NULL ELSE reauthentication_sent_at END"
        )
    };
}
pub(super) use clear_pending_tokens;
