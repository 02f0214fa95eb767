//! Failures: an acknowledged submission is stored and mailed, whichever process is killed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::support::{Basalt, TempFolder, eventually, postgres_pid};

/// A mail server that keeps the text of every accepted mail.
#[derive(Clone, Default)]
pub(crate) struct FakeMailServer(Arc<Mutex<String>>);

impl FakeMailServer {
    pub(crate) fn listen(&self, listener: TcpListener) {
        let mails = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mails = mails.clone();
                std::thread::spawn(move || drop(mails.serve_connection(stream)));
            }
        });
    }

    fn serve_connection(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut say = move |line: &str| out.write_all(format!("{line}\r\n").as_bytes());
        say("220 here")?;
        let mut lines = BufReader::new(stream).lines();
        while let Some(Ok(line)) = lines.next() {
            match line.split([' ', ':']).next().unwrap_or_default() {
                "DATA" => {
                    say("354 go on")?;
                    let body: Vec<String> =
                        lines.by_ref().map_while(Result::ok).take_while(|line| line != ".").collect();
                    self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&body.join("\n"));
                    say("250 kept")?;
                }
                "QUIT" => return say("221 bye"),
                _ => say("250 fine")?,
            }
        }
        Ok(())
    }

    /// Returns the headers of this name in all mails.
    pub(crate) fn list_headers(&self, name: &str) -> Vec<String> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned).collect()
    }

    fn contains(&self, text: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
    }
}

fn config(scratch: &TempFolder, mail_port: u16) -> String {
    let text = format!(
        "[auth.email.smtp]\nenabled = true\nhost = \"127.0.0.1\"\nport = {mail_port}\nuser = \"\"\npass = \"\"\n\
         admin_email = \"shop@example.com\"\nsender_name = \"Shop\"\n\n[functions.send-submission]\nverify_jwt = false\n\n\
         [basalt]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\n[basalt.shop]\nowner = \"owner@example.com\"\n\
         notices_an_hour = 1000\n[basalt.shop.payment]\nallow_placeholder_links = true\n"
    );
    scratch.write("config.toml", &text)
}

/// Sends one submission as a distinct visitor; returns whether it succeeded.
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

/// Sends concurrent submissions until `ended` is true; returns the numbers of the acknowledged ones.
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

/// Sends submissions one by one until one is acknowledged; returns its number.
async fn submit_until_acknowledged(server: &Basalt, first: usize) -> usize {
    for number in first..first + 500 {
        if submit(server, number).await {
            return number;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no submission was answered within ten seconds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_submission_survives_killed_server() {
    let scratch = TempFolder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let config = config(&scratch, listener.local_addr().expect("an address").port());
    let data = scratch.path("data");
    let mails = FakeMailServer::default();
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
        eventually(&format!("a mail about {text}"), || mails.contains(&text));
    }
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_is_delivered_when_mail_server_becomes_available() {
    let scratch = TempFolder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let config = config(&scratch, address.port());
    let server = Basalt::serve(&["--config", &config, "--data", &scratch.path("data")]);
    assert!(submit(&server, 1).await, "a submission needs no mail server");
    std::thread::sleep(Duration::from_millis(300));
    let mails = FakeMailServer::default();
    mails.listen(TcpListener::bind(address).expect("the same port"));
    eventually("the mail that waited", || mails.contains("number-1-please"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_restart_loses_no_acknowledged_submission() {
    let scratch = TempFolder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let config = config(&scratch, listener.local_addr().expect("an address").port());
    let mails = FakeMailServer::default();
    mails.listen(listener);
    let server = Basalt::serve(&["--config", &config, "--data", &scratch.path("data")]);
    let before = submit_until(&server, 0, || false).await.len();
    let postgres = postgres_pid(&scratch.0.join("data")).expect("PostgreSQL runs");
    kill_process(postgres, Signal::KILL).expect("killed");
    // While PostgreSQL recovers, every submission is rejected at once; wait for the first that succeeds.
    let mut answered = submit_until(&server, 1000, || false).await;
    eventually("the database is back", || postgres_pid(&scratch.0.join("data")).is_some_and(|pid| pid != postgres));
    answered.insert(submit_until_acknowledged(&server, 2000).await);
    let after = submit_until(&server, 3000, || false).await;
    assert_eq!((before, after.len()), (120, 120), "submissions answered before and after the restart");
    answered.extend(after);
    for number in answered {
        let text = format!("number-{number}-please");
        eventually(&format!("a mail about {text}"), || mails.contains(&text));
    }
}

/// Accepts connections and reads what comes, but never answers; returns the number of connections.
pub(super) fn accept_silently(listener: TcpListener) -> Arc<AtomicUsize> {
    let connections = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&connections);
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming().flatten() {
            open.push(stream);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    connections
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_mail_server_does_not_prevent_shutdown_and_the_mail_is_sent_later() {
    let scratch = TempFolder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = config(&scratch, listener.local_addr().expect("an address").port());
    let connections = accept_silently(listener);
    let data = scratch.path("data");
    let server = Basalt::serve(&["--config", &silent, "--data", &data]);
    assert!(submit(&server, 1).await, "a submission needs no mail server");
    eventually("a delivery begins", || connections.load(Ordering::Relaxed) > 0);
    let began = Instant::now();
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit(), "the exit status of a shutdown");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "the shutdown took {took:?}");

    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let answering = config(&scratch, listener.local_addr().expect("an address").port());
    let mails = FakeMailServer::default();
    mails.listen(listener);
    let _server = Basalt::serve(&["--config", &answering, "--data", &data]);
    eventually("the mail is sent after the restart", || mails.contains("number-1-please"));
}
