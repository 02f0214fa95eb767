//! Import of accounts from a file: streamed, validated one by one, stored in batches.

use std::collections::HashMap;
use std::fmt::Display;

use anyhow::{Context, bail};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::hashing::unusable_reason;
use gotrue_rs::ports::sealing::is_sealed;
use gotrue_rs::store::{Connection, bulk};
use gotrue_rules::domain::bulk::firebase::FirebaseHashParameters;
use gotrue_rules::domain::bulk::{
    ImportDefaults, ImportError, ImportRow, ImportTable, ImportedUser, auth0, build_row, firebase, parse_line,
};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::arguments::{ImportArguments, ImportFormat};
use super::database::UserDatabase;
use super::dump::DumpReader;
use super::privileges::describe_privilege;
use super::read::{self, LineReader, ListReader, ParsedItem};

/// Accounts per transaction.
const BATCH_SIZE: usize = 1000;

/// Stores valid accounts and reports the others.
/// Fails at the end if there were invalid lines.
pub(crate) async fn import(database: &UserDatabase, arguments: &ImportArguments) -> anyhow::Result<()> {
    let (mut text, bar) = read::open(&arguments.file)?;
    let format = match arguments.format {
        Some(format) => format,
        None => read::detect_format(&mut text)?,
    };
    let started = SystemClock.now();
    // A dry run is one transaction that is rolled back, so that it also detects conflicts between lines.
    let dry_run_transaction = if arguments.dry_run { Some(database.begin().await?) } else { None };
    let mut import = Import {
        database,
        bar,
        dry_run_transaction,
        are_privileged_allowed: arguments.allow_privileged,
        batch: Vec::new(),
        done: ImportSummary::default(),
    };
    let parameters = arguments.firebase_signer_key.as_ref().map(|signer_key| FirebaseHashParameters {
        signer_key: signer_key.clone(),
        salt_separator: arguments.firebase_salt_separator.clone(),
        rounds: arguments.firebase_rounds,
        mem_cost: arguments.firebase_mem_cost,
    });
    match format {
        ImportFormat::Basalt => import.import_items(LineReader::new(text), Ok).await?,
        ImportFormat::Auth0 => import.import_items(LineReader::new(text), auth0::to_import_line).await?,
        ImportFormat::Firebase => {
            import
                .import_items(ListReader::new(text), |row| firebase::to_import_line(&row, parameters.as_ref()))
                .await?;
        }
        ImportFormat::Supabase => {
            if arguments.file.as_os_str() == "-" {
                bail!("a dump is read twice, first for the accounts and then for what belongs to them: give a file");
            }
            import.import_users(DumpReader::new(text)).await?;
            let (again, bar) = read::open(&arguments.file)?;
            import.bar = bar;
            import.import_related_rows(DumpReader::new(again)).await?;
        }
    }
    import.bar.finish_and_clear();
    let Import { dry_run_transaction, done, .. } = import;
    if let Some(dry_run_transaction) = dry_run_transaction {
        dry_run_transaction.rollback().await?;
    }
    let seconds = (SystemClock.now() - started).num_milliseconds() / 1000;
    done.print(arguments.dry_run, seconds)
}

struct Import<'a> {
    database: &'a UserDatabase,
    bar: ProgressBar,
    dry_run_transaction: Option<Connection>,
    are_privileged_allowed: bool,
    batch: Vec<(u64, ImportedUser)>,
    done: ImportSummary,
}

#[derive(Default)]
struct ImportSummary {
    stored: u64,
    existing: u64,
    invalid: u64,
    related_rows: u64,
    privileged: u64,
}

impl Import<'_> {
    async fn import_items(
        &mut self,
        items: impl Iterator<Item = std::io::Result<ParsedItem>>,
        ours: impl Fn(ImportRow) -> Result<ImportRow, ImportError>,
    ) -> anyhow::Result<()> {
        for item in items {
            let ParsedItem { line, row } = item.context("reading the file")?;
            match row.and_then(&ours).and_then(|row| self.validate(row)) {
                Ok(user) => self.add_if_allowed(line, user).await?,
                Err(wrong) => self.report_invalid(line, wrong),
            }
        }
        self.flush().await
    }

    /// Imports the accounts of a dump.
    /// Their identities are imported later, so no default identity is created.
    async fn import_users(&mut self, dump: DumpReader) -> anyhow::Result<()> {
        for found in dump {
            let found = found.context("reading the file")?;
            if found.table != ImportTable::Users {
                continue;
            }
            let ParsedItem { line, row } = found.item;
            let ours = |mut row: ImportRow| {
                row.insert("identities".to_owned(), json!([]));
                self.validate(row)
            };
            match row.and_then(ours) {
                Ok(user) => self.add_if_allowed(line, user).await?,
                Err(wrong) => self.report_invalid(line, wrong),
            }
        }
        self.flush().await
    }

    /// Imports identities and factors of a dump for existing accounts.
    async fn import_related_rows(&mut self, dump: DumpReader) -> anyhow::Result<()> {
        let mut waiting: HashMap<ImportTable, Vec<Value>> = HashMap::new();
        for found in dump {
            let found = found.context("reading the file")?;
            let table = found.table;
            if table == ImportTable::Users {
                continue;
            }
            match found.item.row.and_then(|given| build_row(table, given)) {
                Ok(row) => {
                    let rows = waiting.entry(table).or_default();
                    rows.push(Value::Object(row));
                    if rows.len() >= BATCH_SIZE {
                        let rows = std::mem::take(rows);
                        self.insert_related_rows(table, rows).await?;
                    }
                }
                Err(wrong) => self.report_invalid(found.item.line, wrong),
            }
        }
        for (table, rows) in waiting {
            self.insert_related_rows(table, rows).await?;
        }
        Ok(())
    }

    async fn insert_related_rows(&mut self, table: ImportTable, rows: Vec<Value>) -> anyhow::Result<()> {
        self.done.related_rows += match &mut self.dry_run_transaction {
            Some(open) => bulk::insert_dependent_rows(open, table, rows).await?,
            None => bulk::insert_dependent_rows(&mut self.database.connection(), table, rows).await?,
        };
        Ok(())
    }

    fn validate(&self, row: ImportRow) -> Result<ImportedUser, ImportError> {
        let entropy = &self.database.entropy;
        parse_line(
            row,
            &mut ImportDefaults {
                now: SystemClock.now(),
                audience: &self.database.audience,
                role: &self.database.role,
                new_id: &mut || entropy.uuid(),
                // An encrypted hash is kept as it is: it needs the key only when it is used.
                unusable_hash: &|hash| if is_sealed(hash) { None } else { unusable_reason(hash) },
            },
        )
    }

    /// Adds an account, unless it has more rights than others and the operator has not allowed that.
    async fn add_if_allowed(&mut self, line: u64, user: ImportedUser) -> anyhow::Result<()> {
        match describe_privilege(&user, &self.database.role) {
            Some(rights) if self.are_privileged_allowed => {
                self.done.privileged += 1;
                self.print(&format!("line {line}: {} has {rights}", user.display_name()));
            }
            Some(rights) => {
                let remedy = "--allow-privileged imports it all the same";
                self.report_invalid(line, format!("{} has {rights}; {remedy}", user.display_name()));
                return Ok(());
            }
            None => {}
        }
        self.add(line, user).await
    }

    async fn add(&mut self, line: u64, user: ImportedUser) -> anyhow::Result<()> {
        self.batch.push((line, user));
        if self.batch.len() >= BATCH_SIZE { self.flush().await } else { Ok(()) }
    }

    fn report_invalid(&mut self, line: u64, wrong: impl Display) {
        self.done.invalid += 1;
        self.print(&format!("line {line}: {wrong}"));
    }

    fn print(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        if let Some(mut open) = self.dry_run_transaction.take() {
            let outcome = self.store(&mut open, &batch).await;
            self.dry_run_transaction = Some(open);
            outcome?;
        } else {
            let mut open = self.database.begin().await?;
            self.store(&mut open, &batch).await?;
            open.commit().await?;
        }
        let stored = self.done.stored;
        self.bar.set_message(format!("{stored} accounts"));
        Ok(())
    }

    /// Stores a batch.
    /// If the database rejects it, halves it repeatedly until the invalid line is found.
    async fn store(&mut self, db: &mut Connection, batch: &[(u64, ImportedUser)]) -> anyhow::Result<()> {
        let mut parts = vec![batch];
        while let Some(part) = parts.pop() {
            let people: Vec<&ImportedUser> = part.iter().map(|(_, user)| user).collect();
            match bulk::try_insert(db, &people).await {
                Ok(new) => {
                    self.done.stored += new.len() as u64;
                    let left_out: Vec<_> = part.iter().filter(|(_, user)| !new.contains(&user.id())).collect();
                    self.report_omitted(db, &left_out).await?;
                }
                Err(error) if error.database_message().is_none() => return Err(error.into()),
                Err(error) if part.len() == 1 => {
                    self.report_invalid(part[0].0, error.database_message().unwrap_or_default());
                }
                Err(_) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            }
        }
        Ok(())
    }

    /// Reports why accounts were omitted: they exist, or another account has their address or number.
    async fn report_omitted(&mut self, db: &mut Connection, left_out: &[&(u64, ImportedUser)]) -> anyhow::Result<()> {
        if left_out.is_empty() {
            return Ok(());
        }
        let member = |imported_user: &'_ ImportedUser, name: &str| {
            imported_user.user.get(name).and_then(Value::as_str).map(str::to_owned)
        };
        let ids: Vec<_> = left_out.iter().map(|(_, imported_user)| imported_user.id()).collect();
        let emails: Vec<_> = left_out.iter().filter_map(|(_, imported_user)| member(imported_user, "email")).collect();
        let phones: Vec<_> = left_out.iter().filter_map(|(_, imported_user)| member(imported_user, "phone")).collect();
        let known = bulk::find_existing(db, &ids, &emails, &phones).await?;
        for (line, imported_user) in left_out {
            let (email, phone) = (member(imported_user, "email"), member(imported_user, "phone"));
            if known.iter().any(|known| known.id == imported_user.id()) {
                self.done.existing += 1;
            } else if let Some(other) = known.iter().find(|known| known.email.is_some() && known.email == email) {
                self.report_invalid(
                    *line,
                    format!("another account ({}) has the address {}", other.id, imported_user.display_name()),
                );
            } else if let Some(other) = known.iter().find(|known| known.phone.is_some() && known.phone == phone) {
                self.report_invalid(
                    *line,
                    format!("another account ({}) has the number {}", other.id, phone.unwrap_or_default()),
                );
            } else {
                self.report_invalid(*line, "the database left it out");
            }
        }
        Ok(())
    }
}

fn format_count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

impl ImportSummary {
    fn print(&self, is_dry_run: bool, seconds: i64) -> anyhow::Result<()> {
        let imported = if is_dry_run { "Would import" } else { "Imported" };
        let mut parts = vec![format!("{imported} {}", format_count(self.stored, "account"))];
        if self.related_rows > 0 {
            parts.push(format!("{} identities and factors", self.related_rows));
        }
        if self.privileged > 0 {
            parts.push(format!("{} with more rights than others", format_count(self.privileged, "account")));
        }
        if self.existing > 0 {
            parts.push(format!("{} were there already", self.existing));
        }
        if self.invalid > 0 {
            parts.push(format!("{} cannot be imported", format_count(self.invalid, "line")));
        }
        if is_dry_run {
            parts.push("nothing was stored".to_owned());
        }
        eprintln!("{}, in {seconds} s.", parts.join(", "));
        if self.invalid > 0 {
            bail!("{} skipped: see above for each and its reason", format_count(self.invalid, "line"));
        }
        Ok(())
    }
}
