//! The database whose accounts are meant, and an auth server of our own on it that nobody else can reach: what it does for
//! an administrator it does for us, with the same checks and the same entries in the audit log.

use std::sync::Arc;

use anyhow::{Context, bail};
use axum::body::{Body, Bytes};
use gotrue_rs::app::Delivery;
use gotrue_rs::config::Config;
use gotrue_rs::journal::Journal;
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::Nobody;
use gotrue_rs::store::{Connection, Pool, bulk};
use gotrue_rules::domain::contact::{Email, Phone};
use gotrue_rules::domain::secret::Secret;
use http::{Method, Request, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;
use uuid::Uuid;

use crate::announce::Running;
use crate::api_keys;
use crate::cli::{PlaceArguments, Project};
use crate::data_folder::DataFolder;
use crate::serve::Source;
use crate::{database, gotrue, profiles, serve};

/// A database that answers, and an administrator's way in.
pub struct Place {
    /// Its connections.
    pub pool: Pool,
    /// `aud` and `role` of accounts that name none.
    pub audience: String,
    /// As above.
    pub role: String,
    /// New ids.
    pub entropy: Entropy,
    router: axum::Router,
    token: String,
    /// The database that was started for this, and the folder it lies in.
    own: Option<(Source, DataFolder)>,
}

impl Place {
    /// The database named by the arguments; else the one of the server that runs for this project; else the one that
    /// `DATABASE_URL` names; else the project's own, started until [`Place::close`].
    pub async fn open(arguments: &PlaceArguments) -> anyhow::Result<Self> {
        let project = Project::open(&arguments.project)?;
        let entropy = Entropy::from_system();
        let keys = api_keys::combine(None, &api_keys::Given::default(), &entropy, SystemClock.now())?;
        let mut config = project.settings("http://127.0.0.1", &keys)?;
        profiles::serve(&mut config.policy, &project.file.basalt);
        let given = arguments.database_url.clone().or_else(|| Running::read(&project.data).map(|it| it.database_url));
        let (pool, own) = if let Some(url) = given {
            (connected(&mut config, &url).await?, None)
        } else {
            let folder = DataFolder::open(&project.data)?;
            let source = tokio::task::spawn_blocking(serve::find(&project, &folder, false, None));
            let source = source.await.context("starting the database")??;
            (source.open(&mut config).await?, Some((source, folder)))
        };
        let (audience, role) = (config.policy.jwt.aud.clone(), config.policy.jwt.default_group.clone());
        let app = gotrue::build(&config, pool.clone(), Delivery::AtOnce(Arc::new(Nobody)))?;
        let router = gotrue_rs::router(Arc::new(app));
        Ok(Self { pool, audience, role, entropy, router, token: keys.service_role_key, own })
    }

    /// Gives everything back.
    pub async fn close(self) -> anyhow::Result<()> {
        self.pool.close().await;
        if let Some((source, _folder)) = self.own {
            tokio::task::spawn_blocking(move || source.stop()).await.context("stopping the database")?;
        }
        Ok(())
    }

    /// Statements that stand alone.
    pub fn db(&self) -> Connection {
        Connection::pooled(self.pool.clone(), Arc::new(Journal::default()))
    }

    /// An open transaction.
    pub async fn begin(&self) -> anyhow::Result<Connection> {
        Ok(Connection::begin(&self.pool, Arc::new(Journal::default())).await?)
    }

    /// Asks the admin API; what it refuses is an error in its words.
    pub async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
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

    /// The account of that address, number or id.
    pub async fn find(&self, who: &str) -> anyhow::Result<Uuid> {
        let id: Vec<Uuid> = who.parse().into_iter().collect();
        let (email, phone) = (Email::lookup_form(who), Phone::lookup_form(who));
        let found = bulk::taken(&mut self.db(), &id, &[email], &[phone]).await?;
        match found.as_slice() {
            [one] => Ok(one.id),
            [] => bail!("nobody has the address, number or id {who}; `basalt users list --filter TEXT` searches"),
            several => {
                let ids: Vec<String> = several.iter().map(|one| one.id.to_string()).collect();
                bail!("several accounts have the address {who}; name one by its id: {}", ids.join(", "))
            }
        }
    }
}

async fn connected(config: &mut Config, url: &str) -> anyhow::Result<Pool> {
    config.database.url = Secret::from(url);
    let pool = database::bulk_pool(&config.database)?;
    let mut db = Connection::pooled(pool.clone(), Arc::new(Journal::default()));
    bulk::count(&mut db).await.context(
        "asking the database for its accounts: is it reached at this URL, and does it have the schema auth? \
         `basalt gotrue migrate` makes it",
    )?;
    Ok(pool)
}
