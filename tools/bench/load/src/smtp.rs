//! An SMTP server that accepts every mail, optionally with a delay, and keeps only the count.

use crate::Load;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Default)]
pub struct Mails(Arc<AtomicU64>);

impl Mails {
    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

pub async fn sink(o: &Load) -> Mails {
    let mails = Mails::default();
    if let Some(port) = o.smtp_port {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the SMTP port is free");
        let (mails, delay) = (mails.clone(), Duration::from_millis(o.smtp_delay_ms));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, mails.clone(), delay));
            }
        });
    }
    mails
}

async fn converse(mut stream: TcpStream, mails: Mails, delay: Duration) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    write.write_all(b"220 sink\r\n").await?;
    let mut in_data = false;
    while let Some(line) = lines.next_line().await? {
        let verb = line.get(..4).unwrap_or("").to_ascii_uppercase();
        let reply: &[u8] = match (in_data, verb.as_str()) {
            (true, _) if line == "." => {
                in_data = false;
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                mails.0.fetch_add(1, Relaxed);
                b"250 taken\r\n"
            }
            (true, _) => continue,
            (false, "DATA") => {
                in_data = true;
                b"354 go on\r\n"
            }
            (false, "QUIT") => b"221 bye\r\n",
            (false, _) => b"250 ok\r\n",
        };
        write.write_all(reply).await?;
    }
    Ok(())
}
