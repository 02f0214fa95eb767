//! What must hold when things break: a submission that was answered is stored and mailed, whatever is killed when.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::support::{Basalt, Scratch, eventually, postgres_of};

/// A mail server that keeps the text of every mail it has taken.
#[derive(Clone, Default)]
struct Mails(Arc<Mutex<String>>);

impl Mails {
    fn listen(&self, listener: TcpListener) {
        let mails = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mails = mails.clone();
                std::thread::spawn(move || drop(mails.talk(stream)));
            }
        });
    }

    fn talk(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut say = move |line: &str| out.write_all(format!("{line}\r\n").as_bytes());
        say("220 here")?;
        let mut lines = BufReader::new(stream).lines();
        while let Some(Ok(line)) = lines.next() {
            match line.split([' ', ':']).next().unwrap_or_default() {
                "DATA" => {
                    say("354 go on")?;
                    let body: Vec<String> = lines.by_ref().map_while(Result::ok).take_while(|it| it != ".").collect();
                    self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&body.join("\n"));
                    say("250 kept")?;
                }
                "QUIT" => return say("221 bye"),
                _ => say("250 fine")?,
            }
        }
        Ok(())
    }

    fn tell_of(&self, text: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
    }
}

fn config(scratch: &Scratch, mail_port: u16) -> String {
    let text = format!(
        "[auth.email.smtp]\nenabled = true\nhost = \"127.0.0.1\"\nport = {mail_port}\nuser = \"\"\npass = \"\"\n\
         admin_email = \"shop@example.com\"\nsender_name = \"Shop\"\n\n[functions.send-submission]\nverify_jwt = false\n\n\
         [basalt]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\n[basalt.shop]\nowner = \"owner@example.com\"\n\
         notices_an_hour = 1000\n"
    );
    scratch.write("config.toml", &text)
}

/// Sends one submission as a visitor of its own; true when it was answered with success.
async fn submit(server: &Basalt, number: usize) -> bool {
    let visitor = format!("10.{}.{}.1", number / 250, number % 250);
    let answer = server
        .client
        .post(server.url("/functions/v1/send-submission"))
        .header("apikey", server.text("publishable_key"))
        .header("x-forwarded-for", visitor)
        .json(&json!({ "description": format!("wish number-{number}-please") }))
        .send()
        .await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

/// Sends submissions, several at a time, until `ended` says so; the numbers of those that were answered.
async fn submit_until(server: &Basalt, first: usize, ended: impl Fn() -> bool) -> BTreeSet<usize> {
    let mut answered = BTreeSet::new();
    let mut next = first;
    while !ended() && next < first + 120 {
        let batch = next..next + 8;
        next += 8;
        let sent = futures::future::join_all(batch.clone().map(|number| submit(server, number))).await;
        answered.extend(batch.zip(sent).filter_map(|(number, sent)| sent.then_some(number)));
    }
    answered
}

/// Sends one submission after the other until one is answered; its number.
async fn first_answered(server: &Basalt, first: usize) -> usize {
    for number in first..first + 500 {
        if submit(server, number).await {
            return number;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no submission was answered within ten seconds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_submission_is_stored_and_mailed_whoever_is_killed() {
    let scratch = Scratch::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let config = config(&scratch, listener.local_addr().expect("an address").port());
    let data = scratch.path("data");
    let mails = Mails::default();
    mails.listen(listener);
    let mut answered = BTreeSet::new();
    for round in 0..3 {
        let server = Basalt::serve(&["--config", &config, "--data", &data]);
        let killed = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let done = killed.clone();
        let pid = server.pid();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(700 + round * 200));
            kill_process(pid, Signal::KILL).expect("it lives");
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let first = usize::try_from(round).unwrap_or_default() * 1000;
        let ended = || killed.load(std::sync::atomic::Ordering::Relaxed);
        answered.extend(submit_until(&server, first, ended).await);
        drop(server);
    }
    assert!(!answered.is_empty(), "no submission was answered before the kills");
    let server = Basalt::serve(&["--config", &config, "--data", &data]);
    for number in answered {
        let text = format!("number-{number}-please");
        eventually(&format!("a mail about {text}"), || mails.tell_of(&text));
    }
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_arrives_once_the_mail_server_is_there() {
    let scratch = Scratch::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let config = config(&scratch, address.port());
    let server = Basalt::serve(&["--config", &config, "--data", &scratch.path("data")]);
    assert!(submit(&server, 1).await, "a submission needs no mail server");
    std::thread::sleep(Duration::from_millis(300));
    let mails = Mails::default();
    mails.listen(TcpListener::bind(address).expect("the same port"));
    eventually("the mail that waited", || mails.tell_of("number-1-please"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_restarts_under_load_loses_nothing_that_was_answered() {
    let scratch = Scratch::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let config = config(&scratch, listener.local_addr().expect("an address").port());
    let mails = Mails::default();
    mails.listen(listener);
    let server = Basalt::serve(&["--config", &config, "--data", &scratch.path("data")]);
    let before = submit_until(&server, 0, || false).await.len();
    let postgres = postgres_of(&scratch.0.join("data")).expect("PostgreSQL runs");
    kill_process(postgres, Signal::KILL).expect("killed");
    // While PostgreSQL recovers, every submission is refused at once: what follows waits for the first that is not.
    let mut answered = submit_until(&server, 1000, || false).await;
    eventually("the database is back", || postgres_of(&scratch.0.join("data")).is_some_and(|it| it != postgres));
    answered.insert(first_answered(&server, 2000).await);
    let after = submit_until(&server, 3000, || false).await;
    assert_eq!((before, after.len()), (120, 120), "submissions answered before and after the restart");
    answered.extend(after);
    for number in answered {
        let text = format!("number-{number}-please");
        eventually(&format!("a mail about {text}"), || mails.tell_of(&text));
    }
}
