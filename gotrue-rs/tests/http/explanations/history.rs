//! The history of secrets and sessions.

use std::sync::Arc;

use foundation::time::Time;
use platform::explanation::history::{History, RequestRef, digest_secret};
use platform::journal::{EndedSessions, Fact};
use uuid::Uuid;

fn by(id: &str) -> Arc<RequestRef> {
    Arc::new(RequestRef {
        id: id.to_owned(),
        route: "POST /verify".to_owned(),
        at: Time::UNIX_EPOCH,
        client: None,
        user_agent: None,
    })
}

fn issue(history: &History, secret: &str, slot: &str, id: &str) {
    let fact = Fact::SecretIssued { digest: digest_secret(secret), slot: slot.to_owned() };
    history.record(&fact, &by(id));
}

#[test]
fn secret_is_superseded_by_the_next_of_its_slot() {
    let history = History::default();
    issue(&history, "a", "recovery of 1", "1");
    issue(&history, "b", "recovery of 2", "2");
    issue(&history, "c", "recovery of 1", "3");
    let superseded = |secret| history.find_secret(digest_secret(secret)).and_then(|record| record.superseded_by);
    assert_eq!(superseded("a"), Some(by("3")));
    assert_eq!((superseded("b"), superseded("c")), (None, None));
}

#[test]
fn first_use_of_a_secret_is_kept() {
    let history = History::default();
    for id in ["1", "2"] {
        history.record(&Fact::SecretUsed { digest: digest_secret("a") }, &by(id));
    }
    assert_eq!(history.find_secret(digest_secret("a")).and_then(|record| record.used_by), Some(by("1")));
    assert_eq!(history.find_secret(digest_secret("b")), None);
}

#[test]
fn end_of_a_session_is_found_by_its_selection() {
    let history = History::default();
    let ids: Vec<Uuid> = (1..=4).map(Uuid::from_u128).collect();
    let end = |only, kept| Fact::SessionsEnded(EndedSessions { only, kept, ..EndedSessions::of_user(ids[0]) });
    let find = |user: usize, session: usize| history.find_session_end(ids[user], ids[session], None);
    history.record(&end(Some(ids[1]), None), &by("one"));
    assert_eq!(find(0, 1), Some(by("one")));
    assert_eq!(find(0, 2), None);
    history.record(&end(None, Some(ids[2])), &by("others"));
    assert_eq!(find(0, 2), None);
    assert_eq!(find(1, 1), None);
    history.record(&end(None, None), &by("all"));
    assert_eq!(find(0, 2), Some(by("all")));
    history.record(&end(Some(ids[3]), None), &by("later"));
    assert_eq!(find(0, 3), Some(by("later")), "a request for this session alone is preferred");
}

#[test]
fn end_of_the_sessions_of_a_client_ends_no_others() {
    let history = History::default();
    let [user, session, client] = [1, 2, 3].map(Uuid::from_u128);
    let ended = EndedSessions { client_id: Some(client), ..EndedSessions::default() };
    history.record(&Fact::SessionsEnded(ended), &by("client"));
    assert_eq!(history.find_session_end(user, session, Some(client)), Some(by("client")));
    assert_eq!(history.find_session_end(user, session, Some(user)), None);
    assert_eq!(history.find_session_end(user, session, None), None);
}

#[test]
fn number_of_secrets_is_limited() {
    let history = History::default();
    for number in 0..5_010 {
        issue(&history, &number.to_string(), &number.to_string(), "1");
    }
    let is_kept = |number: u32| history.find_secret(digest_secret(&number.to_string())).is_some();
    assert_eq!([0, 9, 10, 5_009].map(is_kept), [false, false, true, true]);
}
