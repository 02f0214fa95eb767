//! The log of events: ids, selection, limits and waiting.

use std::time::Duration;

use foundation::time::Time;
use platform::events::{Event, EventFilter, EventKind, EventLimits, EventLog, NewEvent};
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

const ALL: EventFilter = EventFilter { kind: None, user_id: None };

fn event(kind: EventKind, user: Option<u128>, data: Value) -> NewEvent {
    NewEvent { kind, at: Time::UNIX_EPOCH, request_id: "r".to_owned(), user_id: user.map(Uuid::from_u128), data }
}

fn ids(events: &[std::sync::Arc<Event>]) -> Vec<u64> {
    events.iter().map(|event| event.id).collect()
}

#[test]
fn events_are_selected_by_id_kind_and_user() {
    let log = EventLog::default();
    assert_eq!((log.latest_id(), log.oldest_id()), (0, None));
    for (kind, user) in [(EventKind::Request, Some(1)), (EventKind::Audit, Some(2)), (EventKind::Request, None)] {
        log.record(&event(kind, user, json!({})));
    }
    let select = |after, kind, user: Option<u128>| {
        ids(&log.list(after, EventFilter { kind, user_id: user.map(Uuid::from_u128) }))
    };
    assert_eq!(select(0, None, None), [1, 2, 3]);
    assert_eq!(select(1, None, None), [2, 3]);
    assert_eq!(select(0, Some(EventKind::Request), None), [1, 3]);
    assert_eq!(select(0, None, Some(2)), [2]);
    assert_eq!(select(0, Some(EventKind::Message), None), [0_u64; 0]);
    assert_eq!((log.latest_id(), log.oldest_id()), (3, Some(1)));
}

#[test]
fn json_and_stream_message_have_the_members_of_the_api() {
    let log = EventLog::default();
    log.record(&event(EventKind::Message, Some(1), json!({"to": "ann@example.com"})));
    let [event] = &log.list(0, ALL)[..] else { panic!("one event") };
    let expected = json!({
        "id": 1,
        "kind": "message",
        "at": "1970-01-01T00:00:00.000000Z",
        "request_id": "r",
        "user_id": "00000000-0000-0000-0000-000000000001",
        "data": {"to": "ann@example.com"},
    });
    assert_eq!(serde_json::from_str::<Value>(event.as_json()).expect("JSON"), expected);
    let message = event.to_stream_message();
    let data = message.strip_prefix("id: 1\nevent: message\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
    assert_eq!(serde_json::from_str::<Value>(data.expect("a message")).expect("JSON"), expected);
}

#[tokio::test]
async fn waiting_reader_is_woken_by_a_matching_event() {
    let log = EventLog::default();
    let reader = log.clone();
    let filter = EventFilter { kind: Some(EventKind::Audit), user_id: None };
    let waiting = tokio::spawn(async move { ids(&reader.wait(0, filter, Duration::from_secs(30)).await) });
    tokio::task::yield_now().await;
    log.record(&event(EventKind::Request, None, json!({})));
    tokio::task::yield_now().await;
    log.record(&event(EventKind::Audit, None, json!({})));
    assert_eq!(waiting.await.expect("it ends"), [2]);
    assert_eq!(ids(&log.wait(2, ALL, Duration::from_millis(5)).await), [0_u64; 0]);
}

#[tokio::test]
async fn subscriber_gets_every_event_once_and_in_order() {
    let log = EventLog::default();
    let mut subscriber = log.subscribe(1, ALL);
    let writer = log.clone();
    let writing = tokio::spawn(async move {
        for _ in 0..20 {
            writer.record(&event(EventKind::Request, None, json!({})));
            tokio::task::yield_now().await;
        }
    });
    let mut received = Vec::new();
    while let Some(event) = subscriber.next(Duration::from_millis(200)).await {
        received.push(event.id);
    }
    writing.await.expect("it ends");
    assert_eq!(received, (2..=20).collect::<Vec<u64>>());
}

#[test]
fn kinds_are_parsed_from_their_words() {
    for kind in EventKind::ALL {
        assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(EventKind::parse("Request"), None);
}

proptest! {
    #[test]
    fn number_and_size_are_limited_and_ids_increase(sizes in proptest::collection::vec(0_usize..400, 1..60)) {
        let limits = EventLimits { events: 10, bytes: 2_000 };
        let log = EventLog::new(limits);
        for size in &sizes {
            log.record(&event(EventKind::Request, None, json!({"text": "x".repeat(*size)})));
        }
        let kept = log.list(0, ALL);
        let bytes: usize = kept.iter().map(|event| event.as_json().len()).sum();
        prop_assert!(kept.len() <= limits.events && bytes <= limits.bytes);
        prop_assert!(kept.windows(2).all(|pair| pair[0].id + 1 == pair[1].id));
        prop_assert_eq!(kept.last().map(|event| event.id), Some(sizes.len() as u64));
    }

    #[test]
    fn unknown_words_are_no_kind(word in "[a-z]{0,12}") {
        let is_known = EventKind::ALL.iter().any(|kind| kind.as_str() == word);
        prop_assert_eq!(EventKind::parse(&word).is_some(), is_known);
    }
}
