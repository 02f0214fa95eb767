//! What is in the database of an auth server: read only, in a short transaction for each figure.

use std::io::{self, Write};
use std::sync::Arc;

use foundation::error_chain::ErrorChain;
use foundation::secret::Secret;
use gotrue_rs::config::DatabaseSettings;
use gotrue_rs::store::migrate::shape::SchemaShape;
use gotrue_rs::store::migrate::{self, compare_auth_versions};
use gotrue_rules::domain::mfa::FactorType;
use platform::journal::Journal;
use platform::store::{Connection, Error, Pool};
use serde_json::{Map, Value, json};

use super::inspection::{self, Figure, FigureKind};
use super::lists::{mark, write_list};
use crate::database::build_bulk_pool;
use crate::plural::format_count;

/// The highest cost of bcrypt that is verified.
const MAX_BCRYPT_COST: u32 = 16;

/// What is in a database.
#[derive(Debug, Default)]
pub(crate) struct DatabaseReport {
    /// Lists of figures by their titles.
    pub sections: Vec<(&'static str, Vec<(String, String)>)>,
    /// What is to be looked at before switching.
    pub warnings: Vec<String>,
    /// Figures that cannot be read, with the reasons.
    pub unreadable: Vec<String>,
}

/// Reads the figures of a database.
///
/// `disabled` are providers that the settings do not enable.
///
/// # Errors
/// The database cannot be reached.
pub(crate) async fn inspect_database(url: &str, disabled: &[String]) -> anyhow::Result<DatabaseReport> {
    let settings = DatabaseSettings { url: Secret::from(url), max_pool_size: 1, ..DatabaseSettings::default() };
    let pool = build_bulk_pool(&settings)?;
    let mut inspection = Inspection { pool: &pool, report: DatabaseReport::default() };
    let outcome = inspection.read_all(disabled).await;
    let report = inspection.report;
    pool.close().await;
    outcome?;
    Ok(report)
}

struct Inspection<'a> {
    pool: &'a Pool,
    report: DatabaseReport,
}

impl Inspection<'_> {
    /// Begins a transaction that can only read, for a short time.
    async fn begin(&self) -> Result<Connection, Error> {
        let mut db = Connection::begin(self.pool, Arc::new(Journal::default())).await?;
        inspection::restrict(&mut db).await?;
        Ok(db)
    }

    async fn read_all(&mut self, disabled: &[String]) -> anyhow::Result<()> {
        let mut db = self.begin().await.map_err(|error| anyhow::anyhow!("{}", ErrorChain(&error)))?;
        let server = inspection::read_server(&mut db).await?;
        db.rollback().await?;
        let place = if server.is_standby { "a standby" } else { "the primary" };
        let facts = [
            ("PostgreSQL", server.version),
            ("server", place.to_owned()),
            ("role", server.role),
            ("size", server.size),
        ];
        self.report.sections.push(("Database", facts.map(|(name, value)| (name.to_owned(), value)).into()));
        self.read_schema().await;
        self.read_users().await;
        for (title, kind) in [
            ("Identities by provider", FigureKind::Providers),
            ("Passwords by hash", FigureKind::Hashes),
            ("Second factors", FigureKind::Factors),
            ("Passkeys", FigureKind::Passkeys),
            ("Single sign-on", FigureKind::SsoProviders),
            ("Custom providers", FigureKind::CustomProviders),
            ("Provisioning", FigureKind::ScimTokens),
            ("OAuth server", FigureKind::OAuthClients),
            ("Largest tables", FigureKind::Sizes),
        ] {
            self.read_figures(title, kind, disabled).await;
        }
        if !disabled.is_empty() {
            self.read_stranded_users(disabled).await;
        }
        Ok(())
    }

    /// Compares the schema with what a start needs, as the start does.
    async fn read_schema(&mut self) {
        let outcome = async {
            let mut db = self.begin().await?;
            Ok((inspection::read_shape(&mut db).await?, inspection::list_versions(&mut db).await?))
        }
        .await;
        let Some((shape, versions)) = self.keep("schema auth", outcome) else { return };
        let (missing, unknown) = compare_auth_versions(&versions);
        let misfits = SchemaShape::needed().find_misfits(&shape);
        let is_created = !shape.has_tables();
        let verdict = match (is_created, misfits.is_empty(), unknown.is_empty()) {
            (true, _, _) => "absent: the first start creates it",
            (false, false, _) => "refused at the start",
            (false, true, true) => "served",
            (false, true, false) => "served: a newer Supabase Auth made it, and it has what this version needs",
        };
        let code_misfits = migrate::find_recovery_code_misfits(&shape);
        let recovery_codes = match (migrate::has_recovery_codes(&shape), code_misfits.is_empty()) {
            (true, true) => "there",
            (true, false) => "of another shape: a start that enables recovery codes is refused",
            (false, _) => "absent: a start that enables recovery codes creates them",
        };
        for misfit in code_misfits.describe() {
            self.report.warnings.push(format!("the tables of recovery codes cannot be used: {misfit}"));
        }
        let rows = [
            ("schema", verdict.to_owned()),
            ("migrations of v2.196.0", (versions.len() - unknown.len()).to_string()),
            ("not recorded", if is_created { 0 } else { missing.len() }.to_string()),
            ("newer or foreign", unknown.len().to_string()),
            ("tables of recovery codes", recovery_codes.to_owned()),
        ];
        let rows = rows.map(|(name, value)| (name.to_owned(), value)).into();
        self.report.sections.push(("Schema auth", rows));
        if is_created || misfits.is_empty() {
            return;
        }
        for misfit in misfits.describe() {
            self.report.warnings.push(format!("the schema cannot be served: {misfit}"));
        }
        if !missing.is_empty() {
            let names = missing.join(", ");
            self.report.warnings.push(format!(
                "run `auth migrate` of Supabase Auth v2.196.0 on this database, which runs the migrations {names}"
            ));
        }
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            self.report
                .warnings
                .push(format!("use a Basalt that knows the migrations {names} of a newer Supabase Auth"));
        }
    }

    async fn read_users(&mut self) {
        let outcome = async { inspection::count_users(&mut self.begin().await?).await }.await;
        let Some(users) = self.keep("the users", outcome) else { return };
        let rows = [
            ("all", users.total),
            ("anonymous", users.anonymous),
            ("of SAML identity providers", users.sso),
            ("with a number", users.with_phone),
            ("deleted, kept as a row", users.deleted),
        ];
        self.report.sections.push(("Users", rows.map(|(name, count)| (name.to_owned(), count.to_string())).into()));
    }

    async fn read_figures(&mut self, title: &'static str, kind: FigureKind, disabled: &[String]) {
        let outcome = async { inspection::list_figures(&mut self.begin().await?, kind).await }.await;
        let Some(figures) = self.keep(title, outcome) else { return };
        match kind {
            FigureKind::Providers => self.check_providers(&figures, disabled),
            FigureKind::Hashes => self.check_hashes(&figures),
            FigureKind::Factors => self.check_factors(&figures),
            FigureKind::CustomProviders => self.check_custom_providers(&figures),
            FigureKind::ScimTokens => self.check_scim_tokens(&figures),
            _ => {}
        }
        let row = |(name, count): Figure| {
            let shown = if kind == FigureKind::Sizes { format_bytes(count) } else { count.to_string() };
            (name, shown)
        };
        self.report.sections.push((title, figures.into_iter().map(row).collect()));
    }

    fn check_providers(&mut self, figures: &[Figure], disabled: &[String]) {
        for (name, count) in figures.iter().filter(|(name, _)| disabled.contains(name)) {
            self.report.warnings.push(format!("{count} identities of {name}, which the settings do not enable"));
        }
    }

    fn check_hashes(&mut self, figures: &[Figure]) {
        for (name, count) in figures {
            let cost = name.strip_prefix("bcrypt cost ").and_then(|cost| cost.parse::<u32>().ok());
            if cost.is_some_and(|cost| cost > MAX_BCRYPT_COST) {
                let text = format!("{count} passwords have {name}: only costs up to {MAX_BCRYPT_COST} are verified");
                self.report.warnings.push(text);
            } else if matches!(name.as_str(), "other format" | "scrypt") {
                let text = format!(
                    "{count} passwords have a hash that cannot be verified ({name}): those users need a new one"
                );
                self.report.warnings.push(text);
            }
        }
    }

    fn check_factors(&mut self, figures: &[Figure]) {
        let known = FactorType::ALL.into_iter().chain([FactorType::RecoveryCode]).map(FactorType::as_str);
        let known: Vec<&str> = known.collect();
        for (name, count) in figures {
            let kind = name.split(' ').next().unwrap_or_default();
            if !known.contains(&kind) {
                let text = format!("{} of type {kind}: listed, and cannot be verified", format_count(count, "factor"));
                self.report.warnings.push(text);
            }
        }
    }

    fn check_custom_providers(&mut self, figures: &[Figure]) {
        for (_, count) in figures.iter().filter(|(name, _)| name == "private_key_jwt") {
            let text = format!(
                "{} with private_key_jwt, which is not served: sign-ins there fail",
                format_count(count, "custom provider")
            );
            self.report.warnings.push(text);
        }
    }

    fn check_scim_tokens(&mut self, figures: &[Figure]) {
        for (_, count) in figures.iter().filter(|(_, count)| *count > 0) {
            let text = format!(
                "{}: identity providers cannot provision users here, /scim/v2 is 404",
                format_count(count, "SCIM token")
            );
            self.report.warnings.push(text);
        }
    }

    async fn read_stranded_users(&mut self, disabled: &[String]) {
        let outcome = async { inspection::count_stranded_users(&mut self.begin().await?, disabled).await }.await;
        if let Some(users) = self.keep("users without an enabled provider", outcome).filter(|users| *users > 0) {
            let text = format!(
                "{} with identities only of providers that the settings do not enable",
                format_count(users, "user")
            );
            self.report.warnings.push(text);
        }
    }

    /// Returns a result, or keeps why there is none.
    fn keep<T>(&mut self, what: &str, outcome: Result<T, Error>) -> Option<T> {
        outcome.map_err(|error| self.report.unreadable.push(format!("{what}: {}", ErrorChain(&error)))).ok()
    }
}

impl DatabaseReport {
    /// Returns whether anything is to be looked at: also what is not known because it cannot be read.
    pub(super) fn matters(&self) -> bool {
        !self.warnings.is_empty() || !self.unreadable.is_empty()
    }

    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (title, rows) in &self.sections {
            let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            write_list(out, title, &lines)?;
        }
        let title = "Not readable in the database (the role needs SELECT in schema auth, and BYPASSRLS)";
        write_list(out, title, &mark(&self.unreadable))?;
        write_list(out, "To look at in the database", &mark(&self.warnings))
    }

    pub(super) fn to_json(&self) -> Value {
        let rows = |rows: &[(String, String)]| {
            rows.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>()
        };
        let sections: Map<_, _> =
            self.sections.iter().map(|(title, list)| ((*title).to_owned(), Value::Object(rows(list)))).collect();
        json!({"sections": sections, "warnings": self.warnings, "unreadable": self.unreadable})
    }
}

fn format_bytes(bytes: i64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}
