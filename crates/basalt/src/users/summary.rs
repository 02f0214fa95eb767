//! What an import did: counts by kind, and what was left out.

use std::collections::BTreeMap;

use crate::plural::format_count;
use anyhow::bail;
use gotrue_rules::domain::bulk::{ImportTable, ImportedUser};
use serde_json::{Map, Value, json};

/// The largest number of different members that a report names.
const MAX_OMITTED_NAMES: usize = 200;

/// Counts of an import.
#[derive(Default)]
pub(super) struct ImportSummary {
    /// Accounts that were stored.
    pub stored: u64,
    /// Accounts that were there already.
    pub existing: u64,
    /// Accounts that were there and got what they lacked.
    pub completed: u64,
    /// Lines that could not be imported.
    pub invalid: u64,
    /// Remarks on lines: parts of accounts that were left out.
    pub notes: u64,
    /// Accounts with more rights than others.
    pub privileged: u64,
    /// Stored passwords.
    pub passwords: u64,
    /// Stored rows of the other tables.
    pub rows: BTreeMap<&'static str, (ImportTable, u64)>,
    /// Rows of a dump that exist already.
    pub existing_rows: BTreeMap<&'static str, u64>,
    /// Rows of a dump that could not be moved: they belong to nothing that was imported, or another row has their place.
    pub lost: BTreeMap<&'static str, u64>,
    /// Members and tables that were left out, with their number of values.
    pub omitted: BTreeMap<String, u64>,
}

impl ImportSummary {
    /// Counts a stored account with its rows.
    pub(super) fn add_stored(&mut self, user: &ImportedUser) {
        self.stored += 1;
        let hash = user.user.get("encrypted_password").and_then(Value::as_str).unwrap_or_default();
        self.passwords += u64::from(!hash.is_empty());
        let tables = ImportTable::OF_LINES.into_iter().chain(ImportTable::OF_RECOVERY_CODES);
        for table in tables.filter(|table| *table != ImportTable::Users) {
            self.add_rows(table, user.table_rows(table).len() as u64);
        }
    }

    /// Counts stored rows.
    pub(super) fn add_rows(&mut self, table: ImportTable, count: u64) {
        self.rows.entry(table.name()).or_insert((table, 0)).1 += count;
    }

    /// Counts a value that was left out.
    pub(super) fn add_omitted(&mut self, name: &str) {
        let short: String = name.chars().take(160).collect();
        let name = if self.omitted.len() < MAX_OMITTED_NAMES { short } else { "others".to_owned() };
        *self.omitted.entry(name).or_default() += 1;
    }

    /// Whether any account was recognised.
    pub(super) fn has_accounts(&self) -> bool {
        self.stored + self.existing + self.invalid > 0 || self.rows.values().any(|(_, count)| *count > 0)
    }

    /// Returns the report for programs.
    pub(super) fn to_json(&self, is_dry_run: bool) -> Value {
        let rows: Map<_, _> =
            self.rows.values().map(|(table, count)| (table.name().to_owned(), json!(count))).collect();
        json!({
            "dry_run": is_dry_run,
            "imported": { "accounts": self.stored, "passwords": self.passwords, "rows": rows },
            "existing": self.existing,
            "completed": self.completed,
            "privileged": self.privileged,
            "invalid_lines": self.invalid,
            "lost_parts": self.notes,
            "lost_rows": self.lost,
            "existing_rows": self.existing_rows,
            "omitted_values": self.omitted,
            "is_complete": self.list_losses().is_empty(),
        })
    }

    /// Lists what could not be moved, with its number.
    fn list_losses(&self) -> Vec<String> {
        let mut losses = Vec::new();
        if self.invalid > 0 {
            losses.push(format!("{} skipped", format_count(self.invalid, "line")));
        }
        if self.notes > 0 {
            losses.push(format!("{} of accounts left out", format_count(self.notes, "part")));
        }
        losses.extend(self.lost.iter().map(|(table, count)| format!("{count} of {table} not moved")));
        losses
    }

    /// Prints the report. Fails if anything of the input could not be moved.
    pub(super) fn print(&self, is_dry_run: bool, seconds: i64) -> anyhow::Result<()> {
        let imported = if is_dry_run { "Would import" } else { "Imported" };
        let mut parts = vec![format!("{imported} {}", format_count(self.stored, "account"))];
        let mut rows: Vec<_> = self.rows.values().filter(|(_, count)| *count > 0).collect();
        rows.sort_by_key(|(table, _)| ImportTable::ALL.iter().position(|other| other == table));
        for (table, count) in rows {
            let [one, several] = table.row_name();
            parts.push(format!("{count} {}", if *count == 1 { one } else { several }));
        }
        if self.passwords > 0 {
            parts.push(format_count(self.passwords, "password"));
        }
        if self.privileged > 0 {
            parts.push(format!("{} with more rights than others", format_count(self.privileged, "account")));
        }
        if self.existing > 0 {
            parts.push(format!("{} were there already", self.existing));
        }
        if self.completed > 0 {
            parts.push(format!("{} of them completed", self.completed));
        }
        if self.invalid > 0 {
            parts.push(format!("{} cannot be imported", format_count(self.invalid, "line")));
        }
        if is_dry_run {
            parts.push("nothing was stored".to_owned());
        }
        eprintln!("{}, in {seconds} s.", parts.join(", "));
        for (table, count) in &self.existing_rows {
            eprintln!("There already: {count} of {table}.");
        }
        if !self.omitted.is_empty() {
            let names: Vec<String> = self.omitted.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            eprintln!("Not imported, with the number of values: {}.", names.join(", "));
        }
        let losses = self.list_losses();
        if !losses.is_empty() {
            bail!("{}: see above for each and its reason", losses.join(", "));
        }
        Ok(())
    }
}
