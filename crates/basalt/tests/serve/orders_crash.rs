//! Rounds of `kill -9` between webhook, order, mail and download: `make soak-orders`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foundation::secret::Secret;
use futures::future::join_all;
use orders::webhook::stripe;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use reqwest::Client;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{Basalt, TempFolder, eventually, free_port, run};

const PRODUCTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../orders/tests/products");
const SECRET: &str = "whsec_of_the_rounds";
/// The number of rounds.
const ROUNDS: usize = 50;
/// The payments of a round.
const PAYMENTS: usize = 6;
/// The longest time until the process is killed, in milliseconds after its first request.
const LONGEST: usize = 600;

/// A mail that a mail server has accepted.
#[derive(Debug, Clone)]
struct AcceptedMail {
    message_id: String,
    to: String,
    link: String,
}

/// A mail server that keeps what it accepted.
#[derive(Clone, Default)]
struct MailSink(Arc<Mutex<Vec<AcceptedMail>>>);

impl MailSink {
    fn listen(&self, listener: TcpListener) {
        let sink = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sink = sink.clone();
                std::thread::spawn(move || drop(sink.serve_connection(stream)));
            }
        });
    }

    fn serve_connection(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut reply = move |line: &str| out.write_all(format!("{line}\r\n").as_bytes());
        reply("220 ready")?;
        let mut lines = BufReader::new(stream).lines();
        while let Some(Ok(line)) = lines.next() {
            match line.split([' ', ':']).next().unwrap_or_default() {
                "DATA" => {
                    reply("354 continue")?;
                    let body: Vec<String> =
                        lines.by_ref().map_while(Result::ok).take_while(|line| line != ".").collect();
                    // Accepted, whether or not the sender reads the answer.
                    self.0.lock().unwrap_or_else(PoisonError::into_inner).push(parse(&body.join("\n")));
                    reply("250 accepted")?;
                }
                "QUIT" => return reply("221 closing"),
                _ => reply("250 ok")?,
            }
        }
        Ok(())
    }

    fn mails(&self) -> Vec<AcceptedMail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn parse(mail: &str) -> AcceptedMail {
    let text = mail.replace("=\n", "").replace("=3D", "=");
    let header = |name: &str| {
        let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.map_or("", |line| line[name.len()..].trim()).to_owned()
    };
    let link = text.split("/shop/download/").nth(1).unwrap_or_default();
    let link = link
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'))
        .collect();
    AcceptedMail { message_id: header("message-id:"), to: header("to:"), link }
}

/// A shop that is killed and started again on the same port and database.
struct Rounds {
    database: Basalt,
    folder: TempFolder,
    sink: MailSink,
    port: u16,
    client: Client,
}

impl Rounds {
    fn start() -> Self {
        let (sink, folder, port) = (MailSink::default(), TempFolder::new(), free_port());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mail_port = listener.local_addr().expect("an address").port();
        sink.listen(listener);
        let database = Basalt::serve(&["--ephemeral", "--config", &folder.write("database.toml", "")]);
        folder.write(
            "config.toml",
            &format!(
                "[auth.email.smtp]\nhost = \"127.0.0.1\"\nport = {mail_port}\nuser = \"\"\npass = \"\"\n\
                 admin_email = \"shop@example.com\"\nsender_name = \"Shop\"\n\n[basalt.shop]\n\
                 [basalt.shop.payment]\nproducts = \"{PRODUCTS}\"\nallow_placeholder_links = true\nmax_downloads = 1000\n\
                 [basalt.shop.payment.stripe]\nwebhook_secret = \"{SECRET}\"\n"
            ),
        );
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().expect("a client");
        Self { database, folder, sink, port, client }
    }

    fn serve(&self) -> Basalt {
        let (config, data) = (self.folder.path("config.toml"), self.folder.path("data"));
        let (url, port) = (self.database.text("database_url"), self.port.to_string());
        Basalt::serve(&["--config", &config, "--data", &data, "--database-url", &url, "--port", &port])
    }

    /// Delivers the event of a payment; returns whether it was answered 200.
    async fn deliver(&self, payment: &str) -> bool {
        let event = json!({
            "id": format!("evt_{payment}"),
            "type": "checkout.session.completed",
            "data": { "object": {
                "id": format!("cs_{payment}"), "payment_intent": payment, "payment_status": "paid",
                "amount_total": 2800, "currency": "usd", "client_reference_id": "template-1",
                "customer_details": { "email": format!("{payment}@example.com") },
            } },
        });
        let body = event.to_string();
        let signature = stripe::sign(body.as_bytes(), &Secret::from(SECRET), SystemClock.now());
        let url = format!("http://127.0.0.1:{}/shop/webhooks/stripe", self.port);
        let request = self.client.post(url).header(stripe::SIGNATURE, signature).body(body);
        request.send().await.is_ok_and(|answer| answer.status() == 200)
    }

    /// Downloads by a link; returns whether the whole file came.
    async fn download(&self, link: &str) -> bool {
        let url = format!("http://127.0.0.1:{}/shop/download/{link}", self.port);
        let Ok(answer) = self.client.get(url).send().await else { return false };
        answer.status() == 200 && answer.bytes().await.is_ok_and(|bytes| bytes.len() == 22)
    }

    /// Delivers events and downloads until the process is killed; returns the downloads that were complete.
    async fn run_round(&self, round: usize, pending: &mut BTreeSet<String>, delay: Duration) -> BTreeMap<String, i64> {
        let server = self.serve();
        pending.extend((0..PAYMENTS).map(|number| format!("pi_{round}_{number}")));
        let payments: Vec<String> = pending.iter().cloned().collect();
        let links: Vec<AcceptedMail> = self.sink.mails().into_iter().rev().take(3).collect();
        let deliveries = join_all(payments.iter().map(|payment| self.deliver(payment)));
        let downloads = join_all(links.iter().map(|mail| self.download(&mail.link)));
        let kill = async {
            tokio::time::sleep(delay).await;
            server.signal(Signal::KILL);
        };
        let (delivered, downloaded, ()) = tokio::join!(deliveries, downloads, kill);
        for (payment, _) in payments.iter().zip(&delivered).filter(|(_, is_stored)| **is_stored) {
            pending.remove(payment);
        }
        let complete = links.into_iter().zip(downloaded).filter(|(_, is_whole)| *is_whole);
        let mut counts = BTreeMap::new();
        complete.for_each(|(mail, _)| *counts.entry(mail.to).or_default() += 1);
        counts
    }

    fn orders(&self) -> Vec<Value> {
        let (url, config) = (self.database.text("database_url"), self.folder.path("config.toml"));
        let output =
            run(&["orders", "--config", &config, "--database-url", &url, "list", "--limit", "10000", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak-orders"]
async fn orders_crash_rounds_lose_nothing_and_deliver_nothing_twice() {
    let (shop, entropy) = (Rounds::start(), Entropy::from_system());
    let (mut pending, mut complete) = (BTreeSet::new(), BTreeMap::<String, i64>::new());
    for round in 0..ROUNDS {
        let random = usize::from(u16::from_be_bytes(entropy.bytes::<2>()));
        let delay = Duration::from_millis(u64::try_from(random % LONGEST).expect("small"));
        for (buyer, count) in shop.run_round(round, &mut pending, delay).await {
            *complete.entry(buyer).or_default() += count;
        }
    }
    let unanswered = pending.len();
    let server = shop.serve();
    for payment in &pending {
        assert!(shop.deliver(payment).await, "{payment} is stored once the shop runs");
    }
    let expected = ROUNDS * PAYMENTS;
    let buyers = || shop.sink.mails().into_iter().map(|mail| mail.to).collect::<BTreeSet<_>>();
    // A mail that a killed process was sending is due again after its lease.
    for _ in 0..30 {
        if buyers().len() == expected {
            break;
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let mails = shop.sink.mails();
    assert_eq!(buyers().len(), expected, "every buyer has a mail");
    let ids: BTreeSet<_> = mails.iter().map(|mail| mail.message_id.clone()).collect();
    assert_eq!(ids.len(), expected, "one Message-ID for each order");
    let links: BTreeSet<_> = mails.iter().map(|mail| mail.link.clone()).collect();
    assert_eq!(links.len(), expected, "one link for each order");
    let orders = shop.orders();
    assert_eq!(orders.len(), expected, "one order for each payment");
    for order in &orders {
        let buyer = order["buyer_email"].as_str().expect("an address");
        let counted = complete.iter().find(|(to, _)| to.contains(buyer)).map_or(0, |(_, count)| *count);
        assert!(order["downloads"].as_i64() >= Some(counted), "every complete download is counted: {order}");
    }
    for link in &links {
        assert!(shop.download(link).await, "{link} leads to the file");
    }
    eventually("the last downloads are counted", || shop.orders().iter().all(|order| order["state"] == "delivered"));
    let (repeated, downloads) = (mails.len() - expected, complete.values().sum::<i64>());
    eprintln!(
        "{ROUNDS} rounds: {expected} payments, {unanswered} unanswered at the end, {} mails accepted, {repeated} of them \
         again with the same Message-ID, {downloads} downloads before a kill",
        mails.len()
    );
    drop(server);
}
