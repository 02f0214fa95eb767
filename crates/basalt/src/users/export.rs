//! Export of all accounts to a file, one per line, from a consistent snapshot.

use std::collections::HashMap;
use std::io::{BufWriter, Write};

use anonymisation::{Anonymisation, RowRules};
use anyhow::bail;
use data_folder::PrivateFile;
use gotrue_rs::store::bulk::{self, ExportedColumn};
use platform::store::Connection;
use serde_json::Value;
use uuid::Uuid;

use super::arguments::ExportArguments;
use super::database::UserDatabase;
use crate::anonymisation_options::PreparedAnonymisation;
use crate::plural::format_count;
use crate::progress::progress_bar;

/// Accounts per statement.
const PAGE_SIZE: i64 = 1000;

/// Writes the accounts to a temporary file, which is renamed when it is complete.
pub(crate) async fn export(database: &UserDatabase, arguments: &ExportArguments) -> anyhow::Result<()> {
    let file = &arguments.file;
    let anonymisation = prepare_anonymisation(arguments).await?;
    let rules = anonymisation.as_ref().map(Anonymisation::row_rules);
    let mut db = database.begin().await?;
    bulk::fix_snapshot(&mut db).await?;
    check_columns(&bulk::list_exported_columns(&mut db).await?, rules.is_some())?;
    if file.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write_accounts(&mut db, &mut out, rules.as_ref()).await?;
        return Ok(out.flush()?);
    }
    let mut out = PrivateFile::create(file, arguments.force)?;
    let count = write_accounts(&mut db, &mut out, rules.as_ref()).await?;
    out.finish()?;
    let note = if rules.is_some() { "It holds pseudonyms." } else { "It holds password hashes: keep it safe." };
    eprintln!("Wrote {} to {}. {note}", format_count(count, "account"), file.display());
    Ok(())
}

/// Prepares an anonymised export, and prints a seed that was made for it.
async fn prepare_anonymisation(arguments: &ExportArguments) -> anyhow::Result<Option<Anonymisation>> {
    if !arguments.anonymise {
        if !arguments.anonymisation.are_defaults() {
            bail!("--password, --remove-passwords and --keep are options of --anonymise: add it");
        }
        return Ok(None);
    }
    let prepared = PreparedAnonymisation::prepare(&arguments.anonymisation).await?;
    if let Some(seed) = &prepared.new_seed {
        eprintln!("The seed is {seed}: --seed makes the same pseudonyms again.");
    }
    Ok(Some(prepared.anonymisation))
}

/// Refuses an export that would lack rows, and an anonymised one that would keep values without a rule.
fn check_columns(columns: &[ExportedColumn], is_anonymised: bool) -> anyhow::Result<()> {
    let mut hidden: Vec<&str> =
        columns.iter().filter(|column| column.is_filtered).map(|column| column.table.as_str()).collect();
    hidden.dedup();
    if !hidden.is_empty() {
        bail!(
            "nothing was exported: row security hides rows from this role in {}. Use the owner of the tables, or a role \
             with BYPASSRLS",
            hidden.join(", ")
        );
    }
    let has_rule = |column: &&ExportedColumn| anonymisation::has_rule(&column.table, &column.name, &column.type_name);
    let unknown: Vec<String> = columns
        .iter()
        .filter(|column| is_anonymised && !has_rule(column))
        .map(|column| format!("{}.{}", column.table, column.name))
        .collect();
    if !unknown.is_empty() {
        bail!(
            "nothing was exported: this version does not know what is in {}. Use the version of Basalt that made the \
             database, or export from a copy of it without what is not known",
            unknown.join(", ")
        );
    }
    Ok(())
}

async fn write_accounts(
    db: &mut Connection,
    out: &mut impl Write,
    rules: Option<&RowRules<'_>>,
) -> anyhow::Result<u64> {
    let bar = progress_bar(u64::try_from(bulk::count(db).await?).unwrap_or_default(), false);
    let has_recovery_codes = rules.is_none() && bulk::has_recovery_codes(db).await?;
    let mut after = Uuid::nil();
    loop {
        let mut page = bulk::list_page(db, after, PAGE_SIZE).await?;
        if has_recovery_codes {
            add_recovery_codes(db, &mut page).await?;
        }
        for line in &mut page {
            if let Some(rules) = rules {
                rules.replace_line(line);
            }
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

/// Adds the recovery codes of the users of a page who have a factor of that type.
async fn add_recovery_codes(db: &mut Connection, page: &mut [Value]) -> anyhow::Result<()> {
    let is_code = |factor: &Value| factor["factor_type"] == "recovery_code";
    let has_codes = |line: &Value| line["factors"].as_array().is_some_and(|factors| factors.iter().any(is_code));
    let id_of = |line: &Value| line["id"].as_str().and_then(|id| id.parse::<Uuid>().ok());
    let owners: Vec<Uuid> = page.iter().filter(|line| has_codes(line)).filter_map(id_of).collect();
    if owners.is_empty() {
        return Ok(());
    }
    let mut codes: HashMap<Uuid, Value> = bulk::list_recovery_codes(db, &owners).await?.into_iter().collect();
    for line in page {
        if let Some(codes) = id_of(line).and_then(|id| codes.remove(&id)) {
            line["recovery_codes"] = codes;
        }
    }
    Ok(())
}

/// Omits columns without a value, which an import treats as absent.
fn omit_nulls(line: &Value) -> Value {
    let Value::Object(members) = line else { return line.clone() };
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}
