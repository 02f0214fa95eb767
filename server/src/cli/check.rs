//! `basalt check`: everything wrong with the configuration, at once.

use std::io::Write;

use gotrue_rs::config::Loudness;
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::template::Templates;

use super::{Project, ProjectArguments};
use crate::{api_keys, outside};

/// Reads and checks, also texts of mails that are somewhere else; starts nothing and writes nothing.
pub fn run(arguments: &ProjectArguments) -> anyhow::Result<()> {
    let project = Project::open(arguments)?;
    let keys = api_keys::combine(None, &project.given_keys(), &Entropy::from_system(), SystemClock.now())?;
    let url = project.api_url(project.file.port());
    let config = project.settings(&url, &keys)?;
    let mut out = std::io::stdout().lock();
    for notice in config.notices.iter().filter(|notice| notice.loudness == Loudness::Warning) {
        writeln!(out, "{notice}")?;
    }
    outside::mail_server(&config)?;
    let http = outside::http(&config)?;
    let letters = Templates::new(&config.policy.mail, &config.policy.site, &http);
    for line in super::runtime()?.block_on(letters.try_out(SystemClock.now())) {
        writeln!(out, "{line}")?;
    }
    if let Some(sentence) = project.file.not_served() {
        writeln!(out, "{sentence}")?;
    }
    writeln!(out, "{} can be used", project.file.path().display())?;
    Ok(())
}
