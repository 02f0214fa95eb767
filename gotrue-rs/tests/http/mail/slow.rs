//! A slow mail server delays only the requests that wait for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foundation::secret::Secret;
use futures::future::{join, join_all};
use gotrue_rs::app::EmailDelivery;
use gotrue_rs::testing::{TestUser, World};
use platform::mail::compose::MailSender;
use platform::mail::smtp::{SmtpMailer, SmtpServer};
use serde_json::json;

use crate::ports::mail::server::{MailServer, ServerBehavior};
use crate::user::create_user;

const SLOW: Duration = Duration::from_secs(2);
/// Twice as many as the pool has connections to its database.
const USERS: usize = 8;

async fn slow_server() -> (MailServer, Arc<SmtpMailer>) {
    let server = MailServer::start(ServerBehavior { dawdles: Some(SLOW), ..ServerBehavior::default() }).await;
    let place = SmtpServer {
        host: "127.0.0.1".to_owned(),
        port: server.port,
        user: String::new(),
        password: Secret::default(),
        hello: "auth.example.com".to_owned(),
        trusted_roots: None,
    };
    let sender = MailSender::new("Shop", "auth@example.com", &[]).expect("a sender");
    (server, Arc::new(SmtpMailer::new(place, sender).expect("a mailer")))
}

async fn eventually(what: impl Fn() -> bool) {
    let until = async {
        while !what() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until).await.expect("it happens");
}

/// The duration of a read request meanwhile.
async fn reading(world: &World, ann: &TestUser) -> Duration {
    let started = Instant::now();
    for _ in 0..5 {
        world.get_as(&ann.access_token, "/user").await.expect(200);
    }
    started.elapsed()
}

async fn create_users(world: &World) -> Vec<TestUser> {
    let mut all = Vec::new();
    for number in 0..USERS {
        all.push(create_user(world, &format!("user{number}")).await);
    }
    all
}

#[tokio::test]
async fn waiting_for_mail_holds_no_database_connection() {
    let (server, mailer) = slow_server().await;
    let world = World::builder()
        .connections(4)
        .with_mailer(mailer)
        .policy(|policy| policy.mail.autoconfirm = true)
        .build()
        .await;
    let users = create_users(&world).await;
    let started = Instant::now();
    let asking = join_all(users.iter().map(|user| world.post("/recover", json!({ "email": user.email }))));
    let others = async {
        eventually(|| server.count("DATA") == USERS).await;
        let waited = reading(&world, &users[0]).await;
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
async fn outbox_requests_do_not_wait_for_mail() {
    let (server, mailer) = slow_server().await;
    let world = World::builder()
        .with_outbox()
        .with_mailer(mailer.clone())
        .policy(|policy| policy.mail.autoconfirm = true)
        .build()
        .await;
    let ann = create_user(&world, "ann").await;
    let started = Instant::now();
    world.post("/recover", json!({ "email": ann.email })).await.expect(200);
    assert!(started.elapsed() < SLOW / 2, "{:?}", started.elapsed());
    let EmailDelivery::Outbox(outbox) = &world.app.delivery else { panic!("an outbox") };
    let worker = outbox.build_worker(mailer);
    let others = async {
        eventually(|| server.count("DATA") == 1).await;
        reading(&world, &ann).await
    };
    let (delivered, waited) = join(worker.deliver_due(), others).await;
    assert_eq!(delivered.expect("the table answers"), 1);
    assert!(waited < SLOW / 2, "{waited:?}");
    assert_eq!(world.database.query("SELECT sent_to FROM basalt.outbox").await.len(), 1);
}
