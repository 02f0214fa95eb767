//! Rate limits: a token bucket for each limited thing and key, and quotas of what is sent. Counts in memory, for this
//! process; arithmetic over the moment given. Which route takes which limit stands in the route table, and what is
//! answered to who asks too often is the guard's.

mod keys;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use gotrue_rules::domain::policy::{Bucket, LimitsPolicy, Quota};
use gotrue_rules::domain::user::Time;

pub use self::keys::{Request, key_of, peer_address};

/// What is limited. Each counts for itself, also where two share a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limited {
    /// `/verify`, GET and POST.
    Verify,
    /// `/token`, every known grant but `web3`.
    Token,
    /// `/token?grant_type=web3`.
    Web3,
    /// `/recover`.
    Recover,
    /// `/resend`.
    Resend,
    /// `/magiclink`.
    MagicLink,
    /// `/otp`.
    Otp,
    /// `PUT /user`.
    User,
    /// `/signup` with an address or number.
    SignUp,
    /// `/signup` without.
    AnonymousUsers,
    /// `/sso`.
    Sso,
    /// `/sso/saml/acs`.
    SamlAssertion,
    /// `/passkeys/authentication/options`.
    Passkey,
    /// `/oauth/clients/register`.
    OAuthClientRegister,
    /// A challenge of a factor.
    FactorChallenge,
    /// The verification of a factor.
    FactorVerify,
}

impl Limited {
    /// The setting that holds for it.
    pub fn bucket(self, policy: &LimitsPolicy) -> Bucket {
        match self {
            Self::Verify => policy.verify,
            Self::Token => policy.token_refresh,
            Self::Web3 => policy.web3,
            Self::Recover | Self::Resend | Self::MagicLink | Self::Otp | Self::User | Self::SignUp => policy.otp,
            Self::AnonymousUsers => policy.anonymous_users,
            Self::Sso => policy.sso,
            Self::SamlAssertion => policy.saml_assertion,
            Self::Passkey => policy.passkey,
            Self::OAuthClientRegister => policy.oauth_client_register,
            Self::FactorChallenge | Self::FactorVerify => policy.mfa_challenge_and_verify,
        }
    }
}

/// What is sent, and limited for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Mails.
    Email,
    /// Phone messages.
    Sms,
}

/// Most buckets kept at a time: about 20 MB.
const MOST_BUCKETS: usize = 100_000;
/// Keys longer than this are kept as a hash.
const LONGEST_KEY: usize = 64;

/// The counters. Kept when the configuration is read again.
#[derive(Debug)]
pub struct Limits {
    started: Time,
    buckets: Mutex<HashMap<(Limited, Box<str>), Level>>,
    email: Mutex<Spent>,
    sms: Mutex<Spent>,
}

/// How full a bucket is.
#[derive(Debug, Clone, Copy)]
struct Level {
    tokens: f64,
    at: Time,
    first: Time,
}

/// What a quota has given out.
#[derive(Debug, Default)]
struct Spent {
    /// The window, by number since the start, and what was taken in it.
    window: (i64, f64),
    /// The bucket, once it is used.
    level: Option<Level>,
}

impl Limits {
    /// No request has come yet. The windows of quotas begin at `started`.
    pub fn new(started: Time) -> Self {
        Self { started, buckets: Mutex::default(), email: Mutex::default(), sms: Mutex::default() }
    }

    /// Takes one request of this key; false: it asks too often.
    pub fn take(&self, what: Limited, key: &str, policy: &LimitsPolicy, now: Time) -> bool {
        let bucket = what.bucket(policy);
        let mut buckets = lock(&self.buckets);
        let key = (what, short(key));
        if let Some(level) = buckets.get_mut(&key) {
            if !is_forgotten(level, bucket, now) {
                return level.take(per_second(bucket), bucket.burst, now);
            }
        } else if buckets.len() >= MOST_BUCKETS {
            make_room(&mut buckets, policy, now);
        }
        let mut level = Level::full(bucket.burst, now);
        let allowed = level.take(per_second(bucket), bucket.burst, now);
        buckets.insert(key, level);
        allowed
    }

    /// Takes one message out of the quota; false: it is used up.
    pub fn take_quota(&self, sent: Sent, quota: Quota, now: Time) -> bool {
        let mut used = match sent {
            Sent::Email => lock(&self.email),
            Sent::Sms => lock(&self.sms),
        };
        match quota {
            Quota::Window { events, per } => {
                let length = i64::try_from(per.as_nanos()).unwrap_or(i64::MAX).max(1);
                let age = (now - self.started).num_nanoseconds().unwrap_or(i64::MAX);
                let window = age.div_euclid(length);
                if used.window.0 != window {
                    used.window = (window, 0.0);
                }
                let allowed = used.window.1 + 1.0 <= events;
                used.window.1 += f64::from(u8::from(allowed));
                allowed
            }
            Quota::Bucket { size, every } => {
                let rate = if every.is_zero() { f64::INFINITY } else { 1.0 / every.as_secs_f64() };
                used.level.get_or_insert_with(|| Level::full(size, now)).take(rate, size, now)
            }
        }
    }

    /// How many buckets are kept.
    pub fn kept(&self) -> usize {
        lock(&self.buckets).len()
    }
}

impl Level {
    fn full(size: f64, now: Time) -> Self {
        Self { tokens: size, at: now, first: now }
    }

    /// What is there at `now`. A clock that goes back fills nothing and takes nothing away.
    fn tokens_at(&self, per_second: f64, size: f64, now: Time) -> f64 {
        let elapsed = (now - self.at).to_std().unwrap_or_default().as_secs_f64();
        let gained = if elapsed > 0.0 { elapsed * per_second } else { 0.0 };
        (self.tokens + gained).min(size)
    }

    fn take(&mut self, per_second: f64, size: f64, now: Time) -> bool {
        self.tokens = self.tokens_at(per_second, size, now);
        self.at = self.at.max(now);
        let allowed = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(allowed));
        allowed
    }
}

fn per_second(bucket: Bucket) -> f64 {
    bucket.events / bucket.per.as_secs_f64().max(1e-9)
}

fn is_forgotten(level: &Level, bucket: Bucket, now: Time) -> bool {
    (now - level.first).to_std().is_ok_and(|age| age >= bucket.forgotten_after)
}

/// Drops what is forgotten; else the eighth of the buckets that are fullest, so that who is refused stays refused
/// however many other keys turn up.
fn make_room(buckets: &mut HashMap<(Limited, Box<str>), Level>, policy: &LimitsPolicy, now: Time) {
    buckets.retain(|(what, _), level| !is_forgotten(level, what.bucket(policy), now));
    if buckets.len() < MOST_BUCKETS {
        return;
    }
    let missing = |what: Limited, level: &Level| {
        let bucket = what.bucket(policy);
        bucket.burst - level.tokens_at(per_second(bucket), bucket.burst, now)
    };
    let mut all: Vec<f64> = buckets.iter().map(|((what, _), level)| missing(*what, level)).collect();
    let eighth = all.len() / 8;
    let (_, most, _) = all.select_nth_unstable_by(eighth, f64::total_cmp);
    let most = *most;
    let mut left = eighth + 1;
    buckets.retain(|(what, _), level| {
        let goes = left > 0 && missing(*what, level) <= most;
        left -= usize::from(goes);
        !goes
    });
}

fn short(key: &str) -> Box<str> {
    if key.len() <= LONGEST_KEY {
        return key.into();
    }
    // A blank cannot be in a trimmed key, so a hash is nobody's key.
    format!(" {}", STANDARD_NO_PAD.encode(digest(&SHA256, key.as_bytes()))).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
