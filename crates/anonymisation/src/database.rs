//! Anonymises a database page by page, each in a transaction with the progress.

use std::collections::HashSet;

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use serde_json::Value;
use sqlx::PgConnection;

use crate::pseudonyms::Pseudonyms;
use crate::rows::Anonymisation;
use crate::rules::{ColumnRule, TableRule, find_column_rule, find_deleted_rows, find_table_rule};
use crate::store::{self, Column, Selection, Table};

/// Rows per transaction.
const PAGE_SIZE: u32 = 500;
/// Deleted rows per transaction.
const DELETED_PAGE_SIZE: u32 = 10_000;
/// Numbers per statement of the search for their variant.
const PHONE_PAGE_SIZE: u32 = 10_000;
/// The entries of the progress that are not tables.
const SEED: &str = "seed";
const PHONE_VARIANT: &str = "phone variant";
/// The value of a finished table.
const DONE: &str = "done";
/// The largest number of variants that are tried until all numbers have different pseudonyms.
const MAX_PHONE_VARIANTS: u32 = 100;

/// What was done.
#[derive(Debug, Default)]
pub struct AnonymisationSummary {
    /// The tables with their numbers of replaced and deleted rows.
    pub tables: Vec<(String, u64, u64)>,
    /// Tables of other schemas, which are not changed.
    pub untouched: Vec<String>,
}

/// The rules of a table, checked against its columns.
struct Plan<'a> {
    table: &'a Table,
    rule: TableRule,
    changed: Vec<(&'a Column, ColumnRule)>,
}

/// Replaces or deletes the rows of all tables in the schemas `auth` and `basalt`; the bar counts the tables.
///
/// # Errors
/// A table or column has no rule or rows are hidden from the role (nothing is changed then), the seed is not that of an
/// unfinished run, or a statement failed: what was committed stays, and the same command continues.
pub async fn anonymise_database(
    connection: &mut PgConnection,
    anonymisation: &mut Anonymisation,
    bar: &ProgressBar,
) -> anyhow::Result<AnonymisationSummary> {
    let tables = store::list_tables(connection).await.context("listing the tables")?;
    if tables.iter().all(|table| table.name != "auth.users") {
        bail!("the database has no table auth.users; is it the right one?");
    }
    let plans = make_plans(&tables)?;
    let hidden = store::list_filtered_tables(connection).await.context("reading the rights of the role")?;
    if !hidden.is_empty() {
        bail!(
            "nothing was changed: row security hides rows from this role in {}. Use the owner of the tables, or a role \
             with BYPASSRLS",
            hidden.join(", ")
        );
    }
    let variant = begin(connection, anonymisation).await?;
    anonymisation.pseudonyms = anonymisation.pseudonyms.with_phone_variant(variant);
    let mut summary = AnonymisationSummary::default();
    bar.set_length(plans.len() as u64);
    for plan in &plans {
        bar.set_message(plan.table.name.clone());
        let (replaced, deleted) = anonymise_table(connection, plan, anonymisation).await.with_context(|| {
            format!("anonymising {}; the same command with the same seed continues", plan.table.name)
        })?;
        if replaced + deleted > 0 {
            summary.tables.push((plan.table.name.clone(), replaced, deleted));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    store::drop_progress(connection).await.context("removing the progress")?;
    summary.untouched = store::list_other_tables(connection).await.context("listing the other tables")?;
    Ok(summary)
}

/// Finds the rule of every table and column.
fn make_plans(tables: &[Table]) -> anyhow::Result<Vec<Plan<'_>>> {
    let (mut plans, mut unknown) = (Vec::new(), Vec::new());
    for table in tables {
        let Some(rule) = find_table_rule(&table.name) else {
            unknown.push(table.name.clone());
            continue;
        };
        let mut changed = Vec::new();
        if let TableRule::Replace(rules) = rule {
            for column in table.columns.iter().filter(|column| !column.is_generated) {
                match find_column_rule(rules, &column.name, &column.type_name) {
                    None => unknown.push(format!("{}.{}", table.name, column.name)),
                    Some(ColumnRule::Keep) => {}
                    Some(rule) => changed.push((column, rule)),
                }
            }
        }
        plans.push(Plan { table, rule, changed });
    }
    if !unknown.is_empty() {
        bail!(
            "nothing was changed: this version does not know what is in {}. Use the version of Basalt that made the \
             database, or drop what it does not know from the copy",
            unknown.join(", ")
        );
    }
    Ok(plans)
}

/// Begins or continues: checks the seed, and returns the variant of the numbers.
async fn begin(connection: &mut PgConnection, anonymisation: &Anonymisation) -> anyhow::Result<u32> {
    let fingerprint = anonymisation.pseudonyms.fingerprint();
    let before = store::read_progress(connection, SEED).await.context("reading the progress")?;
    if let Some(before) = before {
        if before != fingerprint {
            bail!("an unfinished anonymisation of this database has another seed: continue it with its --seed");
        }
        let variant = store::read_progress(connection, PHONE_VARIANT).await.context("reading the progress")?;
        return variant.and_then(|variant| variant.parse().ok()).context("the progress has no variant of the numbers");
    }
    store::begin(connection).await?;
    let variant = find_phone_variant(connection, &anonymisation.pseudonyms).await?;
    let rights = "creating the schema of the progress: a role is needed that may create schemas in the database";
    store::create_progress(connection).await.context(rights)?;
    store::write_progress(connection, SEED, &fingerprint).await?;
    store::write_progress(connection, PHONE_VARIANT, &variant.to_string()).await?;
    store::commit(connection).await?;
    Ok(variant)
}

/// Finds the variant with which no two numbers have the same pseudonym.
///
/// A variant is given up at the first two that do, so that the memory is bounded: among ten million numbers there are
/// always two.
async fn find_phone_variant(connection: &mut PgConnection, pseudonyms: &Pseudonyms) -> anyhow::Result<u32> {
    for variant in 0..MAX_PHONE_VARIANTS {
        if are_phones_unique(connection, &pseudonyms.with_phone_variant(variant)).await? {
            return Ok(variant);
        }
    }
    bail!("nothing was changed: there are too many phone numbers for unique pseudonyms of 12 digits")
}

async fn are_phones_unique(connection: &mut PgConnection, pseudonyms: &Pseudonyms) -> anyhow::Result<bool> {
    let (mut seen, mut after) = (HashSet::new(), String::new());
    loop {
        let page = store::list_phones(connection, &after, PHONE_PAGE_SIZE).await.context("reading the numbers")?;
        let Some(last) = page.last() else { return Ok(true) };
        last.clone_into(&mut after);
        for phone in &page {
            let pseudonym = pseudonyms.phone(phone);
            let digits: u64 = pseudonym.trim_start_matches('+').parse().context("reading a pseudonym")?;
            if !seen.insert((pseudonym.starts_with('+'), digits)) {
                return Ok(false);
            }
        }
    }
}

/// Anonymises a table from where it was left; returns the numbers of replaced and deleted rows.
async fn anonymise_table(
    connection: &mut PgConnection,
    plan: &Plan<'_>,
    anonymisation: &Anonymisation,
) -> anyhow::Result<(u64, u64)> {
    let entry = format!("table {}", plan.table.name);
    let mut after = store::read_progress(connection, &entry).await?;
    if after.as_deref() == Some(DONE) {
        return Ok((0, 0));
    }
    let condition = match plan.rule {
        TableRule::Keep => return Ok((0, 0)),
        TableRule::Empty => Some("true"),
        TableRule::Replace(_) => find_deleted_rows(&plan.table.name),
    };
    let mut deleted = 0;
    while let Some(condition) = condition {
        store::begin(connection).await?;
        let count = store::delete_page(connection, plan.table, condition, DELETED_PAGE_SIZE).await?;
        store::commit(connection).await?;
        deleted += count;
        if count == 0 {
            break;
        }
    }
    let mut replaced = 0;
    while !plan.changed.is_empty() {
        let (count, last) = anonymise_page(connection, plan, anonymisation, after.as_deref()).await?;
        replaced += count;
        if last.is_none() {
            break;
        }
        after = last;
    }
    store::write_progress(connection, &entry, DONE).await?;
    Ok((replaced, deleted))
}

/// Anonymises the next rows in a transaction; returns how many there were, and the key of the last one.
async fn anonymise_page(
    connection: &mut PgConnection,
    plan: &Plan<'_>,
    anonymisation: &Anonymisation,
    after: Option<&str>,
) -> anyhow::Result<(u64, Option<String>)> {
    let key = plan.table.columns.iter().find(|column| column.is_key).context("it has no primary key")?;
    let columns: Vec<&Column> = plan.changed.iter().map(|(column, _)| *column).collect();
    let owner = plan.table.columns.iter().find(|column| column.name == "user_id");
    let mut read: Vec<&Column> = columns.clone();
    read.extend(owner);
    let rules: Vec<(&str, ColumnRule)> =
        plan.changed.iter().map(|(column, rule)| (column.name.as_str(), *rule)).collect();
    store::begin(connection).await?;
    let selection = Selection { table: plan.table, key, columns: &read };
    let mut rows = store::read_page(connection, selection, after, PAGE_SIZE).await?;
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        let owner = row.get("user_id").or_else(|| row.get("id")).and_then(Value::as_str).unwrap_or_default().to_owned();
        anonymisation.row_rules().replace(row, &rules, &owner);
    }
    let last = rows.last().map(|row| row[&key.name].as_str().map_or_else(|| row[&key.name].to_string(), str::to_owned));
    let count = store::write_page(connection, Selection { columns: &columns, ..selection }, &rows).await?;
    if let Some(last) = &last {
        store::write_progress(connection, &format!("table {}", plan.table.name), last).await?;
    }
    store::commit(connection).await?;
    Ok((count, last))
}
