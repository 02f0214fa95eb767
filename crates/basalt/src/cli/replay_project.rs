//! The project that a replay uses.

use std::path::{Path, PathBuf};

use anyhow::Context;
use gotrue_rs::config::hook_key;
use gotrue_rules::domain::policy::HookKind;

use crate::plural::format_count;
use crate::project::{Project, ProjectArguments};
use crate::project_schema::SchemaFiles;

/// Which server a replay asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReplayServer<'a> {
    /// One that runs at a URL.
    Url(&'a str),
    /// Two binaries that answer in turn.
    TwoBinaries,
    /// A test server with the settings of the flows alone.
    Isolated,
    /// A test server of the project around the command.
    OfProject,
}

/// What the servers of a replay have beside the settings of the flows.
#[derive(Debug)]
pub(super) enum ReplayProject {
    /// The test server of `basalt exec`, with its project.
    OfExec {
        /// The URL of its test API.
        url: String,
        /// The key of its test API.
        key: String,
    },
    /// The project around the command.
    Project {
        /// The folder in which the server starts, where it finds the same project.
        start: PathBuf,
        /// The configuration that the command names.
        config: Option<PathBuf>,
        /// What it has, in words.
        description: String,
    },
    /// Nothing, and why.
    None {
        /// Why, in words.
        reason: String,
    },
}

impl ReplayProject {
    /// Finds the project.
    ///
    /// # Errors
    /// The configuration or a file of the project cannot be read.
    #[expect(clippy::disallowed_methods, reason = "basalt exec passes a server on by the environment")]
    pub(super) fn find(config: Option<&Path>, server: ReplayServer<'_>) -> anyhow::Result<Self> {
        let none = |reason: String| Ok(Self::None { reason });
        match server {
            ReplayServer::Url(url) => return none(format!("Replaying against {url}, with its settings.")),
            ReplayServer::TwoBinaries => {
                return none("Replaying on two binaries in turn, with the settings of the flows.".to_owned());
            }
            ReplayServer::Isolated => {
                return none("Replaying without a project, with the settings of the flows.".to_owned());
            }
            ReplayServer::OfProject => {}
        }
        if let (Ok(url), Ok(key)) = (std::env::var("BASALT_TEST_URL"), std::env::var("BASALT_TEST_KEY")) {
            return Ok(Self::OfExec { url, key });
        }
        let project = Project::load(&ProjectArguments { config: config.map(Path::to_owned), data: None })?;
        let schema = SchemaFiles::read(&project)?;
        if !project.layout.has_config && !schema.is_any() {
            return none(
                "Replaying without a project: none is here or above. The flows have their own settings.".to_owned(),
            );
        }
        let config = config.map(std::path::absolute).transpose();
        Ok(Self::Project {
            start: std::env::current_dir().context("finding the current folder")?,
            config: config.context("finding the folder of config.toml")?,
            description: describe(&project, &schema),
        })
    }

    /// Returns whether the server has settings of a project.
    pub(super) fn has_settings(&self) -> bool {
        !matches!(self, Self::None { .. })
    }

    /// Returns the first line of the replay.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::OfExec { .. } => "Replaying on the test server of basalt exec, with its project.".to_owned(),
            Self::Project { description, .. } => description.clone(),
            Self::None { reason } => reason.clone(),
        }
    }
}

fn describe(project: &Project, schema: &SchemaFiles) -> String {
    let files = &schema.schema;
    let count = |number: usize, thing: &str| (number > 0).then(|| format_count(number, thing));
    let hooks = HookKind::ALL.into_iter().map(hook_key);
    let hooks: Vec<&str> = hooks.filter(|name| project.file.is_set(&format!("auth.hook.{name}.uri"))).collect();
    let parts = [
        project.layout.has_config.then(|| project.layout.config.display().to_string()),
        files.roles.as_ref().map(|_| "roles.sql".to_owned()),
        count(files.migrations.len(), "migration"),
        count(files.seeds.len(), "seed file"),
        (!hooks.is_empty()).then(|| format!("hooks {}", hooks.join(", "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("Replaying with the project around it: {}. --isolated uses none.", parts.join("; "))
}
