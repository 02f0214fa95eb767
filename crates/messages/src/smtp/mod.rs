//! An SMTP server (RFC 5321) for the mails of an application in development and tests.
//!
//! It delivers nothing: every mail is kept in the store. Any credentials are accepted, because the listener is for
//! programs on this machine. Size, recipients, time and connections are limited.

mod command;
mod data;
mod session;

use std::sync::Arc;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use http_edge::ShutdownSignal;
use platform::clock::{Clock, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::store::MessageStore;

pub use self::command::{Command, CommandError};
pub use self::data::MailData;
pub use self::session::{Effect, Envelope, Session};

/// The maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 20;
/// How long a client may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a connection may last.
const SESSION_TIMEOUT: Duration = Duration::from_mins(10);
/// The pause after a failed `accept`, most often for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Returns the store of mails at the moment; `None` while it is being replaced.
pub type CurrentStore = Arc<dyn Fn() -> Option<MessageStore> + Send + Sync>;

/// Receives mails until `closing` is true. The listener must be bound to a loopback address.
pub async fn serve(listener: TcpListener, store: CurrentStore, mut closing: ShutdownSignal) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((mut stream, _)) = accepted else {
            SystemClock.sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            let _ = stream.try_write(b"421 4.3.2 too many connections\r\n");
            continue;
        };
        let (store, mut closing) = (Arc::clone(&store), closing.clone());
        http_edge::spawn_task(async move {
            tokio::select! {
                ended = converse(&mut stream, &store) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "an SMTP connection ended early");
                    }
                }
                () = SystemClock.sleep(SESSION_TIMEOUT) => {}
                _ = closing.wait_for(|closing| *closing) => {}
            }
            drop(permit);
        });
    }
}

/// Answers the commands of one client until it quits, disconnects or is silent for too long.
async fn converse(stream: &mut TcpStream, store: &CurrentStore) -> std::io::Result<()> {
    let mut session = Session::default();
    stream.write_all(Session::GREETING.as_bytes()).await?;
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = tokio::select! {
            read = stream.read(&mut buffer) => read?,
            () = SystemClock.sleep(IDLE_TIMEOUT) => {
                return stream.write_all(b"421 4.4.2 no command for too long\r\n").await;
            }
        };
        if read == 0 {
            return Ok(());
        }
        for effect in session.receive(&buffer[..read]) {
            match effect {
                Effect::Reply(reply) => stream.write_all(reply.as_bytes()).await?,
                Effect::Keep(envelope) => {
                    let reply = keep(store, envelope).await;
                    stream.write_all(reply.as_bytes()).await?;
                }
                Effect::Close(reply) => {
                    stream.write_all(reply.as_bytes()).await?;
                    return stream.shutdown().await;
                }
            }
        }
    }
}

async fn keep(store: &CurrentStore, envelope: Envelope) -> String {
    let Some(store) = store() else { return "451 4.3.0 the mail cannot be kept now, retry\r\n".to_owned() };
    match store.receive(&envelope.from, &envelope.recipients, envelope.content).await {
        Ok(id) => format!("250 2.0.0 kept as {id}\r\n"),
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "a received mail could not be kept");
            "451 4.3.0 the mail could not be kept\r\n".to_owned()
        }
    }
}
