//! The database of the account commands, and a private in-process auth server on it.
//! Commands use its admin API, with the same checks and the same audit entries as other administrators' requests.

use std::sync::Arc;

use anyhow::{Context, bail};
use axum::body::{Body, Bytes};
use data_folder::DataFolder;
use embedded_postgres::TcpPort;
use foundation::email::Email;
use foundation::secret::Secret;
use gotrue_rs::app::EmailDelivery;
use gotrue_rs::config::Config;
use gotrue_rs::store::bulk;
use gotrue_rules::domain::contact::Phone;
use http::{Method, Request, header};
use http_body_util::BodyExt;
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::journal::Journal;
use platform::mail::DiscardingMailer;
use platform::store::{Connection, Pool};
use serde_json::Value;
use tower::ServiceExt;
use uuid::Uuid;

use super::arguments::DatabaseArguments;
use crate::announce::RunningServer;
use crate::api_keys;
use crate::database_source::{DatabaseOptions, DatabaseSource, find_database};
use crate::project::Project;
use crate::{app, database, profiles};

/// A connected database with access to the admin API.
pub(crate) struct UserDatabase {
    /// Its connection pool.
    pub pool: Pool,
    /// The default `aud` of accounts.
    pub audience: String,
    /// The default `role` of accounts.
    pub role: String,
    /// Generates ids.
    pub entropy: Entropy,
    router: axum::Router,
    token: String,
    /// The database that was started for the command, and its folder.
    embedded: Option<(DatabaseSource, DataFolder)>,
}

impl UserDatabase {
    /// Connects to the database of the arguments, the running server, or `DATABASE_URL`, in this order.
    /// Otherwise the project's own database is started until [`UserDatabase::close`].
    pub(crate) async fn connect(arguments: &DatabaseArguments) -> anyhow::Result<Self> {
        let project = Project::load(&arguments.project)?;
        let entropy = Entropy::from_system();
        let keys = api_keys::combine(None, &api_keys::ConfiguredKeys::default(), &entropy, SystemClock.now())?;
        let mut config = project.settings("http://127.0.0.1", &keys)?;
        profiles::apply_serve_profile(&mut config, &project.file.basalt, &project.display_name());
        let given = arguments
            .database_url
            .clone()
            .or_else(|| RunningServer::read(&project.data).map(|running| running.database_url));
        let (pool, own) = if let Some(url) = given {
            (connect_to(&mut config, &url).await?, None)
        } else {
            let folder = DataFolder::open(&project.data)?;
            let wanted = DatabaseOptions { ephemeral: false, url: None, port: TcpPort::None };
            let source = tokio::task::spawn_blocking(find_database(&project, &folder, wanted));
            let source = source.await.context("starting the database")??;
            (source.open(&mut config, None).await?, Some((source, folder)))
        };
        let (audience, role) = (config.policy.jwt.aud.clone(), config.policy.jwt.default_group.clone());
        let app = app::build(
            &config,
            &app::SharedPorts::start()?,
            pool.clone(),
            EmailDelivery::Synchronous(Arc::new(DiscardingMailer)),
        )?;
        let router = gotrue_rs::router(Arc::new(app));
        Ok(Self { pool, audience, role, entropy, router, token: keys.service_role_key, embedded: own })
    }

    /// Closes the connections and stops a started database.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.pool.close().await;
        if let Some((source, _folder)) = self.embedded {
            tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
        }
        Ok(())
    }

    /// Returns a connection without a transaction.
    pub(crate) fn connection(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::new(Journal::default()))
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&self) -> anyhow::Result<Connection> {
        Ok(Connection::begin(&self.pool, Arc::new(Journal::default())).await?)
    }

    /// Sends a request to the admin API; an error response becomes an error with its message.
    pub(crate) async fn request(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))?;
        let response = self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let status = response.status();
        let bytes: Bytes = response.into_body().collect().await?.to_bytes();
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if !status.is_success() {
            bail!("{}", answer["msg"].as_str().unwrap_or("the auth server could not do that"));
        }
        Ok(answer)
    }

    /// Finds the account of an address, number or id.
    pub(crate) async fn find(&self, who: &str) -> anyhow::Result<Uuid> {
        let id: Vec<Uuid> = who.parse().into_iter().collect();
        let (email, phone) = (Email::normalize_for_lookup(who), Phone::normalize_for_lookup(who));
        let found = bulk::find_existing(&mut self.connection(), &id, &[email], &[phone]).await?;
        match found.as_slice() {
            [one] => Ok(one.id),
            [] => bail!("no account has the address, number or id {who}; `basalt users list --filter TEXT` searches"),
            several => {
                let ids: Vec<String> = several.iter().map(|one| one.id.to_string()).collect();
                bail!("several accounts have the address {who}; name one by its id: {}", ids.join(", "))
            }
        }
    }
}

async fn connect_to(config: &mut Config, url: &str) -> anyhow::Result<Pool> {
    config.database.url = Secret::from(url);
    let pool = database::build_bulk_pool(&config.database)?;
    let mut db = Connection::pooled(pool.clone(), Arc::new(Journal::default()));
    bulk::count(&mut db).await.context(
        "asking the database for its accounts: is it reached at this URL, and does it have the schema auth? \
         `basalt gotrue migrate` makes it",
    )?;
    Ok(pool)
}
