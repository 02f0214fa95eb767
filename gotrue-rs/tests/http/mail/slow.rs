//! A mail server that takes two seconds for a mail takes them from nobody but who waits for that mail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{join, join_all};
use gotrue_rs::app::Delivery;
use gotrue_rs::ports::mail::compose::Sender;
use gotrue_rs::ports::mail::smtp::{Server, Smtp};
use gotrue_rs::testing::{Person, World};
use gotrue_rules::domain::secret::Secret;
use serde_json::json;

use crate::ports::mail::server::{Habits, MailServer};
use crate::user::person;

const SLOW: Duration = Duration::from_secs(2);
/// Twice as many as the pool has connections to its database.
const PEOPLE: usize = 8;

async fn slow_server() -> (MailServer, Arc<Smtp>) {
    let server = MailServer::start(Habits { dawdles: Some(SLOW), ..Habits::default() }).await;
    let place = Server {
        host: "127.0.0.1".to_owned(),
        port: server.port,
        user: String::new(),
        password: Secret::default(),
        hello: "auth.example.com".to_owned(),
        trusted_roots: None,
    };
    let sender = Sender::new("Shop", "auth@example.com", &[]).expect("a sender");
    (server, Arc::new(Smtp::new(place, sender).expect("a mailer")))
}

async fn eventually(what: impl Fn() -> bool) {
    let until = async {
        while !what() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until).await.expect("it happens");
}

/// How long somebody waits who only wants to read.
async fn reading(world: &World, ann: &Person) -> Duration {
    let started = Instant::now();
    for _ in 0..5 {
        world.get_as(&ann.access_token, "/user").await.expect(200);
    }
    started.elapsed()
}

async fn people(world: &World) -> Vec<Person> {
    let mut all = Vec::new();
    for number in 0..PEOPLE {
        all.push(person(world, &format!("person{number}")).await);
    }
    all
}

#[tokio::test]
async fn mail_that_is_waited_for_holds_no_connection() {
    let (server, mailer) = slow_server().await;
    let world =
        World::builder().connections(4).mailed_by(mailer).policy(|policy| policy.mail.autoconfirm = true).build().await;
    let people = people(&world).await;
    let started = Instant::now();
    let asking = join_all(people.iter().map(|person| world.post("/recover", json!({ "email": person.email }))));
    let others = async {
        eventually(|| server.count("DATA") == PEOPLE).await;
        let waited = reading(&world, &people[0]).await;
        (
            waited,
            world
                .database
                .query(
                    "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'",
                )
                .await,
        )
    };
    let (answers, (waited, held)) = join(asking, others).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert!(started.elapsed() >= SLOW, "the mail server is slow");
    assert!(waited < SLOW / 2, "{waited:?}");
    assert_eq!(held, [""; 0]);
}

#[tokio::test]
async fn with_an_outbox_nobody_waits_at_all() {
    let (server, mailer) = slow_server().await;
    let world = World::builder()
        .with_outbox()
        .mailed_by(mailer.clone())
        .policy(|policy| policy.mail.autoconfirm = true)
        .build()
        .await;
    let ann = person(&world, "ann").await;
    let started = Instant::now();
    world.post("/recover", json!({ "email": ann.email })).await.expect(200);
    assert!(started.elapsed() < SLOW / 2, "{:?}", started.elapsed());
    let Delivery::Outbox(outbox) = &world.app.delivery else { panic!("an outbox") };
    let worker = outbox.worker(mailer);
    let others = async {
        eventually(|| server.count("DATA") == 1).await;
        reading(&world, &ann).await
    };
    let (delivered, waited) = join(worker.round(), others).await;
    assert_eq!(delivered.expect("the table answers"), 1);
    assert!(waited < SLOW / 2, "{waited:?}");
    assert_eq!(world.database.query("SELECT sent_to FROM basalt.outbox").await.len(), 1);
}
