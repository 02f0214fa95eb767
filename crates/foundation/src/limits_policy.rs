//! Configured rate limits and sending quotas.

use crate::limits::{Bucket, LimitKey, Quota};

/// Rate limits and sending quotas.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitsPolicy {
    /// The key of request limits. Default: an unnamed header, which disables them.
    pub key: LimitKey,
    /// Quota of outgoing e-mail of the process. Default 30 per hour.
    pub email_sent: Quota,
    /// Quota of outgoing SMS of the process. Default 30 per hour.
    pub sms_sent: Quota,
    /// `/verify`. Default 30 per 5 min, burst 30.
    pub verify: Bucket,
    /// `/token`. Default 150 per 5 min, burst 30.
    pub token_refresh: Bucket,
    /// Each of `/recover`, `/resend`, `/magiclink`, `/otp`, `PUT /user`, `/signup`.
    /// Default 30 per 5 min, burst 30.
    pub otp: Bucket,
    /// `/sso`. Default 30 per 5 min, burst 30.
    pub sso: Bucket,
    /// `/token` with a wallet signature. Default 30 per 5 min, burst 30.
    pub web3: Bucket,
    /// `/passkeys/authentication/options`. Default 30 per 5 min, burst 30.
    pub passkey: Bucket,
    /// `/oauth/clients/register`. Default 10 per 5 min, burst 30.
    pub oauth_client_register: Bucket,
    /// Anonymous `/signup`. Default 30 per hour, burst 30.
    pub anonymous_users: Bucket,
    /// `/sso/saml/acs`. Default 15 per 5 min, burst 30.
    pub saml_assertion: Bucket,
    /// Each of factor challenge and factor verification. Default 15 per min, burst 30.
    pub mfa_challenge_and_verify: Bucket,
    /// Whether sign-ins by password or ID token count as sign-ups instead of as refreshes. Default false.
    pub are_sign_ins_counted_as_sign_ups: bool,
    /// Limits per target user, independent of the sender. Default: none.
    pub targets: TargetLimits,
    /// A 429 names the limit and the waiting time, also as `Retry-After`. Default false.
    pub is_error_detailed: bool,
}

impl Default for LimitsPolicy {
    fn default() -> Self {
        Self {
            key: LimitKey::default(),
            email_sent: Quota::default(),
            sms_sent: Quota::default(),
            verify: Bucket::per_five_minutes(30.0),
            token_refresh: Bucket::per_five_minutes(150.0),
            otp: Bucket::per_five_minutes(30.0),
            sso: Bucket::per_five_minutes(30.0),
            web3: Bucket::per_five_minutes(30.0),
            passkey: Bucket::per_five_minutes(30.0),
            oauth_client_register: Bucket::per_five_minutes(10.0),
            anonymous_users: Bucket::per_hour(30.0),
            are_sign_ins_counted_as_sign_ups: false,
            saml_assertion: Bucket::per_five_minutes(15.0),
            mfa_challenge_and_verify: Bucket::per_minute(15.0),
            targets: TargetLimits::default(),
            is_error_detailed: false,
        }
    }
}

/// Limits per target user, independent of the sender, against distributed guessing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TargetLimits {
    /// Wrong passwords for one user.
    pub wrong_passwords: Option<Bucket>,
    /// Wrong codes for one address, number or user.
    pub wrong_codes: Option<Bucket>,
    /// Requested messages for one address or number.
    pub messages: Option<Bucket>,
    /// Whether the minimum interval between two messages also holds for addresses and numbers that no user has.
    ///
    /// Default false: it is that of a user, so that a second request tells whether there is one.
    pub is_message_gap_counted: bool,
}

impl TargetLimits {
    /// Returns the default: 30 wrong passwords, 30 wrong codes and 12 messages per hour.
    pub fn recommended() -> Self {
        Self {
            wrong_passwords: Some(Bucket::for_target(30.0)),
            wrong_codes: Some(Bucket::for_target(30.0)),
            messages: Some(Bucket::for_target(12.0)),
            is_message_gap_counted: true,
        }
    }
}
