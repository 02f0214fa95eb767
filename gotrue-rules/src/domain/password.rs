//! What a password must be. Hashing is elsewhere.

use super::error::{Error, Kind, Result};
use super::policy::PasswordPolicy;

/// A password is at most so many bytes long: what bcrypt can take.
pub const MAX_BYTES: usize = 72;

/// Why a password is too weak, in the order they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Too short.
    Length,
    /// A required set of characters is missing.
    Characters,
    /// It is in a list of leaked passwords.
    Pwned,
}

impl Reason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Characters => "characters",
            Self::Pwned => "pwned",
        }
    }
}

/// What is wrong with a password by the operator's rules, without the list of leaked ones; 400 `validation_failed` if
/// it is longer than [`MAX_BYTES`]. Lengths are in bytes.
pub fn weaknesses(password: &str, policy: &PasswordPolicy) -> Result<Vec<Reason>> {
    if password.len() > MAX_BYTES {
        return Err(Error::invalid("Password cannot be longer than 72 characters"));
    }
    let mut reasons = Vec::new();
    if password.len() < policy.min_length {
        reasons.push(Reason::Length);
    }
    let lacks = |set: &String| !set.is_empty() && !password.chars().any(|letter| set.contains(letter));
    if policy.required_characters.iter().any(lacks) {
        reasons.push(Reason::Characters);
    }
    Ok(reasons)
}

/// A password that is too weak: a refusal at sign-up, a remark at sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weak {
    /// The messages of all reasons, joined by a space.
    pub message: String,
    /// The reasons, at least one.
    pub reasons: Vec<Reason>,
}

impl Weak {
    /// What to say of these reasons; `None` if there are none.
    pub fn because(reasons: Vec<Reason>, policy: &PasswordPolicy) -> Option<Self> {
        if reasons.is_empty() {
            return None;
        }
        let message = |reason: &Reason| match reason {
            Reason::Length => format!("Password should be at least {} characters.", policy.min_length),
            Reason::Characters => format!(
                "Password should contain at least one character of each: {}.",
                policy.required_characters.join(", ")
            ),
            Reason::Pwned => {
                "Password is known to be weak and easy to guess, please choose a different one.".to_owned()
            }
        };
        let message = reasons.iter().map(message).collect::<Vec<_>>().join(" ");
        Some(Self { message, reasons })
    }
}

impl From<Weak> for Error {
    fn from(weak: Weak) -> Self {
        let reasons = weak.reasons.into_iter().map(Reason::as_str).collect();
        Self::new(Kind::WeakPassword { message: weak.message, reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::Reason::{Characters, Length, Pwned};
    use super::*;

    fn strict() -> PasswordPolicy {
        let sets = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!:é", ""];
        PasswordPolicy {
            min_length: 10,
            required_characters: sets.map(str::to_owned).to_vec(),
            ..PasswordPolicy::default()
        }
    }

    #[test]
    fn reasons_are_found_in_order() {
        for (password, reasons) in [
            ("abc", vec![Length, Characters]),
            ("abcdefghij", vec![Characters]),
            ("Abcdefghi1", vec![Characters]),
            ("Abcdefg1!", vec![Length]),
            ("Abcdefgh1:", vec![]),
            ("Abcdefgh1é", vec![]),
            ("", vec![Length, Characters]),
        ] {
            assert_eq!(weaknesses(password, &strict()).unwrap(), reasons, "{password}");
        }
    }

    #[test]
    fn length_is_in_bytes() {
        let policy = PasswordPolicy::default();
        assert_eq!(weaknesses("12345", &policy).unwrap(), [Length]);
        assert_eq!(weaknesses("日本", &policy).unwrap(), []);
        assert_eq!(weaknesses(&"x".repeat(72), &policy).unwrap(), []);
        for long in ["x".repeat(73), "é".repeat(37)] {
            let refused = weaknesses(&long, &policy).unwrap_err();
            assert_eq!(refused.to_string(), "400: Password cannot be longer than 72 characters");
        }
    }

    #[test]
    fn messages_are_joined_and_become_a_refusal() {
        let mut policy = strict();
        policy.required_characters = vec!["abc".into(), "012".into()];
        let weak = Weak::because(vec![Length, Characters, Pwned], &policy).unwrap();
        assert_eq!(
            weak.message,
            "Password should be at least 10 characters. Password should contain at least one character of each: abc, \
             012. Password is known to be weak and easy to guess, please choose a different one."
        );
        let refused = Error::from(weak);
        assert_eq!((refused.status(), refused.code()), (422, "weak_password"));
        let Kind::WeakPassword { reasons, .. } = refused.kind else { panic!("another kind") };
        assert_eq!(reasons, ["length", "characters", "pwned"]);
        assert_eq!(Weak::because(vec![], &policy), None);
    }
}
