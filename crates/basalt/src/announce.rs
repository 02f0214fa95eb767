//! The output of a ready server, and the file in the data folder that `basalt status` reads.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use data_folder::{RUNNING_FILE, is_in_use};
use serde::{Deserialize, Serialize};

use crate::api_keys::ApiKeys;
use crate::project_schema::{ProjectReport, SkippedLine};
use crate::served_apis::ServedApis;

/// URLs and keys of a server.
#[derive(Debug, Serialize)]
pub(crate) struct Announcement<'a> {
    url: &'a str,
    auth_url: String,
    functions_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s3_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s3_access_key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s3_secret_access_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s3_region: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inbox_url: Option<String>,
    publishable_key: &'a str,
    secret_key: &'a str,
    anon_key: &'a str,
    service_role_key: &'a str,
    jwt_secret: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    database_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    database_url_tcp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    test: Option<&'a TestAccess>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mailpit_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smtp_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    desk_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    desk_setup_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped_statements: Vec<SkippedLine<'a>>,
    #[serde(skip)]
    project_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<bool>,
}

/// A variable of `supabase status -o env`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CliVariable<'a> {
    /// Its name in `--override-name`.
    pub path: &'static str,
    pub name: &'static str,
    pub value: &'a str,
}

/// The address and the key of the test API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TestAccess {
    pub test_url: String,
    /// Its key, a bearer token.
    pub test_key: String,
}

impl<'a> Announcement<'a> {
    /// Creates the announcement of a server at `url`.
    pub(crate) fn new(url: &'a str, keys: &'a ApiKeys, database_url: Option<&'a str>) -> Self {
        Self {
            url,
            auth_url: format!("{url}/auth/v1"),
            functions_url: format!("{url}/functions/v1"),
            rest_url: None,
            storage_url: None,
            s3_url: None,
            s3_access_key_id: None,
            s3_secret_access_key: None,
            s3_region: None,
            inbox_url: None,
            publishable_key: &keys.publishable_key,
            secret_key: &keys.secret_key,
            anon_key: &keys.anon_key,
            service_role_key: &keys.service_role_key,
            jwt_secret: &keys.jwt_secret,
            database_url,
            database_url_tcp: None,
            test: None,
            mailpit_url: None,
            smtp_port: None,
            desk_url: None,
            desk_setup_url: None,
            skipped_statements: Vec::new(),
            project_text: String::new(),
            running: None,
        }
    }

    /// Adds the URL of the database on its TCP port.
    #[must_use]
    pub(crate) fn with_tcp_url(self, database_url_tcp: Option<&'a str>) -> Self {
        Self { database_url_tcp, ..self }
    }

    /// Adds the address and the key of the test API.
    #[must_use]
    pub(crate) fn with_test_access(self, test: Option<&'a TestAccess>) -> Self {
        Self { test, ..self }
    }

    /// Adds the URLs of the APIs that not every server has, and the key of the S3 protocol.
    #[must_use]
    pub(crate) fn with_apis(self, apis: &'a ServedApis) -> Self {
        let below = |is_served: bool, path: &str| is_served.then(|| format!("{}{path}", self.url));
        let key = apis.s3.as_ref().and_then(|s3| s3.key.as_ref());
        Self {
            rest_url: below(apis.has_data_api, "/rest/v1"),
            storage_url: below(apis.has_storage, "/storage/v1"),
            s3_url: below(apis.s3.is_some(), "/storage/v1/s3"),
            s3_access_key_id: key.map(|(id, _)| id.as_str()),
            s3_secret_access_key: key.map(|(_, secret)| secret.as_str()),
            s3_region: apis.s3.as_ref().map(|s3| s3.region.as_str()),
            inbox_url: below(apis.has_inbox, "/_dev/inbox"),
            mailpit_url: apis.mailpit_url.as_deref(),
            ..self
        }
    }

    /// Adds the port that receives mails.
    #[must_use]
    pub(crate) fn with_smtp_port(self, smtp_port: Option<u16>) -> Self {
        Self { smtp_port, ..self }
    }

    /// Adds the address of the desk.
    #[must_use]
    pub(crate) fn with_desk(self, desk_url: Option<String>) -> Self {
        Self { desk_url, ..self }
    }

    /// Adds the link that makes the first owner of the desk.
    #[must_use]
    pub(crate) fn with_setup_link(self, desk_setup_url: Option<&'a str>) -> Self {
        Self { desk_setup_url, ..self }
    }

    /// Adds what the database of the project lacks.
    #[must_use]
    pub(crate) fn with_project_report(self, report: &'a ProjectReport) -> Self {
        Self { skipped_statements: report.list_skipped(), project_text: report.to_text(), ..self }
    }

    /// Returns the variables of a process that uses this server.
    ///
    /// The prefixes are those by which Vite and Next.js pass variables to the browser; they carry public values only.
    pub(crate) fn client_variables(&self) -> Vec<(String, String)> {
        let public = [
            ("SUPABASE_URL", self.url),
            ("SUPABASE_ANON_KEY", self.anon_key),
            ("SUPABASE_PUBLISHABLE_KEY", self.publishable_key),
        ];
        let private = [
            ("SUPABASE_SERVICE_ROLE_KEY", self.service_role_key),
            ("SUPABASE_SECRET_KEY", self.secret_key),
            ("SUPABASE_JWT_SECRET", self.jwt_secret),
        ];
        let database = self.database_url_tcp.or(self.database_url).map(|url| ("DATABASE_URL", url));
        let test = self.test.map(|test| [("BASALT_TEST_URL", &*test.test_url), ("BASALT_TEST_KEY", &*test.test_key)]);
        let database = database.into_iter().chain(test.into_iter().flatten());
        let prefixed = ["", "VITE_", "NEXT_PUBLIC_"];
        let public = prefixed.iter().flat_map(|prefix| public.map(|(name, value)| (format!("{prefix}{name}"), value)));
        let private = private.into_iter().chain(database).map(|(name, value)| (name.to_owned(), value));
        public.chain(private).map(|(name, value)| (name, value.to_owned())).collect()
    }

    /// Returns URLs and keys by the names of `supabase status -o env`, each with its name in `--override-name`.
    ///
    /// What this server does not have is left out.
    pub(crate) fn cli_variables(&self) -> Vec<CliVariable<'_>> {
        let database = self.database_url_tcp.or(self.database_url);
        let mailpit = self.mailpit_url.or(self.inbox_url.as_deref());
        let named = [
            ("api.url", "API_URL", Some(self.url)),
            ("api.rest_url", "REST_URL", self.rest_url.as_deref()),
            ("api.storage_s3_url", "STORAGE_S3_URL", self.s3_url.as_deref()),
            ("api.functions_url", "FUNCTIONS_URL", Some(&*self.functions_url)),
            ("db.url", "DB_URL", database),
            ("inbucket.url", "INBUCKET_URL", mailpit),
            ("mailpit.url", "MAILPIT_URL", mailpit),
            ("auth.publishable_key", "PUBLISHABLE_KEY", Some(self.publishable_key)),
            ("auth.secret_key", "SECRET_KEY", Some(self.secret_key)),
            ("auth.jwt_secret", "JWT_SECRET", Some(self.jwt_secret)),
            ("auth.anon_key", "ANON_KEY", Some(self.anon_key)),
            ("auth.service_role_key", "SERVICE_ROLE_KEY", Some(self.service_role_key)),
            ("storage.s3_access_key_id", "S3_PROTOCOL_ACCESS_KEY_ID", self.s3_access_key_id),
            ("storage.s3_secret_access_key", "S3_PROTOCOL_ACCESS_KEY_SECRET", self.s3_secret_access_key),
            ("storage.s3_region", "S3_PROTOCOL_REGION", self.s3_region),
        ];
        let known = |(path, name, value): (_, _, Option<_>)| value.map(|value| CliVariable { path, name, value });
        named.into_iter().filter_map(known).collect()
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
            ("URL", Some(self.url)),
            ("Auth", Some(&*self.auth_url)),
            ("REST", self.rest_url.as_deref()),
            ("Storage", self.storage_url.as_deref()),
            ("Functions", Some(&*self.functions_url)),
            ("Inbox", self.inbox_url.as_deref()),
            ("Mailpit", self.mailpit_url),
            ("Database", self.database_url_tcp),
            ("Desk", self.desk_url.as_deref()),
            ("Publishable", Some(self.publishable_key)),
            ("Secret", Some(self.secret_key)),
            ("S3", self.s3_url.as_deref()),
            ("S3 key", self.s3_access_key_id),
            ("S3 secret", self.s3_secret_access_key),
            ("S3 region", self.s3_region),
        ];
        for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            let _ = writeln!(text, "  {name:<12} {value}");
        }
        let _ = write!(
            text,
            "\n  createClient(\"{}\", \"{}\")\n\n  The secret key may do everything: keep it on servers. \
             `basalt status --json` has the older keys too.",
            self.url, self.publishable_key
        );
        if let Some(link) = self.desk_setup_url {
            let _ = write!(
                text,
                "\n\n  The shop has no owner yet. This link makes one, once and within 24 hours; those of earlier starts have \
                 ended:\n  {link}"
            );
        }
        if !self.project_text.is_empty() {
            let _ = write!(text, "\n\n{}", self.project_text.trim_end());
        }
        text
    }
}

/// The entry that a running server writes for `basalt status`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunningServer {
    /// The URL for clients.
    pub url: String,
    pub database_url: String,
    /// Whether it has started its database itself.
    #[serde(default)]
    pub has_embedded_database: bool,
    /// The URL of its database on the TCP port, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_url_tcp: Option<String>,
    /// Its publishable key, if `basalt keys` has rotated that of the data folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishable_key: Option<String>,
    /// The same for its secret key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<String>,
    /// Its further APIs; servers of former versions do not say them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apis: Option<ServedApis>,
    /// The publishable key in its pages, which are built at its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_key: Option<String>,
    /// The version of the keys of `basalt keys` that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_version: Option<i64>,
}

impl RunningServer {
    /// Describes a server that uses the keys of its data folder.
    pub(crate) fn new(url: &str, database_url: &str, database_url_tcp: Option<&str>) -> Self {
        Self {
            url: url.to_owned(),
            database_url: database_url.to_owned(),
            has_embedded_database: false,
            database_url_tcp: database_url_tcp.map(str::to_owned),
            publishable_key: None,
            secret_key: None,
            apis: None,
            page_key: None,
            keys_version: None,
        }
    }

    /// Replaces the keys.
    pub(crate) fn set_keys(&mut self, keys: &ApiKeys) {
        self.publishable_key = Some(keys.publishable_key.clone());
        self.secret_key = Some(keys.secret_key.clone());
    }

    /// Returns the keys of the data folder with those that the server uses in their place.
    pub(crate) fn with_current_keys(&self, keys: ApiKeys) -> ApiKeys {
        ApiKeys {
            publishable_key: self.publishable_key.clone().unwrap_or(keys.publishable_key),
            secret_key: self.secret_key.clone().unwrap_or(keys.secret_key),
            ..keys
        }
    }

    /// Writes the entry into the data folder, readable by its owner alone.
    pub(crate) fn write(&self, data: &Path) -> std::io::Result<()> {
        let path = data.join(RUNNING_FILE);
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
        let is_held = is_in_use(data);
        let running = serde_json::from_slice(&fs::read(data.join(RUNNING_FILE)).ok()?).ok()?;
        is_held.then_some(running)
    }

    /// Removes the entry.
    pub(crate) fn remove(data: &Path) {
        let _ = fs::remove_file(data.join(RUNNING_FILE));
    }
}
