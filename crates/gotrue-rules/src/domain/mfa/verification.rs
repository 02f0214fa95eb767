//! Rules of challenge verification: validity of a challenge and comparison of codes.

use std::net::IpAddr;
use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::FactorType;
use crate::domain::policy::MfaPolicy;
use crate::domain::session::Session;
use crate::domain::step_up::is_step_up_required;
use crate::domain::user::{Factor, User};

/// A stored challenge of a factor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactorChallenge {
    pub id: Uuid,
    pub created_at: Time,
    pub verified_at: Option<Time>,
    /// `ip_address` of the request that created it.
    pub ip_address: Option<IpAddr>,
}

/// Whether a challenge may be verified now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeStatus {
    /// It may be verified.
    Valid,
    /// It was verified already or created by another IP address.
    Mismatch,
    /// It has expired and is deleted.
    Expired,
}

/// The expiry of a challenge.
pub fn expires_at(created_at: Time, policy: &MfaPolicy) -> Time {
    created_at + policy.challenge_expiry
}

/// The earliest creation time of a challenge whose TOTP code could be replayed.
/// A code is valid for 90 seconds at most, and its challenge was created before.
pub fn replay_window_start(policy: &MfaPolicy, now: Time) -> Time {
    now - policy.challenge_expiry - Duration::from_secs(90)
}

/// The status of a challenge verified from this IP address now.
pub fn challenge_status(
    challenge: &FactorChallenge,
    address: IpAddr,
    policy: &MfaPolicy,
    now: Time,
) -> ChallengeStatus {
    if challenge.verified_at.is_some() || challenge.ip_address != Some(address) {
        ChallengeStatus::Mismatch
    } else if now > expires_at(challenge.created_at, policy) {
        ChallengeStatus::Expired
    } else {
        ChallengeStatus::Valid
    }
}

/// Checks whether a never verified factor may be verified.
/// The reference allows it always. With `first_verification_needs_aal2` a user with a verified factor needs AAL2;
/// otherwise an unverified factor left by another session bypasses MFA.
pub fn validate_first_verification(
    user: &User,
    factor: &Factor,
    session: Option<&Session>,
    policy: &MfaPolicy,
) -> Result<()> {
    let is_first = !factor.is_verified();
    if policy.first_verification_requires_aal2 && is_first && is_step_up_required(user, session) {
        return Err(Error::new(ErrorCode::InsufficientAal, "AAL2 required to verify a new factor"));
    }
    Ok(())
}

/// Compares a code with the one sent by SMS, in constant time. Without a sent code nothing matches.
pub fn is_sent_code(texted: &str, given: &str) -> bool {
    !texted.is_empty() && bool::from(texted.as_bytes().ct_eq(given.as_bytes()))
}

/// 422: the factor has no challenge with this id.
pub fn challenge_not_found() -> Error {
    Error::http(422, ErrorCode::MfaFactorNotFound, "MFA factor with the provided challenge ID not found")
}

/// 422: the challenge was verified already or created by another IP address.
pub fn challenge_mismatch() -> Error {
    Error::new(ErrorCode::MfaIpAddressMismatch, "Challenge and verify IP addresses mismatch.")
}

/// 422: the challenge has expired.
pub fn challenge_expired(id: Uuid) -> Error {
    let message =
        format!("MFA challenge {id} has expired, verify against another challenge or create a new challenge.");
    Error::new(ErrorCode::MfaChallengeExpired, message)
}

/// 422: the code is wrong.
pub fn wrong_code(kind: FactorType) -> Error {
    let message = match kind {
        FactorType::Phone => "Invalid MFA Phone code entered",
        FactorType::Totp | FactorType::WebAuthn => "Invalid TOTP code entered",
        FactorType::RecoveryCode => "Invalid recovery code entered",
    };
    Error::new(ErrorCode::MfaVerificationFailed, message)
}

/// 422: the code is correct and was accepted before; the next one is valid after at most 30 seconds.
pub fn used_code() -> Error {
    Error::new(ErrorCode::MfaVerificationFailed, "This TOTP code was used already, please wait for the next one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::Aal;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn challenge_is_valid_once_for_its_ip_until_expiry() {
        let (same_ip, other_ip): (IpAddr, IpAddr) = ([203, 0, 113, 7].into(), [203, 0, 113, 8].into());
        let open = FactorChallenge { created_at: at(0), ip_address: Some(same_ip), ..FactorChallenge::default() };
        let used = FactorChallenge { verified_at: Some(at(1)), ..open.clone() };
        for (challenge, address, seconds, expected) in [
            (&open, same_ip, 0, ChallengeStatus::Valid),
            (&open, same_ip, 300, ChallengeStatus::Valid),
            (&open, same_ip, 301, ChallengeStatus::Expired),
            (&open, other_ip, 0, ChallengeStatus::Mismatch),
            (&open, other_ip, 301, ChallengeStatus::Mismatch),
            (&used, same_ip, 0, ChallengeStatus::Mismatch),
            (&used, same_ip, 301, ChallengeStatus::Mismatch),
        ] {
            let standing = challenge_status(challenge, address, &MfaPolicy::default(), at(seconds));
            assert_eq!(standing, expected, "{address} {seconds}");
        }
    }

    #[test]
    fn first_verification_requires_aal2_if_configured() {
        let factor = |status: &str| Factor { status: status.into(), ..Factor::default() };
        let (old, new) = (factor("verified"), factor("unverified"));
        let with = |factors: &[&Factor]| User {
            factors: factors.iter().map(|&factor| factor.clone()).collect(),
            ..User::default()
        };
        let strict = MfaPolicy { first_verification_requires_aal2: true, ..MfaPolicy::default() };
        let check = |user: &User, factor: &Factor, aal, policy: &MfaPolicy| {
            validate_first_verification(user, factor, Some(&Session { aal, ..Session::default() }), policy)
                .map_err(|error| error.code().as_str())
        };
        let both = with(&[&old, &new]);
        assert_eq!(check(&both, &new, Aal::Aal1, &strict), Err("insufficient_aal"));
        assert_eq!(check(&both, &new, Aal::Aal2, &strict), Ok(()));
        assert_eq!(check(&both, &old, Aal::Aal1, &strict), Ok(()));
        assert_eq!(check(&with(&[&new]), &new, Aal::Aal1, &strict), Ok(()));
        assert_eq!(check(&both, &new, Aal::Aal1, &MfaPolicy::default()), Ok(()));
    }

    #[test]
    fn sent_code_must_match_exactly() {
        assert!(is_sent_code("123456", "123456"));
        for given in ["", " 123456", "123457", "12345"] {
            assert!(!is_sent_code("123456", given), "{given}");
        }
        assert!(!is_sent_code("", ""));
    }
}
