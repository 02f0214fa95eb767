//! A project whose database is upgraded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::releases::find_release;
use crate::support::{Basalt, TempFolder, basalt};

pub(super) const PASSWORD: &str = "a long password";

/// A folder with a configuration and a data folder.
pub(super) struct UpgradeProject {
    pub folder: TempFolder,
    pub old: String,
    pub new: String,
}

impl UpgradeProject {
    /// Creates a project for an upgrade from this release to 17; `None` if a release cannot be installed.
    pub(super) fn new(old: u32, config: &str) -> Option<Self> {
        let (old, new) = (find_release(old)?, find_release(17)?);
        let folder = TempFolder::new();
        folder.write("config.toml", config);
        Some(Self { folder, old, new })
    }

    /// Returns a command of the project that uses the PostgreSQL in this folder.
    pub(super) fn command(&self, programs: &str) -> Command {
        let mut command = basalt();
        command.env("PG_BIN_DIR", programs).current_dir(&self.folder.0);
        command
    }

    fn place(&self) -> [String; 4] {
        ["--config".to_owned(), self.folder.path("config.toml"), "--data".to_owned(), self.folder.path("data")]
    }

    /// Starts a server with the PostgreSQL in this folder.
    pub(super) fn serve(&self, programs: &str, arguments: &[&str]) -> Basalt {
        let place = self.place();
        let place: Vec<&str> = place.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        Basalt::start(&mut self.command(programs), &place)
    }

    /// Returns `basalt db upgrade` for the project.
    pub(super) fn upgrade(&self) -> Command {
        let mut command = self.command(&self.new);
        command.args(["db", "upgrade", "--old-binaries", &self.old]).args(self.place());
        command
    }

    /// Runs a command of the project; returns whether it succeeded, and all output.
    pub(super) fn run(&self, programs: &str, arguments: &[&str]) -> (bool, String) {
        output(self.command(programs).args(arguments).args(self.place()))
    }

    /// Upgrades the database; returns the output.
    #[track_caller]
    pub(super) fn upgrade_successfully(&self) -> String {
        let (is_successful, text) = output(&mut self.upgrade());
        assert!(is_successful, "{text}");
        text
    }

    /// Returns the folder of the database.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.0.join("data/postgres")
    }

    /// Returns the release of a cluster; `None` if there is none.
    pub(super) fn release_of(&self, cluster: &str) -> Option<String> {
        let text = fs::read_to_string(self.home().join(cluster).join("PG_VERSION")).ok()?;
        Some(text.trim().to_owned())
    }

    /// Lists what is in the folder of the database.
    pub(super) fn list_home(&self) -> Vec<String> {
        list(&self.home())
    }
}

fn list(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs a command; returns whether it succeeded, and all output.
pub(super) fn output(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("the program starts");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

pub(super) fn stop(server: Basalt) {
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

/// Signs a user up; returns the session.
pub(super) async fn sign_up(server: &Basalt, name: &str) -> Value {
    let (status, session) = server.auth("/signup", Some(account(name))).await;
    assert_eq!(status, 200, "{session}");
    session
}

/// Signs a user in; returns status and session.
pub(super) async fn sign_in(server: &Basalt, name: &str) -> (u16, Value) {
    server.auth("/token?grant_type=password", Some(account(name))).await
}

fn account(name: &str) -> Value {
    json!({ "email": format!("{name}@example.com"), "password": PASSWORD })
}

/// Connects as the superuser.
pub(super) async fn connect(server: &Basalt) -> PgConnection {
    PgConnection::connect(&server.text("database_url")).await.expect("connected")
}

/// Runs statements as the superuser.
pub(super) async fn execute(server: &Basalt, sql: &'static str) {
    sqlx::raw_sql(sql).execute(&mut server.connect_after_indexes().await).await.expect("executed");
}

/// Returns the texts of a query's only column.
pub(super) async fn texts(server: &Basalt, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(&mut connect(server).await).await.expect("rows")
}
