//! `basalt check`: reports all problems of the configuration at once.

use std::io::Write;

use gotrue_rs::config::NoticeLevel;
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::template::MailTemplates;

use super::process::build_runtime;
use crate::project::{Project, ProjectArguments};
use crate::{api_keys, outbound};

/// Reads and checks the configuration, including remote mail templates; starts and writes nothing.
pub(super) fn run(arguments: &ProjectArguments) -> anyhow::Result<()> {
    let project = Project::load(arguments)?;
    let keys = api_keys::combine(None, &project.configured_keys(), &Entropy::from_system(), SystemClock.now())?;
    let url = project.api_url(project.file.port());
    let config = project.settings(&url, &keys)?;
    let mut out = std::io::stdout().lock();
    for notice in config.notices.iter().filter(|notice| notice.level == NoticeLevel::Warning) {
        writeln!(out, "{notice}")?;
    }
    outbound::build_mailer(&config)?;
    let http = outbound::build_http_client(&config)?;
    let characters = MailTemplates::new(&config.policy.mail, &config.policy.site, &http);
    for line in build_runtime()?.block_on(characters.check_remote(SystemClock.now())) {
        writeln!(out, "{line}")?;
    }
    if let Some(sentence) = project.file.unsupported_tables_notice() {
        writeln!(out, "{sentence}")?;
    }
    writeln!(out, "{} can be used", project.file.path().display())?;
    Ok(())
}
