//! Limits: the reference's arithmetic, one key for one caller, bounded memory.

use std::net::IpAddr;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use foundation::limits::{Bucket, LimitKey, Quota};
use foundation::limits_policy::LimitsPolicy;
use http::HeaderMap;
use platform::limits::{ClientRequest, CountedEvent, LimitedRoute, QuotaKind, RateLimits, find_key};
use proptest::prelude::*;

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a date")
}

fn after(seconds: f64) -> DateTime<Utc> {
    start() + TimeDelta::from_std(Duration::from_secs_f64(seconds)).expect("a span")
}

/// Whether one more of it is allowed.
fn take(limits: &RateLimits, what: LimitedRoute, key: &str, policy: &LimitsPolicy, now: DateTime<Utc>) -> bool {
    limits.take(what, key, what.bucket(policy), now).is_ok()
}

#[test]
fn burst_of_thirty_refills_one_per_ten_seconds() {
    let (limits, policy) = (RateLimits::new(start()), LimitsPolicy::default());
    let allowed = (0..40).filter(|_| take(&limits, LimitedRoute::Verify, "a", &policy, start())).count();
    assert_eq!(allowed, 30);
    assert!(!take(&limits, LimitedRoute::Verify, "a", &policy, after(9.9)));
    assert!(take(&limits, LimitedRoute::Verify, "a", &policy, after(10.0)));
    assert!(!take(&limits, LimitedRoute::Verify, "a", &policy, after(10.1)));
    assert!(take(&limits, LimitedRoute::Verify, "b", &policy, after(10.1)), "another key");
    assert!(take(&limits, LimitedRoute::Otp, "a", &policy, after(10.1)), "another limit");
}

#[test]
fn limits_sharing_a_setting_are_counted_separately() {
    let (limits, policy) = (RateLimits::new(start()), LimitsPolicy::default());
    for what in [
        LimitedRoute::Recover,
        LimitedRoute::Resend,
        LimitedRoute::MagicLink,
        LimitedRoute::Otp,
        LimitedRoute::User,
        LimitedRoute::SignUp,
    ] {
        assert_eq!((0..40).filter(|_| take(&limits, what, "a", &policy, start())).count(), 30, "{what:?}");
    }
}

#[test]
fn bucket_is_removed_an_hour_after_its_first_request() {
    let (limits, mut policy) = (RateLimits::new(start()), LimitsPolicy::default());
    policy.verify = Bucket::per_five_minutes(0.0);
    policy.mfa_challenge_and_verify = Bucket::per_minute(0.0);
    for (what, seconds) in [(LimitedRoute::Verify, 3600.0), (LimitedRoute::FactorVerify, 60.0)] {
        assert_eq!((0..40).filter(|_| take(&limits, what, "a", &policy, start())).count(), 30);
        assert!(!take(&limits, what, "a", &policy, after(seconds - 0.1)), "zero allows nothing after the burst");
        assert!(take(&limits, what, "a", &policy, after(seconds)));
    }
}

#[test]
fn anonymous_sign_ups_have_their_own_burst() {
    let (limits, mut policy) = (RateLimits::new(start()), LimitsPolicy::default());
    policy.anonymous_users = Bucket::per_hour(3.0);
    assert_eq!((0..10).filter(|_| take(&limits, LimitedRoute::AnonymousUsers, "a", &policy, start())).count(), 3);
    assert!(take(&limits, LimitedRoute::AnonymousUsers, "a", &policy, after(1200.0)));
}

#[test]
fn window_quota_starts_with_the_process() {
    let limits = RateLimits::new(start());
    let quota = Quota::Window { events: 2.0, per: Duration::from_hours(1) };
    let take = |seconds| limits.take_quota(QuotaKind::Email, quota, after(seconds)).is_ok();
    assert_eq!(
        [take(3500.0), take(3500.0), take(3599.9), take(3600.0), take(3600.0), take(3601.0)],
        [true, true, false, true, true, false]
    );
    assert!(limits.take_quota(QuotaKind::Sms, quota, after(3601.0)).is_ok(), "mails and texts count apart");
    let none = Quota::Window { events: 0.0, per: Duration::from_hours(1) };
    assert!(RateLimits::new(start()).take_quota(QuotaKind::Email, none, start()).is_err());
}

#[test]
fn a_quota_of_a_bucket_is_refilled_one_by_one() {
    let limits = RateLimits::new(start());
    let quota = Quota::Bucket { size: 2.0, every: Duration::from_mins(1) };
    let take = |seconds| limits.take_quota(QuotaKind::Email, quota, after(seconds)).is_ok();
    assert_eq!(
        [take(0.0), take(0.0), take(59.0), take(60.0), take(61.0), take(600.0), take(600.0), take(600.0)],
        [true, true, false, true, false, true, true, false]
    );
}

#[test]
fn retry_after_is_exact() {
    let limits = RateLimits::new(start());
    let wait = |bucket: Bucket, at: f64| {
        limits.take(LimitedRoute::Otp, "a", bucket, after(at)).err().map(|refused| refused.wait)
    };
    let two = Bucket { burst: 2.0, ..Bucket::per_five_minutes(10.0) };
    assert_eq!([wait(two, 0.0), wait(two, 0.0)], [None, None]);
    assert_eq!(wait(two, 12.0), Some(Duration::from_secs(18)));
    assert_eq!(wait(two, 30.0), None);
    let none = Bucket { events: 0.0, ..two };
    assert_eq!(wait(none, 40.0), Some(Duration::from_secs(3560)), "until it is forgotten");
    let never = Bucket { burst: 0.0, evicted_after: Duration::MAX, ..two };
    assert_eq!(wait(never, 41.0), Some(Duration::from_hours(24)), "a day stands for never");
    let quota = Quota::Window { events: 1.0, per: Duration::from_mins(1) };
    assert_eq!(limits.take_quota(QuotaKind::Sms, quota, after(10.0)), Ok(()));
    assert_eq!(
        limits.take_quota(QuotaKind::Sms, quota, after(15.0)).map_err(|refused| refused.wait),
        Err(Duration::from_secs(45))
    );
}

#[test]
fn returned_tokens_do_not_exceed_the_bucket() {
    let (limits, bucket) = (RateLimits::new(start()), Bucket::for_target(3.0));
    let take = || limits.take(CountedEvent::WrongCodes, "a", bucket, start()).is_ok();
    limits.refund(CountedEvent::WrongCodes, "nobody");
    for _ in 0..5 {
        assert!(take());
        limits.refund(CountedEvent::WrongCodes, "a");
        limits.refund(CountedEvent::WrongCodes, "a");
    }
    assert_eq!([take(), take(), take(), take()], [true, true, true, false]);
}

#[test]
fn grant_is_limited_by_attempts_and_time() {
    let limits = RateLimits::new(start());
    assert!(!limits.consume_grant("a", start()));
    limits.grant("a", 2, after(60.0), start());
    limits.grant("a", 2, after(60.0), start());
    let used = |at| limits.consume_grant("a", after(at));
    assert_eq!([used(0.0), used(1.0), used(2.0)], [true, true, false], "a second grant adds nothing");
    limits.grant("a", 2, after(60.0), start());
    assert_eq!([used(59.0), used(60.0)], [true, false]);
    for number in 0..100_000_u32 {
        limits.grant(&number.to_string(), 1, after(120.0 + f64::from(number)), start());
    }
    assert!(limits.count_entries() <= 30_000, "{}", limits.count_entries());
    assert!(limits.consume_grant("99999", start()), "those that last longest are kept");
}

#[test]
fn network_share_is_a_third_and_at_least_one() {
    for (events, burst) in [(30.0, 10.0), (12.0, 4.0), (2.0, 1.0), (1.0, 1.0)] {
        let expected = Bucket { burst, ..Bucket::for_target(events).network_share() };
        assert_eq!(Bucket::for_target(events).network_share(), expected);
    }
}

fn key(by: &LimitKey, peer: Option<&str>, sb: bool, headers: &[(&'static str, &str)]) -> Option<String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().expect("a header"));
    }
    let peer = peer.map(|peer| peer.parse().expect("an address"));
    find_key(by, ClientRequest { headers: &map, peer, resolved: None, sb_forwarded_for: sb })
}

#[test]
fn without_a_header_nothing_is_limited() {
    let header = |name: &str| LimitKey::Header(name.to_owned());
    let peer = Some("192.0.2.1");
    assert_eq!(key(&header(""), peer, false, &[("x-forwarded-for", "192.0.2.9")]), None);
    assert_eq!(key(&header("X-Client"), peer, false, &[]), None);
    assert_eq!(key(&header("X-Client"), peer, false, &[("x-client", "")]), None);
    assert_eq!(key(&header("X-Client"), peer, false, &[("x-client", " ann , bob")]).as_deref(), Some("ann"));
    let both = [("sb-forwarded-for", "192.0.2.7, 10.0.0.1"), ("x-client", "ann")];
    assert_eq!(key(&header("X-Client"), peer, true, &both).as_deref(), Some("192.0.2.7"));
    assert_eq!(key(&header("X-Client"), peer, false, &both).as_deref(), Some("ann"));
    assert_eq!(
        key(&header("X-Client"), peer, true, &[("sb-forwarded-for", "me"), ("x-client", "ann")]).as_deref(),
        Some("ann")
    );
}

#[test]
fn peer_has_one_key_regardless_of_headers() {
    let by = LimitKey::Peer {
        trusted_proxies: vec!["10.0.0.0/8".parse().expect("a network"), "2001:db8:1::/48".parse().expect("a network")],
    };
    let forged = [("x-forwarded-for", "203.0.113.9"), ("sb-forwarded-for", "203.0.113.9")];
    for (peer, headers, expected) in [
        (Some("192.0.2.1"), &forged[..], "192.0.2.1"),
        (Some("::ffff:192.0.2.1"), &[], "192.0.2.1"),
        (Some("2001:db8:2:3:4:5:6:7"), &[], "2001:db8:2:3::/64"),
        (Some("2001:db8:2:3:ffff::1"), &[], "2001:db8:2:3::/64"),
        (Some("10.1.2.3"), &[("x-forwarded-for", "1.1.1.1, 192.0.2.1")], "192.0.2.1"),
        (Some("10.1.2.3"), &[("x-forwarded-for", "1.1.1.1, 192.0.2.1, 10.9.9.9")], "192.0.2.1"),
        (Some("10.1.2.3"), &[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "192.0.2.1")], "192.0.2.1"),
        (Some("2001:db8:1::1"), &[("x-forwarded-for", "::ffff:192.0.2.1")], "192.0.2.1"),
        (Some("10.1.2.3"), &[("x-forwarded-for", "1.1.1.1, nonsense")], "10.1.2.3"),
        (Some("10.1.2.3"), &[("x-forwarded-for", "1.1.1.1, 192.0.2.1:4711")], "192.0.2.1"),
        (Some("10.1.2.3"), &[("x-forwarded-for", "[2001:db8:2:3::1]:4711")], "2001:db8:2:3::/64"),
        (Some("10.1.2.3"), &[], "10.1.2.3"),
        (None, &forged, "unknown"),
    ] {
        assert_eq!(key(&by, peer, true, headers).as_deref(), Some(expected), "{peer:?} {headers:?}");
    }
}

#[test]
fn memory_is_bounded_and_refused_keys_stay_refused() {
    let (limits, policy) = (RateLimits::new(start()), LimitsPolicy::default());
    for _ in 0..31 {
        take(&limits, LimitedRoute::Verify, "greedy", &policy, start());
    }
    for number in 0..250_000_u32 {
        take(&limits, LimitedRoute::Verify, &number.to_string(), &policy, start());
    }
    assert!(limits.count_entries() <= 100_000, "{}", limits.count_entries());
    assert!(!take(&limits, LimitedRoute::Verify, "greedy", &policy, start()));
    let long = "x".repeat(8000);
    assert_eq!(
        (0..40).filter(|_| take(&limits, LimitedRoute::Verify, &long, &policy, start())).count(),
        30,
        "a long key is a key"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_more_than_burst_and_rate_allow(gaps in prop::collection::vec(-5.0..40.0_f64, 1..200), events in 0.0..300.0_f64) {
        let (limits, mut policy) = (RateLimits::new(start()), LimitsPolicy::default());
        policy.otp = Bucket { evicted_after: Duration::from_hours(1000), ..Bucket::per_five_minutes(events) };
        let (mut at, mut latest, mut allowed) = (1000.0, 1000.0_f64, 0_u32);
        take(&limits, LimitedRoute::Otp, "a", &policy, after(at));
        for gap in gaps {
            at = f64::max(0.0, at + gap);
            latest = latest.max(at);
            allowed += u32::from(take(&limits, LimitedRoute::Otp, "a", &policy, after(at)));
            let most = 29.0 + (latest - 1000.0) * events / 300.0;
            prop_assert!(f64::from(allowed) <= most + 1e-6, "{allowed} of {most}");
        }
    }

    #[test]
    fn every_spelling_of_an_ip_address_is_one_key(bits in any::<u128>(), low in any::<u64>(), four in any::<u32>()) {
        let by = LimitKey::Peer { trusted_proxies: Vec::new() };
        let headers = HeaderMap::new();
        let of = |address: IpAddr| {
            let peer = Some(address);
            find_key(&by, ClientRequest { headers: &headers, peer, resolved: None, sb_forwarded_for: false })
        };
        let neighbour = bits & !u128::from(u64::MAX) | u128::from(low);
        prop_assume!(bits >> 64 != 0 && neighbour >> 64 != 0);
        prop_assert_eq!(of(IpAddr::V6(bits.into())), of(IpAddr::V6(neighbour.into())));
        let v4 = std::net::Ipv4Addr::from(four);
        prop_assert_eq!(of(IpAddr::V4(v4)), of(IpAddr::V6(v4.to_ipv6_mapped())));
    }
}
