//! Rules of recovery codes: their form, the lock after wrong ones, and the other factor that a user must keep.

use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use super::FactorType;
use crate::domain::policy::{MfaPolicy, RecoveryCodesPolicy};
use crate::domain::session::Session;
use crate::domain::user::Factor;

/// The name of the factor if the request has none.
pub const DEFAULT_NAME: &str = "Recovery codes";

/// The longest code that is compared with stored ones, in characters.
const MAX_CODE_LENGTH: usize = 64;

/// Returns the canonical form of a code: lower case, without blanks and hyphens.
///
/// # Errors
///
/// 400 if nothing is left.
pub fn normalize_code(given: &str) -> Result<String> {
    let kept = given.chars().filter(|character| *character != '-' && !character.is_whitespace());
    let code: String = kept.flat_map(char::to_lowercase).collect();
    if code.is_empty() { Err(Error::invalid("Code needs to be non-empty")) } else { Ok(code) }
}

/// Whether a code may be one of this server or of the reference, so that it is worth comparing with hashes.
pub fn is_plausible_code(code: &str) -> bool {
    code.len() <= MAX_CODE_LENGTH
}

/// Returns the name of the factor.
pub fn factor_name(given: &str) -> &str {
    if given.trim().is_empty() { DEFAULT_NAME } else { given }
}

/// Draws `count` different codes.
pub fn draw_codes(count: usize, mut draw: impl FnMut() -> String) -> Vec<String> {
    let mut codes: Vec<String> = Vec::with_capacity(count);
    while codes.len() < count {
        let code = draw();
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}

/// The uses of recovery codes that need `aal2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryCodesChange {
    /// Codes are generated.
    Generate,
    /// Codes are replaced.
    Regenerate,
    /// Codes are deleted.
    Delete,
}

/// Requires AAL2: 403.
pub fn require_elevated(session: &Session, change: RecoveryCodesChange) -> Result<()> {
    if session.is_elevated() {
        return Ok(());
    }
    let message = match change {
        RecoveryCodesChange::Generate => "AAL2 required to generate recovery codes",
        RecoveryCodesChange::Regenerate => "AAL2 required to regenerate recovery codes",
        RecoveryCodesChange::Delete => "AAL2 required to delete recovery codes",
    };
    Err(Error::new(ErrorCode::InsufficientAal, message))
}

/// The types of other factors that can be verified.
pub fn usable_other_types(policy: &MfaPolicy) -> Vec<&'static str> {
    FactorType::ALL.into_iter().filter(|kind| kind.is_usable(policy)).map(FactorType::as_str).collect()
}

/// Whether the user has a verified factor that can be used and is neither recovery codes nor `except`.
pub fn has_usable_other<'a>(
    factors: impl IntoIterator<Item = &'a Factor>,
    policy: &MfaPolicy,
    except: Option<Uuid>,
) -> bool {
    let usable = usable_other_types(policy);
    factors.into_iter().any(|factor| {
        factor.is_verified() && usable.contains(&factor.factor_type.as_str()) && Some(factor.id) != except
    })
}

/// The lock of a user's recovery codes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerificationLock {
    /// Wrong codes since the last correct one or the end of the last lock.
    pub failures: u32,
    /// The end of the lock.
    pub locked_until: Option<Time>,
}

impl VerificationLock {
    /// Whether no code is compared now.
    pub fn is_locked(self, now: Time) -> bool {
        self.locked_until.is_some_and(|until| now < until)
    }

    /// Returns the lock after a wrong code, which is not counted while verification is locked.
    #[must_use]
    pub fn after_failure(self, policy: &RecoveryCodesPolicy, now: Time) -> Self {
        if self.is_locked(now) {
            return self;
        }
        // A lock that has ended starts the count anew.
        let failures = if self.locked_until.is_some() { 0 } else { self.failures };
        let failures = failures.saturating_add(1);
        let duration = if policy.lockout_duration.is_zero() { Duration::from_mins(1) } else { policy.lockout_duration };
        let locked_until = (failures >= policy.max_verify_attempts).then(|| now + duration);
        Self { failures, locked_until }
    }
}

/// 404: the user has no recovery codes.
pub fn not_enrolled() -> Error {
    Error::new(ErrorCode::MfaFactorNotFound, "The user has not enrolled recovery codes")
}

/// 422: the user has recovery codes already.
pub fn already_enrolled() -> Error {
    Error::new(
        ErrorCode::MfaVerifiedFactorExists,
        "Recovery codes are already enrolled for this user, use regenerate to rotate them",
    )
}

/// 422: generated codes would be the only factor that the user can use.
pub fn other_factor_required() -> Error {
    Error::new(
        ErrorCode::MfaRecoveryCodesSoleFactor,
        "At least one other verified factor is required to generate recovery codes",
    )
}

/// 422: without this factor, recovery codes would be the only one that the user can use.
pub fn last_other_factor() -> Error {
    Error::new(
        ErrorCode::MfaRecoveryCodesSoleFactor,
        "Recovery codes cannot be the only verified factor. Please enroll another factor before unenrolling this one \
         or delete your recovery codes.",
    )
}

/// 429: verification is locked after wrong codes.
pub fn verification_locked() -> Error {
    Error::new(ErrorCode::MfaRecoveryCodesLocked, "Too many failed verification attempts, try again later")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::session::Aal;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    fn factor(n: u128, factor_type: &str, status: &str) -> Factor {
        Factor { id: Uuid::from_u128(n), factor_type: factor_type.into(), status: status.into(), ..Factor::default() }
    }

    #[test]
    fn case_blanks_and_hyphens_do_not_matter() {
        for given in ["k4m9x7qp2ab8ht3z", "K4M9-X7QP-2AB8-HT3Z", " k4m9 x7qp\t2ab8\u{a0}ht3z\n", "--k4m9x7qp2ab8ht3z-"]
        {
            assert_eq!(normalize_code(given).unwrap(), "k4m9x7qp2ab8ht3z", "{given}");
        }
        for given in ["", " ", " -- - "] {
            assert_eq!(normalize_code(given).unwrap_err().code().as_str(), "validation_failed", "{given:?}");
        }
    }

    #[test]
    fn blank_name_is_the_default() {
        assert_eq!([factor_name(""), factor_name("  "), factor_name(" x ")], [DEFAULT_NAME, DEFAULT_NAME, " x "]);
    }

    #[test]
    fn repeated_code_is_drawn_again() {
        let mut drawn = ["a", "b", "a", "c", "b", "d"].into_iter();
        let codes = draw_codes(4, || drawn.next().unwrap().to_owned());
        assert_eq!(codes, ["a", "b", "c", "d"]);
        assert_eq!(drawn.next(), None);
    }

    #[test]
    fn only_verified_factors_of_enabled_types_count_as_others() {
        let policy = MfaPolicy::default();
        let has = |factors: &[Factor], except| has_usable_other(factors, &policy, except);
        assert!(has(&[factor(1, "totp", "verified")], None));
        assert!(!has(&[factor(1, "totp", "verified")], Some(Uuid::from_u128(1))));
        assert!(!has(&[factor(1, "totp", "unverified"), factor(2, "recovery_code", "verified")], None));
        assert!(!has(&[factor(1, "phone", "verified"), factor(2, "unknown", "verified")], None));
        let without_totp = MfaPolicy { totp_verify_enabled: false, ..MfaPolicy::default() };
        assert!(!has_usable_other(&[factor(1, "totp", "verified")], &without_totp, None));
    }

    #[test]
    fn changes_require_aal2() {
        for change in [RecoveryCodesChange::Generate, RecoveryCodesChange::Regenerate, RecoveryCodesChange::Delete] {
            let check = |aal| require_elevated(&Session { aal, ..Session::default() }, change);
            assert_eq!(check(Aal::Aal1).unwrap_err().code().as_str(), "insufficient_aal");
            assert!(check(Aal::Aal2).is_ok());
        }
    }

    #[test]
    fn lock_follows_the_configured_number_of_failures_and_is_not_prolonged() {
        let policy = RecoveryCodesPolicy { max_verify_attempts: 3, ..RecoveryCodesPolicy::default() };
        let mut lock = VerificationLock::default();
        for failures in 1..3 {
            lock = lock.after_failure(&policy, at(0));
            assert_eq!(lock, VerificationLock { failures, locked_until: None });
        }
        lock = lock.after_failure(&policy, at(10));
        assert_eq!(lock, VerificationLock { failures: 3, locked_until: Some(at(910)) });
        assert!(lock.is_locked(at(909)) && !lock.is_locked(at(910)));
        assert_eq!(lock.after_failure(&policy, at(500)), lock);
        assert_eq!(lock.after_failure(&policy, at(910)), VerificationLock { failures: 1, locked_until: None });
    }

    proptest! {
        #[test]
        fn normalized_code_is_stable(given in "\\PC*") {
            if let Ok(code) = normalize_code(&given) {
                let again = normalize_code(&code).unwrap();
                prop_assert_eq!(again.to_lowercase(), again);
            }
        }
    }
}
