//! Password strength rules. Hashing is a separate module of the server.

use foundation::error::{Error, ErrorKind, Result, WeakPasswordReason};

use super::policy::PasswordPolicy;

/// Longest password in bytes: the limit of bcrypt.
pub const MAX_BYTES: usize = 72;

/// Returns the violated strength rules, except the leaked-password check.
///
/// 400 `validation_failed` if the password is longer than [`MAX_BYTES`]. Lengths are in bytes.
pub fn find_weaknesses(password: &str, policy: &PasswordPolicy) -> Result<Vec<WeakPasswordReason>> {
    if password.len() > MAX_BYTES {
        return Err(too_long());
    }
    let mut reasons = Vec::new();
    if password.len() < policy.min_length {
        reasons.push(WeakPasswordReason::Length);
    }
    let lacks = |set: &String| !set.is_empty() && !password.chars().any(|character| set.contains(character));
    if policy.required_characters.iter().any(lacks) {
        reasons.push(WeakPasswordReason::Characters);
    }
    Ok(reasons)
}

/// The least signs of a set that is called symbols.
const MIN_SYMBOLS: usize = 20;

/// A kind of characters of which a password needs at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharacterKind<'a> {
    /// Any small letter from a to z.
    SmallLetter,
    /// Any capital letter from A to Z.
    CapitalLetter,
    /// Any letter from a to z or A to Z.
    Letter,
    /// Any digit.
    Digit,
    /// Most signs of ASCII, which are these.
    Symbol(&'a str),
    /// Another set of the operator.
    Other(&'a str),
}

impl<'a> CharacterKind<'a> {
    fn of(set: &'a str) -> Self {
        let mut characters: Vec<char> = set.chars().collect();
        characters.sort_unstable();
        characters.dedup();
        let is_all = |belongs: fn(&char) -> bool| characters.iter().all(belongs);
        match characters.len() {
            26 if is_all(char::is_ascii_lowercase) => Self::SmallLetter,
            26 if is_all(char::is_ascii_uppercase) => Self::CapitalLetter,
            52 if is_all(char::is_ascii_alphabetic) => Self::Letter,
            10 if is_all(char::is_ascii_digit) => Self::Digit,
            MIN_SYMBOLS.. if is_all(char::is_ascii_punctuation) => Self::Symbol(set),
            _ => Self::Other(set),
        }
    }
}

/// Returns the kinds of characters that a password needs, to tell the rule before a password is refused.
pub fn required_kinds(policy: &PasswordPolicy) -> Vec<CharacterKind<'_>> {
    policy.required_characters.iter().filter(|set| !set.is_empty()).map(|set| CharacterKind::of(set)).collect()
}

/// 400: the password is longer than [`MAX_BYTES`].
pub fn too_long() -> Error {
    Error::invalid("Password cannot be longer than 72 characters")
}

/// A password that is too weak: an error at sign-up, a warning at sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakPassword {
    /// The messages of all reasons, joined by a space.
    pub message: String,
    /// The reasons, at least one.
    pub reasons: Vec<WeakPasswordReason>,
}

impl WeakPassword {
    /// Builds the message of the reasons; `None` if there are none.
    pub fn from_reasons(reasons: Vec<WeakPasswordReason>, policy: &PasswordPolicy) -> Option<Self> {
        if reasons.is_empty() {
            return None;
        }
        let message = |reason: &WeakPasswordReason| match reason {
            WeakPasswordReason::Length => format!("Password should be at least {} characters.", policy.min_length),
            WeakPasswordReason::Characters => format!(
                "Password should contain at least one character of each: {}.",
                policy.required_characters.join(", ")
            ),
            WeakPasswordReason::Pwned => {
                "Password is known to be weak and easy to guess, please choose a different one.".to_owned()
            }
        };
        let message = reasons.iter().map(message).collect::<Vec<_>>().join(" ");
        Some(Self { message, reasons })
    }
}

impl From<WeakPassword> for Error {
    fn from(weak: WeakPassword) -> Self {
        Self::from_kind(ErrorKind::WeakPassword { message: weak.message, reasons: weak.reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::WeakPasswordReason::{Characters, Length, Pwned};
    use super::*;

    fn strict_policy() -> PasswordPolicy {
        let sets = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!:é", ""];
        PasswordPolicy {
            min_length: 10,
            required_characters: sets.map(str::to_owned).to_vec(),
            ..PasswordPolicy::default()
        }
    }

    #[test]
    fn weaknesses_are_in_response_order() {
        for (password, reasons) in [
            ("abc", vec![Length, Characters]),
            ("abcdefghij", vec![Characters]),
            ("Abcdefghi1", vec![Characters]),
            ("Abcdefg1!", vec![Length]),
            ("Abcdefgh1:", vec![]),
            ("Abcdefgh1é", vec![]),
            ("", vec![Length, Characters]),
        ] {
            assert_eq!(find_weaknesses(password, &strict_policy()).unwrap(), reasons, "{password}");
        }
    }

    #[test]
    fn kinds_of_characters_have_names() {
        let policy = strict_policy();
        let expected = [
            CharacterKind::SmallLetter,
            CharacterKind::CapitalLetter,
            CharacterKind::Digit,
            CharacterKind::Other("!:é"),
        ];
        assert_eq!(required_kinds(&policy), expected);
        let letters: String = ('a'..='z').chain('A'..='Z').collect();
        let symbols = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~";
        for (set, kind) in [
            (letters.as_str(), CharacterKind::Letter),
            (symbols, CharacterKind::Symbol(symbols)),
            ("abc", CharacterKind::Other("abc")),
            ("0123456780", CharacterKind::Other("0123456780")),
        ] {
            assert_eq!(CharacterKind::of(set), kind, "{set}");
        }
    }

    #[test]
    fn password_length_is_in_bytes() {
        let policy = PasswordPolicy::default();
        assert_eq!(find_weaknesses("12345", &policy).unwrap(), [Length]);
        assert_eq!(find_weaknesses("日本", &policy).unwrap(), []);
        assert_eq!(find_weaknesses(&"x".repeat(72), &policy).unwrap(), []);
        for long in ["x".repeat(73), "é".repeat(37)] {
            let refused = find_weaknesses(&long, &policy).unwrap_err();
            assert_eq!(refused.to_string(), "400: Password cannot be longer than 72 characters");
        }
    }

    #[test]
    fn weak_password_messages_are_joined() {
        let mut policy = strict_policy();
        policy.required_characters = vec!["abc".into(), "012".into()];
        let weak = WeakPassword::from_reasons(vec![Length, Characters, Pwned], &policy).unwrap();
        assert_eq!(
            weak.message,
            "Password should be at least 10 characters. Password should contain at least one character of each: abc, \
             012. Password is known to be weak and easy to guess, please choose a different one."
        );
        let refused = Error::from(weak);
        assert_eq!((refused.status(), refused.code().as_str()), (422, "weak_password"));
        let ErrorKind::WeakPassword { reasons, .. } = refused.kind else { panic!("another kind") };
        let words: Vec<_> = reasons.into_iter().map(WeakPasswordReason::as_str).collect();
        assert_eq!(words, ["length", "characters", "pwned"]);
        assert_eq!(WeakPassword::from_reasons(vec![], &policy), None);
    }
}
