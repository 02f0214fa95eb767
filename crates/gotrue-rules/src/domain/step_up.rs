//! Step-up: which users must have verified a second factor in their session.

use super::session::Session;
use super::user::User;

/// Whether the user has a verified factor and the session, if any, has verified none.
pub fn is_step_up_required(user: &User, session: Option<&Session>) -> bool {
    user.has_verified_factor() && !session.is_some_and(Session::is_elevated)
}

/// Whether a change of password or contact requires a step-up.
///
/// Only `aal2` allows it, as in GoTrue: no factor gives a session the level `aal3`.
pub fn is_step_up_required_for_update(user: &User, session: Option<&Session>) -> bool {
    user.has_verified_factor() && !session.is_some_and(Session::is_exactly_elevated)
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
        for (user, session, is_required, is_required_for_update) in [
            (User::default(), None, false, false),
            (User::default(), session(Aal::Aal3), false, false),
            (user("unverified"), session(Aal::Aal1), false, false),
            (user("verified"), None, true, true),
            (user("verified"), session(Aal::Aal1), true, true),
            (user("verified"), session(Aal::Aal2), false, false),
            (user("verified"), session(Aal::Aal3), false, true),
        ] {
            let session = session.as_ref();
            assert_eq!(is_step_up_required(&user, session), is_required, "{user:?} {session:?}");
            let for_update = is_step_up_required_for_update(&user, session);
            assert_eq!(for_update, is_required_for_update, "{user:?} {session:?}");
        }
    }
}
