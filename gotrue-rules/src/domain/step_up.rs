//! Step-up: which users must have verified a second factor in their session.

use super::session::Session;
use super::user::User;

/// Whether the user has a verified factor and the session, if any, has verified none.
pub fn is_step_up_required(account: &User, session: Option<&Session>) -> bool {
    account.has_verified_factor() && !session.is_some_and(Session::is_elevated)
}

#[cfg(test)]
mod tests {
    use super::super::session::Aal;
    use super::super::user::Factor;
    use super::*;

    #[test]
    fn step_up_is_required_below_aal2_with_a_verified_factor() {
        let factor = |status: &str| Factor { status: status.into(), ..Factor::default() };
        let user = |status| User { factors: vec![factor(status)], ..User::default() };
        let session = |aal| Some(Session { aal, ..Session::default() });
        for (account, session, is_required) in [
            (User::default(), None, false),
            (user("unverified"), session(Aal::Aal1), false),
            (user("verified"), None, true),
            (user("verified"), session(Aal::Aal1), true),
            (user("verified"), session(Aal::Aal2), false),
            (user("verified"), session(Aal::Aal3), false),
        ] {
            assert_eq!(is_step_up_required(&account, session.as_ref()), is_required, "{account:?} {session:?}");
        }
    }
}
