//! Table tests of the rotation rules.

use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Time {
    Time::from_timestamp(seconds, 0).unwrap()
}

fn policy(rotation_enabled: bool, seconds: u64) -> RefreshPolicy {
    RefreshPolicy { rotation_enabled, reuse_interval: Duration::from_secs(seconds), ..RefreshPolicy::default() }
}

#[test]
fn token_versions_are_parsed_before_lookup() {
    let key = RefreshTokenKey::new([1; 32]);
    let signed = SignedToken::encode(Uuid::from_u128(1), 0, &key);
    assert_eq!(
        PresentedRefreshToken::parse("abcdefgh2345").unwrap(),
        PresentedRefreshToken::Stored("abcdefgh2345".into())
    );
    assert_eq!(
        PresentedRefreshToken::parse("abcdefgh0189").unwrap(),
        PresentedRefreshToken::Stored("abcdefgh0189".into())
    );
    assert!(matches!(PresentedRefreshToken::parse(&signed).unwrap(), PresentedRefreshToken::Signed(_)));
    for token in [
        "",
        "abcdefgh234",
        "ABCDEFGH2345",
        "abcdefgh234-",
        "abcdefgh234\n",
        "abcdefgh23456",
        "àbcdefgh234",
        &signed[1..],
    ] {
        let refused = PresentedRefreshToken::parse(token).unwrap_err();
        assert_eq!(refused.to_string(), "400: Refresh token is not valid", "{token}");
    }
}

#[test]
fn ban_is_reported_before_missing_session() {
    let banned = User { banned_until: Some(at(100)), ..User::default() };
    let session = Session::default();
    assert_eq!(require_active_session(&banned, None, at(99)).unwrap_err().code().as_str(), "user_banned");
    assert_eq!(require_active_session(&banned, None, at(100)).unwrap_err().code().as_str(), "session_not_found");
    assert_eq!(require_active_session(&User::default(), Some(&session), at(0)).unwrap(), &session);
}

#[test]
fn session_requires_its_own_client() {
    let (ours, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    for (owner, client, expected) in [
        (None, None, ""),
        (Some(Uuid::nil()), None, ""),
        (None, Some(Uuid::nil()), ""),
        (Some(ours), Some(ours), ""),
        (Some(ours), None, "Client authentication required for OAuth session"),
        (Some(ours), Some(other), "Client does not match the session's OAuth client"),
        (None, Some(ours), "Client authentication not allowed for non-OAuth session"),
    ] {
        let session = Session { oauth_client_id: owner, ..Session::default() };
        let answer =
            require_same_client(&session, client).map_or_else(|error| error.message().to_owned(), |()| String::new());
        assert_eq!(answer, expected);
    }
}

#[test]
fn version_1_decisions() {
    use StoredTokenDecision::{Reject, ReturnActive, RevokeFamily, Rotate};
    let child = Some(("child", Some("mine")));
    let unrelated = Some(("child", Some("other")));
    for (revoked, active, seconds, rotation, now, outcome) in [
        (false, None, 0, true, 100, Rotate),
        (false, child, 0, false, 100, Rotate),
        (true, child, 0, true, 1_000_000, ReturnActive("child".into())),
        (true, child, 60, true, 100, ReturnActive("child".into())),
        (true, unrelated, 0, true, 100, Rotate),
        (true, unrelated, 0, true, 101, RevokeFamily),
        (true, unrelated, 10, true, 110, Rotate),
        (true, unrelated, 10, true, 111, RevokeFamily),
        (true, unrelated, 10, false, 111, Reject),
        (true, None, 0, true, 101, RevokeFamily),
        (true, Some(("child", None)), 0, false, 101, Reject),
    ] {
        let row = StoredRefreshToken { token: "mine", revoked, updated_at: at(100), active };
        assert_eq!(decide_stored(&row, &policy(rotation, seconds), at(now)), outcome, "{row:?} {now}");
    }
}

fn signed(counter: i64) -> SignedToken {
    let key = RefreshTokenKey::new([1; 32]);
    SignedToken::decode(&SignedToken::encode(Uuid::nil(), counter, &key)).unwrap()
}

#[test]
fn version_2_decisions() {
    use SignedTokenDecision::{Advance, CounterNotIssued, EndSession, Refuse};
    let again = |cause: &str| SignedTokenDecision::ReturnCurrent { counter: 5, cause: cause.into() };
    // counter of the token, seconds since the last refresh, interval, allow_reuse, rotation
    for (counter, age, interval, allow, rotation, outcome) in [
        (6, 0, 10, true, true, CounterNotIssued),
        (i64::MAX, 0, 10, true, true, CounterNotIssued),
        (5, 0, 0, false, true, Advance { counter: 6 }),
        (4, 1000, 0, false, true, again("fail-to-save")),
        (4, 9, 10, false, true, again("concurrent-refresh,fail-to-save")),
        (4, 10, 10, false, true, again("fail-to-save")),
        (4, 9, 10, true, true, again("concurrent-refresh,fail-to-save,always-allow")),
        (3, 9, 10, false, true, again("concurrent-refresh")),
        (3, -9, 10, false, true, again("concurrent-refresh")),
        (3, 10, 10, false, true, EndSession),
        (3, 10, 10, false, false, Refuse),
        (3, 10, 10, true, false, again("always-allow")),
        (0, 0, 0, false, true, EndSession),
    ] {
        let refreshed_at = Some(at(1000 - age).naive_utc());
        let session = Session { refresh_token_counter: Some(5), refreshed_at, ..Session::default() };
        let policy = RefreshPolicy { allow_reuse: allow, ..policy(rotation, interval) };
        assert_eq!(decide_signed(&signed(counter), &session, &policy, at(1000)), outcome, "{counter} {age}");
    }
}

#[test]
fn upgrade_percentage_selects_stable_sessions() {
    let upgraded = |version, percentage| {
        let policy =
            RefreshPolicy { algorithm_version: version, upgrade_percentage: percentage, ..RefreshPolicy::default() };
        (0..1000).filter(|id| should_upgrade(Uuid::from_u128(*id), &policy)).collect::<Vec<_>>()
    };
    assert_eq!(upgraded(2, 100).len(), 1000);
    assert_eq!((upgraded(2, 0).len(), upgraded(1, 100).len()), (0, 0));
    let (some, more) = (upgraded(2, 30), upgraded(2, 60));
    assert!((250..350).contains(&some.len()), "{}", some.len());
    assert!(some.iter().all(|id| more.contains(id)));
}

#[test]
fn refresh_errors_have_expected_statuses() {
    for (error, expected) in [
        (token_not_found(), "400: Invalid Refresh Token: Refresh Token Not Found"),
        (already_used(), "400: Invalid Refresh Token: Already Used"),
        (counter_not_issued(), "400: Invalid Refresh Token: Not Issued By This Server"),
        (
            too_many_concurrent_requests(),
            "409: Too many concurrent token refresh requests on the same session or refresh token",
        ),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn revoked_family_is_rotated_within_the_interval_unless_revocation_is_final() {
    let row = StoredRefreshToken { token: "a", revoked: true, updated_at: at(0), active: None };
    let lenient = policy(true, 10);
    assert_eq!(decide_stored(&row, &lenient, at(5)), StoredTokenDecision::Rotate);
    let strict = RefreshPolicy { is_revocation_final: true, ..lenient };
    assert_eq!(decide_stored(&row, &strict, at(5)), StoredTokenDecision::Reject);
}

proptest! {
    /// A family has at most one active token in any order of requests; rejected tokens change nothing.
    #[test]
    fn family_has_at_most_one_active_token(picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..40)) {
        // token, parent, revoked, updated_at
        let mut family: Vec<(String, Option<String>, bool, i64)> = vec![("0".into(), None, false, 0)];
        for (step, pick) in (1..).zip(picks) {
            let at_ = pick.index(family.len());
            let (token, _, revoked, updated) = family[at_].clone();
            let active = family.iter().rev().find(|(_, _, revoked, _)| !revoked);
            let row = StoredRefreshToken {
                token: &token,
                revoked,
                updated_at: at(updated),
                active: active.map(|(token, parent, _, _)| (token.as_str(), parent.as_deref())),
            };
            match decide_stored(&row, &policy(true, 0), at(step)) {
                StoredTokenDecision::Rotate => {
                    family[at_].2 = true;
                    family[at_].3 = step;
                    family.push((step.to_string(), Some(token), false, step));
                }
                StoredTokenDecision::ReturnActive(active) => {
                    prop_assert!(family.iter().any(|token| token.0 == active && !token.2));
                }
                StoredTokenDecision::RevokeFamily => family.iter_mut().for_each(|token| token.2 = true),
                StoredTokenDecision::Reject => prop_assert!(false, "rotation is on"),
            }
            prop_assert!(family.iter().filter(|token| !token.2).count() <= 1);
        }
    }
}
