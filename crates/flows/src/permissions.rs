//! What the files of flows may reach beyond the server that is started for them: nothing, unless the caller allows it.
//!
//! A flow is a file like a test, but it comes from others more often. Its settings can name files and variables of this
//! machine, and addresses that receive what the server sends.

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use reqwest::Url;
use serde_json::{Map, Value};

use crate::FlowError;
use crate::format::Settings;

/// What flows may reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Files outside of the folder that the caller named.
    pub files: bool,
    /// Variables of the environment, by `env(NAME)`.
    pub environment: bool,
    /// Hosts other than this machine.
    pub hosts: bool,
}

/// Keys whose addresses are compared or shown, and never connected to.
const UNCONTACTED: [&str; 12] = [
    "site_url",
    "additional_redirect_urls",
    "external_url",
    "redirect_uri",
    "uri_allow_list",
    "issuer",
    "jwt_issuer",
    "rp_id",
    "rp_origins",
    "logo_url",
    "authorization_url_path",
    "admin_email",
];
/// Ends of keys that name files.
const FILE_KEYS: [&str; 7] = ["_path", "_file", "path", "certificate", "products", "archive", "sql_paths"];

impl Permissions {
    /// Allows everything, for files of one's own.
    pub const ALL: Self = Self { files: true, environment: true, hosts: true };

    /// Checks the settings of a flow whose files may lie in `root`, and makes their paths absolute.
    ///
    /// # Errors
    /// A setting reaches further than allowed; the error names it.
    pub fn check_settings(self, settings: &mut Settings, root: &Path) -> Result<(), FlowError> {
        let folder = settings.folder.clone();
        let place = Place { root, folder: &folder };
        for (name, members) in [("env", &mut settings.env), ("config", &mut settings.config)] {
            self.check_members(members, &format!("settings.{name}"), place)?;
        }
        self.check_members(&mut settings.others.clone(), "settings", place)
    }

    /// Checks that a request goes to this machine, or to the server that the caller named.
    ///
    /// # Errors
    /// It goes elsewhere.
    pub fn check_request(self, url: &str, project: &str, base: &str) -> Result<(), FlowError> {
        let is_of_server =
            |server: &str| url.strip_prefix(server).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        if self.hosts || is_of_server(project) || is_of_server(base) || names_this_machine(url) {
            return Ok(());
        }
        Err(FlowError::new(format!("the request goes to another host: {url}"), "--allow-hosts sends it"))
    }

    fn check_members(self, members: &mut Map<String, Value>, at: &str, place: Place<'_>) -> Result<(), FlowError> {
        members.iter_mut().try_for_each(|(name, value)| self.check(value, &format!("{at}.{name}"), name, place))
    }

    fn check(self, value: &mut Value, at: &str, key: &str, place: Place<'_>) -> Result<(), FlowError> {
        match value {
            Value::Object(members) => self.check_members(members, at, place),
            Value::Array(entries) => entries.iter_mut().try_for_each(|entry| self.check(entry, at, key, place)),
            Value::String(text) => self.check_text(text, at, &key.to_lowercase(), place),
            _ => Ok(()),
        }
    }

    fn check_text(self, text: &mut String, at: &str, key: &str, place: Place<'_>) -> Result<(), FlowError> {
        if text.trim_start().starts_with("env(") && !self.environment {
            let problem = format!("{at} reads a variable of this machine: {text}");
            return Err(FlowError::new(problem, "--allow-env reads it"));
        }
        let is_uncontacted = UNCONTACTED.iter().any(|name| key == *name || key.ends_with(&format!("_{name}")));
        if is_uncontacted {
            return Ok(());
        }
        let is_address = text.contains("://");
        if FILE_KEYS.iter().any(|end| key.ends_with(end)) && !is_address && !text.is_empty() {
            return match place.find(text) {
                Some(path) => {
                    *text = path.display().to_string();
                    Ok(())
                }
                None if self.files => Ok(()),
                None => {
                    let problem = format!("{at} names a file outside of {}: {text}", place.root.display());
                    Err(FlowError::new(problem, "--allow-files reads it"))
                }
            };
        }
        let is_elsewhere =
            if is_address { !names_this_machine(text) } else { is_host_key(key) && !is_this_machine(text) };
        if is_elsewhere && !self.hosts {
            return Err(FlowError::new(format!("{at} names another host: {text}"), "--allow-hosts connects to it"));
        }
        Ok(())
    }
}

/// Where the files of a flow may be.
#[derive(Clone, Copy)]
struct Place<'a> {
    root: &'a Path,
    /// The folder to which paths are relative.
    folder: &'a Path,
}

impl Place<'_> {
    /// Returns the absolute path of a file in the root; `None` if it lies elsewhere, also by a symbolic link.
    fn find(self, text: &str) -> Option<PathBuf> {
        let path = self.folder.join(text);
        let root = self.root.canonicalize().ok()?;
        let found = path.canonicalize().or_else(|_| {
            let is_plain = path.components().all(|part| part != Component::ParentDir);
            if is_plain { std::path::absolute(&path) } else { Err(std::io::ErrorKind::NotFound.into()) }
        });
        found.ok().filter(|found| found.starts_with(&root))
    }
}

/// Whether a key is the host of a server, without a scheme.
fn is_host_key(key: &str) -> bool {
    key == "host" || key.ends_with("_host")
}

/// Whether an address is of this machine, of a stand-in or of a function in the database.
fn names_this_machine(address: &str) -> bool {
    if address.starts_with("{{") || address.starts_with("pg-functions://") {
        return true;
    }
    Url::parse(address).is_ok_and(|url| url.scheme() != "file" && url.host_str().is_some_and(is_this_machine))
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.is_empty()
        || host.starts_with("{{")
        || host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A folder that is deleted at the end of a test.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let name = format!("flows-permissions-{}-{:?}", std::process::id(), std::thread::current().id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn check(permissions: Permissions, config: &Value, root: &Path) -> Result<Settings, String> {
        let config = config.as_object().cloned().unwrap_or_default();
        let mut settings = Settings { config, folder: root.to_owned(), ..Settings::default() };
        permissions.check_settings(&mut settings, root).map(|()| settings).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_reach_nothing_outside_unless_allowed() {
        let folder = Folder::new();
        let root = folder.0.as_path();
        std::fs::write(root.join("mail.html"), "x").expect("written");
        std::os::unix::fs::symlink("/etc/hostname", root.join("link.html")).expect("a link");
        let files = Permissions { files: true, ..Permissions::default() };
        let environment = Permissions { environment: true, ..Permissions::default() };
        let hosts = Permissions { hosts: true, ..Permissions::default() };
        for (config, permission) in [
            (json!({"auth": {"email": {"template": {"invite": {"content_path": "/etc/passwd"}}}}}), files),
            (json!({"auth": {"email": {"template": {"invite": {"content_path": "../../etc/passwd"}}}}}), files),
            (json!({"auth": {"email": {"template": {"invite": {"content_path": "./link.html"}}}}}), files),
            (json!({"auth": {"signing_keys_path": "/srv/keys.json"}}), files),
            (json!({"GOTRUE_JWT_SECRET_FILE": "/etc/shadow"}), files),
            (json!({"auth": {"hook": {"send_email": {"secrets": "env(AWS_SECRET_ACCESS_KEY)"}}}}), environment),
            (json!({"auth": {"hook": {"send_email": {"uri": "https://evil.example/hook"}}}}), hosts),
            (json!({"auth": {"hook": {"send_email": {"uri": "http://127.0.0.1.evil.example/hook"}}}}), hosts),
            (json!({"auth": {"hook": {"send_email": {"uri": "http://127.0.0.1@evil.example/hook"}}}}), hosts),
            (json!({"auth": {"external": {"keycloak": {"url": "https://evil.example"}}}}), hosts),
            (json!({"auth": {"email": {"smtp": {"host": "mail.evil.example"}}}}), hosts),
            (json!({"GOTRUE_MAILER_TEMPLATES_INVITE": "file:///etc/passwd"}), hosts),
        ] {
            let refused = check(Permissions::default(), &config, root).expect_err("refused");
            assert!(refused.contains("--allow-"), "{refused}");
            assert!(check(permission, &config, root).is_ok(), "{config}");
        }
    }

    #[test]
    fn settings_of_ordinary_flows_need_no_permission() {
        let folder = Folder::new();
        let root = folder.0.as_path();
        std::fs::write(root.join("mail.html"), "x").expect("written");
        let config = json!({
            "auth": {
                "site_url": "https://app.example.com", "additional_redirect_urls": ["https://other.example.com/**"],
                "email": {"template": {"invite": {"content_path": "./mail.html", "subject": "a/b"}}, "smtp": {"host": "localhost"}},
                "hook": {"send_sms": {"uri": "http://localhost:5/hook"}, "mfa": {"uri": "pg-functions://postgres/public/f"}},
                "external": {"github": {"redirect_uri": "https://app.example.com/cb", "url": "{{provider}}/x"}},
                "oauth_server": {"authorization_url_path": "/consent"},
            },
        });
        let settings = check(Permissions::default(), &config, root).expect("allowed");
        let path = &settings.config["auth"]["email"]["template"]["invite"]["content_path"];
        assert_eq!(path.as_str(), root.canonicalize().expect("there").join("mail.html").to_str());
    }

    #[test]
    fn requests_go_to_the_server_or_this_machine() {
        let check = |url| {
            Permissions::default().check_request(url, "https://abc.supabase.co", "https://abc.supabase.co/auth/v1")
        };
        for url in ["https://abc.supabase.co/auth/v1/user", "http://127.0.0.1:5/x", "http://[::1]:5/x"] {
            assert!(check(url).is_ok(), "{url}");
        }
        for url in ["https://abc.supabase.co.evil.example/", "https://evil.example/", "http://169.254.169.254/"] {
            assert!(check(url).is_err(), "{url}");
        }
        assert!(Permissions::ALL.check_request("https://evil.example/", "", "").is_ok());
    }
}
