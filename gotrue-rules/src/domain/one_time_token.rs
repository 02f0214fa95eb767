//! One-time tokens: how a code becomes the hash that is stored, where it is stored, when it is too old.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::digest::{SHA224, digest};
use subtle::ConstantTimeEq as _;

use super::user::{Account, Time};

/// What stands in front of a stored hash, and of a link's token, when the flow ends with a code (PKCE).
pub const PKCE_PREFIX: &str = "pkce_";

/// The hash of a code and whom it was sent to, as it is stored and as a link carries it: 56 hex digits, with
/// [`PKCE_PREFIX`] in front where the flow is PKCE.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// The hash of a code sent to that address or number (lower case, without `+`).
    pub fn of(recipient: &str, code: &str) -> Self {
        let mut text = String::with_capacity(recipient.len() + code.len());
        text.push_str(recipient);
        text.push_str(code);
        let bytes = digest(&SHA224, text.as_bytes());
        Self(bytes.as_ref().iter().fold(String::with_capacity(56), |mut hex, byte| {
            hex.push(char::from(HEX[usize::from(byte >> 4)]));
            hex.push(char::from(HEX[usize::from(byte & 15)]));
            hex
        }))
    }

    /// What a link carried, taken as it is.
    pub fn from_link(token: &str) -> Self {
        Self(token.to_owned())
    }

    /// The same hash for a flow that ends with a code.
    #[must_use]
    pub fn for_flow(self, pkce: bool) -> Self {
        if pkce { Self(format!("{PKCE_PREFIX}{}", self.0)) } else { self }
    }

    /// Whether the flow ends with a code.
    pub fn is_pkce(&self) -> bool {
        self.0.starts_with(PKCE_PREFIX)
    }

    /// The hash as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an account's column holds this hash, with or without the prefix; an empty one is held by none.
    pub fn is_stored_as(&self, stored: &str) -> bool {
        let bare = stored.strip_prefix(PKCE_PREFIX).unwrap_or(stored);
        let same = |text: &str| bool::from(self.0.as_bytes().ct_eq(text.as_bytes()));
        !self.0.is_empty() && (same(stored) || same(bare))
    }
}

/// A hash opens an account while it is fresh: it is not printed.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Where the hash of a code is kept: a column of the account and a row of `auth.one_time_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A new account's address or number, or an invitation.
    Confirmation,
    /// A recovery or a magic link.
    Recovery,
    /// The new address of a change.
    EmailChangeNew,
    /// The old address of a change.
    EmailChangeCurrent,
    /// The new number of a change.
    PhoneChange,
    /// The code asked for before a sensitive change.
    Reauthentication,
}

impl Slot {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Confirmation,
        Self::Recovery,
        Self::EmailChangeNew,
        Self::EmailChangeCurrent,
        Self::PhoneChange,
        Self::Reauthentication,
    ];

    /// The column of `auth.users`, which is also the word in `one_time_tokens.token_type`.
    pub fn column(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation_token",
            Self::Recovery => "recovery_token",
            Self::EmailChangeNew => "email_change_token_new",
            Self::EmailChangeCurrent => "email_change_token_current",
            Self::PhoneChange => "phone_change_token",
            Self::Reauthentication => "reauthentication_token",
        }
    }

    /// The hash in the account's column; `""` for none.
    pub fn stored(self, account: &Account) -> &str {
        match self {
            Self::Confirmation => &account.confirmation_token,
            Self::Recovery => &account.recovery_token,
            Self::EmailChangeNew => &account.email_change_token_new,
            Self::EmailChangeCurrent => &account.email_change_token_current,
            Self::PhoneChange => &account.phone_change_token,
            Self::Reauthentication => &account.reauthentication_token,
        }
    }

    /// When its code was sent: what its age and the gap to the next message count from.
    pub fn sent_at(self, account: &Account) -> Option<Time> {
        match self {
            Self::Confirmation => account.confirmation_sent_at,
            Self::Recovery => account.recovery_sent_at,
            Self::EmailChangeNew | Self::EmailChangeCurrent => account.email_change_sent_at,
            Self::PhoneChange => account.phone_change_sent_at,
            Self::Reauthentication => account.reauthentication_sent_at,
        }
    }
}

/// Whether a code sent then is too old. One that was never sent is.
pub fn is_expired(sent_at: Option<Time>, life: Duration, now: Time) -> bool {
    sent_at.is_none_or(|sent_at| now > sent_at + life)
}

/// Whole seconds until the next message may be sent, if the last one was less than `gap` ago.
pub fn seconds_to_wait(sent_at: Option<Time>, gap: Duration, now: Time) -> Option<i64> {
    let next = sent_at? + gap;
    (next > now).then(|| (next - now).num_seconds())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_hash_is_sha_224_in_hex() {
        let hash = TokenHash::of("ann@example.com", "123456");
        assert_eq!(hash.as_str(), "14430f867bf6cd519848fe112e9b20dfa81c634f830777807737dc24");
        assert!(!hash.is_pkce());
        assert!(hash.for_flow(true).is_pkce());
    }

    /// C5: only the whole hash counts, with or without the prefix where the column has it.
    #[test]
    fn c5_only_the_whole_hash_is_found_in_a_column() {
        let hash = TokenHash::of("ann@example.com", "123456");
        let stored = hash.as_str().to_owned();
        let prefixed = format!("{PKCE_PREFIX}{stored}");
        assert!(hash.is_stored_as(&stored));
        assert!(hash.is_stored_as(&prefixed));
        assert!(TokenHash::from_link(&prefixed).is_stored_as(&prefixed));
        assert!(!TokenHash::from_link(&prefixed).is_stored_as(&stored));
        for wrong in ["", "pkce_", &stored[..55], &format!("{stored}0"), &stored.to_uppercase()] {
            assert!(!hash.is_stored_as(wrong), "{wrong}");
            assert!(!TokenHash::from_link(wrong).is_stored_as(&stored), "{wrong}");
        }
        assert!(!TokenHash::from_link("").is_stored_as(""));
        assert!(!TokenHash::from_link("").is_stored_as("pkce_"));
    }

    #[test]
    fn a_hash_is_not_printed() {
        assert_eq!(format!("{:?}", TokenHash::of("a", "1")), "TokenHash(…)");
    }

    #[test]
    fn every_slot_has_a_column_and_a_clock() {
        let sent = Some(Time::UNIX_EPOCH);
        let account = Account {
            confirmation_token: "confirmation_token".into(),
            recovery_token: "recovery_token".into(),
            email_change_token_new: "email_change_token_new".into(),
            email_change_token_current: "email_change_token_current".into(),
            phone_change_token: "phone_change_token".into(),
            reauthentication_token: "reauthentication_token".into(),
            confirmation_sent_at: sent,
            recovery_sent_at: sent,
            email_change_sent_at: sent,
            phone_change_sent_at: sent,
            reauthentication_sent_at: sent,
            ..Account::default()
        };
        for slot in Slot::ALL {
            assert_eq!(slot.stored(&account), slot.column());
            assert_eq!((slot.sent_at(&account), slot.sent_at(&Account::default())), (sent, None));
        }
    }

    #[test]
    fn a_code_lives_to_the_end_of_its_last_second() {
        let sent = Time::UNIX_EPOCH;
        let life = Duration::from_mins(1);
        assert!(!is_expired(Some(sent), life, sent + life));
        assert!(is_expired(Some(sent), life, sent + life + Duration::from_nanos(1)));
        assert!(is_expired(None, life, sent));
    }

    #[test]
    fn the_time_to_wait_is_in_whole_seconds_left() {
        let sent = Time::UNIX_EPOCH;
        let gap = Duration::from_mins(1);
        let after = |millis| seconds_to_wait(Some(sent), gap, sent + Duration::from_millis(millis));
        assert_eq!((after(0), after(1), after(59_500), after(60_000)), (Some(60), Some(59), Some(0), None));
        assert_eq!(seconds_to_wait(None, gap, sent), None);
        assert_eq!(seconds_to_wait(Some(sent), Duration::ZERO, sent), None);
    }

    proptest! {
        #[test]
        fn c5_a_changed_hash_is_never_found(at in 0_usize..56, with in "[0-9a-f]") {
            let stored = TokenHash::of("ann@example.com", "123456");
            let mut changed = stored.as_str().to_owned();
            changed.replace_range(at..=at, &with);
            let same = changed == stored.as_str();
            prop_assert_eq!(TokenHash::from_link(&changed).is_stored_as(stored.as_str()), same);
        }
    }
}
