//! Export of all accounts to a file, one per line, from a consistent snapshot.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use gotrue_rs::store::{Connection, bulk};
use serde_json::Value;
use uuid::Uuid;

use super::arguments::ExportArguments;
use super::database::UserDatabase;
use crate::progress::progress_bar;

/// Accounts per statement.
const PAGE_SIZE: i64 = 1000;

/// Writes the accounts to a temporary file, which is renamed when it is complete.
pub(crate) async fn export(database: &UserDatabase, arguments: &ExportArguments) -> anyhow::Result<()> {
    let file = &arguments.file;
    let mut db = database.begin().await?;
    bulk::fix_snapshot(&mut db).await?;
    if file.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write_accounts(&mut db, &mut out).await?;
        return Ok(out.flush()?);
    }
    if file.exists() && !arguments.force {
        bail!("{} is there already; --force writes over it", file.display());
    }
    let part = file.with_extension("part");
    let written = write_file(&mut db, &part).await;
    let finished = written.and_then(|count| {
        std::fs::rename(&part, file).with_context(|| format!("writing {}", file.display()))?;
        Ok(count)
    });
    if finished.is_err() {
        drop(std::fs::remove_file(&part));
    }
    eprintln!("Wrote {} accounts to {}. It holds password hashes: keep it safe.", finished?, file.display());
    Ok(())
}

async fn write_file(db: &mut Connection, part: &Path) -> anyhow::Result<u64> {
    let doing = || format!("writing {}", part.display());
    let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(part);
    let mut out = BufWriter::new(options.with_context(doing)?);
    let count = write_accounts(db, &mut out).await?;
    out.into_inner()
        .map_err(std::io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all())
        .with_context(doing)?;
    Ok(count)
}

async fn write_accounts(db: &mut Connection, out: &mut impl Write) -> anyhow::Result<u64> {
    let bar = progress_bar(u64::try_from(bulk::count(db).await?).unwrap_or_default(), false);
    let mut after = Uuid::nil();
    loop {
        let page = bulk::list_page(db, after, PAGE_SIZE).await?;
        for line in &page {
            serde_json::to_writer(&mut *out, &omit_nulls(line))?;
            out.write_all(b"\n")?;
        }
        bar.inc(page.len() as u64);
        let last = page.last().and_then(|line| line["id"].as_str()).and_then(|id| id.parse().ok());
        let Some(last) = last else { break };
        after = last;
    }
    bar.finish_and_clear();
    Ok(bar.position())
}

/// Omits columns without a value, which an import treats as absent.
fn omit_nulls(line: &Value) -> Value {
    let Value::Object(members) = line else { return line.clone() };
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}
