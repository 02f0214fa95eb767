//! Rate limits and sending quotas.

use std::time::Duration;

use ipnet::IpNet;

/// Rate limits and sending quotas.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitsPolicy {
    /// What the buckets are counted by. Default: a header that is not named, so that nothing is limited.
    pub key: LimitKey,
    /// Outgoing mails of the whole process. Default 30 an hour.
    pub email_sent: Quota,
    /// Outgoing phone messages of the whole process. Default 30 an hour.
    pub sms_sent: Quota,
    /// `/verify`. Default 30 in 5 min, burst 30.
    pub verify: Bucket,
    /// `/token`. Default 150 in 5 min, burst 30.
    pub token_refresh: Bucket,
    /// Each of `/recover`, `/resend`, `/magiclink`, `/otp`, `PUT /user`, `/signup`. Default 30 in 5 min, burst 30.
    pub otp: Bucket,
    /// `/sso`. Default 30 in 5 min, burst 30.
    pub sso: Bucket,
    /// `/token` with a wallet. Default 30 in 5 min, burst 30.
    pub web3: Bucket,
    /// `/passkeys/authentication/options`. Default 30 in 5 min, burst 30.
    pub passkey: Bucket,
    /// `/oauth/clients/register`. Default 10 in 5 min, burst 30.
    pub oauth_client_register: Bucket,
    /// Anonymous `/signup`. Default 30 an hour, burst 30.
    pub anonymous_users: Bucket,
    /// `/sso/saml/acs`. Default 15 in 5 min, burst 30.
    pub saml_assertion: Bucket,
    /// Each of factor challenge and factor verification. Default 15 a minute, burst 30.
    pub mfa_challenge_and_verify: Bucket,
    /// Limits by whom a request is about, whoever sends it. Default: none.
    pub targets: TargetLimits,
    /// A refusal names its limit and says, in words and by `Retry-After`, how long to wait. Default false.
    pub explained: bool,
}

impl Default for LimitsPolicy {
    fn default() -> Self {
        Self {
            key: LimitKey::default(),
            email_sent: Quota::default(),
            sms_sent: Quota::default(),
            verify: Bucket::in_five_minutes(30.0),
            token_refresh: Bucket::in_five_minutes(150.0),
            otp: Bucket::in_five_minutes(30.0),
            sso: Bucket::in_five_minutes(30.0),
            web3: Bucket::in_five_minutes(30.0),
            passkey: Bucket::in_five_minutes(30.0),
            oauth_client_register: Bucket::in_five_minutes(10.0),
            anonymous_users: Bucket::in_an_hour(30.0),
            saml_assertion: Bucket::in_five_minutes(15.0),
            mfa_challenge_and_verify: Bucket::in_a_minute(15.0),
            targets: TargetLimits::default(),
            explained: false,
        }
    }
}

/// Limits by whom a request is about, whoever sends it: they slow down who guesses from many networks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TargetLimits {
    /// Wrong passwords for one account.
    pub wrong_passwords: Option<Bucket>,
    /// Wrong codes for one address, number or account.
    pub wrong_codes: Option<Bucket>,
    /// Messages asked for one address or number.
    pub messages: Option<Bucket>,
}

impl TargetLimits {
    /// Thirty wrong passwords, thirty wrong codes and twelve messages an hour.
    pub fn usual() -> Self {
        Self {
            wrong_passwords: Some(Bucket::of_target(30.0)),
            wrong_codes: Some(Bucket::of_target(30.0)),
            messages: Some(Bucket::of_target(12.0)),
        }
    }
}

/// What the buckets are counted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitKey {
    /// `Sb-Forwarded-For` where that is enabled and valid, else the first part of the named header. Without either
    /// (an empty name, a request without the header) nothing is limited.
    Header(String),
    /// The address of the peer; behind one of these proxies the address they forward.
    Peer {
        /// Networks of proxies whose word is taken.
        trusted_proxies: Vec<IpNet>,
    },
}

impl Default for LimitKey {
    fn default() -> Self {
        Self::Header(String::new())
    }
}

/// A token bucket per key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// How many requests `per` allows; 0: none after the burst.
    pub events: f64,
    /// The time `events` is meant for.
    pub per: Duration,
    /// Size of the bucket: how many at once.
    pub burst: f64,
    /// A key is forgotten, its bucket full again, this long after its first request.
    pub forgotten_after: Duration,
}

impl Bucket {
    /// So many in five minutes, 30 at once.
    pub fn in_five_minutes(events: f64) -> Self {
        Self { events, per: Duration::from_mins(5), burst: 30.0, forgotten_after: Duration::from_hours(1) }
    }

    /// So many an hour, as many at once.
    pub fn in_an_hour(events: f64) -> Self {
        let hour = Duration::from_hours(1);
        Self { events, per: hour, burst: events.trunc(), forgotten_after: hour }
    }

    /// So many an hour, as many at once. Never forgotten before it is full again.
    pub fn of_target(events: f64) -> Self {
        Self { forgotten_after: Duration::from_hours(24), ..Self::in_an_hour(events) }
    }

    /// A third of it, at least one at once: what one network may take of a target's. Two networks alone cannot use a
    /// target's up.
    #[must_use]
    pub fn share_of_a_network(self) -> Self {
        Self { events: self.events / 3.0, burst: (self.burst / 3.0).floor().max(1.0), ..self }
    }

    /// So many a minute, 30 at once, forgotten after a minute.
    pub fn in_a_minute(events: f64) -> Self {
        let minute = Duration::from_mins(1);
        Self { events, per: minute, burst: 30.0, forgotten_after: minute }
    }
}

/// A sending quota of the whole process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quota {
    /// So many in each window, counted from the start of the process.
    Window {
        /// How many.
        events: f64,
        /// Length of a window.
        per: Duration,
    },
    /// A bucket of that size, refilled one by one.
    Bucket {
        /// Size, and what is there at first.
        size: f64,
        /// One more comes after this long.
        every: Duration,
    },
}

impl Default for Quota {
    fn default() -> Self {
        Self::Window { events: 30.0, per: Duration::from_hours(1) }
    }
}
