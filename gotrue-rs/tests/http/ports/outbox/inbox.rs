//! The development inbox.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::ports::mail::inbox::Query;
use gotrue_rs::ports::mail::outbox::Destination;

use super::desk::Desk;

#[tokio::test]
async fn without_a_mail_server_a_mail_is_in_the_inbox_at_once() {
    let desk = Desk::new(Destination::Inbox).await;
    desk.write("ada").await;
    desk.write("bob").await;
    let inbox = desk.outbox.inbox();
    let all = inbox.list(&Query::default()).await.expect("the table answers");
    assert_eq!(all.iter().map(|mail| mail.subject.as_str()).collect::<Vec<_>>(), ["Hello bob", "Hello ada"]);
    let to_ada = Query { to: Some("ADA@example.com".to_owned()), after: None };
    let mail = inbox.list(&to_ada).await.expect("the table answers").remove(0);
    assert_eq!((mail.to.as_str(), mail.kind.as_str()), ("ada@Example.com", "confirmation"));
    assert_eq!((mail.code.as_deref(), mail.text.as_deref()), (Some("123456"), Some("hello")));
    assert_eq!(mail.link.as_deref(), Some("https://shop.example/verify?token=abc"));
    assert_eq!(inbox.get(mail.id).await.expect("the table answers"), Some(mail.clone()));
    assert_eq!(desk.round().await, 0, "a mail server set up later does not get it");
    let after = Query { after: Some(mail.id), ..to_ada };
    assert!(inbox.list(&after).await.expect("the table answers").is_empty());
}

#[tokio::test]
async fn who_waits_at_the_inbox_sees_the_mail_when_it_comes_or_nothing_in_time() {
    let desk = Desk::new(Destination::Inbox).await;
    let inbox = desk.outbox.inbox();
    let query = Query { to: Some("ada@example.com".to_owned()), after: None };
    let (found, ()) = tokio::join!(inbox.wait(&query, Duration::from_secs(30)), async {
        desk.write("bob").await;
        desk.write("ada").await;
    });
    assert_eq!(found.expect("the table answers").len(), 1);
    let nobody = Query { to: Some("nobody@example.com".to_owned()), after: None };
    let waiting = inbox.wait(&nobody, Duration::from_secs(30));
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
async fn it_forgets_old_mails_without_a_worker() {
    let desk = Desk::new(Destination::Inbox).await;
    desk.write("ada").await;
    desk.clock.advance(TimeDelta::days(31));
    desk.write("bob").await;
    desk.outbox.sweeper().run(std::future::ready(())).await;
    let left = desk.outbox.inbox().list(&Query::default()).await.expect("the table answers");
    assert_eq!(left.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(), ["bob@Example.com"]);
}
