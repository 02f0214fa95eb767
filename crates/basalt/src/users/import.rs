//! Import of accounts from files: streamed, converted and validated one by one, stored in batches.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::io::{self, Write as _};

use anyhow::{Context, bail};
use gotrue_rs::ports::hashing::{HashingPool, unusable_reason};
use gotrue_rs::store::{bulk, sso_providers};
use gotrue_rules::domain::bulk::firebase::FirebaseHashParameters;
use gotrue_rules::domain::bulk::table::normalize_name;
use gotrue_rules::domain::bulk::{
    ConvertedRow, ImportDefaults, ImportError, ImportRow, ImportTable, ImportedUser, ProviderNames, auth0, build_row,
    firebase, parse_line, table,
};
use gotrue_rules::domain::policy::PasswordHash;
use indicatif::ProgressBar;
use platform::clock::{Clock, SystemClock};
use platform::sealing::is_sealed;
use platform::store::Connection;
use serde_json::{Value, json};
use uuid::Uuid;

use super::arguments::{ImportArguments, ImportFormat};
use super::database::UserDatabase;
use super::detect::{Container, InputFile};
use super::dump::{DumpReader, TableColumns};
use super::left_out_row::LeftOutRow;
use super::privileges::describe_privilege;
use super::read::{self, LineReader, ParsedItem};
use super::read_list::ListReader;
use super::summary::ImportSummary;
use super::table::{TableKind, TableReader, find_delimiter};

/// Accounts per transaction.
pub(super) const BATCH_SIZE: usize = 1000;
/// The largest number of Auth0's password hashes that are kept until their accounts are read.
const MAX_HASHES: usize = 5_000_000;
/// The most characters of a message about a line.
const MAX_MESSAGE: usize = 500;
/// The hash of passwords that a file has in place of a hash.
const PASSWORD_HASH: PasswordHash = PasswordHash::Bcrypt { cost: 10 };

type Items = Box<dyn Iterator<Item = io::Result<ParsedItem>>>;

/// Stores valid accounts and reports the others.
/// Fails if there were invalid lines, or a file without any account.
pub(crate) async fn import(database: &UserDatabase, arguments: &ImportArguments) -> anyhow::Result<()> {
    let mut providers = ProviderNames::default();
    for pair in &arguments.providers {
        providers.add(pair).map_err(|wrong| anyhow::anyhow!("--provider {pair}: {wrong}"))?;
    }
    require_sso_providers(database, &providers).await?;
    let files = arguments.files.iter().map(|file| InputFile::open(file, arguments.format));
    let mut files = files.collect::<anyhow::Result<Vec<_>>>()?;
    // Accounts come before the hashes of their passwords, in whatever order they are given.
    files.sort_by_key(|file| file.detected.has_hashes);
    let started = SystemClock.now();
    // A dry run is one transaction that is rolled back, so that it also detects conflicts between lines.
    let dry_run_transaction = if arguments.dry_run { Some(database.begin().await?) } else { None };
    let parameters = arguments.firebase_signer_key.as_ref().map(|signer_key| FirebaseHashParameters {
        signer_key: signer_key.clone(),
        salt_separator: arguments.firebase_salt_separator.clone(),
        rounds: arguments.firebase_rounds,
        mem_cost: arguments.firebase_mem_cost,
    });
    let has_recovery_codes = bulk::has_recovery_codes(&mut database.connection()).await?;
    let mut import = Import {
        database,
        has_recovery_codes,
        bar: ProgressBar::hidden(),
        dry_run_transaction,
        is_dry_run: arguments.dry_run,
        are_privileged_allowed: arguments.allow_privileged,
        batch: Vec::new(),
        batch_ids: HashSet::new(),
        attachable: HashSet::new(),
        done: ImportSummary::default(),
        providers,
        parameters,
        hashes: HashMap::new(),
        hashing: None,
        prefix: String::new(),
        completes_existing: false,
        are_rest_rows_reported: true,
        left_out: Vec::new(),
    };
    if files.iter().any(|file| !file.detected.has_hashes) {
        for file in files.iter_mut().filter(|file| file.detected.has_hashes) {
            import.load_hashes(file)?;
        }
    }
    for file in &mut files {
        import.prefix = match file.path.to_str() {
            Some("-") => String::new(),
            _ => format!("{}, ", file.path.display()),
        };
        import.import_file(file).await?;
        import.report_lost_rows().await?;
    }
    import.bar.finish_and_clear();
    let Import { dry_run_transaction, done, .. } = import;
    if let Some(dry_run_transaction) = dry_run_transaction {
        dry_run_transaction.rollback().await?;
    }
    let seconds = (SystemClock.now() - started).num_milliseconds() / 1000;
    if arguments.json {
        writeln!(io::stdout().lock(), "{}", done.to_json(arguments.dry_run))?;
    }
    done.print(arguments.dry_run, seconds)
}

/// Fails if identities are to belong to an SSO provider that the database does not have: nobody could sign in with them.
async fn require_sso_providers(database: &UserDatabase, providers: &ProviderNames) -> anyhow::Result<()> {
    for (theirs, id) in providers.list_sso_providers() {
        if sso_providers::find_by_id(&mut database.connection(), id).await?.is_none() {
            bail!(
                "--provider {theirs}=sso:{id}: there is no SSO provider with this id here; \
                 add it with POST /auth/v1/admin/sso/providers, whose answer has its id, and name that one"
            );
        }
    }
    Ok(())
}

/// An import in progress.
pub(super) struct Import<'a> {
    pub(super) database: &'a UserDatabase,
    /// Whether the database has the tables of recovery codes.
    has_recovery_codes: bool,
    pub(super) bar: ProgressBar,
    pub(super) dry_run_transaction: Option<Connection>,
    pub(super) is_dry_run: bool,
    are_privileged_allowed: bool,
    /// The accounts that wait for a full batch, with their lines.
    pub(super) batch: Vec<(u64, ImportedUser)>,
    /// Their ids.
    pub(super) batch_ids: HashSet<Uuid>,
    /// The accounts that rows of a dump may belong to: those that were stored, and existing ones that a file may add to; then
    /// the sets of recovery codes that were stored.
    pub(super) attachable: HashSet<Uuid>,
    pub(super) done: ImportSummary,
    providers: ProviderNames,
    parameters: Option<FirebaseHashParameters>,
    /// Auth0's password hashes by subject, and whether their account was read.
    hashes: HashMap<String, (String, bool)>,
    /// The threads that hash passwords, once one is needed.
    hashing: Option<HashingPool>,
    /// What precedes the number of a line in a message.
    prefix: String,
    /// Whether existing accounts get what they lack: their ids are derived, so they are of an earlier import.
    pub(super) completes_existing: bool,
    /// Whether rows that were not inserted are reported.
    pub(super) are_rest_rows_reported: bool,
    /// Rows of the file that were not inserted, or may not have been: whether they exist is looked up afterwards.
    pub(super) left_out: Vec<LeftOutRow>,
}

impl Import<'_> {
    async fn import_file(&mut self, file: &mut InputFile) -> anyhow::Result<()> {
        let format = file.detected.format;
        let accounts_before = self.done.stored + self.done.existing + self.done.invalid;
        self.completes_existing = !matches!(format, ImportFormat::Basalt | ImportFormat::Supabase);
        if file.detected.container == Container::Dump {
            self.import_dump(file).await?;
        } else {
            let items = self.open_items(file)?;
            self.import_items(items, format).await?;
        }
        let is_repeated_hash = file.detected.has_hashes && !self.hashes.is_empty();
        if !is_repeated_hash && self.done.stored + self.done.existing + self.done.invalid == accounts_before {
            let name = file.path.display();
            match format {
                ImportFormat::Supabase if self.done.has_accounts() => {}
                ImportFormat::Supabase => bail!(
                    "{name} has no rows of auth.users; a dump with them is made by\n  \
                     pg_dump DATABASE_URL --data-only --schema auth > auth.sql"
                ),
                _ => bail!("{name} has no account in it"),
            }
        }
        Ok(())
    }

    /// Opens the accounts of a file that is no dump.
    fn open_items(&mut self, file: &mut InputFile) -> anyhow::Result<Items> {
        let (mut text, bar) = file.text()?;
        self.bar = bar;
        let kind = match (file.detected.container, file.detected.format) {
            (Container::Dump, _) => bail!("{} is a dump", file.path.display()),
            (Container::Lines, _) => return Ok(Box::new(LineReader::new(text))),
            (Container::List, _) => return Ok(Box::new(ListReader::new(text))),
            (Container::FirebaseTable, _) => TableKind::Firebase,
            (Container::Table, ImportFormat::Auth0) => TableKind::Named,
            (Container::Table, _) => TableKind::Normalized,
        };
        let beginning = read::peek(&mut text)?;
        let delimiter = find_delimiter(beginning.trim_start().lines().next().unwrap_or_default());
        Ok(Box::new(TableReader::new(text, delimiter, kind).context("reading the header")?))
    }

    /// Keeps the hashes of a file of Auth0's support until the accounts are read.
    fn load_hashes(&mut self, file: &mut InputFile) -> anyhow::Result<()> {
        for item in self.open_items(file)? {
            let Ok(row) = item.context("reading the file")?.row else { continue };
            let Some(hash) = auth0::find_password_hash(&row) else { continue };
            for subject in auth0::list_password_subjects(&row) {
                if self.hashes.len() >= MAX_HASHES {
                    bail!("more than {MAX_HASHES} hashes: split {} and its accounts", file.path.display());
                }
                self.hashes.insert(subject, (hash.to_owned(), false));
            }
        }
        Ok(())
    }

    async fn import_items(&mut self, items: Items, format: ImportFormat) -> anyhow::Result<()> {
        for item in items {
            let ParsedItem { line, row } = item.context("reading the file")?;
            let row = match row {
                Ok(row) if format == ImportFormat::Auth0 => match self.join_hash(row) {
                    Some(row) => Ok(row),
                    None => continue,
                },
                row => row,
            };
            match row.and_then(|row| self.convert(row, format)) {
                Ok(converted) => self.add_converted(line, converted).await?,
                Err(wrong) => self.report_invalid(line, wrong),
            }
        }
        self.flush().await
    }

    /// Adds the password hash of another file to an account; `None` for a hash whose account was read.
    fn join_hash(&mut self, mut row: ImportRow) -> Option<ImportRow> {
        let is_hash = auth0::find_password_hash(&row).is_some();
        for subject in auth0::list_password_subjects(&row) {
            let Some((hash, is_used)) = self.hashes.get_mut(&subject) else { continue };
            if is_hash && *is_used {
                return None;
            }
            if !is_hash {
                *is_used = true;
                row.insert("passwordHash".to_owned(), json!(hash));
            }
        }
        Some(row)
    }

    fn convert(&self, row: ImportRow, format: ImportFormat) -> Result<ConvertedRow, ImportError> {
        let normalize = |row: ImportRow| row.into_iter().map(|(name, value)| (normalize_name(&name), value)).collect();
        match format {
            ImportFormat::Basalt | ImportFormat::Supabase => Ok(row.into()),
            ImportFormat::Auth0 => Ok(auth0::to_import_line(row, &self.providers)),
            ImportFormat::Firebase => firebase::to_import_line(row, self.parameters.as_ref(), &self.providers),
            ImportFormat::Clerk => table::to_import_line(normalize(row), "clerk"),
            ImportFormat::Pocketbase => table::to_import_line(normalize(row), "pocketbase"),
            ImportFormat::Csv => table::to_import_line(normalize(row), "csv"),
        }
    }

    async fn add_converted(&mut self, line: u64, converted: ConvertedRow) -> anyhow::Result<()> {
        let ConvertedRow { line: mut row, password, notes, omitted } = converted;
        if let Some(password) = password {
            if self.hashing.is_none() {
                self.hashing = Some(HashingPool::start_default().context("starting the hashing threads")?);
            }
            if let Some(hashing) = &self.hashing {
                let hash = hashing.hash(&password, PASSWORD_HASH, &self.database.entropy).await;
                match hash {
                    Ok(hash) => row.insert("encrypted_password".to_owned(), json!(hash)),
                    Err(error) => bail!("hashing a password: {error:?}"),
                };
            }
        }
        match self.validate(row) {
            Ok(user) => {
                for note in &notes {
                    self.done.notes += 1;
                    self.print_at(line, format!("{}: {note}", user.display_name()));
                }
                for name in &omitted {
                    self.done.add_omitted(name);
                }
                self.add_if_allowed(line, user).await
            }
            Err(wrong) => {
                self.report_invalid(line, wrong);
                Ok(())
            }
        }
    }

    /// Imports a dump: the accounts first, then the rows that belong to them, in the order of their foreign keys.
    async fn import_dump(&mut self, file: &mut InputFile) -> anyhow::Result<()> {
        if file.path.as_os_str() == "-" {
            bail!(
                "a dump is read more than once, first for the accounts and then for what belongs to them: give a file"
            );
        }
        let mut columns = TableColumns::new();
        for (table, column) in bulk::list_table_columns(&mut self.database.connection()).await? {
            columns.entry(table).or_default().push(column);
        }
        let (text, bar) = file.text()?;
        self.bar = bar;
        let levels = self.import_users(DumpReader::new(text, columns.clone())).await?;
        for level in levels {
            let (text, bar) = file.text()?;
            self.bar = bar;
            self.import_related_rows(DumpReader::new(text, columns.clone()), level).await?;
        }
        Ok(())
    }

    /// Imports the accounts of a dump, and returns the levels of the other tables in it.
    /// Identities are imported later, so no default identity is created.
    async fn import_users(&mut self, dump: DumpReader) -> anyhow::Result<BTreeSet<u8>> {
        let mut levels = BTreeSet::new();
        for found in dump {
            let found = found.context("reading the file")?;
            for name in &found.omitted {
                self.done.add_omitted(name);
            }
            match found.import_table() {
                Some(ImportTable::Users) => {}
                Some(table) => {
                    levels.insert(table.level());
                    continue;
                }
                None => {
                    self.done.add_omitted(&format!("auth.{}", found.table));
                    continue;
                }
            }
            let ParsedItem { line, row } = found.item;
            let without_identities = |mut row: ImportRow| {
                row.insert("identities".to_owned(), json!([]));
                self.validate(row)
            };
            match row.and_then(without_identities) {
                Ok(user) => self.add_if_allowed(line, user).await?,
                Err(wrong) => self.report_invalid(line, wrong),
            }
        }
        self.flush().await?;
        Ok(levels)
    }

    /// Imports the rows of a dump whose tables are of a level.
    async fn import_related_rows(&mut self, dump: DumpReader, level: u8) -> anyhow::Result<()> {
        let mut waiting: HashMap<ImportTable, Vec<(u64, Value)>> = HashMap::new();
        for found in dump {
            let found = found.context("reading the file")?;
            let Some(table) = found.import_table().filter(|table| table.level() == level && level > 0) else {
                continue;
            };
            let row = match found.item.row.and_then(|given| build_row(table, given)) {
                Ok(row) => row,
                Err(wrong) => {
                    self.report_invalid(found.item.line, wrong);
                    continue;
                }
            };
            let is_of_codes = matches!(table, ImportTable::RecoveryCodeSets | ImportTable::RecoveryCodes)
                || row.get("factor_type") == Some(&json!("recovery_code"));
            if is_of_codes && !self.has_recovery_codes {
                self.report_omitted_codes(table);
                continue;
            }
            if !self.may_attach(table, &row) {
                self.left_out.push(LeftOutRow::new(table, found.item.line, row.get("id"), false));
                continue;
            }
            let rows = waiting.entry(table).or_default();
            rows.push((found.item.line, Value::Object(row)));
            if rows.len() >= BATCH_SIZE {
                let rows = std::mem::take(rows);
                self.insert_rows(table, rows).await?;
            }
        }
        for (table, rows) in waiting {
            self.insert_rows(table, rows).await?;
        }
        Ok(())
    }

    /// Counts a row of recovery codes for which the database has no tables.
    fn report_omitted_codes(&mut self, table: ImportTable) {
        let remedy = "enable [auth.mfa.recovery_codes], start the server once and repeat the import";
        *self.done.lost.entry(table.row_name()[1]).or_default() += 1;
        self.done.add_omitted(&format!("auth.{}: {remedy}", table.name()));
    }

    /// Whether what a row of a dump belongs to is of this import: no row adds a sign-in to another account.
    fn may_attach(&mut self, table: ImportTable, row: &ImportRow) -> bool {
        let id = |name: &str| row.get(name).and_then(Value::as_str).and_then(|id| id.parse::<Uuid>().ok());
        let owner = match table {
            ImportTable::RecoveryCodes => "mfa_recovery_code_set_id",
            _ if !row.contains_key("user_id") => return true,
            _ => "user_id",
        };
        let is_ours = id(owner).is_some_and(|owner| self.attachable.contains(&owner));
        if is_ours && table == ImportTable::RecoveryCodeSets {
            self.attachable.extend(id("id"));
        }
        is_ours
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
    async fn add_if_allowed(&mut self, line: u64, mut user: ImportedUser) -> anyhow::Result<()> {
        if !self.has_recovery_codes && user.remove_recovery_codes() {
            self.report_omitted_codes(ImportTable::RecoveryCodeSets);
        }
        match describe_privilege(&user, &self.database.role) {
            Some(rights) if self.are_privileged_allowed => {
                self.done.privileged += 1;
                self.print_at(line, format!("{} has {rights}", user.display_name()));
            }
            Some(rights) => {
                let remedy = "--allow-privileged imports it all the same";
                self.report_invalid(line, format!("{} has {rights}; {remedy}", user.display_name()));
                return Ok(());
            }
            None => {}
        }
        // Two lines with one id are two batches: the second one is found to exist.
        if !self.batch_ids.insert(user.id()) {
            self.flush().await?;
            self.batch_ids.insert(user.id());
        }
        self.batch.push((line, user));
        if self.batch.len() >= BATCH_SIZE { self.flush().await } else { Ok(()) }
    }

    /// Reports and counts a line that cannot be imported.
    pub(super) fn report_invalid(&mut self, line: u64, wrong: impl Display) {
        self.done.invalid += 1;
        self.print_at(line, wrong);
    }

    pub(super) fn print_at(&self, line: u64, text: impl Display) {
        let (prefix, text) = (&self.prefix, shorten(text.to_string()));
        self.bar.suspend(|| eprintln!("{prefix}line {line}: {text}"));
    }
}

/// Cuts a message that holds a long value of the file.
fn shorten(text: String) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}
