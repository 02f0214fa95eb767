//! A relay between a world and its database that can fall silent without closing connections.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use platform::testing::TestDatabase;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

static NUMBER: AtomicUsize = AtomicUsize::new(0);

pub(super) struct Relay {
    folder: PathBuf,
    /// Connections opened before this generation no longer forward anything.
    live_from: Arc<watch::Sender<usize>>,
    opened: Arc<AtomicUsize>,
}

impl Relay {
    pub(super) fn before(database: &TestDatabase) -> Self {
        let behind = database.admin_options().get_socket().expect("the test server has a socket").join(".s.PGSQL.5432");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("silent-relay-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).expect("a socket");
        let relay = Self { folder, live_from: Arc::new(watch::Sender::new(0)), opened: Arc::default() };
        let (live_from, opened) = (relay.live_from.clone(), relay.opened.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = opened.fetch_add(1, Ordering::SeqCst);
                let server = UnixStream::connect(&behind).await.expect("the test server answers");
                let (from_server, to_server) = server.into_split();
                let (from_client, to_client) = client.into_split();
                tokio::spawn(forward(from_server, to_client, number, live_from.subscribe()));
                tokio::spawn(forward(from_client, to_server, number, live_from.subscribe()));
            }
        });
        relay
    }

    /// How a pool reaches the database through this relay.
    pub(super) fn options(&self, database: &PgConnectOptions) -> PgConnectOptions {
        database.clone().socket(&self.folder).ssl_mode(PgSslMode::Disable)
    }

    /// From now on no connection that is open forwards anything, and none is closed. New ones work.
    pub(super) fn silence(&self) {
        self.live_from.send_replace(self.opened.load(Ordering::SeqCst));
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, number: usize, live_from: watch::Receiver<usize>) {
    let mut buffer = vec![0; 8192];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if *live_from.borrow() > number {
            // Holds both ends open for as long as the relay is there.
            std::future::pending::<()>().await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
}
