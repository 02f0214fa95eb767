//! Load generator for auth servers. Every workload is a mix of request kinds, run in a closed loop
//! (`--connections` callers that wait for each response) or, with `--rate`, open loop (a constant
//! arrival rate, latency counted from the scheduled time). Prints one JSON object.

mod drive;
mod http;
mod proxy;
mod report;
mod requests;
mod smtp;
mod work;

use clap::{Args, Parser, Subcommand};
use report::Report;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use work::{Kind, Work};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// W1: GET /user, sessions drawn by Zipf's law
    User(Load),
    /// W2: chains of refreshes; every caller's session is rotated again and again
    Refresh(Load),
    /// W2 storm: every session refreshes once, and 5 % of the tokens are sent twice within 50 ms
    Storm(Load),
    /// W3: password logins, 10 % with a wrong password, 2 % with an unknown e-mail
    Password(Load),
    /// Sequential successful password logins, for counts per login
    Login(Load),
    /// W4: sign-ups with new e-mail addresses
    Signup(Load),
    /// W5: one-time code by e-mail, sent to the sink in this process
    Otp(Load),
    /// W6: /health, /settings and the JWKS in turn
    Static(Load),
    /// W7: the mix of a day; `--rate` is its peak, with a tenfold burst near the end
    Day(Load),
    /// W8: GET /user at `--rate` while `--connections` callers log in without pause
    Interference(Load),
    /// Opens `--connections` keep-alive connections, one request on each, and holds them until stdin ends
    Idle(Load),
    /// Requests of a file, in a closed loop
    Requests(requests::Options),
    /// A loopback proxy in front of PostgreSQL that counts round trips and can delay them
    Proxy(proxy::Options),
}

#[derive(Args, Clone)]
pub struct Load {
    /// The server, as host:port
    #[arg(long)]
    target: SocketAddr,
    /// Seeded sessions, one per line: e-mail, access token, refresh token (tab between)
    #[arg(long)]
    seed: Option<PathBuf>,
    /// The password of every seeded user
    #[arg(long, default_value = "correct horse battery")]
    password: String,
    /// Callers (closed loop), or maximum of concurrent requests (open loop)
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Open loop: requests per second
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Stop after this many requests, if earlier than `--seconds`
    #[arg(long, default_value_t = u64::MAX)]
    requests: u64,
    /// First line of the seed whose session is rotated
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Seed of the random draws; also makes the e-mail addresses of sign-ups unique
    #[arg(long, default_value_t = 0)]
    run: u64,
    /// Port of the SMTP sink in this process
    #[arg(long)]
    smtp_port: Option<u16>,
    /// Milliseconds until the SMTP sink accepts a mail
    #[arg(long, default_value_t = 0)]
    smtp_delay_ms: u64,
}

impl Load {
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// Request mix of workload W7, in tenths of a percent.
const DAY: &[(Kind, u32)] = &[
    (Kind::User, 700),
    (Kind::Refresh, 180),
    (Kind::Jwks, 60),
    (Kind::Password, 30),
    (Kind::Otp, 20),
    (Kind::Signup, 5),
    (Kind::Logout, 5),
];
/// Sessions that one W7 run rotates (`bench.py` skips as many after it).
const DAY_SESSIONS: usize = 500;
const LOGINS: &[(Kind, u32)] = &[(Kind::Password, 88), (Kind::WrongPassword, 10), (Kind::UnknownEmail, 2)];

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    match Cli::parse().command {
        Command::User(o) => steady(o, &[(Kind::User, 1)]).await,
        Command::Refresh(o) => steady(o, &[(Kind::Refresh, 1)]).await,
        Command::Password(o) => steady(o, LOGINS).await,
        Command::Login(o) => steady(o, &[(Kind::Password, 1)]).await,
        Command::Signup(o) => steady(o, &[(Kind::Signup, 1)]).await,
        Command::Otp(o) => steady(o, &[(Kind::Otp, 1)]).await,
        Command::Static(o) => steady(o, &[(Kind::Health, 1), (Kind::Settings, 1), (Kind::Jwks, 1)]).await,
        Command::Storm(o) => storm(o).await,
        Command::Day(o) => day(o).await,
        Command::Interference(o) => interference(o).await,
        Command::Idle(o) => drive::idle(&o).await,
        Command::Requests(o) => requests::run(o).await,
        Command::Proxy(o) => proxy::run(o),
    }
}

async fn steady(o: Load, mix: &[(Kind, u32)]) {
    let mails = smtp::sink(&o).await;
    let rotates = mix.iter().any(|(kind, _)| *kind == Kind::Refresh);
    let owned = if rotates { o.connections } else { 0 };
    let work = Work::new(&o, mix, o.skip..o.skip + owned);
    let (how, report) = match o.rate {
        Some(rate) => {
            let limit = o.requests.min((rate * o.seconds) as u64);
            let arrivals = (0..limit).map(move |k| Duration::from_secs_f64(k as f64 / rate));
            ("open", drive::open(&o, &work, arrivals).await)
        }
        None => ("closed", drive::closed(&o, &work).await),
    };
    print(&o, how, report, json!({"mails": mails.count()}));
}

async fn storm(o: Load) {
    let rate = o.rate.expect("a storm needs --rate");
    let mut sends = Vec::new();
    for k in 0..(rate * o.seconds) as usize {
        let at = k as f64 / rate;
        sends.push((at, o.skip + k));
        if work::chance(k as u64, 0.05) {
            sends.push((at + 0.050 * work::unit(k as u64), o.skip + k));
        }
    }
    sends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let work = Work::new(&o, &[(Kind::RefreshOnce, 1)], sends.iter().map(|send| send.1));
    let arrivals: Vec<_> = sends.iter().map(|send| Duration::from_secs_f64(send.0)).collect();
    let report = drive::open(&o, &work, arrivals.into_iter()).await;
    print(&o, "open", report, json!({}));
}

async fn day(o: Load) {
    let mails = smtp::sink(&o).await;
    let work = Work::new(&o, DAY, o.skip..o.skip + DAY_SESSIONS);
    let (peak, length) = (o.rate.unwrap_or(200.0), o.seconds);
    let mut at = 0.0;
    let arrivals = std::iter::from_fn(move || {
        let phase = at / length;
        let swing = (1.0 - (std::f64::consts::TAU * phase).cos()) / 2.0;
        let burst = if (0.90..0.92).contains(&phase) { 10.0 } else { 1.0 };
        at += 1.0 / (peak * (0.1 + 0.9 * swing) * burst);
        (at < length).then(|| Duration::from_secs_f64(at))
    });
    let report = drive::open(&o, &work, arrivals).await;
    print(&o, "open", report, json!({"mails": mails.count()}));
}

async fn interference(o: Load) {
    let rate = o.rate.expect("interference needs --rate");
    let (reads, logins) = (Work::new(&o, &[(Kind::User, 1)], []), Work::new(&o, LOGINS, []));
    let arrivals = (0..(rate * o.seconds) as u64).map(move |k| Duration::from_secs_f64(k as f64 / rate));
    let wide = Load { connections: 256, ..o.clone() };
    let (report, storm) = tokio::join!(drive::open(&wide, &reads, arrivals), drive::closed(&o, &logins));
    print(&o, "open", report, json!({"logins": storm.json()}));
}

fn print(o: &Load, how: &str, report: Report, more: serde_json::Value) {
    let mut out = report.json();
    let fields = out.as_object_mut().unwrap();
    fields.insert("loop".into(), how.into());
    fields.insert("connections".into(), o.connections.into());
    fields.insert("rate".into(), o.rate.into());
    fields.extend(more.as_object().unwrap().clone());
    println!("{out}");
}
