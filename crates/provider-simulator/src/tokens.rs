//! Codes and tokens of the simulator.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use platform::clock::SharedClock;
use platform::entropy::Entropy;

use crate::scenario::Deviation;
use crate::users::ProviderUser;

/// Maximum number of entries; the oldest are removed first.
const MAX_ENTRIES: usize = 1000;
const SECRET_LENGTH: usize = 40;

pub(crate) const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(1);
/// The lifetime of an access token.
pub(crate) const TOKEN_LIFETIME: TimeDelta = TimeDelta::hours(1);
/// The lifetime of a refresh token.
pub(crate) const REFRESH_LIFETIME: TimeDelta = TimeDelta::days(180);

/// What a code or token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The name of the provider.
    pub provider: &'static str,
    pub user: ProviderUser,
    /// What is unusual about the sign-in.
    pub deviation: Deviation,
    /// `nonce` of the request; empty if there is none.
    pub nonce: String,
    /// `code_challenge` (S256) of the request; empty if there is none.
    pub challenge: String,
    /// `scope` of the request.
    pub scope: String,
}

/// A temporary credential (RFC 5849 §2.1).
#[derive(Debug, Clone)]
pub(crate) struct RequestToken {
    /// The shared secret.
    pub secret: String,
    /// The URL that the user returns to.
    pub callback: String,
}

/// What a verifier or an access token stands for.
#[derive(Debug, Clone)]
pub(crate) struct SignedGrant {
    /// The temporary credential, or none for an access token.
    pub request_token: String,
    /// The shared secret.
    pub secret: String,
    /// The sign-in.
    pub grant: Grant,
}

/// Secrets with their entries, until they expire.
pub(crate) struct SecretTable<T> {
    entries: Mutex<VecDeque<(String, DateTime<Utc>, T)>>,
    lifetime: TimeDelta,
    clock: SharedClock,
    entropy: Entropy,
}

impl<T: Clone> SecretTable<T> {
    /// Creates an empty table.
    pub(crate) fn new(lifetime: TimeDelta, clock: &SharedClock, entropy: &Entropy) -> Self {
        Self { entries: Mutex::default(), lifetime, clock: clock.clone(), entropy: entropy.fork() }
    }

    /// Inserts an entry and returns its new secret.
    pub(crate) fn insert(&self, entry: T) -> String {
        let secret = self.entropy.base32(SECRET_LENGTH);
        let mut entries = self.lock();
        if entries.len() == MAX_ENTRIES {
            entries.pop_front();
        }
        entries.push_back((secret.clone(), self.clock.now() + self.lifetime, entry));
        secret
    }

    /// Returns the entry of a secret.
    pub(crate) fn find(&self, secret: &str) -> Option<T> {
        let now = self.clock.now();
        let entries = self.lock();
        entries.iter().find(|(kept, until, _)| kept == secret && now < *until).map(|(.., entry)| entry.clone())
    }

    /// Removes a secret and returns its entry.
    pub(crate) fn take(&self, secret: &str) -> Option<T> {
        let mut entries = self.lock();
        let at = entries.iter().position(|(kept, ..)| kept == secret)?;
        let (_, until, entry) = entries.remove(at)?;
        (self.clock.now() < until).then_some(entry)
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, DateTime<Utc>, T)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
