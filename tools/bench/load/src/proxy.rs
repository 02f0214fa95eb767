//! A proxy in front of PostgreSQL that counts client messages. Prints the counts for every line on
//! stdin and ends with stdin.

use clap::Args;
use serde_json::json;
use std::io::{BufRead, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

#[derive(Args)]
pub struct Options {
    #[arg(long)]
    listen: u16,
    #[arg(long)]
    upstream: u16,
    /// Delay added to every round trip
    #[arg(long, default_value_t = 0)]
    delay_us: u64,
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    /// Number of times the client sends after the server has sent.
    round_trips: AtomicU64,
    /// Sync and simple-query messages.
    syncs: AtomicU64,
    parses: AtomicU64,
    executes: AtomicU64,
    simple_queries: AtomicU64,
}

pub fn run(o: Options) {
    let listener = TcpListener::bind(("127.0.0.1", o.listen)).expect("the proxy's port is free");
    let counts = Arc::new(Counts::default());
    let shared = counts.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", o.upstream)).expect("PostgreSQL listens");
            shared.connections.fetch_add(1, Relaxed);
            join(client, server, shared.clone(), Duration::from_micros(o.delay_us));
        }
    });
    for _ in std::io::stdin().lock().lines() {
        let n = |counter: &AtomicU64| counter.load(Relaxed);
        println!(
            "{}",
            json!({"connections": n(&counts.connections), "round_trips": n(&counts.round_trips),
                   "syncs": n(&counts.syncs), "parses": n(&counts.parses),
                   "executes": n(&counts.executes), "simple_queries": n(&counts.simple_queries)})
        );
    }
}

fn join(client: TcpStream, server: TcpStream, counts: Arc<Counts>, delay: Duration) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let answered = Arc::new(AtomicBool::new(true));
    let (from, to, flag) = (server.try_clone().unwrap(), client.try_clone().unwrap(), answered.clone());
    thread::spawn(move || pump(from, to, |_| flag.store(true, Relaxed)));
    thread::spawn(move || {
        let mut frames = Frames::default();
        pump(client, server, |bytes| {
            if answered.swap(false, Relaxed) {
                counts.round_trips.fetch_add(1, Relaxed);
            }
            frames.read(bytes, &counts);
            if !delay.is_zero() {
                thread::sleep(delay);
            }
        })
    });
}

fn pump(mut from: TcpStream, mut to: TcpStream, mut see: impl FnMut(&[u8])) {
    let mut buffer = [0; 65536];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        see(&buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// Splits the client's bytes into messages: first untyped ones (TLS request, start-up), then typed ones.
#[derive(Default)]
struct Frames {
    started: bool,
    rest: Vec<u8>,
}

impl Frames {
    fn read(&mut self, bytes: &[u8], counts: &Counts) {
        self.rest.extend_from_slice(bytes);
        loop {
            let head = self.started as usize;
            let Some(length) = self.rest.get(head..head + 4) else { return };
            let end = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if self.rest.len() < end {
                return;
            }
            let message: Vec<u8> = self.rest.drain(..end).collect();
            if !self.started {
                // 3.0 is the start-up message; other codes request encryption.
                self.started = message.get(4..6) == Some(&[0, 3]);
                continue;
            }
            let counter = match message[0] {
                b'S' => &counts.syncs,
                b'P' => &counts.parses,
                b'E' => &counts.executes,
                b'Q' => {
                    counts.syncs.fetch_add(1, Relaxed);
                    &counts.simple_queries
                }
                _ => continue,
            };
            counter.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_messages_however_they_are_cut() {
        let mut bytes = vec![0, 0, 0, 8, 4, 210, 22, 47]; // SSLRequest
        bytes.extend([0, 0, 0, 9, 0, 3, 0, 0, 0]);
        for kind in b"PDSBESQ" {
            bytes.extend([*kind, 0, 0, 0, 6, b'S', 0]);
        }
        for size in 1..=bytes.len() {
            let (mut frames, counts) = (Frames::default(), Counts::default());
            bytes.chunks(size).for_each(|chunk| frames.read(chunk, &counts));
            let seen = [&counts.syncs, &counts.parses, &counts.executes, &counts.simple_queries];
            assert_eq!(seen.map(|counter| counter.load(Relaxed)), [3, 1, 1, 1], "in pieces of {size}");
        }
    }
}
