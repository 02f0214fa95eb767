//! Keeping settings and schema cache current: on notifications of the database, on request, and until a first load succeeded.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;

use crate::config::Sources;
use crate::execute::{connect, error_chain};
use crate::service::DataApi;
use crate::service::dependencies::Presence;
use crate::sql::identifier_list;

/// The longest pause between two attempts.
const MAXIMUM_PAUSE: Duration = Duration::from_secs(32);

/// The interval at which connections without use are closed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(5);

/// The interval at which a first load is looked for.
const FIRST_LOAD_INTERVAL: Duration = Duration::from_millis(100);

/// Requests to reload. Those that arrive during a reload cause one more.
#[derive(Debug, Default)]
pub struct ReloadRequests {
    schema: Notify,
    config: Notify,
}

impl ReloadRequests {
    /// Asks for the schema cache to be read anew.
    pub fn request_schema(&self) {
        self.schema.notify_one();
    }

    /// Asks for the settings to be read anew.
    pub fn request_config(&self) {
        self.config.notify_one();
    }
}

/// Keeps the API current until the future is dropped. The file is read anew with the settings.
pub async fn run(api: Arc<DataApi>, file: Option<PathBuf>, requests: Arc<ReloadRequests>) {
    if let Presence::OnDemand(limit) = api.presence() {
        return run_on_demand(&api, limit).await;
    }
    retry(&api, "settings", || api.reload_config(None)).await;
    retry(&api, "schema cache", || api.reload_schema()).await;
    tracing::info!("schema cache loaded");
    let listening = listen(&api, &requests);
    let reloading = reload_on_request(&api, file, &requests);
    tokio::join!(listening, reloading, prune(&api));
}

/// Keeps the API current while requests arrive; without requests for this long it has no connection.
async fn run_on_demand(api: &Arc<DataApi>, limit: Duration) {
    loop {
        api.wait_until_wanted(limit).await;
        let presence = api.begin_presence().await;
        let requests = Arc::new(ReloadRequests::default());
        let config = api.config();
        let listening = async {
            // The first loads are caused by the listener, once it listens: no change in between is missed.
            if let Err(error) = listen_once(&config.db_uri, &config.db_channel, &requests).await {
                api.record_failure();
                tracing::debug!(error, "the data API lost its database");
            }
        };
        tokio::select! {
            () = listening => {}
            () = reload_once_each(api, &requests) => {}
            () = wait_until_unused(api, limit) => {}
            () = prune(api) => {}
            () = api.wait_for_pause() => {}
        }
        api.suspend();
        drop(presence);
    }
}

/// Reads settings and schema whenever it is asked for. A failed attempt is not repeated: the next request causes one.
async fn reload_once_each(api: &DataApi, requests: &ReloadRequests) {
    loop {
        let reloaded = tokio::select! {
            biased;
            () = requests.config.notified() => api.reload_config(None).await,
            () = requests.schema.notified() => api.reload_schema().await,
        };
        if let Err(error) = reloaded {
            tracing::debug!(error, "the schema of the data API was not read");
            return;
        }
    }
}

async fn wait_until_unused(api: &DataApi, limit: Duration) {
    // Until the first load succeeded there is nothing to give up.
    while api.cache().is_none() {
        tokio::time::sleep(FIRST_LOAD_INTERVAL).await;
    }
    api.wait_until_unused(limit).await;
}

/// Repeats the reading of a subject until it succeeds, with growing pauses.
async fn retry<F>(api: &DataApi, subject: &'static str, attempt: impl Fn() -> F)
where
    F: Future<Output = Result<(), String>>,
{
    let mut pause = Duration::from_secs(1);
    while let Err(error) = attempt().await {
        let database = connect::parse(&api.config().db_uri).ok().map(|target| target.describe_place());
        tracing::error!(error, subject, database, "reading from the database failed, trying again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAXIMUM_PAUSE);
    }
}

async fn reload_on_request(api: &Arc<DataApi>, file: Option<PathBuf>, requests: &ReloadRequests) {
    loop {
        tokio::select! {
            // The schema cache is read with the new settings when both are asked for.
            biased;
            () = requests.config.notified() => {
                // Without a file the settings come from the environment or from the program: they do not change.
                let sources = file.as_deref().map(|file| Sources::read(Some(file))).transpose();
                let reloaded = match sources {
                    Ok(sources) => api.reload_config(sources).await,
                    Err(error) => Err(error),
                };
                match reloaded {
                    Ok(()) => tracing::info!("settings of the data API reloaded"),
                    Err(error) => tracing::error!(error, "the settings were not reloaded, the former ones stay"),
                }
            }
            () = requests.schema.notified() => {
                retry(api, "schema cache", || api.reload_schema()).await;
                tracing::info!("schema cache reloaded");
            }
        }
    }
}

async fn prune(api: &DataApi) {
    loop {
        tokio::time::sleep(PRUNE_INTERVAL).await;
        api.pool().prune();
    }
}

/// Listens to the notification channel. After a lost connection everything is reloaded, as notifications may be lost too.
async fn listen(api: &DataApi, requests: &ReloadRequests) {
    let config = api.config();
    if !config.db_channel_enabled {
        return;
    }
    let mut pause = Duration::from_secs(1);
    loop {
        let started = Instant::now();
        if let Err(error) = listen_once(&config.db_uri, &config.db_channel, requests).await {
            tracing::warn!(error, "listening for notifications failed, trying again");
            api.record_lost_connection(&error);
            api.pool().forget_probe().await;
        }
        if started.elapsed() > MAXIMUM_PAUSE {
            pause = Duration::from_secs(1);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAXIMUM_PAUSE);
    }
}

/// Listens until the connection ends.
async fn listen_once(uri: &str, channel: &str, requests: &ReloadRequests) -> Result<(), String> {
    let describe = |error: tokio_postgres::Error| error_chain(&error);
    let opened = connect::parse(uri)?.connect().await;
    let (client, mut connection) = opened.map_err(|error| error_chain(error.as_ref()))?;
    let statement = format!("LISTEN {}", identifier_list(std::iter::once(channel)));
    let receive = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message.map_err(describe)? {
                match notification.payload() {
                    "" | "reload schema" => requests.request_schema(),
                    "reload config" => requests.request_config(),
                    _ => {}
                }
            }
        }
        Ok(())
    };
    let started = async {
        client.batch_execute(&statement).await.map_err(describe)?;
        // What changed before the connection listened was not notified.
        requests.request_config();
        requests.request_schema();
        // The client keeps the connection open.
        std::future::pending::<Result<(), String>>().await
    };
    tokio::select! {
        ended = receive => ended,
        failed = started => failed,
    }
}
