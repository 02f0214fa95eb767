//! Rules of factor enrollment: limits, name conflicts and replaced factors.

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;
use uuid::Uuid;

use super::FactorType;
use crate::domain::contact::Phone;
use crate::domain::policy::MfaPolicy;
use crate::domain::session::Session;
use crate::domain::user::{Factor, User};
use crate::wire::go_quote::go_quote;

/// Parses the number of a phone factor; 400 if it is missing or malformed.
pub fn parse_phone(number: &str) -> Result<Phone> {
    if number.is_empty() {
        return Err(Error::invalid("Phone number required to enroll Phone factor"));
    }
    Phone::parse(number)
}

/// Unverified factors that an enrollment deletes, whether or not it then succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedFactors {
    /// Factors with the same phone number.
    pub same_phone: Vec<Uuid>,
    /// Factors created before this time are deleted too if they were never challenged.
    pub stale_before: Time,
    /// Whether there may be any factor to delete.
    pub may_exist: bool,
}

/// The factors that an enrollment deletes; 422 if the user has a verified one with that number.
pub fn find_replaced_factors(
    user: &User,
    phone: Option<&Phone>,
    policy: &MfaPolicy,
    now: Time,
) -> Result<ReplacedFactors> {
    let is_twin = |factor: &&Factor| {
        factor.factor_type == FactorType::Phone.as_str() && phone.is_some_and(|phone| factor.phone == phone.as_str())
    };
    let twins: Vec<&Factor> = user.factors.iter().filter(is_twin).collect();
    if twins.iter().any(|factor| factor.is_verified()) {
        return Err(Error::new(
            ErrorCode::MfaVerifiedFactorExists,
            "A verified phone factor already exists, unenroll the existing factor to continue",
        ));
    }
    let twins: Vec<Uuid> = twins.into_iter().map(|factor| factor.id).collect();
    let stale_before = now - policy.factor_expiry;
    let is_stale = |factor: &Factor| {
        !factor.is_verified() && factor.last_challenged_at.is_none() && factor.created_at < stale_before
    };
    let may_be = !twins.is_empty() || user.factors.iter().any(is_stale);
    Ok(ReplacedFactors { same_phone: twins, stale_before, may_exist: may_be })
}

/// Checks name (422), number of factors (422) and session level (403) of an enrollment.
/// Two factors without a name conflict.
pub fn validate_enrollment<'a>(
    factors: impl Iterator<Item = &'a Factor>,
    name: &str,
    session: &Session,
    policy: &MfaPolicy,
) -> Result<()> {
    let (mut all, mut verified) = (0, 0);
    for factor in factors {
        if factor.friendly_name == name {
            return Err(name_conflict(name));
        }
        all += 1;
        verified += usize::from(factor.is_verified());
    }
    if all >= policy.max_enrolled_factors || verified >= policy.max_verified_factors {
        return Err(Error::new(
            ErrorCode::TooManyEnrolledMfaFactors,
            "Maximum number of verified factors reached, unenroll to continue",
        ));
    }
    if verified > 0 && !session.is_elevated() {
        return Err(Error::new(ErrorCode::InsufficientAal, "AAL2 required to enroll a new factor"));
    }
    Ok(())
}

/// 422: another factor of the user has this name.
pub fn name_conflict(name: &str) -> Error {
    let message = format!("A factor with the friendly name {} for this user already exists", go_quote(name));
    Error::new(ErrorCode::MfaFactorNameConflict, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::Aal;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    fn factor(n: u128, name: &str, status: &str) -> Factor {
        Factor {
            id: Uuid::from_u128(n),
            friendly_name: name.into(),
            factor_type: "phone".into(),
            status: status.into(),
            phone: format!("1555010{n}"),
            created_at: at(1000),
            ..Factor::default()
        }
    }

    #[test]
    fn phone_number_is_required_and_validated() {
        assert_eq!(parse_phone("+1 555 0100").unwrap().as_str(), "15550100");
        assert_eq!(parse_phone("").unwrap_err().message(), "Phone number required to enroll Phone factor");
        assert_eq!(parse_phone("call me").unwrap_err().message(), "Invalid phone number format (E.164 required)");
    }

    #[test]
    fn unverified_duplicates_are_replaced_and_verified_one_conflicts() {
        let policy = MfaPolicy::default();
        let user = User { factors: vec![factor(1, "a", "unverified"), factor(2, "b", "verified")], ..User::default() };
        let of = |number: &str, now| {
            let number = Phone::parse(number).unwrap();
            find_replaced_factors(&user, Some(&number), &policy, at(now)).map_err(|error| error.code().as_str())
        };
        let twins = vec![Uuid::from_u128(1)];
        assert_eq!(
            of("15550101", 1000),
            Ok(ReplacedFactors { same_phone: twins, stale_before: at(700), may_exist: true })
        );
        assert_eq!(of("15550102", 1000), Err("mfa_verified_factor_exists"));
        let none = ReplacedFactors { same_phone: Vec::new(), stale_before: at(1000), may_exist: false };
        assert_eq!(of("15550103", 1300), Ok(none));
        assert!(of("15550103", 1301).unwrap().may_exist);
        assert!(!find_replaced_factors(&user, None, &policy, at(1300)).unwrap().may_exist);
    }

    #[test]
    fn enrollment_checks_name_then_count_then_level() {
        let policy = MfaPolicy { max_enrolled_factors: 3, max_verified_factors: 2, ..MfaPolicy::default() };
        let check = |factors: &[Factor], name: &str, aal| {
            let session = Session { aal, ..Session::default() };
            super::validate_enrollment(factors.iter(), name, &session, &policy).map_err(|error| error.code().as_str())
        };
        let (one, two) = (factor(1, "one", "verified"), factor(2, "two", "verified"));
        let (three, unnamed) = (factor(3, "three", "unverified"), factor(4, "", "unverified"));
        assert_eq!(check(&[], "", Aal::Aal1), Ok(()));
        assert_eq!(check(std::slice::from_ref(&unnamed), "", Aal::Aal2), Err("mfa_factor_name_conflict"));
        assert_eq!(check(std::slice::from_ref(&one), "One", Aal::Aal2), Ok(()));
        assert_eq!(check(std::slice::from_ref(&one), "new", Aal::Aal1), Err("insufficient_aal"));
        assert_eq!(check(&[one.clone(), two.clone()], "new", Aal::Aal1), Err("too_many_enrolled_mfa_factors"));
        assert_eq!(check(&[one.clone(), three, unnamed], "new", Aal::Aal2), Err("too_many_enrolled_mfa_factors"));
        assert_eq!(check(&[one, two], "two", Aal::Aal1), Err("mfa_factor_name_conflict"));
    }

    #[test]
    fn name_conflict_quotes_name() {
        let message = name_conflict("my \"home\"").to_string();
        assert_eq!(message, r#"422: A factor with the friendly name "my \"home\"" for this user already exists"#);
    }
}
