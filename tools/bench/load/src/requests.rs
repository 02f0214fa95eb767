//! Any requests, read from a file: a closed loop of callers, each of which sends them in turn.

use bytes::Bytes;
use clap::Args;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

#[derive(Args)]
pub struct Options {
    /// The server, as host:port
    #[arg(long)]
    target: SocketAddr,
    /// A JSON array of {"method", "path", "headers", "body", "expect"}; `{random}` and `{serial}` in path and body are numbers
    #[arg(long)]
    file: PathBuf,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// The largest `{random}`
    #[arg(long, default_value_t = 100_000)]
    largest: u64,
}

#[derive(Deserialize)]
struct Template {
    method: String,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    expect: u16,
}

struct Figures {
    latencies: Histogram<u64>,
    errors: BTreeMap<String, u64>,
}

pub async fn run(o: Options) {
    let text = std::fs::read_to_string(&o.file).expect("the file of requests");
    let templates: Arc<Vec<Template>> = Arc::new(serde_json::from_str(&text).expect("requests as JSON"));
    let serial = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(o.seconds);
    let callers: Vec<_> = (0..o.connections)
        .map(|number| {
            let (templates, serial) = (templates.clone(), serial.clone());
            tokio::spawn(call(o.target, templates, serial, o.largest, number as u64, end))
        })
        .collect();
    let mut all = Figures { latencies: Histogram::new_with_bounds(1, 60_000_000, 3).unwrap(), errors: BTreeMap::new() };
    for caller in callers {
        let figures = caller.await.expect("a caller");
        all.latencies.add(figures.latencies).unwrap();
        for (reason, count) in figures.errors {
            *all.errors.entry(reason).or_default() += count;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let at = |quantile| all.latencies.value_at_quantile(quantile) as f64 / 1000.0;
    println!(
        "{}",
        json!({"requests": all.latencies.len(), "seconds": seconds, "rps": all.latencies.len() as f64 / seconds,
               "p50_ms": at(0.5), "p99_ms": at(0.99), "errors": all.errors})
    );
}

async fn call(
    target: SocketAddr,
    templates: Arc<Vec<Template>>,
    serial: Arc<AtomicU64>,
    largest: u64,
    seed: u64,
    end: Instant,
) -> Figures {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut sender: Option<SendRequest<Full<Bytes>>> = None;
    let mut figures =
        Figures { latencies: Histogram::new_with_bounds(1, 60_000_000, 3).unwrap(), errors: BTreeMap::new() };
    for template in templates.iter().cycle() {
        let since = Instant::now();
        if since >= end {
            break;
        }
        let number = random.random_range(1..=largest).to_string();
        let next = serial.fetch_add(1, Relaxed).to_string();
        let fill = |text: &str| text.replace("{random}", &number).replace("{serial}", &next);
        let outcome = exchange(&mut sender, target, template, fill(&template.path), fill(&template.body)).await;
        match outcome {
            Ok(status) if status == template.expect => figures.latencies.saturating_record(since.elapsed().as_micros() as u64),
            Ok(status) => *figures.errors.entry(format!("status {status}")).or_default() += 1,
            Err(error) => {
                sender = None;
                *figures.errors.entry(error.to_string()).or_default() += 1;
            }
        }
    }
    figures
}

async fn exchange(
    sender: &mut Option<SendRequest<Full<Bytes>>>,
    target: SocketAddr,
    template: &Template,
    path: String,
    body: String,
) -> Result<u16, Box<dyn std::error::Error + Send + Sync>> {
    if sender.as_ref().is_none_or(|sender| sender.is_closed()) {
        let stream = TcpStream::connect(target).await?;
        stream.set_nodelay(true)?;
        let (new, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        *sender = Some(new);
    }
    let sender = sender.as_mut().unwrap();
    let mut request = Request::builder().method(template.method.as_str()).uri(path).header("host", target.to_string());
    for (name, value) in &template.headers {
        request = request.header(name, value);
    }
    sender.ready().await?;
    let response = sender.send_request(request.body(Full::from(body))?).await?;
    let status = response.status().as_u16();
    response.into_body().collect().await?;
    Ok(status)
}
