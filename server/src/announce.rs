//! The output of a ready server, and the file in the data folder that `basalt status` reads.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::api_keys::ApiKeys;

/// The file's name in the data folder.
const FILE: &str = "running.json";

/// URLs and keys of a server.
#[derive(Debug, Serialize)]
pub(crate) struct Announcement<'a> {
    url: &'a str,
    auth_url: String,
    functions_url: String,
    inbox_url: String,
    publishable_key: &'a str,
    secret_key: &'a str,
    anon_key: &'a str,
    service_role_key: &'a str,
    jwt_secret: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    database_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<bool>,
}

impl<'a> Announcement<'a> {
    /// Creates the announcement of a server at `url`.
    pub(crate) fn new(url: &'a str, keys: &'a ApiKeys, database_url: Option<&'a str>) -> Self {
        Self {
            url,
            auth_url: format!("{url}/auth/v1"),
            functions_url: format!("{url}/functions/v1"),
            inbox_url: format!("{url}/_dev/inbox"),
            publishable_key: &keys.publishable_key,
            secret_key: &keys.secret_key,
            anon_key: &keys.anon_key,
            service_role_key: &keys.service_role_key,
            jwt_secret: &keys.jwt_secret,
            database_url,
            running: None,
        }
    }

    /// Formats one line of JSON, for test suites.
    pub(crate) fn to_json_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Formats JSON that includes whether the server runs, for `basalt status`.
    pub(crate) fn into_json_status(mut self, running: bool) -> serde_json::Result<String> {
        self.running = Some(running);
        serde_json::to_string_pretty(&self)
    }

    /// Formats text for a terminal.
    pub(crate) fn to_text(&self, first: &str) -> String {
        let mut text = format!("{first}\n\n");
        let rows = [
            ("Shop", self.url),
            ("Auth", &self.auth_url),
            ("Functions", &self.functions_url),
            ("Inbox", &self.inbox_url),
            ("Public key", self.publishable_key),
            ("Service key", self.secret_key),
        ];
        for (name, value) in rows {
            let _ = writeln!(text, "  {name:<12} {value}");
        }
        let _ = write!(
            text,
            "\n  createClient(\"{}\", \"{}\")\n\n  The service key may do everything: keep it on servers. \
             `basalt status --json` has the older keys too.",
            self.url, self.publishable_key
        );
        text
    }
}

/// The entry that a running server writes for `basalt status`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunningServer {
    /// The URL for clients.
    pub url: String,
    /// The URL of its database.
    pub database_url: String,
}

impl RunningServer {
    /// Writes the entry into the data folder, readable by its owner alone.
    pub(crate) fn write(&self, data: &Path) -> std::io::Result<()> {
        let path = data.join(FILE);
        // The file is recreated, so that its mode does not stem from an older one.
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)
    }

    /// Reads the entry if its server still runs: a running server holds the folder's lock.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        let lock = File::open(data.join("lock")).ok()?;
        let is_held = matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
        let running = serde_json::from_slice(&fs::read(data.join(FILE)).ok()?).ok()?;
        is_held.then_some(running)
    }

    /// Removes the entry.
    pub(crate) fn remove(data: &Path) {
        let _ = fs::remove_file(data.join(FILE));
    }
}
