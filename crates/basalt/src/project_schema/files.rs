//! Reads the migrations, seed files and functions of a project.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use gotrue_rs::config::Notice;
use platform::store::migrate::{ProjectFile, ProjectMigration, ProjectSchema};

use super::glob::find_files;
use crate::project::Project;

/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 128 << 20;
/// The largest number of migrations, and of seed files.
const MAX_FILES: usize = 10_000;
/// The seed file of the CLI's default configuration, which most projects do not have.
const DEFAULT_SEED: &str = "seed.sql";

/// The files of a project, with notices about those that are left out.
#[derive(Debug, Default)]
pub(crate) struct SchemaFiles {
    /// The files in the order in which they run.
    pub schema: ProjectSchema,
    /// Names and patterns without effect.
    pub notices: Vec<Notice>,
    /// The SQL files beside the migrations whose names are none of a migration.
    pub left_out: Option<Notice>,
}

impl SchemaFiles {
    /// Returns whether the project has files to apply.
    pub(crate) fn is_any(&self) -> bool {
        let ProjectSchema { roles, migrations, seeds, .. } = &self.schema;
        roles.is_some() || !migrations.is_empty() || !seeds.is_empty()
    }

    /// Returns whether a file mentions scheduled jobs, requests or webhooks.
    pub(crate) fn uses_database_jobs(&self) -> bool {
        let marks = ["cron.", "net.http_", "supabase_functions"];
        self.list().any(|file| {
            let text = file.text.to_ascii_lowercase();
            marks.iter().any(|mark| text.contains(mark))
        })
    }

    fn list(&self) -> impl Iterator<Item = &ProjectFile> {
        let ProjectSchema { roles, migrations, seeds, .. } = &self.schema;
        roles.iter().chain(migrations.iter().map(|migration| &migration.file)).chain(seeds)
    }

    /// Reads `roles.sql`, `migrations/*.sql` and the seed files that the configuration enables.
    pub(crate) fn read(project: &Project) -> anyhow::Result<Self> {
        let folder = project.layout.supabase_folder();
        let mut files = Self::default();
        files.schema.hides_new_objects = !project.file.exposes_new_tables();
        let reader = Reader { root: &project.layout.root };
        if project.file.has_migrations() {
            files.schema.roles = Some(folder.join("roles.sql"))
                .filter(|path| path.is_file())
                .map(|path| reader.read(&path))
                .transpose()?;
            files.read_migrations(&folder.join("migrations"), &reader)?;
            // With config.toml at the root, the folder of the CLI is another one.
            let other = folder.join("supabase").join("migrations");
            if other.is_dir() {
                let text = format!("is not read: migrations are in {}", reader.shown(&folder.join("migrations")));
                files.notices.push(Notice::warning(reader.shown(&other), text));
            }
        }
        files.read_seeds(&folder, &project.file.seed_patterns(), &reader)?;
        if !project.file.basalt.keeps_bcrypt {
            let comparing = files.list().find(|file| compares_password_hashes(&file.text)).map(|file| {
                let text = format!(
                    "{} compares passwords by crypt(), which does not know Argon2id, and finds none right: \
                     password_hash = \"bcrypt\" in [basalt] keeps the hashes of Supabase",
                    file.path
                );
                Notice::warning("basalt.password_hash", text)
            });
            files.notices.extend(comparing);
        }
        Ok(files)
    }

    fn read_migrations(&mut self, folder: &Path, reader: &Reader<'_>) -> anyhow::Result<()> {
        let mut left_out = Vec::new();
        for path in list_files(folder)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let Some((version, rest)) = parse_name(&name) else {
                if path.extension().is_some_and(|extension| extension == "sql") {
                    left_out.push(reader.shown(&path));
                }
                continue;
            };
            let file = reader.read(&path)?;
            self.schema.migrations.push(ProjectMigration { version: version.to_owned(), name: rest.to_owned(), file });
        }
        self.left_out = describe_left_out(&left_out, &reader.shown(folder));
        if self.schema.migrations.len() > MAX_FILES {
            bail!("{} has more than {MAX_FILES} migrations", folder.display());
        }
        self.schema.migrations.sort_by(|a, b| a.version.cmp(&b.version).then_with(|| a.file.path.cmp(&b.file.path)));
        self.separate_equal_versions();
        Ok(())
    }

    /// Gives migrations with the version of another one a version of their own, which begins with it.
    fn separate_equal_versions(&mut self) {
        let mut previous = String::new();
        for migration in &mut self.schema.migrations {
            if migration.version != previous {
                previous.clone_from(&migration.version);
                continue;
            }
            migration.version = format!("{previous}_{}", migration.name);
            let text = format!("has the version of another migration and is recorded as {}", migration.version);
            self.notices.push(Notice::warning(&migration.file.path, text));
        }
    }

    fn read_seeds(&mut self, folder: &Path, patterns: &[String], reader: &Reader<'_>) -> anyhow::Result<()> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for pattern in patterns {
            let found = find_files(folder, pattern);
            if found.is_empty() && pattern.trim_start_matches("./") != DEFAULT_SEED {
                self.notices.push(Notice::warning("db.seed.sql_paths", format!("{pattern:?} matches no file")));
            }
            let new: Vec<PathBuf> = found.into_iter().filter(|path| !paths.contains(path)).collect();
            paths.extend(new);
            if paths.len() > MAX_FILES {
                bail!("[db.seed] sql_paths names more than {MAX_FILES} files");
            }
        }
        self.schema.seeds = paths.iter().map(|path| reader.read(path)).collect::<anyhow::Result<_>>()?;
        Ok(())
    }
}

/// Reads files and names them by their path from the root.
struct Reader<'a> {
    root: &'a Path,
}

impl Reader<'_> {
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.root).unwrap_or(path).display().to_string()
    }

    fn read(&self, path: &Path) -> anyhow::Result<ProjectFile> {
        let shown = self.shown(path);
        let doing = || format!("reading {shown}");
        if fs::metadata(path).with_context(doing)?.len() > MAX_FILE_BYTES {
            bail!("{shown} has more than {MAX_FILE_BYTES} bytes: split it");
        }
        let (text, unreadable_lines) = decode_text(&fs::read(path).with_context(doing)?);
        Ok(ProjectFile { path: shown, text, unreadable_lines })
    }
}

/// The mark of a character that could not be decoded.
const REPLACEMENT: &str = "\u{fffd}";

/// Decodes UTF-8, or UTF-16, which PowerShell writes; returns the lines with other bytes, too.
///
/// PostgreSQL stores no NUL: it is such a byte.
fn decode_text(bytes: &[u8]) -> (String, Vec<usize>) {
    let encoding = match (Encoding::for_bom(bytes), bytes) {
        (Some((encoding, _)), _) => encoding,
        // Without a mark, the first character of SQL tells.
        (None, [1..=u8::MAX, 0, ..]) => UTF_16LE,
        (None, [0, 1..=u8::MAX, ..]) => UTF_16BE,
        (None, _) => UTF_8,
    };
    let (text, _, has_errors) = encoding.decode(bytes);
    if !has_errors && !text.contains('\0') {
        return (text.into_owned(), Vec::new());
    }
    let number = |(at, is_unreadable): (usize, bool)| is_unreadable.then_some(at + 1);
    let unreadable = if encoding == UTF_8 {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.map(|line| line.contains(&0) || str::from_utf8(line).is_err()).enumerate().filter_map(number).collect()
    } else {
        text.split('\n')
            .map(|line| line.contains('\0') || line.contains(REPLACEMENT))
            .enumerate()
            .filter_map(number)
            .collect()
    };
    (text.replace('\0', REPLACEMENT), unreadable)
}

/// Returns version and name of `<version>_<name>.sql`.
fn parse_name(file: &str) -> Option<(&str, &str)> {
    let (version, name) = file.strip_suffix(".sql")?.split_once('_')?;
    (!version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())).then_some((version, name))
}

/// Returns the entries of a folder by name; a missing folder has none.
fn list_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let doing = || format!("reading the folder {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(doing),
    };
    let mut paths = Vec::new();
    for entry in entries.take(2 * MAX_FILES) {
        paths.push(entry.with_context(doing)?.path());
    }
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

/// Returns the functions of `functions/` and of the configuration that this server does not have.
pub(crate) fn list_unserved_functions(project: &Project, served: &[&str]) -> Vec<String> {
    let configured = project.file.functions();
    let entries = fs::read_dir(project.layout.supabase_folder().join("functions")).into_iter().flatten().flatten();
    let folders = entries.take(MAX_FILES).filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // The CLI leaves out folders such as `_shared`.
    names.retain(|name| name.starts_with(|first: char| first.is_ascii_alphanumeric()));
    names.extend(configured.keys().cloned());
    names.retain(|name| {
        !served.contains(&name.as_str()) && configured.get(name).is_none_or(|function| function.enabled)
    });
    names.sort();
    names.dedup();
    names
}

/// Returns a notice of the files of a folder that are left out for their names, if there are any.
fn describe_left_out(paths: &[String], folder: &str) -> Option<Notice> {
    const RULE: &str = "the name of a migration is <version>_<name>.sql, with digits as version";
    match paths {
        [] => None,
        [path] => Some(Notice::warning(path, format!("is left out: {RULE}"))),
        [first, ..] => {
            Some(Notice::warning(folder, format!("{} files are left out, such as {first}: {RULE}", paths.len())))
        }
    }
}

/// Returns whether SQL has `crypt(PASSWORD, encrypted_password)`, which compares a password with its hash.
fn compares_password_hashes(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut calls = text.split("crypt(").skip(1).filter_map(|rest| rest.split(')').next());
    calls.any(|arguments| arguments.contains("encrypted_password"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_password_hashes_are_found() {
        for (text, expected) in [
            ("where encrypted_password = CRYPT(given::text, auth.users.encrypted_password)", true),
            ("select (encrypted_password = extensions.crypt(given, encrypted_password)) from auth.users", true),
            ("insert into auth.users (encrypted_password) values (crypt('password', gen_salt('bf')))", false),
            ("update auth.users set encrypted_password = crypt(given, gen_salt('bf'))", false),
        ] {
            assert_eq!(compares_password_hashes(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_are_utf_8_or_utf_16() {
        let utf_16 = |order: fn(u16) -> [u8; 2], text: &str| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let (marked, plain) = ("\u{feff}sélect 1", "sélect 1");
        for bytes in [
            plain.as_bytes().to_vec(),
            marked.as_bytes().to_vec(),
            utf_16(u16::to_le_bytes, marked),
            utf_16(u16::to_be_bytes, marked),
            utf_16(u16::to_le_bytes, plain),
            utf_16(u16::to_be_bytes, plain),
        ] {
            assert_eq!(decode_text(&bytes), (plain.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn lines_that_cannot_be_read_are_numbered() {
        let lines = |bytes: &[u8]| decode_text(bytes).1;
        assert_eq!(lines(b"select '\xef\xbf\xbd';\nselect '\xe9'"), [2], "the mark of such a character is none");
        assert_eq!(lines(b"select 1;\nselect '\0';\n\0"), [2, 3]);
        assert_eq!(lines(b"\xff\xfe-\0\n\0\x00\xd8"), [2]);
    }

    #[test]
    fn names_of_migrations_have_version_and_name() {
        assert_eq!(parse_name("20240101000000_create_users.sql"), Some(("20240101000000", "create_users")));
        assert_eq!(parse_name("1_.sql"), Some(("1", "")));
        for name in ["create_users.sql", "2024.sql", "2024_users", "2024a_users.sql", "_users.sql"] {
            assert_eq!(parse_name(name), None, "{name}");
        }
    }
}
