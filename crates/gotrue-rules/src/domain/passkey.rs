//! Rules of passkeys: authorization, names and signature counters.

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use super::ban::{BannedAttempt, require_not_banned};
use super::session::Session;
use super::step_up::is_step_up_required;
use super::user::User;
use crate::wire::uuid::parse_uuid;

/// Authenticator names by AAGUID, one per line, sorted.
/// Source: the passkey developers' provider list and models of security keys.
const AUTHENTICATOR_NAMES: &str = include_str!("passkey/aaguids.txt");

/// The default name of a passkey of an unknown authenticator.
const DEFAULT_NAME: &str = "Passkey";

/// The maximum length of a name in bytes.
const MAX_NAME_LENGTH: usize = 120;

/// Requires AAL2 to create or delete passkeys if the user has a verified factor.
pub fn require_aal2_for_passkeys(user: &User, session: Option<&Session>) -> Result<()> {
    if is_step_up_required(user, session) {
        let message = "AAL2 session is required to manage passkeys when MFA is enabled";
        return Err(Error::new(ErrorCode::InsufficientAal, message));
    }
    Ok(())
}

/// Checks whether the user may register a passkey, apart from the number of passkeys.
pub fn validate_registration(user: &User, session: Option<&Session>) -> Result<()> {
    if user.is_sso_user {
        return Err(Error::http(422, ErrorCode::ValidationFailed, "SSO users cannot register passkeys"));
    }
    require_aal2_for_passkeys(user, session)
}

/// Checks whether a user may sign in with a passkey: confirmed contacts, not banned.
pub fn validate_sign_in(user: &User, now: Time) -> Result<()> {
    if user.email.is_some() && !user.is_email_confirmed() {
        return Err(Error::http(403, ErrorCode::EmailNotConfirmed, "Email not confirmed"));
    }
    if user.phone.is_some() && !user.is_phone_confirmed() {
        return Err(Error::http(403, ErrorCode::PhoneNotConfirmed, "Phone not confirmed"));
    }
    require_not_banned(user, BannedAttempt::Access, now)
}

/// Parses the id in a path; 404 if it is not a UUID.
pub fn parse_id(path: &str) -> Result<Uuid> {
    parse_uuid(path).ok_or_else(passkey_not_found)
}

/// Validates a friendly name.
pub fn validate_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid("friendly_name is required"));
    }
    if name.len() > MAX_NAME_LENGTH {
        return Err(Error::invalid("friendly_name must be 120 characters or less"));
    }
    Ok(())
}

/// The default name of a passkey of an authenticator.
pub fn default_name(aaguid: Uuid) -> &'static str {
    let wanted = aaguid.to_string();
    let named = AUTHENTICATOR_NAMES.lines().filter_map(|line| line.split_once(' ')).find(|(id, _)| *id == wanted);
    named.map_or(DEFAULT_NAME, |(_, name)| name)
}

/// The signature counter to store: the higher of the stored and the received one.
pub fn next_sign_count(stored: u32, came: u32) -> u32 {
    stored.max(came)
}

/// Whether the signature counter indicates a cloned key (WebAuthn §6.1.1).
/// A counter that is used must have grown.
pub fn has_counter_regressed(stored: u32, came: u32) -> bool {
    (stored, came) != (0, 0) && came <= stored
}

/// 404: the passkey does not exist or belongs to another user.
pub fn passkey_not_found() -> Error {
    Error::http(404, ErrorCode::ValidationFailed, "Passkey not found")
}

/// 422: the user has the maximum number of passkeys.
pub fn too_many_passkeys() -> Error {
    Error::new(ErrorCode::TooManyPasskeys, "Maximum number of passkeys reached")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::Aal;
    use crate::domain::user::Factor;

    #[test]
    fn managing_requires_aal2_with_verified_factor() {
        let session = |aal| Session { aal, ..Session::default() };
        let verified = Factor { status: "verified".into(), ..Factor::default() };
        let protected = User { factors: vec![verified], ..User::default() };
        let pending = User { factors: vec![Factor::default()], ..User::default() };
        for (user, session, may) in [
            (&protected, Some(session(Aal::Aal1)), false),
            (&protected, Some(session(Aal::Aal2)), true),
            (&protected, None, false),
            (&pending, Some(session(Aal::Aal1)), true),
            (&pending, None, true),
        ] {
            assert_eq!(require_aal2_for_passkeys(user, session.as_ref()).is_ok(), may, "{session:?}");
        }
    }

    #[test]
    fn sso_users_cannot_register() {
        let user = User { is_sso_user: true, ..User::default() };
        assert_eq!(validate_registration(&user, None).unwrap_err().code().as_str(), "validation_failed");
        assert!(validate_registration(&User::default(), None).is_ok());
    }

    #[test]
    fn sign_in_requires_confirmed_contacts_and_no_ban() {
        let now = Time::UNIX_EPOCH;
        let email = |confirmed: Option<Time>| User {
            email: Some("ann@example.com".into()),
            email_confirmed_at: confirmed,
            ..User::default()
        };
        let refused = |user: &User| validate_sign_in(user, now).map_err(|error| error.code().as_str());
        assert_eq!(refused(&email(None)), Err("email_not_confirmed"));
        assert_eq!(refused(&email(Some(now))), Ok(()));
        let phone = User { phone: Some("15550100".into()), ..email(Some(now)) };
        assert_eq!(refused(&phone), Err("phone_not_confirmed"));
        let banned = User { banned_until: Some(now + chrono::TimeDelta::hours(1)), ..email(Some(now)) };
        assert_eq!(refused(&banned), Err("user_banned"));
        assert_eq!(refused(&User::default()), Ok(()));
    }

    #[test]
    fn default_name_is_found_by_aaguid() {
        for (id, name) in [
            ("fbfc3007-154e-4ecc-8c0b-6e020557d7bd", "Apple Passwords"),
            ("ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4", "Google Password Manager"),
            ("00000000-0000-0000-0000-000000000000", "Passkey"),
            ("11111111-1111-1111-1111-111111111111", "Passkey"),
        ] {
            assert_eq!(default_name(id.parse().unwrap()), name);
        }
    }

    #[test]
    fn authenticator_list_is_well_formed() {
        for line in AUTHENTICATOR_NAMES.lines() {
            let (id, name) = line.split_once(' ').unwrap();
            assert_eq!(id.parse::<Uuid>().unwrap().to_string(), id);
            assert!(validate_name(name).is_ok(), "{line}");
        }
    }

    #[test]
    fn used_counter_must_grow() {
        for (stored, came, fell_back, kept) in [
            (0, 0, false, 0),
            (0, 1, false, 1),
            (1, 2, false, 2),
            (5, 5, true, 5),
            (5, 3, true, 5),
            (5, 0, true, 5),
            (u32::MAX, 0, true, u32::MAX),
        ] {
            assert_eq!(has_counter_regressed(stored, came), fell_back, "{stored} {came}");
            assert_eq!(next_sign_count(stored, came), kept, "{stored} {came}");
        }
    }

    #[test]
    fn name_length_is_limited_in_bytes() {
        assert!(validate_name(&"x".repeat(120)).is_ok());
        for refused in ["", &"x".repeat(121), &"ü".repeat(61)] {
            assert_eq!(validate_name(refused).unwrap_err().code().as_str(), "validation_failed");
        }
    }
}
