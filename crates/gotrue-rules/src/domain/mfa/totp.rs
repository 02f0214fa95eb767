//! Time-based one-time passwords (RFC 6238): HMAC-SHA-1, six digits, 30 seconds, one step of skew.

use foundation::time::Time;
use totp_rs::{Algorithm, Builder, Secret, Totp};

/// The length of a new secret in base32 characters (160 bits).
pub const SECRET_LENGTH: usize = 32;
/// The duration of a time step.
pub const STEP_SECONDS: i64 = 30;

/// The time step that a code belongs to, among the current one and its two neighbors.
/// White space around the code is ignored. An unreadable secret matches no code.
pub fn find_matching_step(secret: &str, code: &str, now: Time) -> Option<i64> {
    let step = build_generator(secret)?.check(code.trim(), u64::try_from(now.timestamp()).ok()?)?;
    i64::try_from(step).ok()
}

/// Generates the code of a secret; `None` if the secret is unreadable.
pub fn generate_code(secret: &str, now: Time) -> Option<String> {
    Some(build_generator(secret)?.generate(u64::try_from(now.timestamp()).ok()?).to_string())
}

/// Builds the generator of a secret: base32 in either case, with or without padding.
/// Any length is accepted, for secrets created by other servers.
fn build_generator(secret: &str) -> Option<Totp> {
    let secret = secret.trim().trim_end_matches('=').to_ascii_uppercase();
    let secret = Secret::try_from_base32(secret).ok()?;
    let step = STEP_SECONDS.unsigned_abs();
    let builder = Builder::new().with_algorithm(Algorithm::SHA1).with_digits(6).with_step_duration(step).with_skew(1);
    Some(builder.with_secret(secret).build_noncompliant())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the RFC's test vectors, `12345678901234567890`.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn codes_match_rfc_vectors() {
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(generate_code(SECRET, at(seconds)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn code_matches_own_and_neighboring_steps() {
        let given = generate_code(SECRET, at(1000)).unwrap();
        let step = 1000 / 30;
        for (seconds, expected) in
            [(959, None), (960, Some(step)), (990, Some(step)), (1019, Some(step)), (1049, Some(step)), (1050, None)]
        {
            assert_eq!(find_matching_step(SECRET, &given, at(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn white_space_around_code_is_ignored() {
        let given = format!(" {}\n", generate_code(SECRET, at(1000)).unwrap());
        assert!(find_matching_step(SECRET, &given, at(1000)).is_some());
    }

    #[test]
    fn wrong_codes_do_not_match() {
        let right = generate_code(SECRET, at(1000)).unwrap();
        for wrong in ["", "12345", "abcdef", &right[1..], &format!("{right}0"), "999999999"] {
            assert_eq!(find_matching_step(SECRET, wrong, at(1000)), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_case_insensitive_and_may_be_padded() {
        assert_eq!(generate_code(&SECRET.to_lowercase(), at(59)).as_deref(), Some("287082"));
        assert_eq!(generate_code("MFRGGZDFMZTQ====", at(59)), generate_code("mfrggzdfmztq", at(59)));
        assert!(generate_code("MFRGGZDFMZTQ", at(59)).is_some());
        assert_eq!(generate_code("not base32!", at(59)), None);
        assert_eq!(find_matching_step("not base32!", "287082", at(59)), None);
    }
}
