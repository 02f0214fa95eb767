//! Stores the accounts and rows of an import in batches.

use anyhow::Context as _;
use gotrue_rs::store::bulk;
use gotrue_rules::domain::bulk::{ImportTable, ImportedUser};
use platform::clock::{Clock, SystemClock};
use platform::store::Connection;
use serde_json::Value;
use uuid::Uuid;

use super::import::Import;
use crate::plural::format_count;

impl Import<'_> {
    /// Stores the waiting accounts.
    pub(super) async fn flush(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_ids.clear();
        if batch.is_empty() {
            return Ok(());
        }
        let (mut open, is_dry_run) = self.begin().await?;
        let outcome = self.store(&mut open, &batch).await;
        self.end(open, is_dry_run, outcome).await?;
        let stored = self.done.stored;
        self.bar.set_message(format_count(stored, "account"));
        Ok(())
    }

    /// Inserts rows of a table for existing accounts.
    pub(super) async fn insert_rows(&mut self, table: ImportTable, rows: Vec<(u64, Value)>) -> anyhow::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (mut open, is_dry_run) = self.begin().await?;
        let outcome = self.store_rows(&mut open, table, &rows).await;
        self.end(open, is_dry_run, outcome).await
    }

    /// Returns the transaction of a dry run, or begins one.
    async fn begin(&mut self) -> anyhow::Result<(Connection, bool)> {
        match self.dry_run_transaction.take() {
            Some(open) => Ok((open, true)),
            None => Ok((self.database.begin().await?, false)),
        }
    }

    async fn end(&mut self, open: Connection, is_dry_run: bool, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        if is_dry_run {
            self.dry_run_transaction = Some(open);
            return outcome;
        }
        outcome?;
        open.commit().await.context("storing a batch")?;
        Ok(())
    }

    /// Stores a batch.
    /// If the database rejects it, halves it repeatedly until the invalid line is found.
    async fn store(&mut self, db: &mut Connection, batch: &[(u64, ImportedUser)]) -> anyhow::Result<()> {
        let mut parts = vec![batch];
        while let Some(part) = parts.pop() {
            let users: Vec<&ImportedUser> = part.iter().map(|(_, user)| user).collect();
            match bulk::try_insert(db, &users).await {
                Ok(new) => {
                    for (_, user) in part.iter().filter(|(_, user)| new.contains(&user.id())) {
                        self.done.add_stored(user);
                        self.attachable.insert(user.id());
                    }
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

    /// Stores rows as [`Import::store`] stores accounts.
    async fn store_rows(
        &mut self,
        db: &mut Connection,
        table: ImportTable,
        rows: &[(u64, Value)],
    ) -> anyhow::Result<()> {
        let mut parts = vec![rows];
        while let Some(part) = parts.pop() {
            let values = part.iter().map(|(_, row)| row.clone()).collect();
            let keeps_some = !self.is_dry_run;
            match bulk::try_insert_dependent_rows(db, table, values, SystemClock.now(), keeps_some).await {
                // A dry run looks for the rows that are not inserted: it is not seen from outside.
                Ok(count) if !keeps_some && count < part.len() as u64 && part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Ok(count) => {
                    self.done.add_rows(table, count);
                    self.note_rest(table, part, count).await?;
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
        let mut existing = Vec::new();
        for (line, imported_user) in left_out {
            let (email, phone) = (member(imported_user, "email"), member(imported_user, "phone"));
            if known.iter().any(|known| known.id == imported_user.id()) {
                self.done.existing += 1;
                existing.push((*line, imported_user));
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
        let users: Vec<&ImportedUser> = existing.iter().map(|(_, user)| *user).collect();
        let completable = bulk::find_completable(db, &users).await?;
        self.attachable.extend(&completable);
        if self.completes_existing {
            // An id that is derived from another service's is of an earlier import of that service.
            let is_completed = |user: &ImportedUser| {
                user.id().get_version() == Some(uuid::Version::Sha1) && completable.contains(&user.id())
            };
            existing.retain(|(_, user)| is_completed(user));
            self.complete(db, &existing).await?;
        }
        Ok(())
    }

    /// Adds to accounts of an earlier import what another file of the same service has: password, metadata, a ban, identities
    /// and factors.
    async fn complete(&mut self, db: &mut Connection, existing: &[(u64, &ImportedUser)]) -> anyhow::Result<()> {
        let users: Vec<&ImportedUser> = existing.iter().map(|(_, user)| *user).collect();
        if users.is_empty() {
            return Ok(());
        }
        self.done.completed += bulk::complete(db, &users).await?;
        // Rows that exist are those of the earlier import.
        self.are_rest_rows_reported = false;
        for table in [ImportTable::Identities, ImportTable::Factors] {
            let rows = existing.iter().flat_map(|(line, user)| {
                user.table_rows(table).iter().map(move |row| (*line, Value::Object(row.clone())))
            });
            let rows: Vec<_> = rows.collect();
            if !rows.is_empty() {
                self.store_rows(db, table, &rows).await?;
            }
        }
        self.are_rest_rows_reported = true;
        let ids: Vec<Uuid> = users.iter().map(|user| user.id()).collect();
        bulk::write_providers(db, &ids).await?;
        Ok(())
    }
}
