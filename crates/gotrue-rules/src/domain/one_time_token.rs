//! One-time tokens: hashing, storage columns, expiry.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::digest::{SHA224, SHA224_OUTPUT_LEN, digest};
use foundation::time::Time;
use subtle::ConstantTimeEq as _;
use uuid::{Builder, Uuid};

use super::policy::MailPolicy;
use super::user::User;

/// Prefix of the stored hash, and of a link's token, in PKCE flows.
pub const PKCE_PREFIX: &str = "pkce_";

/// The hash of a code and its recipient, as stored and as sent in links.
///
/// 56 hexadecimal digits, with [`PKCE_PREFIX`] in PKCE flows.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Hashes a code sent to that address or number (lower case, without `+`).
    pub fn new(recipient: &str, code: &str) -> Self {
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

    /// Wraps the hash of a link without validation.
    pub fn from_link(token: &str) -> Self {
        Self(token.to_owned())
    }

    /// Adds the prefix if the flow uses PKCE.
    #[must_use]
    pub fn with_pkce(self, pkce: bool) -> Self {
        if pkce { Self(format!("{PKCE_PREFIX}{}", self.0)) } else { self }
    }

    /// Whether the flow uses PKCE.
    pub fn is_pkce(&self) -> bool {
        self.0.starts_with(PKCE_PREFIX)
    }

    /// Returns the stored form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a user's column contains this hash, with or without the prefix.
    /// An empty hash matches nothing.
    pub fn matches_stored(&self, stored: &str) -> bool {
        let bare = stored.strip_prefix(PKCE_PREFIX).unwrap_or(stored);
        let same = |text: &str| bool::from(self.0.as_bytes().ct_eq(text.as_bytes()));
        !self.0.is_empty() && (same(stored) || same(bare))
    }
}

/// A valid hash grants access, so it is not printed.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// Returns the id of the row of a new token.
///
/// Where the policy makes links unguessable it is of version 8 (RFC 9562 §5.8), which marks a row whose link has the id.
pub fn new_row_id(random: Uuid, policy: &MailPolicy) -> Uuid {
    if policy.are_links_unguessable { Builder::from_custom_bytes(random.into_bytes()).into_uuid() } else { random }
}

/// Whether the link of the row with this id has the id.
fn is_in_link(row_id: Uuid) -> bool {
    row_id.get_version_num() == 8
}

/// The token of a link.
///
/// In Supabase Auth it is the hash, which follows from an address and six digits. The link of a row whose id
/// [`new_row_id`] marks has the id after the hash, and is valid only with both.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkToken {
    hash: TokenHash,
    row_id: Option<Uuid>,
}

/// The length of a hash, in hexadecimal digits.
const HASH_LENGTH: usize = 2 * SHA224_OUTPUT_LEN;
/// The length of a row id in a link, in hexadecimal digits.
const ROW_ID_LENGTH: usize = 32;

impl LinkToken {
    /// Builds the token of the link of this row.
    pub fn new(hash: TokenHash, row_id: Uuid) -> Self {
        Self { hash, row_id: Some(row_id).filter(|id| is_in_link(*id)) }
    }

    /// Parses a presented token.
    pub fn parse(text: &str) -> Self {
        let (hash, row_id) = split_row_id(text).map_or((text, None), |(hash, id)| (hash, Some(id)));
        Self { hash: TokenHash::from_link(hash), row_id }
    }

    /// Returns the text of the link's parameter.
    pub fn format(&self) -> String {
        let row_id = self.row_id.map(|id| id.simple().to_string());
        format!("{}{}", self.hash.as_str(), row_id.unwrap_or_default())
    }

    /// Returns the stored hash.
    pub fn hash(&self) -> &TokenHash {
        &self.hash
    }

    /// Returns the id that a marked row must have; `None` matches rows that are not marked.
    pub fn row_id(&self) -> Option<Uuid> {
        self.row_id
    }
}

/// Splits a token into hash and row id, which has one spelling. The digits of a hash alone may be those of such an id.
fn split_row_id(text: &str) -> Option<(&str, Uuid)> {
    let (hash, digits) = text.split_at_checked(text.len().checked_sub(ROW_ID_LENGTH)?)?;
    if hash.strip_prefix(PKCE_PREFIX).unwrap_or(hash).len() != HASH_LENGTH {
        return None;
    }
    let id = Uuid::try_parse(digits).ok()?;
    let is_canonical = *id.simple().encode_lower(&mut Uuid::encode_buffer()) == *digits;
    (is_canonical && is_in_link(id)).then_some((hash, id))
}

/// A valid token grants access, so it is not printed.
impl fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Storage of a one-time token: a column of `auth.users` and a row of `auth.one_time_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OneTimeTokenKind {
    /// Confirmation of a new address or number, or an invitation.
    Confirmation,
    /// A recovery or a magic link.
    Recovery,
    /// The new address of an email change.
    EmailChangeNew,
    /// The current address of an email change.
    EmailChangeCurrent,
    /// The new number of a phone change.
    PhoneChange,
    /// The code before a sensitive change.
    Reauthentication,
}

impl OneTimeTokenKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Confirmation,
        Self::Recovery,
        Self::EmailChangeNew,
        Self::EmailChangeCurrent,
        Self::PhoneChange,
        Self::Reauthentication,
    ];

    /// Returns the column of `auth.users`, which is also the value of `one_time_tokens.token_type`.
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

    /// Returns the hash in the user's column; `""` for none.
    pub fn stored_hash(self, user: &User) -> &str {
        match self {
            Self::Confirmation => &user.confirmation_token,
            Self::Recovery => &user.recovery_token,
            Self::EmailChangeNew => &user.email_change_token_new,
            Self::EmailChangeCurrent => &user.email_change_token_current,
            Self::PhoneChange => &user.phone_change_token,
            Self::Reauthentication => &user.reauthentication_token,
        }
    }

    /// Returns the send time, which determines expiry and the interval to the next message.
    pub fn sent_at(self, user: &User) -> Option<Time> {
        match self {
            Self::Confirmation => user.confirmation_sent_at,
            Self::Recovery => user.recovery_sent_at,
            Self::EmailChangeNew | Self::EmailChangeCurrent => user.email_change_sent_at,
            Self::PhoneChange => user.phone_change_sent_at,
            Self::Reauthentication => user.reauthentication_sent_at,
        }
    }
}

/// Whether a code with this send time has expired; a code that was never sent has.
pub fn is_expired(sent_at: Option<Time>, life: Duration, now: Time) -> bool {
    sent_at.is_none_or(|sent_at| now > sent_at + life)
}

/// Returns the seconds until the next message may be sent, if the last is less than `gap` ago.
pub fn seconds_to_wait(sent_at: Option<Time>, gap: Duration, now: Time) -> Option<i64> {
    let next = sent_at? + gap;
    (next > now).then(|| (next - now).num_seconds())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hash_is_sha224_in_hex() {
        let hash = TokenHash::new("ann@example.com", "123456");
        assert_eq!(hash.as_str(), "14430f867bf6cd519848fe112e9b20dfa81c634f830777807737dc24");
        assert!(!hash.is_pkce());
        assert!(hash.with_pkce(true).is_pkce());
    }

    /// Only the whole hash matches, with or without the prefix in the column.
    #[test]
    fn only_whole_hash_matches_column() {
        let hash = TokenHash::new("ann@example.com", "123456");
        let stored = hash.as_str().to_owned();
        let prefixed = format!("{PKCE_PREFIX}{stored}");
        assert!(hash.matches_stored(&stored));
        assert!(hash.matches_stored(&prefixed));
        assert!(TokenHash::from_link(&prefixed).matches_stored(&prefixed));
        assert!(!TokenHash::from_link(&prefixed).matches_stored(&stored));
        for wrong in ["", "pkce_", &stored[..55], &format!("{stored}0"), &stored.to_uppercase()] {
            assert!(!hash.matches_stored(wrong), "{wrong}");
            assert!(!TokenHash::from_link(wrong).matches_stored(&stored), "{wrong}");
        }
        assert!(!TokenHash::from_link("").matches_stored(""));
        assert!(!TokenHash::from_link("").matches_stored("pkce_"));
    }

    #[test]
    fn link_has_row_id_only_where_links_are_unguessable() {
        let hash = TokenHash::new("ann@example.com", "123456").with_pkce(true);
        let random = Uuid::from_u128(0x5c1f_8b39_8a3e_4b3c_9a55_6b1f_4c3d_2e10);
        let derived = LinkToken::new(hash.clone(), new_row_id(random, &MailPolicy::default()));
        assert_eq!(derived.format(), hash.as_str());
        assert_eq!(LinkToken::parse(&derived.format()), derived);
        let policy = MailPolicy { are_links_unguessable: true, ..MailPolicy::default() };
        let unguessable = LinkToken::new(hash.clone(), new_row_id(random, &policy));
        assert_eq!(unguessable.format(), format!("{}5c1f8b398a3e8b3c9a556b1f4c3d2e10", hash.as_str()));
        assert_eq!(LinkToken::parse(&unguessable.format()), unguessable);
        // The end of a hash that looks like an id of version 8.
        let alike = format!("{}5c1f8b398a3e8b3c9a556b1f4c3d2e10", "a".repeat(24));
        assert_eq!(LinkToken::parse(&alike).hash().as_str(), alike);
        let other_version = format!("{}{}", hash.as_str(), random.simple());
        for wrong in
            ["", "é", &unguessable.format().to_uppercase(), &format!("{}0", unguessable.format()), &other_version]
        {
            let parsed = LinkToken::parse(wrong);
            assert!(parsed.row_id().is_none() && parsed.hash() != &hash, "{wrong}");
        }
    }

    #[test]
    fn debug_output_hides_hash() {
        let hash = TokenHash::new("a", "1");
        assert_eq!(format!("{hash:?}"), "TokenHash(…)");
        assert_eq!(format!("{:?}", LinkToken::new(hash, Uuid::nil())), "LinkToken(…)");
    }

    #[test]
    fn every_kind_has_column_and_send_time() {
        let sent = Some(Time::UNIX_EPOCH);
        let user = User {
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
            ..User::default()
        };
        for slot in OneTimeTokenKind::ALL {
            assert_eq!(slot.stored_hash(&user), slot.column());
            assert_eq!((slot.sent_at(&user), slot.sent_at(&User::default())), (sent, None));
        }
    }

    #[test]
    fn code_expires_after_its_lifetime() {
        let sent = Time::UNIX_EPOCH;
        let life = Duration::from_mins(1);
        assert!(!is_expired(Some(sent), life, sent + life));
        assert!(is_expired(Some(sent), life, sent + life + Duration::from_nanos(1)));
        assert!(is_expired(None, life, sent));
    }

    #[test]
    fn wait_time_is_in_whole_seconds() {
        let sent = Time::UNIX_EPOCH;
        let gap = Duration::from_mins(1);
        let after = |millis| seconds_to_wait(Some(sent), gap, sent + Duration::from_millis(millis));
        assert_eq!((after(0), after(1), after(59_500), after(60_000)), (Some(60), Some(59), Some(0), None));
        assert_eq!(seconds_to_wait(None, gap, sent), None);
        assert_eq!(seconds_to_wait(Some(sent), Duration::ZERO, sent), None);
    }

    proptest! {
        #[test]
        fn changed_hash_never_matches(at in 0_usize..56, with in "[0-9a-f]") {
            let stored = TokenHash::new("ann@example.com", "123456");
            let mut changed = stored.as_str().to_owned();
            changed.replace_range(at..=at, &with);
            let same = changed == stored.as_str();
            prop_assert_eq!(TokenHash::from_link(&changed).matches_stored(stored.as_str()), same);
        }
    }
}
