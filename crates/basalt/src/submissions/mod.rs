//! Commands for submissions, on the database of the project or of `DATABASE_URL`.

mod arguments;
mod text;

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use anyhow::{Context, bail};
use functions_rs::functions::send_submission::{SubmissionSettings, TemplateTitles};
use functions_rs::submissions::Submissions;
use functions_rs::submissions::filter::{MAX_LIMIT, SubmissionFilter, SubmissionPage};
use futures::TryStreamExt;
use platform::clock::SystemClock;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::outbox::OutboxTable;

pub(crate) use arguments::{
    SubmissionDeleteArguments, SubmissionExportArguments, SubmissionListArguments, SubmissionOutputArguments,
    SubmissionSearchArguments, SubmissionShowArguments,
};
use data_folder::PrivateFile;

use crate::catalogue::Catalogue;
use crate::plural::format_count;
use crate::users::UserDatabase;
use text::{format_details, format_entry};

/// Opens the submissions of a database; nothing is mailed.
///
/// # Errors
/// The database has no submissions.
pub(crate) async fn open(database: &UserDatabase, catalogue: Arc<Catalogue>) -> anyhow::Result<Arc<Submissions>> {
    let (pool, clock) = (database.pool.clone(), Arc::new(SystemClock));
    let table = OutboxTable::new(pool.clone());
    let outbox = Outbox::new(table, clock.clone(), database.entropy.fork(), MailDestination::Discarded);
    let titles = TemplateTitles::new(move |id| catalogue.find(id).map(|template| template.title.clone()));
    let settings = SubmissionSettings::default();
    let submissions =
        Submissions::new(pool, Arc::new(outbox), settings, clock, database.entropy.fork()).with_template_titles(titles);
    let found = submissions.counts().await;
    found.context("asking the database for its submissions: `basalt serve` creates and updates their tables")?;
    Ok(Arc::new(submissions))
}

/// Lists submissions, newest first.
pub(crate) async fn list(submissions: &Submissions, arguments: &SubmissionListArguments) -> anyhow::Result<()> {
    print_list(submissions, arguments.filter.to_filter(None)?, &arguments.output).await
}

/// Lists the submissions that have all words.
pub(crate) async fn search(submissions: &Submissions, arguments: &SubmissionSearchArguments) -> anyhow::Result<()> {
    let words = arguments.words.join(" ");
    if !words.contains(char::is_alphanumeric) {
        bail!("a search needs a letter or a digit");
    }
    print_list(submissions, arguments.filter.to_filter(Some(&words))?, &arguments.output).await
}

async fn print_list(
    submissions: &Submissions,
    filter: SubmissionFilter,
    output: &SubmissionOutputArguments,
) -> anyhow::Result<()> {
    let mut left = output.limit;
    let mut page = SubmissionPage { filter, before: None, limit: MAX_LIMIT };
    while left > 0 {
        page.limit = u16::try_from(left).unwrap_or(MAX_LIMIT).min(MAX_LIMIT);
        let list = submissions.list(&page).await?;
        if page.before.is_none() && list.submissions.is_empty() {
            eprintln!("No submissions.");
        }
        for submission in &list.submissions {
            let json = || submission.to_json(submissions.titles()).to_string();
            print(&if output.json { json() } else { format_entry(submission) })?;
        }
        left = left.saturating_sub(u32::from(page.limit));
        let Some(next) = list.next else { return Ok(()) };
        page.before = Some(next);
    }
    eprintln!("There are more; --limit shows more of them.");
    Ok(())
}

/// Shows everything about a submission.
pub(crate) async fn show(submissions: &Submissions, arguments: &SubmissionShowArguments) -> anyhow::Result<()> {
    let details = submissions.find(arguments.id).await?;
    let titles = submissions.titles();
    print(&if arguments.json {
        serde_json::to_string_pretty(&details.to_json(titles))?
    } else {
        format_details(&details, titles)
    })
}

/// Writes submissions to a file, which is renamed when it is complete.
pub(crate) async fn export(
    submissions: &Arc<Submissions>,
    arguments: &SubmissionExportArguments,
) -> anyhow::Result<()> {
    let file = &arguments.file;
    let filter = arguments.filter.to_filter(arguments.search.as_deref())?;
    let parts = Arc::clone(submissions).export(filter, arguments.export_format());
    if file.as_os_str() == "-" {
        let mut out = std::io::stdout();
        return write_parts(parts, &mut out).await;
    }
    let mut out = PrivateFile::create(file, arguments.force)?;
    write_parts(parts, &mut out).await?;
    out.finish()?;
    eprintln!("Wrote {}. It holds addresses and texts of visitors: keep it safe.", file.display());
    Ok(())
}

async fn write_parts(
    mut parts: impl futures::Stream<Item = functions_rs::submissions::Result<bytes::Bytes>> + Unpin,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    while let Some(part) = parts.try_next().await? {
        out.write_all(&part)?;
    }
    Ok(out.flush()?)
}

/// Deletes submissions after confirmation.
pub(crate) async fn delete(submissions: &Submissions, arguments: &SubmissionDeleteArguments) -> anyhow::Result<()> {
    let count = format_count(arguments.ids.len(), "submission");
    if !arguments.yes {
        if !std::io::stdin().is_terminal() {
            bail!("nothing was deleted: there is no terminal to ask at; --yes does not ask");
        }
        eprint!("Delete {count} with notes and messages for good? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            bail!("nothing was deleted");
        }
    }
    match submissions.delete(&arguments.ids).await? {
        0 => bail!("there is no submission with such an id; `basalt submissions list` shows the ids"),
        deleted => print(&format!("Deleted {}.", format_count(deleted, "submission"))),
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}
