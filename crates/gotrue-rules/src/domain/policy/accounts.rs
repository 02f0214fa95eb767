//! Policies for sign-up, passwords, sessions and refresh tokens.

use std::time::Duration;

/// Sign-up methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignUpPolicy {
    /// Sign-ups are disabled; administrators can still create users. Default false.
    pub disabled: bool,
    /// Anonymous users are allowed. Default false.
    pub anonymous_enabled: bool,
    /// Users with an e-mail address are allowed. Default true.
    pub email_enabled: bool,
    /// Sign-in by magic link is allowed. Default true.
    pub magic_link_enabled: bool,
    /// Users with a phone number are allowed. Default false.
    pub phone_enabled: bool,
    /// A second sign-up of an unconfirmed user with another password deletes the password. Default false.
    ///
    /// After the address is confirmed, its owner sets a password; neither earlier password gives access.
    pub should_drop_contested_password: bool,
    /// The response to a repeated sign-up has nothing that is stored. Default false.
    ///
    /// Otherwise it has the metadata of an unconfirmed user, and factors, new number, ban and times of a confirmed one.
    pub should_hide_registered_user: bool,
    /// Users can change their number only while phone sign-up is allowed. Default false.
    pub phone_change_requires_phone_sign_up: bool,
    /// "Already registered" is disclosed only if contacts of the same kind are auto-confirmed.
    ///
    /// Default false: it is disclosed if contacts of either kind are.
    pub should_disclose_taken_by_kind: bool,
}

impl Default for SignUpPolicy {
    fn default() -> Self {
        Self {
            disabled: false,
            anonymous_enabled: false,
            email_enabled: true,
            magic_link_enabled: true,
            phone_enabled: false,
            should_drop_contested_password: false,
            should_hide_registered_user: false,
            phone_change_requires_phone_sign_up: false,
            should_disclose_taken_by_kind: false,
        }
    }
}

/// Password rules and hashing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// Minimum length; never below 6. Default 6.
    pub min_length: usize,
    /// Character sets; a password needs at least one character of each set. Default none.
    pub required_characters: Vec<String>,
    /// The check against leaked passwords. Default off.
    pub hibp: HibpPolicy,
    /// The hash algorithm of new passwords. Default bcrypt of cost 10.
    pub hash: PasswordHash,
    /// A password hash of another algorithm is replaced after a successful sign-in. Default false.
    pub should_rehash_after_sign_in: bool,
    /// A password that an administrator gives and that is too long is a 400. Default false: a 500.
    pub is_overlong_input_error: bool,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        Self {
            min_length: 6,
            required_characters: Vec::new(),
            hibp: HibpPolicy::default(),
            hash: PasswordHash::default(),
            should_rehash_after_sign_in: false,
            is_overlong_input_error: false,
        }
    }
}

/// The hash algorithm of new passwords; existing hashes of all supported algorithms are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordHash {
    Bcrypt {
        /// Binary logarithm of the rounds, 4–31.
        cost: u32,
    },
    Argon2id(Argon2Cost),
}

impl Default for PasswordHash {
    fn default() -> Self {
        Self::Bcrypt { cost: 10 }
    }
}

/// The cost of an argon2 hash. Default: 7168 KiB, 5 passes, 1 lane, as the reference hashes recovery codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argon2Cost {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

impl Argon2Cost {
    /// The lowest cost: hashes that protect nothing, for tests.
    pub const LOWEST: Self = Self { memory_kib: 8, passes: 1, lanes: 1 };
}

impl Default for Argon2Cost {
    fn default() -> Self {
        Self { memory_kib: 7168, passes: 5, lanes: 1 }
    }
}

/// The check against leaked passwords by the first five digits of their SHA-1.
#[derive(Debug, Clone, PartialEq)]
pub struct HibpPolicy {
    /// New passwords are checked. Default false.
    pub enabled: bool,
    /// If the service does not answer, the password is rejected. Default false: it is accepted.
    pub fail_closed: bool,
    /// `User-Agent` of the requests. Default `https://github.com/supabase/gotrue`.
    pub user_agent: String,
    /// A Bloom filter of leaked passwords in memory; absent: none. Default absent.
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

/// The size of the Bloom filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomFilter {
    /// Number of passwords it is sized for. Default 100 000.
    pub items: u64,
    /// False-positive rate, 0–1. Default 0.0000099.
    pub false_positives: f64,
}

impl Default for BloomFilter {
    fn default() -> Self {
        Self { items: 100_000, false_positives: 0.000_009_9 }
    }
}

impl BloomFilter {
    /// Returns the number of bits for this size and rate; at least 64, `u64::MAX` if no size suffices.
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

    /// Returns the number of bits per password; at least 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    pub fn probes(&self) -> u64 {
        ((-self.false_positives.log2()).ceil() as u64).max(1)
    }
}

/// Session lifetime and limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Maximum age of a session; absent: unlimited. Default absent.
    pub timebox: Option<Duration>,
    /// Maximum time between two refreshes; absent: unlimited. Default absent.
    pub inactivity_timeout: Option<Duration>,
    /// How long a user with a verified factor may keep a session at `aal1`; absent: unlimited.
    /// Default absent.
    pub allow_low_aal: Option<Duration>,
    /// Only the newest session of a user (and tag) can be refreshed. Default false.
    pub single_per_user: bool,
    /// A banned user gets no session, even if the sign-in started before the ban. Default false.
    pub should_reject_banned_sign_in: bool,
    /// Allowed session tags; the first one in the request header is stored. Default none.
    pub tags: Vec<String>,
}

/// Refresh token rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshPolicy {
    /// Every refresh issues a new token, and reuse of a used token is detected. Default true.
    pub rotation_enabled: bool,
    /// How long a used token is still accepted. Default 0.
    pub reuse_interval: Duration,
    /// Token version of new sessions: 0 and 1 are stored rows, 2 is signed with a session key. Default 0.
    pub algorithm_version: u8,
    /// Percentage of sessions upgraded to version 2 at a refresh, 0–100. Default 0.
    pub upgrade_percentage: u8,
    /// Used tokens of version 2 are accepted at any time. Default false.
    pub allow_reuse: bool,
    /// After a reuse has revoked all tokens of a session, the reuse interval accepts none of them. Default false.
    pub is_revocation_final: bool,
}

impl Default for RefreshPolicy {
    fn default() -> Self {
        Self {
            rotation_enabled: true,
            reuse_interval: Duration::ZERO,
            algorithm_version: 0,
            upgrade_percentage: 0,
            allow_reuse: false,
            is_revocation_final: false,
        }
    }
}
