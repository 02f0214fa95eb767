//! The development inbox.

use std::time::Duration;

use chrono::TimeDelta;
use platform::mail::inbox::InboxQuery;
use platform::mail::outbox::MailDestination;

use super::fixture::OutboxFixture;

#[tokio::test]
async fn mail_without_server_is_in_the_inbox_immediately() {
    let desk = OutboxFixture::new(MailDestination::Inbox).await;
    desk.write("ada").await;
    desk.write("bob").await;
    let inbox = desk.outbox.inbox();
    let all = inbox.list(&InboxQuery::default()).await.expect("the table answers");
    assert_eq!(all.iter().map(|mail| mail.subject.as_str()).collect::<Vec<_>>(), ["Hello bob", "Hello ada"]);
    let to_ada = InboxQuery { to: Some("ADA@example.com".to_owned()), after: None };
    let mail = inbox.list(&to_ada).await.expect("the table answers").remove(0);
    assert_eq!((mail.to.as_str(), mail.kind.as_str()), ("ada@Example.com", "confirmation"));
    assert_eq!((mail.code.as_deref(), mail.text.as_deref()), (Some("123456"), Some("hello")));
    assert_eq!(mail.link.as_deref(), Some("https://shop.example/verify?token=abc"));
    assert_eq!(inbox.get(mail.id).await.expect("the table answers"), Some(mail.clone()));
    assert_eq!(desk.run_worker_once().await, 0, "a mail server set up later does not get it");
    let after = InboxQuery { after: Some(mail.id), ..to_ada };
    assert!(inbox.list(&after).await.expect("the table answers").is_empty());
}

#[tokio::test]
async fn waiting_reader_gets_the_mail_or_times_out() {
    let desk = OutboxFixture::new(MailDestination::Inbox).await;
    let inbox = desk.outbox.inbox();
    let query = InboxQuery { to: Some("ada@example.com".to_owned()), after: None };
    let (found, ()) = tokio::join!(inbox.wait(&query, Duration::from_secs(30)), async {
        desk.write("bob").await;
        desk.write("ada").await;
    });
    assert_eq!(found.expect("the table answers").len(), 1);
    let unknown = InboxQuery { to: Some("unknown@example.com".to_owned()), after: None };
    let waiting = inbox.wait(&unknown, Duration::from_secs(30));
    let ticking = async {
        loop {
            desk.clock.advance(TimeDelta::seconds(1));
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        found = waiting => assert!(found.expect("the table answers").is_empty()),
        () = ticking => (),
    }
}

#[tokio::test]
async fn old_mails_are_deleted_without_a_worker() {
    let desk = OutboxFixture::new(MailDestination::Inbox).await;
    desk.write("ada").await;
    desk.clock.advance(TimeDelta::days(31));
    desk.write("bob").await;
    desk.outbox.build_cleanup().run(std::future::ready(())).await;
    let left = desk.outbox.inbox().list(&InboxQuery::default()).await.expect("the table answers");
    assert_eq!(left.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(), ["bob@Example.com"]);
}
