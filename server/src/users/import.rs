//! Accounts from a file: read piece by piece, checked one by one, stored a thousand at a time.

use std::collections::HashMap;
use std::fmt::Display;

use anyhow::{Context, bail};
use gotrue_rs::ports::clock::{Clock, SystemClock};
use gotrue_rs::ports::hashing::unusable;
use gotrue_rs::ports::sealing::is_sealed;
use gotrue_rs::store::{Connection, bulk};
use gotrue_rules::domain::bulk::firebase::HashParameters;
use gotrue_rules::domain::bulk::{Given, Person, Row, Table, Wrong, auth0, firebase, person, row};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::Place;
use super::dump::Dump;
use super::read::{self, Item, Lines, Listed};
use crate::cli::{Format, ImportArguments};

/// Accounts in one transaction.
const BATCH: usize = 1000;

/// Stores what can be stored and tells of the rest. Fails in the end if lines were wrong.
pub async fn import(place: &Place, arguments: &ImportArguments) -> anyhow::Result<()> {
    let (mut text, bar) = read::open(&arguments.file)?;
    let format = match arguments.format {
        Some(format) => format,
        None => read::format_of(&mut text)?,
    };
    let started = SystemClock.now();
    // A rehearsal is one transaction that comes to nothing, so that it also sees what two lines have in common.
    let rehearsal = if arguments.dry_run { Some(place.begin().await?) } else { None };
    let mut import = Import { place, bar, rehearsal, batch: Vec::new(), done: Done::default() };
    let parameters = arguments.firebase_signer_key.as_ref().map(|signer_key| HashParameters {
        signer_key: signer_key.clone(),
        salt_separator: arguments.firebase_salt_separator.clone(),
        rounds: arguments.firebase_rounds,
        mem_cost: arguments.firebase_mem_cost,
    });
    match format {
        Format::Basalt => import.all(Lines::of(text), Ok).await?,
        Format::Auth0 => import.all(Lines::of(text), auth0::line).await?,
        Format::Firebase => import.all(Listed::of(text), |row| firebase::line(&row, parameters.as_ref())).await?,
        Format::Supabase => {
            if arguments.file.as_os_str() == "-" {
                bail!("a dump is read twice, first for the accounts and then for what belongs to them: give a file");
            }
            import.users_of(Dump::of(text)).await?;
            let (again, bar) = read::open(&arguments.file)?;
            import.bar = bar;
            import.belongings_of(Dump::of(again)).await?;
        }
    }
    import.bar.finish_and_clear();
    let Import { rehearsal, done, .. } = import;
    if let Some(rehearsal) = rehearsal {
        rehearsal.rollback().await?;
    }
    let seconds = (SystemClock.now() - started).num_milliseconds() / 1000;
    done.told(arguments.dry_run, seconds)
}

struct Import<'a> {
    place: &'a Place,
    bar: ProgressBar,
    rehearsal: Option<Connection>,
    batch: Vec<(u64, Person)>,
    done: Done,
}

#[derive(Default)]
struct Done {
    stored: u64,
    there: u64,
    wrong: u64,
    belongings: u64,
}

impl Import<'_> {
    async fn all(
        &mut self,
        items: impl Iterator<Item = std::io::Result<Item>>,
        ours: impl Fn(Row) -> Result<Row, Wrong>,
    ) -> anyhow::Result<()> {
        for item in items {
            let Item { line, row } = item.context("reading the file")?;
            match row.and_then(&ours).and_then(|row| self.checked(row)) {
                Ok(person) => self.add(line, person).await?,
                Err(wrong) => self.refuse(line, wrong),
            }
        }
        self.flush().await
    }

    /// The accounts of a dump. What belongs to them comes later, so none is given what a new account would have.
    async fn users_of(&mut self, dump: Dump) -> anyhow::Result<()> {
        for found in dump {
            let found = found.context("reading the file")?;
            if found.table != Table::Users {
                continue;
            }
            let Item { line, row } = found.item;
            let ours = |mut row: Row| {
                row.insert("identities".to_owned(), json!([]));
                self.checked(row)
            };
            match row.and_then(ours) {
                Ok(person) => self.add(line, person).await?,
                Err(wrong) => self.refuse(line, wrong),
            }
        }
        self.flush().await
    }

    /// Identities and factors of a dump, for the accounts that are there.
    async fn belongings_of(&mut self, dump: Dump) -> anyhow::Result<()> {
        let mut waiting: HashMap<Table, Vec<Value>> = HashMap::new();
        for found in dump {
            let found = found.context("reading the file")?;
            let table = found.table;
            if table == Table::Users {
                continue;
            }
            match found.item.row.and_then(|given| row(table, given)) {
                Ok(row) => {
                    let rows = waiting.entry(table).or_default();
                    rows.push(Value::Object(row));
                    if rows.len() >= BATCH {
                        let rows = std::mem::take(rows);
                        self.attach(table, rows).await?;
                    }
                }
                Err(wrong) => self.refuse(found.item.line, wrong),
            }
        }
        for (table, rows) in waiting {
            self.attach(table, rows).await?;
        }
        Ok(())
    }

    async fn attach(&mut self, table: Table, rows: Vec<Value>) -> anyhow::Result<()> {
        self.done.belongings += match &mut self.rehearsal {
            Some(open) => bulk::attach(open, table, rows).await?,
            None => bulk::attach(&mut self.place.db(), table, rows).await?,
        };
        Ok(())
    }

    fn checked(&self, row: Row) -> Result<Person, Wrong> {
        let entropy = &self.place.entropy;
        person(
            row,
            &mut Given {
                now: SystemClock.now(),
                audience: &self.place.audience,
                role: &self.place.role,
                new_id: &mut || entropy.uuid(),
                // A sealed hash is taken along as it is: whoever has the key can open it.
                unusable_hash: &|hash| if is_sealed(hash) { None } else { unusable(hash) },
            },
        )
    }

    async fn add(&mut self, line: u64, person: Person) -> anyhow::Result<()> {
        self.batch.push((line, person));
        if self.batch.len() >= BATCH { self.flush().await } else { Ok(()) }
    }

    fn refuse(&mut self, line: u64, wrong: impl Display) {
        self.done.wrong += 1;
        self.tell(&format!("line {line}: {wrong}"));
    }

    fn tell(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        if let Some(mut open) = self.rehearsal.take() {
            let outcome = self.store(&mut open, &batch).await;
            self.rehearsal = Some(open);
            outcome?;
        } else {
            let mut open = self.place.begin().await?;
            self.store(&mut open, &batch).await?;
            open.commit().await?;
        }
        let stored = self.done.stored;
        self.bar.set_message(format!("{stored} accounts"));
        Ok(())
    }

    /// Stores a batch. If the database refuses it, its halves, and theirs, until the line is found that is to blame.
    async fn store(&mut self, db: &mut Connection, batch: &[(u64, Person)]) -> anyhow::Result<()> {
        let mut parts = vec![batch];
        while let Some(part) = parts.pop() {
            let people: Vec<&Person> = part.iter().map(|(_, person)| person).collect();
            match bulk::try_insert(db, &people).await {
                Ok(new) => {
                    self.done.stored += new.len() as u64;
                    let left_out: Vec<_> = part.iter().filter(|(_, person)| !new.contains(&person.id())).collect();
                    self.explain(db, &left_out).await?;
                }
                Err(error) if error.words().is_none() => return Err(error.into()),
                Err(error) if part.len() == 1 => self.refuse(part[0].0, error.words().unwrap_or_default()),
                Err(_) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            }
        }
        Ok(())
    }

    /// Why accounts were left out: they are there already, or somebody else has their address or number.
    async fn explain(&mut self, db: &mut Connection, left_out: &[&(u64, Person)]) -> anyhow::Result<()> {
        if left_out.is_empty() {
            return Ok(());
        }
        let member = |person: &'_ Person, name: &str| person.user.get(name).and_then(Value::as_str).map(str::to_owned);
        let ids: Vec<_> = left_out.iter().map(|(_, person)| person.id()).collect();
        let emails: Vec<_> = left_out.iter().filter_map(|(_, person)| member(person, "email")).collect();
        let phones: Vec<_> = left_out.iter().filter_map(|(_, person)| member(person, "phone")).collect();
        let known = bulk::taken(db, &ids, &emails, &phones).await?;
        for (line, person) in left_out {
            let (email, phone) = (member(person, "email"), member(person, "phone"));
            if known.iter().any(|known| known.id == person.id()) {
                self.done.there += 1;
            } else if let Some(other) = known.iter().find(|known| known.email.is_some() && known.email == email) {
                self.refuse(*line, format!("another account ({}) has the address {}", other.id, person.name()));
            } else if let Some(other) = known.iter().find(|known| known.phone.is_some() && known.phone == phone) {
                self.refuse(
                    *line,
                    format!("another account ({}) has the number {}", other.id, phone.unwrap_or_default()),
                );
            } else {
                self.refuse(*line, "the database left it out");
            }
        }
        Ok(())
    }
}

fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

impl Done {
    fn told(&self, is_rehearsal: bool, seconds: i64) -> anyhow::Result<()> {
        let imported = if is_rehearsal { "Would import" } else { "Imported" };
        let mut parts = vec![format!("{imported} {}", counted(self.stored, "account"))];
        if self.belongings > 0 {
            parts.push(format!("{} identities and factors", self.belongings));
        }
        if self.there > 0 {
            parts.push(format!("{} were there already", self.there));
        }
        if self.wrong > 0 {
            parts.push(format!("{} cannot be imported", counted(self.wrong, "line")));
        }
        if is_rehearsal {
            parts.push("nothing was stored".to_owned());
        }
        eprintln!("{}, in {seconds} s.", parts.join(", "));
        if self.wrong > 0 {
            bail!("{} skipped: see above for each and its reason", counted(self.wrong, "line"));
        }
        Ok(())
    }
}
