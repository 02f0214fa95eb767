//! The APIs of the database: the data API and the storage API, where the project has them.

use std::path::Path;

use gotrue_rs::config::Config;
use http_edge::ShutdownSignal;
use postgrest_rs::service::dependencies::Dependencies;
use tokio::task::JoinHandle;

use super::data_api::{self, RunningDataApi};
use super::storage::{self, RunningStorage};
use crate::api_keys::ApiKeys;
use crate::database_source::DatabaseSource;
use crate::profiles;
use crate::project::Project;

/// The APIs of the database of a server with one backend.
pub(super) struct DatabaseApis {
    pub data: Option<RunningDataApi>,
    pub storage: Option<RunningStorage>,
    /// The tasks that keep them current.
    pub tasks: Vec<JoinHandle<()>>,
}

impl DatabaseApis {
    /// Builds the APIs and starts their tasks; the storage API keeps its files in `folder`.
    pub(super) fn start(
        project: &Project,
        source: &DatabaseSource,
        config: &Config,
        keys: &ApiKeys,
        folder: &Path,
        closing: &ShutdownSignal,
    ) -> anyhow::Result<Self> {
        let settings = &project.file.basalt.data_api;
        let is_development = profiles::has_development_pages(config, &project.file.basalt);
        let dependencies = Dependencies {
            explains: is_development,
            reloads_for_missing: is_development,
            request_limit: Some(settings.request_timeout),
            ..Default::default()
        };
        let data = data_api::find_database(project, source)
            .map(|url| RunningDataApi::new(settings, &url, config, dependencies))
            .transpose()?;
        let storage = storage::start(project, source, config, keys, folder)?;
        let data_task = data.clone().map(|running| http_edge::spawn_task(running.maintain(closing.clone())));
        let storage_task = storage
            .clone()
            .map(|running| http_edge::spawn_task(running.maintain(storage::seeds(project), closing.clone())));
        Ok(Self { data, storage, tasks: data_task.into_iter().chain(storage_task).collect() })
    }
}
