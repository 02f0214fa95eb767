//! Answering a challenge: whether it is still good, and whether the answer is right.

use std::net::IpAddr;
use std::time::Duration;

use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::FactorType;
use crate::domain::error::{Error, Result};
use crate::domain::policy::MfaPolicy;
use crate::domain::session::{Aal, Session};
use crate::domain::user::{Account, Factor, Time};

/// A challenge of a factor, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// `id`.
    pub id: Uuid,
    /// `created_at`.
    pub created_at: Time,
    /// `verified_at`: when it was answered.
    pub verified_at: Option<Time>,
    /// `ip_address`: who asked for it.
    pub ip_address: Option<IpAddr>,
}

/// What is to be done with a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may be answered.
    Good,
    /// It was answered, or another address asked for it.
    NotYours,
    /// It is too old: it is deleted.
    Expired,
}

/// When a challenge is too old.
pub fn expires_at(created_at: Time, policy: &MfaPolicy) -> Time {
    created_at + policy.challenge_expiry
}

/// Since when challenges were made whose code could be given again: a code is good for a minute and a half at most, and
/// its challenge was asked for before it was given.
pub fn remembered(policy: &MfaPolicy, now: Time) -> Time {
    now - policy.challenge_expiry - Duration::from_secs(90)
}

/// What is to be done with a challenge that this address answers now.
pub fn standing(challenge: &Challenge, address: IpAddr, policy: &MfaPolicy, now: Time) -> Standing {
    if challenge.verified_at.is_some() || challenge.ip_address != Some(address) {
        Standing::NotYours
    } else if now > expires_at(challenge.created_at, policy) {
        Standing::Expired
    } else {
        Standing::Good
    }
}

/// Whether a factor that was never verified may be now. The reference asks for nothing; where the policy does, an
/// account that has a verified factor needs it shown first, or else a factor that somebody left there before is a way
/// around it.
pub fn check_first(account: &Account, factor: &Factor, session: &Session, policy: &MfaPolicy) -> Result<()> {
    let is_first = !factor.is_verified();
    if policy.first_verification_needs_aal2 && is_first && account.has_verified_factor() && session.aal < Aal::Aal2 {
        return Err(Error::forbidden("insufficient_aal", "AAL2 required to verify a new factor"));
    }
    Ok(())
}

/// Whether a texted code is the one given, in constant time. None was texted: nothing is right.
pub fn is_texted(texted: &str, given: &str) -> bool {
    !texted.is_empty() && bool::from(texted.as_bytes().ct_eq(given.as_bytes()))
}

/// No challenge of that id belongs to the factor.
pub fn challenge_not_found() -> Error {
    Error::unprocessable("mfa_factor_not_found", "MFA factor with the provided challenge ID not found")
}

/// The challenge was answered, or another address asked for it.
pub fn challenge_not_yours() -> Error {
    Error::unprocessable("mfa_ip_address_mismatch", "Challenge and verify IP addresses mismatch.")
}

/// The challenge is too old.
pub fn challenge_expired(id: Uuid) -> Error {
    let message =
        format!("MFA challenge {id} has expired, verify against another challenge or create a new challenge.");
    Error::unprocessable("mfa_challenge_expired", message)
}

/// The code is wrong.
pub fn wrong_code(kind: FactorType) -> Error {
    let message = match kind {
        FactorType::Phone => "Invalid MFA Phone code entered",
        FactorType::Totp | FactorType::WebAuthn => "Invalid TOTP code entered",
    };
    Error::unprocessable("mfa_verification_failed", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_challenge_is_good_once_for_its_address_and_five_minutes() {
        let (here, there): (IpAddr, IpAddr) = ([203, 0, 113, 7].into(), [203, 0, 113, 8].into());
        let open = Challenge { created_at: at(0), ip_address: Some(here), ..Challenge::default() };
        let used = Challenge { verified_at: Some(at(1)), ..open.clone() };
        for (challenge, address, seconds, expected) in [
            (&open, here, 0, Standing::Good),
            (&open, here, 300, Standing::Good),
            (&open, here, 301, Standing::Expired),
            (&open, there, 0, Standing::NotYours),
            (&open, there, 301, Standing::NotYours),
            (&used, here, 0, Standing::NotYours),
            (&used, here, 301, Standing::NotYours),
        ] {
            let standing = standing(challenge, address, &MfaPolicy::default(), at(seconds));
            assert_eq!(standing, expected, "{address} {seconds}");
        }
    }

    #[test]
    fn a_second_factor_is_verified_by_who_has_shown_the_first_where_that_is_asked() {
        let factor = |status: &str| Factor { status: status.into(), ..Factor::default() };
        let (old, new) = (factor("verified"), factor("unverified"));
        let with = |factors: &[&Factor]| Account {
            factors: factors.iter().map(|&factor| factor.clone()).collect(),
            ..Account::default()
        };
        let strict = MfaPolicy { first_verification_needs_aal2: true, ..MfaPolicy::default() };
        let check = |account: &Account, factor: &Factor, aal, policy: &MfaPolicy| {
            check_first(account, factor, &Session { aal, ..Session::default() }, policy).map_err(|error| error.code())
        };
        let both = with(&[&old, &new]);
        assert_eq!(check(&both, &new, Aal::Aal1, &strict), Err("insufficient_aal"));
        assert_eq!(check(&both, &new, Aal::Aal2, &strict), Ok(()));
        assert_eq!(check(&both, &old, Aal::Aal1, &strict), Ok(()));
        assert_eq!(check(&with(&[&new]), &new, Aal::Aal1, &strict), Ok(()));
        assert_eq!(check(&both, &new, Aal::Aal1, &MfaPolicy::default()), Ok(()));
    }

    #[test]
    fn a_texted_code_is_compared_as_it_is() {
        assert!(is_texted("123456", "123456"));
        for given in ["", " 123456", "123457", "12345"] {
            assert!(!is_texted("123456", given), "{given}");
        }
        assert!(!is_texted("", ""));
    }
}
