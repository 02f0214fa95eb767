//! Passkeys: who may keep some, what they are called, and what a signature counter tells.

use uuid::Uuid;

use super::error::{Error, Result};
use super::session::{Aal, Session};
use super::user::{Account, Time};

/// Model and maker of authenticators by their AAGUID, one a line, sorted: the passkey developers' list of providers and
/// the models of security keys.
const NAMES: &str = include_str!("passkey/aaguids.txt");

/// What a passkey of an unknown maker is called.
const UNKNOWN: &str = "Passkey";

/// Most bytes of a name.
const LONGEST_NAME: usize = 120;

/// Whether the caller may make or delete passkeys: who has a second factor must have used it.
pub fn may_manage(account: &Account, session: Option<&Session>) -> Result<()> {
    if account.has_verified_factor() && session.is_none_or(|session| session.aal < Aal::Aal2) {
        let message = "AAL2 session is required to manage passkeys when MFA is enabled";
        return Err(Error::forbidden("insufficient_aal", message));
    }
    Ok(())
}

/// Whether the caller may make one more, as far as the account itself tells.
pub fn may_register(account: &Account, session: Option<&Session>) -> Result<()> {
    if account.is_sso_user {
        return Err(Error::unprocessable("validation_failed", "SSO users cannot register passkeys"));
    }
    may_manage(account, session)
}

/// Whether an account whose passkey has been proved may come in: its address and its number confirmed, no ban.
pub fn may_sign_in(account: &Account, now: Time) -> Result<()> {
    if account.email.is_some() && !account.is_email_confirmed() {
        return Err(Error::forbidden("email_not_confirmed", "Email not confirmed"));
    }
    if account.phone.is_some() && !account.is_phone_confirmed() {
        return Err(Error::forbidden("phone_not_confirmed", "Phone not confirmed"));
    }
    if account.is_banned(now) {
        return Err(Error::forbidden("user_banned", "User is banned"));
    }
    Ok(())
}

/// The id in a path; what is none cannot be found.
pub fn named_by(path: &str) -> Result<Uuid> {
    Uuid::parse_str(path).map_err(|_| not_found())
}

/// A name that was asked for.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid("friendly_name is required"));
    }
    if name.len() > LONGEST_NAME {
        return Err(Error::invalid("friendly_name must be 120 characters or less"));
    }
    Ok(())
}

/// What the passkey of an authenticator is called until its owner calls it something else.
pub fn name_of(aaguid: Uuid) -> &'static str {
    let wanted = aaguid.to_string();
    let named = NAMES.lines().filter_map(|line| line.split_once(' ')).find(|(id, _)| *id == wanted);
    named.map_or(UNKNOWN, |(_, name)| name)
}

/// The signature counter to keep: the higher of the stored one and the one that came, for counters only ever grow.
pub fn counter_to_keep(stored: u32, came: u32) -> u32 {
    stored.max(came)
}

/// Whether a signature counter tells that there may be a copy of the key: one that counts must have grown.
pub fn counter_fell_back(stored: u32, came: u32) -> bool {
    (stored, came) != (0, 0) && came <= stored
}

/// 404: none of that id, or somebody else's.
pub fn not_found() -> Error {
    Error::not_found("validation_failed", "Passkey not found")
}

/// 422: the account has as many as it may.
pub fn too_many() -> Error {
    Error::unprocessable("too_many_passkeys", "Maximum number of passkeys reached")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::user::Factor;

    #[test]
    fn a_second_factor_must_have_been_used() {
        let session = |aal| Session { aal, ..Session::default() };
        let verified = Factor { status: "verified".into(), ..Factor::default() };
        let protected = Account { factors: vec![verified], ..Account::default() };
        let pending = Account { factors: vec![Factor::default()], ..Account::default() };
        for (account, session, may) in [
            (&protected, Some(session(Aal::Aal1)), false),
            (&protected, Some(session(Aal::Aal2)), true),
            (&protected, None, false),
            (&pending, Some(session(Aal::Aal1)), true),
            (&pending, None, true),
        ] {
            assert_eq!(may_manage(account, session.as_ref()).is_ok(), may, "{session:?}");
        }
    }

    #[test]
    fn accounts_of_single_sign_on_register_none() {
        let account = Account { is_sso_user: true, ..Account::default() };
        assert_eq!(may_register(&account, None).unwrap_err().code(), "validation_failed");
        assert!(may_register(&Account::default(), None).is_ok());
    }

    #[test]
    fn every_contact_must_be_confirmed_and_no_ban_in_force() {
        let now = Time::UNIX_EPOCH;
        let email = |confirmed: Option<Time>| Account {
            email: Some("ann@example.com".into()),
            email_confirmed_at: confirmed,
            ..Account::default()
        };
        let refused = |account: &Account| may_sign_in(account, now).map_err(|error| error.code());
        assert_eq!(refused(&email(None)), Err("email_not_confirmed"));
        assert_eq!(refused(&email(Some(now))), Ok(()));
        let phone = Account { phone: Some("15550100".into()), ..email(Some(now)) };
        assert_eq!(refused(&phone), Err("phone_not_confirmed"));
        let banned = Account { banned_until: Some(now + chrono::TimeDelta::hours(1)), ..email(Some(now)) };
        assert_eq!(refused(&banned), Err("user_banned"));
        assert_eq!(refused(&Account::default()), Ok(()));
    }

    #[test]
    fn makers_are_known_by_their_id() {
        for (id, name) in [
            ("fbfc3007-154e-4ecc-8c0b-6e020557d7bd", "Apple Passwords"),
            ("ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4", "Google Password Manager"),
            ("00000000-0000-0000-0000-000000000000", "Passkey"),
            ("11111111-1111-1111-1111-111111111111", "Passkey"),
        ] {
            assert_eq!(name_of(id.parse().unwrap()), name);
        }
    }

    #[test]
    fn the_list_of_makers_is_well_formed() {
        for line in NAMES.lines() {
            let (id, name) = line.split_once(' ').unwrap();
            assert_eq!(id.parse::<Uuid>().unwrap().to_string(), id);
            assert!(check_name(name).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_counter_that_counts_must_grow() {
        for (stored, came, fell_back, kept) in [
            (0, 0, false, 0),
            (0, 1, false, 1),
            (1, 2, false, 2),
            (5, 5, true, 5),
            (5, 3, true, 5),
            (5, 0, true, 5),
            (u32::MAX, 0, true, u32::MAX),
        ] {
            assert_eq!(counter_fell_back(stored, came), fell_back, "{stored} {came}");
            assert_eq!(counter_to_keep(stored, came), kept, "{stored} {came}");
        }
    }

    #[test]
    fn names_are_counted_in_bytes() {
        assert!(check_name(&"x".repeat(120)).is_ok());
        for refused in ["", &"x".repeat(121), &"ü".repeat(61)] {
            assert_eq!(check_name(refused).unwrap_err().code(), "validation_failed");
        }
    }
}
