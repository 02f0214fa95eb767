//! Who may become a user, passwords, sessions, refresh tokens.

use std::time::Duration;

/// Who may become a user, and by which means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignUpPolicy {
    /// No new accounts at all, except by an administrator. Default false.
    pub disabled: bool,
    /// Anonymous accounts are allowed. Default false.
    pub anonymous_enabled: bool,
    /// Accounts by e-mail address are allowed. Default true.
    pub email_enabled: bool,
    /// Signing in by a mailed link is allowed. Default true.
    pub magic_link_enabled: bool,
    /// Accounts by phone number are allowed. Default false.
    pub phone_enabled: bool,
    /// An unconfirmed account that is signed up again with another password loses its password: of two who claim an
    /// address neither keeps a way in that its owner did not choose after confirming it. Default false.
    pub contested_password_dropped: bool,
    /// Users may change their number only while accounts by phone number are allowed. Default false.
    pub phone_change_needs_phone: bool,
    /// That an address or number is taken is told only where contacts of its own kind count as confirmed at once. Default
    /// false: where those of either kind do.
    pub taken_told_by_kind: bool,
}

impl Default for SignUpPolicy {
    fn default() -> Self {
        Self {
            disabled: false,
            anonymous_enabled: false,
            email_enabled: true,
            magic_link_enabled: true,
            phone_enabled: false,
            contested_password_dropped: false,
            phone_change_needs_phone: false,
            taken_told_by_kind: false,
        }
    }
}

/// What a password must be and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// Fewest characters; never below 6. Default 6.
    pub min_length: usize,
    /// Sets of characters; a password needs at least one of each set. Default none.
    pub required_characters: Vec<String>,
    /// The look-up of leaked passwords. Default off.
    pub hibp: HibpPolicy,
    /// How new passwords are hashed. Default bcrypt of cost 10.
    pub hash: PasswordHash,
    /// A hash made otherwise is replaced after a successful sign-in. Default false.
    pub rehash_after_sign_in: bool,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        Self {
            min_length: 6,
            required_characters: Vec::new(),
            hibp: HibpPolicy::default(),
            hash: PasswordHash::default(),
            rehash_after_sign_in: false,
        }
    }
}

/// How new passwords are hashed. Hashes of every known kind are verified in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordHash {
    /// bcrypt.
    Bcrypt {
        /// Logarithm of the rounds, 4–31.
        cost: u32,
    },
    /// argon2id with 7168 KiB, 5 passes, 1 lane.
    Argon2id,
}

impl Default for PasswordHash {
    fn default() -> Self {
        Self::Bcrypt { cost: 10 }
    }
}

/// The look-up of leaked passwords by the first five digits of their SHA-1.
#[derive(Debug, Clone, PartialEq)]
pub struct HibpPolicy {
    /// New passwords are looked up. Default false.
    pub enabled: bool,
    /// When the service does not answer, the password is refused instead of accepted. Default false.
    pub fail_closed: bool,
    /// `User-Agent` of the look-up. Default `https://github.com/supabase/gotrue`.
    pub user_agent: String,
    /// A filter of known leaked passwords kept in memory; absent: none. Default absent.
    pub bloom: Option<BloomFilter>,
}

impl Eq for HibpPolicy {}

impl Default for HibpPolicy {
    fn default() -> Self {
        Self {
            enabled: false,
            fail_closed: false,
            user_agent: "https://github.com/supabase/gotrue".to_owned(),
            bloom: None,
        }
    }
}

/// The size of the filter of leaked passwords.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomFilter {
    /// How many passwords it is made for. Default 100 000.
    pub items: u64,
    /// The share of wrong hits, 0–1. Default 0.0000099.
    pub false_positives: f64,
}

impl Default for BloomFilter {
    fn default() -> Self {
        Self { items: 100_000, false_positives: 0.000_009_9 }
    }
}

impl BloomFilter {
    /// How many bits hold so many passwords with so many wrong hits; at least 64, and the greatest number where no size
    /// is enough.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate"
    )]
    pub fn bits(&self) -> u64 {
        let bits = -(self.items as f64) * self.false_positives.ln() / std::f64::consts::LN_2.powi(2);
        if bits.is_finite() { (bits.ceil() as u64).max(64) } else { u64::MAX }
    }

    /// How many of the bits stand for one password; at least 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    pub fn probes(&self) -> u64 {
        ((-self.false_positives.log2()).ceil() as u64).max(1)
    }
}

/// How long sessions last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Longest life of a session since it was opened; absent: no end. Default absent.
    pub timebox: Option<Duration>,
    /// Longest time between two refreshes; absent: no limit. Default absent.
    pub inactivity_timeout: Option<Duration>,
    /// How long an account with a verified factor may stay at `aal1`; absent: for ever. Default absent.
    pub allow_low_aal: Option<Duration>,
    /// Only the newest session of an account (and tag) may be refreshed. Default false.
    pub single_per_user: bool,
    /// A banned account gets no session, also where the sign-in had begun before the ban. Default false.
    pub banned_get_none: bool,
    /// Tags a session may carry; the first one of them found in the request's header is kept. Default none.
    pub tags: Vec<String>,
}

/// How refresh tokens are rotated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshPolicy {
    /// Every refresh makes a new token, and a used one that comes again is an alarm. Default true.
    pub rotation_enabled: bool,
    /// How long a used token may come again. Default 0.
    pub reuse_interval: Duration,
    /// Version of the tokens of new sessions: 0 and 1 are rows, 2 is signed by the session. Default 0.
    pub algorithm_version: u8,
    /// Share of the old sessions lifted to version 2 when refreshed, 0–100. Default 0.
    pub upgrade_percentage: u8,
    /// A used token of version 2 may come again at any time. Default false.
    pub allow_reuse: bool,
}

impl Default for RefreshPolicy {
    fn default() -> Self {
        Self {
            rotation_enabled: true,
            reuse_interval: Duration::ZERO,
            algorithm_version: 0,
            upgrade_percentage: 0,
            allow_reuse: false,
        }
    }
}
