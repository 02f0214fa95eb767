//! Rate limits and sending quotas.

use foundation::limits::{Bucket, LimitKey};

use super::super::check;
use super::super::setting::{Setting, ValueType};
use super::rows::{Section, number, quota, text};

pub(super) const SECTION: Section = Section {
    title: "Rate limits",
    intro: "Requests are limited by the value of the header that `GOTRUE_RATE_LIMIT_HEADER` names (or \
            `Sb-Forwarded-For`, if enabled); a request without it is not limited. Unless documented otherwise, a \
            limit is the number of requests in five minutes, with a burst of 30. A sending quota is a number (per \
            hour since the start) or `number/duration` (a burst of that number, and one more after each duration).",
    rows: &[
        text("GOTRUE_RATE_LIMIT_HEADER", |d, _, v| d.policy.limits.key = LimitKey::Header(v))
            .doc("Header whose first part is the key of rate limits.", "X-Forwarded-For"),
        quota("GOTRUE_RATE_LIMIT_EMAIL_SENT", |d, _, v| d.policy.limits.email_sent = v)
            .default("30")
            .doc("Sending quota of mails; 0: none.", "100/36s"),
        quota("GOTRUE_RATE_LIMIT_SMS_SENT", |d, _, v| d.policy.limits.sms_sent = v)
            .default("30")
            .doc("Sending quota of phone messages; 0: none.", "60"),
        number("GOTRUE_RATE_LIMIT_VERIFY", |d, _, n| d.policy.limits.verify = Bucket::per_five_minutes(n))
            .default("30")
            .doc("`/verify`.", "60"),
        number("GOTRUE_RATE_LIMIT_TOKEN_REFRESH", |d, _, n| {
            d.policy.limits.token_refresh = Bucket::per_five_minutes(n);
        })
        .default("150")
        .doc("`POST /token`, except with a wallet.", "300"),
        number("GOTRUE_RATE_LIMIT_OTP", |d, _, n| d.policy.limits.otp = Bucket::per_five_minutes(n))
            .default("30")
            .doc("Each of `/recover`, `/resend`, `/magiclink`, `/otp`, `PUT /user` and `/signup`.", "60"),
        number("GOTRUE_RATE_LIMIT_SSO", |d, _, n| d.policy.limits.sso = Bucket::per_five_minutes(n))
            .default("30")
            .doc("`/sso`.", "60"),
        number("GOTRUE_RATE_LIMIT_WEB3", |d, _, n| d.policy.limits.web3 = Bucket::per_five_minutes(n))
            .default("30")
            .doc("`POST /token` with a wallet.", "60"),
        number("GOTRUE_RATE_LIMIT_PASSKEY", |d, _, n| d.policy.limits.passkey = Bucket::per_five_minutes(n))
            .default("30")
            .doc("`POST /passkeys/authentication/options`.", "60"),
        number("GOTRUE_RATE_LIMIT_O_AUTH_DYNAMIC_CLIENT_REGISTER", |d, _, n| {
            d.policy.limits.oauth_client_register = Bucket::per_five_minutes(n);
        })
        .default("10")
        .doc("`/oauth/clients/register`.", "5"),
        number("GOTRUE_RATE_LIMIT_ANONYMOUS_USERS", |d, _, n| d.policy.limits.anonymous_users = Bucket::per_hour(n))
            .default("30")
            .doc("Anonymous sign-ups per hour, also the burst.", "10"),
        number("GOTRUE_SAML_RATE_LIMIT_ASSERTION", |d, _, n| {
            d.policy.limits.saml_assertion = Bucket::per_five_minutes(n);
        })
        .default("15")
        .doc("`/sso/saml/acs`.", "30"),
        number("GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY", |d, _, n| {
            d.policy.limits.mfa_challenge_and_verify = Bucket::per_minute(n);
        })
        .default("15")
        .doc("Challenges, and verifications, of factors per minute.", "30"),
        Setting::new(
            "GOTRUE_RATE_LIMIT_STORE_URL",
            ValueType::Custom("a URL of Redis, or `postgres`", check::parse_limit_store_url),
        )
        .hidden()
        .doc(
            "Store of the limits, which all processes with it share: `redis://user:password@host:6379/0`, `rediss://` (TLS), \
             `valkey://`, `valkeys://`, or `postgres` for the database of the server; empty: each process counts by \
             itself. Read at start.",
            "redis://localhost:6379/0",
        ),
        Setting::new(
            "GOTRUE_RATE_LIMIT_STORE_ON_FAILURE",
            ValueType::Custom("`open` or `closed`", check::parse_limit_store_failure),
        )
        .default("open")
        .doc(
            "While the store is unreachable: `open`, each process counts by itself; `closed`, limited requests get a 503.",
            "closed",
        ),
        Setting::new(
            "GOTRUE_RATE_LIMIT_STORE_PREFIX",
            ValueType::Custom("a short name", check::parse_limit_store_prefix),
        )
        .default("basalt")
        .doc("Beginning of the names of keys in the store; another one for each installation.", "shop"),
        Setting::new(
            "GOTRUE_RATE_LIMIT_STORE_TIMEOUT",
            ValueType::Custom("a duration from 5ms to 5s", check::parse_limit_store_timeout),
        )
        .default("100ms")
        .doc("Longest wait for the store. After a failure it is tried once a second.", "50ms"),
    ],
};
