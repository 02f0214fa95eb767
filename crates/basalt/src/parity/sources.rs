//! The three sources of settings: variables, `config.toml` and Compose files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use gateway::Service;
use gotrue_rs::config::{Notice, NoticeLevel, Vars, load, settings};
use gotrue_rules::domain::policy::PROVIDERS;

use super::compose::{ComposeFile, ComposeService, read_compose};
use super::differences::{Profile, find_differences};
use super::finding::{Finding, Verdict};
use super::report::Report;
use super::switch::SwitchPlan;
use super::{data_api, keys, services, variables};
use crate::config_file::{KeyEffect, ServerFacts, list_keys};
use crate::project::{Project, ProjectArguments};
use crate::serve::describe_data_api;

/// Where the settings are.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A file of variables; `None` for those of this process and `.env`, as in `basalt gotrue`.
    Variables(Option<PathBuf>),
    /// The file of the Supabase CLI.
    ConfigFile(PathBuf),
    /// A Compose file with `.env` beside it.
    Compose(PathBuf),
    /// Nowhere: the database alone is looked at.
    Nowhere,
}

impl Source {
    /// Returns the variables of this process and `.env`, if they have a setting of the auth server.
    ///
    /// # Errors
    /// `.env` cannot be read.
    pub(crate) fn of_environment() -> anyhow::Result<Self> {
        let vars = Vars::from_process(None, None)?;
        let is_any = vars.names().any(|name| name.starts_with("GOTRUE_"));
        Ok(if is_any { Self::Variables(None) } else { Self::Nowhere })
    }
}

/// Reads the settings of a source and reports what becomes of each.
///
/// # Errors
/// A file cannot be read or parsed.
pub(crate) fn read_source(source: &Source) -> anyhow::Result<Report> {
    match source {
        Source::Variables(file) => {
            let vars = match file {
                Some(path) => Vars::from_map(BTreeMap::new()).with_files(Some(path), None)?,
                None => Vars::from_process(None, None)?,
            };
            let of_process = file.is_none();
            let title = file.as_ref().map_or("the environment".to_owned(), |path| path.display().to_string());
            let mut report = report_variables(title, &vars, of_process);
            report.switch = SwitchPlan::of_variables(file.as_deref());
            Ok(report)
        }
        Source::ConfigFile(path) => report_config_file(path),
        Source::Compose(path) => report_compose(path),
        Source::Nowhere => {
            let title = "No settings are looked at: name them by --config, --compose or --env";
            Ok(Report { title: title.to_owned(), is_without_settings: true, ..Report::default() })
        }
    }
}

/// Reports what becomes of variables.
fn report_variables(title: String, vars: &Vars, of_process: bool) -> Report {
    let lookup = |name: &str| vars.get(name).map(str::to_owned);
    let mut report = Report { title, ..Report::default() };
    let known = settings::names();
    for name in vars.names() {
        match variables::judge(&known, name, vars.get(name).unwrap_or_default(), &lookup) {
            // Proxy variables and the like of the process are not worth a line.
            Some(_) if of_process && !name.starts_with("GOTRUE_") && vars.get(name) == Some("") => {}
            Some(findings) => report.findings.extend(findings),
            None if of_process => {}
            None => report.other_names.push(name.to_owned()),
        }
    }
    match load(vars) {
        Ok(config) => {
            let is_shown = |notice: &&Notice| notice.level == NoticeLevel::Warning && known.contains_key(&notice.name);
            let notices =
                config.notices.iter().filter(is_shown).filter(|notice| !notice.text.contains("has no effect"));
            report.warnings.extend(notices.map(ToString::to_string));
        }
        Err(problems) => report.problems.extend(problems.iter().map(ToString::to_string)),
    }
    report.disabled_providers = list_disabled_providers(&lookup);
    report
}

/// Returns the providers that variables do not enable, under their names in the database.
fn list_disabled_providers(lookup: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let is_enabled = |name: &str, default: &str| {
        let value = lookup(&format!("GOTRUE_{name}_ENABLED")).unwrap_or_else(|| default.to_owned());
        matches!(value.as_str(), "true" | "t" | "1" | "TRUE" | "True" | "T")
    };
    let external = PROVIDERS.iter().map(|name| (format!("EXTERNAL_{}", name.to_uppercase()), *name, "false"));
    let others = [("EXTERNAL_EMAIL", "email", "true"), ("EXTERNAL_PHONE", "phone", "true")];
    let others = others.into_iter().map(|(variable, name, default)| (variable.to_owned(), name, default));
    let all = external.chain(others);
    all.filter(|(variable, _, default)| !is_enabled(variable, default)).map(|(_, name, _)| name.to_owned()).collect()
}

/// Reports what becomes of the keys of a `config.toml`.
fn report_config_file(path: &Path) -> anyhow::Result<Report> {
    let arguments = ProjectArguments { config: Some(path.to_owned()), data: None };
    let (project, problems) = Project::inspect(&arguments)?;
    let text = project.layout.read_config()?;
    let listed = list_keys(&text).map_err(|problems| project.config_error(problems))?;
    let lookup = |name: &str| listed.iter().find(|key| key.path == name).map(|key| key.text.clone());
    let has_upstream = |name: &str| {
        let service = Service::ALL.iter().find(|service| service.name() == name);
        service.is_some_and(|service| project.file.basalt.upstreams.get(*service).is_some())
    };
    let mut report = Report { title: path.display().to_string(), ..Report::default() };
    report.findings = listed.iter().flat_map(|key| keys::judge(key, &lookup, &has_upstream)).collect();
    let url = project.api_url(project.file.port());
    let settings = project.file.settings(&ServerFacts { api_url: &url, folder: &project.layout.folder });
    let of_settings = |name: &str| settings.vars.get(name).cloned();
    for (name, value) in &settings.vars {
        let Some((key, line)) = settings.origin(name) else { continue };
        for finding in find_differences(name, value, Profile::Everywhere, &of_settings) {
            report.findings.retain(|finding| finding.name != key || finding.verdict != Verdict::Honoured);
            report.findings.push(Finding { name: key.to_owned(), line, ..finding });
        }
    }
    report.findings.sort_by_key(|finding| finding.line);
    let unknown: BTreeSet<String> = listed
        .iter()
        .filter(|key| matches!(key.state, KeyEffect::Unknown(_)))
        .map(|key| format!("{} is not known", key.path))
        .collect();
    let all = problems.into_iter().chain(project.setting_problems(&url));
    let mut lines: Vec<String> = all
        .filter(|problem| !unknown.iter().any(|known| problem.text.starts_with(known.as_str())))
        .map(|problem| problem.to_string())
        .collect();
    lines.sort();
    lines.dedup();
    report.problems = lines;
    report.data_api = Some(describe_data_api(&project, !matches!(project.database_url(), Ok(None))));
    report.disabled_providers = list_disabled_providers(&of_settings);
    report.switch = SwitchPlan::of_config_file(path);
    Ok(report)
}

/// Reports what becomes of the services of a Compose file, and of the variables of its auth server.
fn report_compose(path: &Path) -> anyhow::Result<Report> {
    let process =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let process: BTreeMap<String, String> = process.collect();
    let file = read_compose(path, &|name| process.get(name).cloned())?;
    let auth = find_auth_server(&file).with_context(|| {
        format!(
            "{} has no auth server: no service has the image supabase/gotrue, the name auth or a variable GOTRUE_JWT_…",
            path.display()
        )
    })?;
    let vars = Vars::from_map(auth.environment.clone());
    let mut report = report_variables(format!("{}, service {}", path.display(), auth.name), &vars, false);
    for service in file.services.iter().filter(|service| services::is_data_api(service)) {
        data_api::add_findings(service, &mut report);
    }
    report.services = file.services.iter().map(services::judge).collect();
    report.unread.clone_from(&auth.unread);
    report.warnings.extend(file.warnings.iter().filter(|warning| !auth.unread.contains(warning)).cloned());
    report.switch = SwitchPlan::of_compose(path, &auth.name);
    Ok(report)
}

fn find_auth_server(file: &ComposeFile) -> Option<&ComposeService> {
    file.services.iter().find(|service| services::is_auth_server(service))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn disabled_providers_are_those_without_a_switch() {
        let lookup = |name: &str| (name == "GOTRUE_EXTERNAL_GITHUB_ENABLED").then(|| "true".to_owned());
        let disabled = list_disabled_providers(&lookup);
        assert!(disabled.contains(&"google".to_owned()));
        assert!(!disabled.contains(&"github".to_owned()) && !disabled.contains(&"email".to_owned()));
    }

    proptest! {
        #[test]
        fn arbitrary_variables_do_not_panic(values in proptest::collection::btree_map("(GOTRUE_(JWT_EXP|SITE_URL|SMTP_PORT|DB_NAMESPACE)|DATABASE_URL|[A-Z]{1,4})", "\\PC{0,20}", 0..6)) {
            report_variables("a test".to_owned(), &Vars::from_map(values), false);
        }
    }
}
