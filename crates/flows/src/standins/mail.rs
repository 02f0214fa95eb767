//! Receives mails by SMTP.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::message::parse_mail;

/// The longest mail with its envelope.
const MAX_MAIL: u64 = 4 << 20;

/// The mails that wait to be read.
#[derive(Debug, Default)]
struct Mailbox {
    mails: Mutex<Vec<Value>>,
    arrived: Notify,
}

/// A mail server on a loopback port that stores what it receives.
#[derive(Debug)]
pub(super) struct MailServer {
    pub port: u16,
    mailbox: Arc<Mailbox>,
    task: JoinHandle<()>,
}

impl MailServer {
    /// Starts the server on a free port.
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let mailbox = Arc::new(Mailbox::default());
        let shared = Arc::clone(&mailbox);
        let task = http_edge::spawn_task(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mailbox = Arc::clone(&shared);
                http_edge::spawn_task(async move {
                    // A client that breaks off sent no mail.
                    let _ = converse(stream, &mailbox).await;
                });
            }
        });
        Ok(Self { port, mailbox, task })
    }

    /// Waits for the oldest mail to an address and removes it; `None` if none arrives in time.
    pub(super) async fn take(&self, to: &str, wait: Duration) -> Option<Value> {
        let end = Instant::now() + wait;
        loop {
            let arrived = self.mailbox.arrived.notified();
            {
                let mut mails = self.mailbox.mails.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(at) = mails.iter().position(|mail| mail["to"] == to) {
                    return Some(mails.remove(at));
                }
            }
            // Another task may have taken the mail that arrived: look again at the end, too.
            if timeout_at(end, arrived).await.is_err() && Instant::now() >= end {
                return None;
            }
        }
    }

    /// Counts the mails to an address, or all.
    pub(super) fn count(&self, to: Option<&str>) -> usize {
        let mails = self.mailbox.mails.lock().unwrap_or_else(PoisonError::into_inner);
        mails.iter().filter(|mail| to.is_none_or(|to| mail["to"] == to)).count()
    }

    /// Removes all mails.
    pub(super) fn clear(&self) {
        self.mailbox.mails.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Speaks SMTP (RFC 5321) with one client until it quits.
async fn converse(stream: TcpStream, mailbox: &Mailbox) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader.take(MAX_MAIL));
    let mut recipients: Vec<String> = Vec::new();
    writer.write_all(b"220 replay ESMTP\r\n").await?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let line = line.trim();
        let verb = line.to_ascii_uppercase();
        let answer: &[u8] = if verb.starts_with("EHLO") {
            b"250-replay\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN LOGIN\r\n"
        } else if verb.starts_with("AUTH") {
            authenticate(&verb, &mut reader, &mut writer).await?;
            b"235 ok\r\n"
        } else if verb.starts_with("RCPT TO") {
            let address =
                line.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or(line, |(address, _)| address);
            recipients.push(address.to_owned());
            b"250 ok\r\n"
        } else if verb == "DATA" {
            writer.write_all(b"354 go on\r\n").await?;
            let mail = read_mail(&mut reader).await?;
            let received = recipients.drain(..).map(|to| parse_mail(&to, &mail));
            mailbox.mails.lock().unwrap_or_else(PoisonError::into_inner).extend(received);
            mailbox.arrived.notify_waiters();
            b"250 kept\r\n"
        } else if verb == "QUIT" {
            return writer.write_all(b"221 bye\r\n").await;
        } else {
            b"250 ok\r\n"
        };
        writer.write_all(answer).await?;
    }
}

/// Reads the credentials, which are not checked.
async fn authenticate<R, W>(verb: &str, reader: &mut R, writer: &mut W) -> io::Result<()>
where
    R: AsyncBufReadExt + Unpin,
    W: AsyncWriteExt + Unpin,
{
    let prompts: &[&[u8]] = match verb {
        _ if verb.starts_with("AUTH LOGIN") => &[b"334 VXNlcm5hbWU6\r\n", b"334 UGFzc3dvcmQ6\r\n"],
        _ if verb.split_whitespace().count() < 3 => &[b"334 \r\n"],
        _ => &[],
    };
    for prompt in prompts {
        writer.write_all(prompt).await?;
        let mut answer = String::new();
        reader.read_line(&mut answer).await?;
    }
    Ok(())
}

async fn read_mail<R: AsyncBufReadExt + Unpin>(reader: &mut R) -> io::Result<Vec<u8>> {
    let mut mail = Vec::new();
    loop {
        let start = mail.len();
        if reader.read_until(b'\n', &mut mail).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = mail[start..].trim_ascii_end();
        if line == b"." {
            mail.truncate(start);
            return Ok(mail);
        }
        if line.starts_with(b"..") {
            mail.remove(start);
        }
    }
}
