//! The files of a database: location, ownership, creation.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use data_folder::durable::sync_file_system;
use data_folder::restrict_permissions;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::command::guarded_command;
use crate::replacement::{UPGRADED, finish_interrupted, rename_cluster};
use crate::start_error::StartError;
use crate::system_folder::{SYSTEM_FOLDER, create_folder, fingerprint};

/// The superuser role.
pub(crate) const SUPERUSER: &str = "postgres";
/// The database that every cluster contains.
pub(crate) const DATABASE: &str = "postgres";
/// The beginning of the name of an old cluster that an upgrade kept; the new release follows.
pub(crate) const KEPT_PREFIX: &str = "cluster-before-upgrade-";
/// The file of the password, in the folder of the database.
pub(crate) const PASSWORD_FILE: &str = "password";
/// The superuser's password on the TCP port during development, as that of the local Supabase.
const PUBLISHED_PASSWORD: &str = "postgres";
/// The file of the rules by which connections are authenticated, in the folder of the database.
const ACCESS_FILE: &str = "pg_hba.conf";
/// These rules.
///
/// The folder of the socket is open to the account of PostgreSQL alone, which can read the password, too. The superuser needs
/// none there, so that this server connects whichever password the superuser has.
const ACCESS_RULES: &str = "\
local all         postgres              trust
local replication postgres              trust
local all         all                   scram-sha-256
local replication all                   scram-sha-256
host  all         all      127.0.0.1/32 scram-sha-256
";
/// The file of the key of the secrets in schema `vault`, in the data folder of PostgreSQL.
const VAULT_KEY: &str = "vault.key";
/// The port in the name of the socket of a server without a TCP port.
pub(crate) const SOCKET_PORT: u16 = 5432;
/// Maximum length of a socket folder's path.
/// A Unix socket's path has less than 108 bytes, of which the file's name takes 14 and its lock's suffix 5.
const MAX_SOCKET_FOLDER_LENGTH: usize = 88;

/// The folder of one database, whether the database exists yet or not.
#[derive(Debug)]
pub(crate) struct DatabaseFolder {
    folder: PathBuf,
}

/// The connection parameters of a database.
#[derive(Clone)]
pub struct ConnectionAddress {
    socket_folder: PathBuf,
    password: String,
    /// Whether the superuser has [`PUBLISHED_PASSWORD`].
    has_published_password: bool,
    /// The port on 127.0.0.1, if the server listens there.
    port: Option<u16>,
}

/// The size of the WAL segments, fixed when a cluster is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalSegments {
    /// The default of PostgreSQL: 16 MB.
    Default,
    /// 1 MB, for a cluster that is copied.
    Small,
}

/// How a cluster is created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewCluster {
    /// The size of its WAL segments.
    pub wal_segments: WalSegments,
    /// Whether it is on the disk before its server starts, which later flushes only what it changes.
    ///
    /// Otherwise the caller flushes it, or a crash of the machine may lose it.
    pub is_flushed: bool,
}

/// A database that can be started.
pub(crate) struct Cluster {
    /// The data folder of PostgreSQL.
    pub pgdata: PathBuf,
    pub socket_folder: PathBuf,
    /// The log file of its output.
    pub log: PathBuf,
    /// The file of the rules by which connections are authenticated.
    pub access: PathBuf,
    password: String,
}

impl DatabaseFolder {
    /// Creates the folder below `data`, or below [`SYSTEM_FOLDER`] if `account` cannot reach that.
    pub(crate) fn choose(data: &Path, account: Option<&Account>) -> Result<Self, StartError> {
        // PostgreSQL's own account has to traverse this folder, but may not list it.
        create_folder(data, if account.is_some() { 0o711 } else { 0o700 })?;
        let data = fs::canonicalize(data).map_err(StartError::io(format!("finding {}", data.display())))?;
        let wanted = data.join("postgres");
        let folder = match account {
            Some(account) if !account.can_reach(&wanted.join("cluster")) => {
                create_folder(Path::new(SYSTEM_FOLDER), 0o755)?;
                Path::new(SYSTEM_FOLDER).join(fingerprint(&data))
            }
            _ => wanted,
        };
        create_folder(&folder, 0o700)?;
        make_private(&folder, 0o700)?;
        chown(&folder, account)?;
        let home = Self { folder };
        finish_interrupted(&home.upgraded(), &home.pgdata())?;
        Ok(home)
    }

    /// Finds the folder of an existing database, wherever [`DatabaseFolder::choose`] has put it.
    pub(crate) fn find(data: &Path) -> Option<Self> {
        let data = fs::canonicalize(data).ok()?;
        let places = [data.join("postgres"), Path::new(SYSTEM_FOLDER).join(fingerprint(&data))];
        let mut homes = places.into_iter().map(|folder| Self { folder });
        homes.find(|home| home.pgdata().join("PG_VERSION").exists() || home.upgraded().exists())
    }

    /// Returns a folder of another database below this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        Self { folder: self.folder.join(name) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the data folder of PostgreSQL, which may not exist yet.
    pub(crate) fn pgdata(&self) -> PathBuf {
        self.folder.join("cluster")
    }

    /// Returns the cluster that an upgrade made, which becomes the database.
    pub(crate) fn upgraded(&self) -> PathBuf {
        self.folder.join(UPGRADED)
    }

    /// Returns the file of the password.
    fn password(&self) -> PathBuf {
        self.folder.join(PASSWORD_FILE)
    }

    /// Reads the password, whose file others must not read.
    pub(crate) fn read_password(&self) -> Result<String, StartError> {
        let file = self.password();
        make_private(&file, 0o600)?;
        let password = fs::read_to_string(&file).map_err(StartError::io(format!(
            "reading the database's password from {}; without it the database cannot be opened",
            file.display()
        )))?;
        Ok(password.trim().to_owned())
    }

    /// Returns the release that created the database; `None` if there is no database.
    pub(crate) fn major(&self) -> Result<Option<u32>, StartError> {
        let file = self.pgdata().join("PG_VERSION");
        match fs::read_to_string(&file) {
            Ok(text) => match text.trim().parse() {
                Ok(major) => Ok(Some(major)),
                Err(_) => {
                    Err(StartError::Failed(format!("{} holds no number: the database is damaged", file.display())))
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StartError::io(format!("reading {}", file.display()))(error)),
        }
    }
}

impl Cluster {
    /// Opens the database of `home`; creates it first if there is none.
    pub(crate) fn open_or_create(
        home: &DatabaseFolder,
        binaries: &Binaries,
        account: Option<&Account>,
        new: NewCluster,
    ) -> Result<Self, StartError> {
        if !home.pgdata().exists() {
            // That of a database which an upgrade has kept beside it stays.
            let kept = if home.password().exists() { Some(home.read_password()?) } else { None };
            let password = kept.filter(|password| !password.is_empty()).map_or_else(generate_password, Ok)?;
            Self::create(home, &password, binaries, account, new)?;
        }
        Self::open(home, &home.folder, account)
    }

    /// Creates the database of `home`.
    pub(crate) fn create(
        home: &DatabaseFolder,
        password: &str,
        binaries: &Binaries,
        account: Option<&Account>,
        new: NewCluster,
    ) -> Result<(), StartError> {
        let file = home.password();
        write_secret(&file, password)?;
        chown(&file, account)?;
        run_initdb(home, &file, binaries, account, new)
    }

    /// Opens the database of `home`, with its socket in a folder below `sockets`.
    pub(crate) fn open(home: &DatabaseFolder, sockets: &Path, account: Option<&Account>) -> Result<Self, StartError> {
        ensure_vault_key(&home.pgdata(), account)?;
        let access = home.folder.join(ACCESS_FILE);
        write_secret(&access, ACCESS_RULES)?;
        chown(&access, account)?;
        Ok(Self {
            access,
            pgdata: home.pgdata(),
            password: home.read_password()?,
            socket_folder: create_socket_folder(sockets, account)?,
            log: home.folder.join("postgres.log"),
        })
    }

    /// Returns the connection parameters of a server that listens on `port`.
    pub(crate) fn address(&self, port: Option<u16>) -> ConnectionAddress {
        ConnectionAddress {
            socket_folder: self.socket_folder.clone(),
            password: self.password.clone(),
            has_published_password: false,
            port,
        }
    }
}

impl ConnectionAddress {
    /// Gives the superuser the published password, where there is a port.
    #[must_use]
    pub(crate) fn with_published_password(mut self) -> Self {
        self.has_published_password = self.port.is_some();
        self
    }

    /// Returns whether the superuser has the published password.
    pub(crate) fn has_published_password(&self) -> bool {
        self.has_published_password
    }

    /// Returns the password of a role.
    pub(crate) fn password_of(&self, role: &str) -> &str {
        if role == SUPERUSER && self.has_published_password { PUBLISHED_PASSWORD } else { &self.password }
    }

    /// Formats a connection URL for a role.
    pub fn url(&self, role: &str) -> String {
        let mut host = String::new();
        for byte in self.socket_folder.as_os_str().as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || b"-._".contains(byte) {
                host.push(char::from(*byte));
            } else {
                let _ = write!(host, "%{byte:02X}");
            }
        }
        // The port is part of the socket's file name.
        let (password, port) = (self.password_of(role), self.port.unwrap_or(SOCKET_PORT));
        format!("postgresql://{role}:{password}@{host}:{port}/{DATABASE}")
    }

    /// Returns the variables with which PostgreSQL's programs connect as the superuser.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 5] {
        let port = self.port.unwrap_or(SOCKET_PORT).to_string();
        [
            ("PGHOST", self.socket_folder.clone().into()),
            ("PGPORT", port.into()),
            ("PGUSER", SUPERUSER.into()),
            ("PGPASSWORD", self.password_of(SUPERUSER).into()),
            ("PGDATABASE", DATABASE.into()),
        ]
    }

    /// Formats a connection URL for a role on the TCP port, if there is one.
    pub fn tcp_url(&self, role: &str) -> Option<String> {
        self.port.map(|port| format!("postgresql://{role}:{}@127.0.0.1:{port}/{DATABASE}", self.password_of(role)))
    }

    pub fn password(&self) -> &str {
        &self.password
    }
}

/// Hides the password.
impl std::fmt::Debug for ConnectionAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Address({})", self.socket_folder.display())
    }
}

/// Creates the database under a temporary name and renames it.
/// An interrupted start thus leaves no partial database.
fn run_initdb(
    home: &DatabaseFolder,
    password: &Path,
    binaries: &Binaries,
    account: Option<&Account>,
    new: NewCluster,
) -> Result<(), StartError> {
    let half = home.folder.join("cluster.tmp");
    if half.exists() {
        fs::remove_dir_all(&half).map_err(StartError::io(format!("removing {}", half.display())))?;
    }
    let mut command = guarded_command(&binaries.program("initdb"), account)?;
    command
        .arg("--pgdata")
        .arg(&half)
        .args(["--username", SUPERUSER, "--auth-local=scram-sha-256", "--auth-host=scram-sha-256"])
        .args(["--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"])
        .arg("--pwfile")
        .arg(password)
        .stdin(Stdio::null());
    if new.wal_segments == WalSegments::Small {
        command.arg("--wal-segsize=1");
    }
    let output = command.output().map_err(StartError::io("running initdb"))?;
    if !output.status.success() {
        let value = String::from_utf8_lossy(&output.stderr);
        return Err(StartError::Failed(format!("PostgreSQL's initdb failed ({}): {}", output.status, value.trim())));
    }
    let pgdata = home.pgdata();
    if new.is_flushed {
        // The password is on the same file system.
        sync_file_system(&home.folder).map_err(StartError::io("writing the new database to the disk"))?;
        return rename_cluster(&half, &pgdata);
    }
    fs::rename(&half, &pgdata).map_err(StartError::io(format!("moving the new database to {}", pgdata.display())))
}

/// Chooses the socket folder: beside the database, or below /tmp if that path is too long for a socket.
fn create_socket_folder(home: &Path, account: Option<&Account>) -> Result<PathBuf, StartError> {
    let beside = home.join("run");
    let folder = if beside.as_os_str().len() <= MAX_SOCKET_FOLDER_LENGTH {
        beside
    } else {
        PathBuf::from("/tmp").join(format!("basalt-{}", fingerprint(home)))
    };
    create_folder(&folder, 0o700)?;
    let doing = format!("looking at {}", folder.display());
    let meta = fs::symlink_metadata(&folder).map_err(StartError::io(doing))?;
    let ours = rustix::process::geteuid().as_raw();
    let known = meta.uid() == ours || account.is_some_and(|account| account.has_uid(meta.uid()));
    if !meta.is_dir() || !known || meta.mode() & 0o022 != 0 {
        return Err(StartError::Failed(format!(
            "{} belongs to somebody else: remove it, or use a shorter --data folder",
            folder.display()
        )));
    }
    chown(&folder, account)?;
    Ok(folder)
}

fn make_private(path: &Path, mode: u32) -> Result<(), StartError> {
    restrict_permissions(path, mode).map_err(|error| StartError::Failed(format!("{error:#}")))
}

pub(crate) fn chown(path: &Path, account: Option<&Account>) -> Result<(), StartError> {
    account
        .map_or(Ok(()), |account| account.chown(path))
        .map_err(StartError::io(format!("giving {} to PostgreSQL's account", path.display())))
}

fn write_secret(path: &Path, text: &str) -> Result<(), StartError> {
    let doing = || format!("writing {}", path.display());
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(StartError::io(doing()))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(StartError::io(doing()))?;
    file.write_all(text.as_bytes()).map_err(StartError::io(doing()))
}

/// Creates the key of the secrets in schema `vault`, which `sql/project/vault.sql` reads, if there is none.
fn ensure_vault_key(pgdata: &Path, account: Option<&Account>) -> Result<(), StartError> {
    let path = pgdata.join(VAULT_KEY);
    if path.exists() || !pgdata.exists() {
        return Ok(());
    }
    // A key that was written in part is never used: the file gets its name last.
    let half = pgdata.join(format!("{VAULT_KEY}.tmp"));
    write_secret(&half, &generate_hex::<32>()?)?;
    let doing = || format!("writing {}", path.display());
    File::open(&half).and_then(|file| file.sync_all()).map_err(StartError::io(doing()))?;
    chown(&half, account)?;
    fs::rename(&half, &path).map_err(StartError::io(doing()))?;
    File::open(pgdata).and_then(|folder| folder.sync_all()).map_err(StartError::io(doing()))
}

/// Copies the key of the secrets to a cluster that gets their rows.
pub(crate) fn copy_vault_key(from: &Path, to: &Path, account: Option<&Account>) -> Result<(), StartError> {
    let (from, to) = (from.join(VAULT_KEY), to.join(VAULT_KEY));
    if !from.exists() {
        return Ok(());
    }
    let key = fs::read_to_string(&from).map_err(StartError::io(format!("reading {}", from.display())))?;
    write_secret(&to, &key)?;
    chown(&to, account)
}

/// Generates 192 random bits in hexadecimal, which needs no encoding in URLs.
fn generate_password() -> Result<String, StartError> {
    generate_hex::<24>()
}

/// Generates a number of random bytes in hexadecimal.
fn generate_hex<const BYTES: usize>() -> Result<String, StartError> {
    let mut bytes = [0_u8; BYTES];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(StartError::io("reading random bytes from /dev/urandom"))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_has_encoded_socket_folder_as_host() {
        let address = ConnectionAddress {
            socket_folder: PathBuf::from("/tmp/a b/run"),
            password: "secret".to_owned(),
            has_published_password: false,
            port: None,
        };
        assert_eq!(address.url("postgres"), "postgresql://postgres:secret@%2Ftmp%2Fa%20b%2Frun:5432/postgres");
        assert_eq!(address.tcp_url("postgres"), None);
        let address = ConnectionAddress { port: Some(5433), ..address };
        assert_eq!(address.url("postgres"), "postgresql://postgres:secret@%2Ftmp%2Fa%20b%2Frun:5433/postgres");
        let tcp = "postgresql://postgres:secret@127.0.0.1:5433/postgres";
        assert_eq!(address.tcp_url("postgres").as_deref(), Some(tcp));
        let address = address.with_published_password();
        let tcp = "postgresql://postgres:postgres@127.0.0.1:5433/postgres";
        assert_eq!(address.tcp_url("postgres").as_deref(), Some(tcp));
        assert_eq!(address.password_of("supabase_auth_admin"), "secret");
        let without_port = ConnectionAddress { port: None, ..address }.with_published_password();
        assert_eq!(without_port.password_of("postgres"), "secret");
    }
}
