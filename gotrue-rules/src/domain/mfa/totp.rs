//! Codes by secret and time (RFC 6238): HMAC-SHA-1, six digits, thirty seconds, one step to either side.

use totp_rs::{Algorithm, Builder, Secret, Totp};

use crate::domain::user::Time;

/// Characters of a new secret: 160 bits.
pub const SECRET_LENGTH: usize = 32;

/// The step whose code this is, among the present one and its two neighbours. White space around the code does not
/// count. A secret that cannot be read has no codes.
pub fn matching_step(secret: &str, code: &str, now: Time) -> Option<i64> {
    let step = app(secret)?.check(code.trim(), u64::try_from(now.timestamp()).ok()?)?;
    i64::try_from(step).ok()
}

/// The code that a secret gives at this moment; none if the secret cannot be read.
pub fn code(secret: &str, now: Time) -> Option<String> {
    Some(app(secret)?.generate(u64::try_from(now.timestamp()).ok()?).to_string())
}

/// The app that keeps this secret: base32 in either case, padded or not, and of any length, for those set up elsewhere.
fn app(secret: &str) -> Option<Totp> {
    let secret = secret.trim().trim_end_matches('=').to_ascii_uppercase();
    let secret = Secret::try_from_base32(secret).ok()?;
    let builder = Builder::new().with_algorithm(Algorithm::SHA1).with_digits(6).with_step_duration(30).with_skew(1);
    Some(builder.with_secret(secret).build_noncompliant())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the RFC's vectors, `12345678901234567890`.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(SECRET, at(seconds)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_code_is_good_in_its_step_and_one_to_either_side() {
        let given = code(SECRET, at(1000)).unwrap();
        let step = 1000 / 30;
        for (seconds, expected) in
            [(959, None), (960, Some(step)), (990, Some(step)), (1019, Some(step)), (1049, Some(step)), (1050, None)]
        {
            assert_eq!(matching_step(SECRET, &given, at(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn white_space_around_a_code_does_not_count() {
        let given = format!(" {}\n", code(SECRET, at(1000)).unwrap());
        assert!(matching_step(SECRET, &given, at(1000)).is_some());
    }

    #[test]
    fn what_is_no_code_of_the_secret_is_wrong() {
        let right = code(SECRET, at(1000)).unwrap();
        for wrong in ["", "12345", "abcdef", &right[1..], &format!("{right}0"), "999999999"] {
            assert_eq!(matching_step(SECRET, wrong, at(1000)), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_read_in_either_case_and_padded() {
        assert_eq!(code(&SECRET.to_lowercase(), at(59)).as_deref(), Some("287082"));
        assert_eq!(code("MFRGGZDFMZTQ====", at(59)), code("mfrggzdfmztq", at(59)));
        assert!(code("MFRGGZDFMZTQ", at(59)).is_some());
        assert_eq!(code("not base32!", at(59)), None);
        assert_eq!(matching_step("not base32!", "287082", at(59)), None);
    }
}
