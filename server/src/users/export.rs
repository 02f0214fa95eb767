//! All accounts into a file, a line each, as they were at one moment.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use gotrue_rs::store::{Connection, bulk};
use serde_json::Value;
use uuid::Uuid;

use super::Place;
use super::bar::bar;
use crate::cli::ExportArguments;

/// Accounts in one statement.
const PAGE: i64 = 1000;

/// Writes them. A file is there when all of it is: it gets its name at the end.
pub async fn export(place: &Place, arguments: &ExportArguments) -> anyhow::Result<()> {
    let file = &arguments.file;
    let mut db = place.begin().await?;
    bulk::snapshot(&mut db).await?;
    if file.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write(&mut db, &mut out).await?;
        return Ok(out.flush()?);
    }
    if file.exists() && !arguments.force {
        bail!("{} is there already; --force writes over it", file.display());
    }
    let part = file.with_extension("part");
    let written = to_file(&mut db, &part).await;
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

async fn to_file(db: &mut Connection, part: &Path) -> anyhow::Result<u64> {
    let doing = || format!("writing {}", part.display());
    let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(part);
    let mut out = BufWriter::new(options.with_context(doing)?);
    let count = write(db, &mut out).await?;
    out.into_inner()
        .map_err(std::io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all())
        .with_context(doing)?;
    Ok(count)
}

async fn write(db: &mut Connection, out: &mut impl Write) -> anyhow::Result<u64> {
    let bar = bar(u64::try_from(bulk::count(db).await?).unwrap_or_default(), false);
    let mut after = Uuid::nil();
    loop {
        let page = bulk::page(db, after, PAGE).await?;
        for line in &page {
            serde_json::to_writer(&mut *out, &without_nulls(line))?;
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

/// Columns without a value are left out: an import takes them for absent.
fn without_nulls(line: &Value) -> Value {
    let Value::Object(members) = line else { return line.clone() };
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}
