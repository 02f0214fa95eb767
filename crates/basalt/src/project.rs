//! A project: its configuration and its data folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use functions_rs::functions::send_submission::limits::SubmissionLimits;
use gotrue_rs::config::{Config, Notice, Vars, load};
use orders::SellerIdentity;
use serde_json::{Map, Value};

use crate::api_keys::{ApiKeys, ConfiguredKeys};
use crate::catalogue::{Catalogue, CatalogueSource};
use crate::config_file::{ConfigFile, ServerFacts, Settings, find_key_name, replace_setting_names};
use crate::problem::{Problem, locate};
use crate::product::PRODUCT;
use crate::project_layout::ProjectLayout;
use crate::reload::SettingsFiles;
use crate::seller::Seller;

/// A signing secret for the validation of other settings.
const PLACEHOLDER_SECRET: &str = "a secret that is used for validation only";

/// Location of a project.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectArguments {
    /// The configuration [default: config.toml, else supabase/config.toml here or above]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// The folder of keys and database [default: .basalt beside the configuration]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
}

/// A project with a readable configuration.
pub(crate) struct Project {
    /// The configuration.
    pub file: ConfigFile,
    /// The folder of keys and database.
    pub data: PathBuf,
    /// The process's variables, including those of `.env`.
    pub vars: Vars,
    /// Whether the shop is served; otherwise `/` is a page that says what is served.
    pub has_shop: bool,
    /// What the shop offers, without the changes of the desk.
    pub catalogue: Arc<Catalogue>,
    /// What this is built from.
    pub catalogue_source: Arc<CatalogueSource>,
    /// Who sells, if the settings say it.
    pub seller: Option<Arc<Seller>>,
    pub submission_limits: SubmissionLimits,
    /// Where its files are.
    pub layout: ProjectLayout,
    /// The files of its settings before they were read.
    pub files: SettingsFiles,
    /// The text of its configuration.
    text: String,
    /// The variables of `env(NAME)`.
    config_vars: Vars,
}

impl Project {
    /// Returns the URL of the owner's desk: its own, or that of the server.
    pub(crate) fn desk_url<'a>(&'a self, api_url: &'a str) -> &'a str {
        self.file.basalt.desk_url.as_deref().unwrap_or(api_url)
    }

    /// Returns the name of the project for its users: that of the shop, or the id of the project.
    pub(crate) fn display_name(&self) -> String {
        let name = self.file.basalt.mail_brand.name.as_deref();
        let shop = self.has_shop.then_some(PRODUCT);
        name.or(shop).or(self.file.project_id()).unwrap_or("Basalt").to_owned()
    }

    /// Returns whether the owner's desk is served.
    pub(crate) fn has_desk(&self) -> bool {
        self.has_shop && self.file.basalt.has_desk
    }

    /// Reads the seller with the files that the settings name.
    fn load_seller(&self) -> Result<Option<Seller>, Vec<Problem>> {
        Seller::load(&self.file.basalt.seller, self.identify_seller(), self.display_name(), &self.layout.folder)
    }

    /// Returns who sells. Name and address default to those of `[basalt.shop]`.
    pub(crate) fn identify_seller(&self) -> SellerIdentity {
        let (seller, brand) = (&self.file.basalt.seller, &self.file.basalt.mail_brand);
        SellerIdentity {
            name: seller.name.clone().unwrap_or_else(|| self.display_name()),
            address: seller.address.clone().or_else(|| brand.address.clone()),
            email: seller.email.clone(),
            documents: seller.list_documents().into_iter().map(|(document, _)| document).collect(),
        }
    }

    /// Finds and reads the configuration.
    /// All its problems are one error of several lines.
    pub(crate) fn load(arguments: &ProjectArguments) -> anyhow::Result<Self> {
        let (project, problems) = Self::inspect(arguments)?;
        if problems.is_empty() {
            return Ok(project);
        }
        let url = project.api_url(project.file.port());
        Err(project.config_error(problems.into_iter().chain(project.setting_problems(&url)).collect()))
    }

    /// Reads the configuration like [`Project::load`], but returns its problems with what can be used.
    ///
    /// # Errors
    /// The configuration or a file of variables cannot be read or parsed.
    pub(crate) fn inspect(arguments: &ProjectArguments) -> anyhow::Result<(Self, Vec<Problem>)> {
        let layout = ProjectLayout::find(arguments.config.as_deref())?;
        Self::inspect_layout(layout, arguments.data.as_deref())
    }

    /// Reads the configuration of the same files again.
    ///
    /// # Errors
    /// The configuration is invalid, or what an interrupted write leaves of the one that was read before.
    pub(crate) fn read_again(&self) -> anyhow::Result<Self> {
        let (project, problems) = Self::inspect_layout(self.layout.clone(), Some(&self.data))?;
        anyhow::ensure!(
            !is_interrupted_write(&self.text, &project.text),
            "{} is empty or ends within a line, as after a write that was interrupted. Write it completely; it is used as it is \
             at the next start",
            self.layout.config.display()
        );
        if problems.is_empty() { Ok(project) } else { Err(project.config_error(problems)) }
    }

    fn inspect_layout(layout: ProjectLayout, data: Option<&Path>) -> anyhow::Result<(Self, Vec<Problem>)> {
        let files = layout.observe_files();
        let text = layout.read_config()?;
        let (vars, of_config) = layout.read_variables()?;
        let environment = |name: &str| of_config.find_secret(name).map_err(|error| error.to_string());
        let (file, mut problems) = ConfigFile::inspect(&layout.config, &text, &environment)
            .map_err(|problems| format_problems(&layout.config, problems))?;
        let data = data.map_or_else(|| layout.folder.join(".basalt"), Path::to_owned);
        let data = std::path::absolute(&data).with_context(|| format!("finding the folder {}", data.display()))?;
        let has_shop = file.has_shop();
        let (catalogue, catalogue_source) = load_catalogue(&layout.folder, has_shop, &mut problems);
        let submission_limits = SubmissionLimits::default();
        let config_vars = of_config;
        let seller = None;
        let mut project = Self {
            file,
            data,
            vars,
            has_shop,
            catalogue,
            catalogue_source,
            seller,
            submission_limits,
            layout,
            files,
            text,
            config_vars,
        };
        if has_shop {
            match project.load_seller() {
                Ok(seller) => project.seller = seller.map(Arc::new),
                Err(of_seller) => problems.extend(of_seller),
            }
        }
        Ok((project, problems))
    }

    /// Returns this project with other settings, too, in the shape of `config.toml`.
    pub(crate) fn with_settings(&self, settings: &Map<String, Value>) -> anyhow::Result<Self> {
        let table = self.merge_settings(settings)?;
        let text = toml::to_string(&table).context("writing the settings as TOML")?;
        let environment = |name: &str| self.config_vars.find_secret(name).map_err(|error| error.to_string());
        // The lines would be those of a merged text that no file has.
        let refuse = |problems: Vec<Problem>| {
            let without_line = |problem: Problem| Problem { line: None, ..problem };
            format_problems(Path::new("the settings"), problems.into_iter().map(without_line).collect())
        };
        let (mut file, problems) = ConfigFile::inspect(self.file.path(), &text, &environment).map_err(refuse)?;
        file.take_lines(&self.file);
        let known: Vec<&str> = self.file.unknown_keys().collect();
        let unknown = file.unknown_keys().filter(|key| !known.contains(key));
        let unknown = unknown.map(|key| Problem { line: None, text: format!("{key} is not known") });
        let problems: Vec<Problem> = problems.into_iter().chain(unknown).collect();
        if !problems.is_empty() {
            return Err(refuse(problems));
        }
        Ok(Self {
            file,
            data: self.data.clone(),
            vars: self.vars.clone(),
            has_shop: self.has_shop,
            catalogue: Arc::clone(&self.catalogue),
            catalogue_source: Arc::clone(&self.catalogue_source),
            seller: self.seller.clone(),
            submission_limits: self.submission_limits,
            layout: self.layout.clone(),
            files: self.files.clone(),
            text,
            config_vars: self.config_vars.clone(),
        })
    }

    /// Returns the settings of the file with others in addition.
    pub(crate) fn merge_settings(&self, settings: &Map<String, Value>) -> anyhow::Result<toml::Table> {
        let mut table: toml::Table = self.text.parse().context("reading config.toml")?;
        merge_tables(&mut table, toml::Table::try_from(settings).context("reading the settings")?);
        Ok(table)
    }

    /// Returns the URL of an external database in `DATABASE_URL`, or in the file that it is in.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(crate) fn database_url(&self) -> anyhow::Result<Option<String>> {
        let url = self.vars.find_secret("DATABASE_URL").context("finding the database")?;
        Ok(url.filter(|url| !url.is_empty()))
    }

    /// Returns the URL for clients of a server that listens on `port`.
    pub(crate) fn api_url(&self, port: u16) -> String {
        self.file.external_url().map_or_else(|| self.local_url(port), str::to_owned)
    }

    /// Returns the URL for clients on this machine.
    pub(crate) fn local_url(&self, port: u16) -> String {
        let host = match self.file.host() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            std::net::IpAddr::V4(ip) => ip.to_string(),
        };
        let scheme = if self.file.basalt.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{host}:{port}")
    }

    /// Returns the keys of the configuration.
    pub(crate) fn configured_keys(&self) -> ConfiguredKeys<'_> {
        ConfiguredKeys {
            jwt_secret: self.file.configured_key("jwt_secret"),
            anon_key: self.file.configured_key("anon_key"),
            service_role_key: self.file.configured_key("service_role_key"),
            publishable_key: self.file.configured_key("publishable_key"),
            secret_key: self.file.configured_key("secret_key"),
        }
    }

    /// Returns the validated settings of the auth server.
    /// Problems are reported by their key of `config.toml`.
    pub(crate) fn settings(&self, api_url: &str, keys: &ApiKeys) -> anyhow::Result<Config> {
        self.convert(api_url, &keys.jwt_secret).map_err(|problems| self.config_error(problems))
    }

    /// Returns the problems of the settings.
    pub(crate) fn setting_problems(&self, api_url: &str) -> Vec<Problem> {
        self.convert(api_url, PLACEHOLDER_SECRET).err().unwrap_or_default()
    }

    /// Builds the error of a configuration with problems, by line.
    pub(crate) fn config_error(&self, problems: Vec<Problem>) -> anyhow::Error {
        format_problems(self.file.path(), self.place_problems(problems))
    }

    /// Gives problems of keys that the file lacks the line of their table.
    pub(crate) fn place_problems(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let place = |problem: Problem| {
            let line = problem.line.or_else(|| self.file.find_line(name_of(&problem)));
            Problem { line, ..problem }
        };
        leave_out_consequences(problems).into_iter().map(place).collect()
    }

    /// Converts and validates the settings, with the signing secret of the keys.
    pub(crate) fn convert(&self, api_url: &str, jwt_secret: &str) -> Result<Config, Vec<Problem>> {
        let mut settings = self.file.settings(&ServerFacts { api_url, folder: &self.layout.folder });
        settings.put("JWT_SECRET", jwt_secret);
        // A placeholder; the URL is set when the database runs.
        settings.put("DB_DATABASE_URL", "postgresql://localhost/postgres");
        settings.put("API_REQUEST_ID_HEADER", http_edge::request::REQUEST_ID.as_str());
        let mut problems = std::mem::take(&mut settings.problems);
        match load(&Vars::from_map(self.all_vars(&settings))) {
            Ok(mut config) if problems.is_empty() => {
                self.file.apply_limits(&mut config.policy);
                let of_settings = config.notices.iter().map(|notice| rename_notice(notice, &settings));
                config.notices = of_settings.chain(settings.notices.iter().cloned()).collect();
                config.notices.extend(self.file.notices());
                config.notices.extend(describe_missing_signing_key(&config));
                Ok(config)
            }
            Ok(_) => Err(problems),
            Err(invalid) => {
                problems.extend(invalid.iter().map(|problem| name_key(problem, &settings)));
                Err(problems)
            }
        }
    }

    /// Returns the settings with the process's variables for outbound requests.
    fn all_vars(&self, settings: &Settings) -> BTreeMap<String, String> {
        const OUTBOUND: [&str; 8] = [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "NO_PROXY",
            "no_proxy",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
        ];
        let mut all = settings.vars.clone();
        for name in OUTBOUND {
            if let Some(value) = self.vars.get(name) {
                all.insert(name.to_owned(), value.to_owned());
            }
        }
        all
    }
}

/// Whether a text is what an interrupted write leaves of another one.
///
/// That is nothing, or its beginning up to the middle of a line.
fn is_interrupted_write(before: &str, now: &str) -> bool {
    let (old, new) = (before.trim_end(), now.trim_end());
    !old.is_empty() && (new.is_empty() || (new.len() < old.len() && old.starts_with(new) && !now.ends_with('\n')))
}

/// Adds the entries of `added`, which take precedence.
fn merge_tables(table: &mut toml::Table, added: toml::Table) {
    for (name, value) in added {
        match (table.get_mut(&name), value) {
            (Some(toml::Value::Table(before)), toml::Value::Table(inner)) => merge_tables(before, inner),
            (_, value) => drop(table.insert(name, value)),
        }
    }
}

/// Converts a setting that the auth server rejects to a problem of the key and line that it comes from.
fn name_key(invalid: &gotrue_rs::config::Problem, settings: &Settings) -> Problem {
    let (line, key) = find_key(&invalid.name, settings);
    let complaint = replace_setting_names(&invalid.complaint);
    Problem { line, text: format!("{key}: {complaint}; an example: {}", invalid.example) }
}

/// Names the key and line of a notice in place of the setting.
fn rename_notice(notice: &Notice, settings: &Settings) -> Notice {
    let (line, key) = find_key(&notice.name, settings);
    Notice { name: locate(line, &key), text: replace_setting_names(&notice.text), level: notice.level }
}

fn find_key(setting: &str, settings: &Settings) -> (Option<usize>, String) {
    match settings.origin(setting) {
        Some((key, line)) => (line, key.to_owned()),
        None => (None, find_key_name(setting).unwrap_or_else(|| replace_setting_names(setting))),
    }
}

/// Returns the key with which the text of a problem begins.
fn name_of(problem: &Problem) -> &str {
    problem.text.split([':', ' ']).next().unwrap_or_default()
}

/// Leaves out that a key is missing where its value cannot be read.
fn leave_out_consequences(mut problems: Vec<Problem>) -> Vec<Problem> {
    let with_line = problems.iter().filter(|problem| problem.line.is_some());
    let with_line: Vec<String> = with_line.map(|problem| name_of(problem).to_owned()).collect();
    problems.retain(|problem| problem.line.is_some() || !with_line.iter().any(|key| key == name_of(problem)));
    problems
}

fn format_problems(path: &Path, problems: Vec<Problem>) -> anyhow::Error {
    let mut problems = leave_out_consequences(problems);
    problems.sort_by_key(|problem| problem.line);
    problems.dedup();
    let mut text = format!("{} cannot be used:", path.display());
    for problem in problems {
        let _ = write!(text, "\n  {problem}");
    }
    anyhow::Error::msg(text)
}
/// Returns a notice if the settings have no key for the ID tokens of the OAuth server: a client cannot verify those of a shared secret.
fn describe_missing_signing_key(config: &Config) -> Option<Notice> {
    let signs = |key: &Map<String, Value>| {
        key.get("key_ops").and_then(Value::as_array).is_some_and(|ops| ops.iter().any(|op| op == "sign"))
    };
    let can_sign = config.jwt.keys.iter().any(|key| key.get("kty").is_some_and(|kind| kind != "oct") && signs(key));
    // Those of `basalt keys` are in the database.
    let text = "is on: token requests with the scope openid fail until a key signs tokens; if `basalt keys list` has none, run \
                `basalt keys add signing`, then `basalt keys rotate signing --now`";
    (config.policy.oauth_server.enabled && !can_sign).then(|| Notice::warning("auth.oauth_server.enabled", text))
}

/// Loads the catalogue of the folder; with problems, that of the binary.
fn load_catalogue(
    folder: &Path,
    has_shop: bool,
    problems: &mut Vec<Problem>,
) -> (Arc<Catalogue>, Arc<CatalogueSource>) {
    let built_in = || CatalogueSource::new(folder, "");
    let read = if has_shop { CatalogueSource::read(folder) } else { Ok(built_in()) };
    match read.and_then(|source| Ok((source.build()?, source))) {
        Ok((catalogue, source)) => (Arc::new(catalogue), Arc::new(source)),
        Err(of_catalogue) => {
            problems.extend(of_catalogue);
            (Arc::new(Catalogue::built_in()), Arc::new(built_in()))
        }
    }
}
