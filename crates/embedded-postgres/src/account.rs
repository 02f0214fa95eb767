//! The operating system account of PostgreSQL, which refuses to run as root.
//! Under root it runs as another account, so everything it reads or writes must be accessible to that account.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The uid and gid of `nobody` when it is not listed.
const UNPRIVILEGED: u32 = 65_534;

/// The account of the server when this process is root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Returns `None` if this process is not root: PostgreSQL then runs as the same account.
    /// Otherwise returns `postgres`, else `nobody`.
    pub(crate) fn choose() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Some(Self::select(&passwd))
    }

    fn select(passwd: &str) -> Self {
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| Self::parse_entry(passwd, name))
            .unwrap_or(Self { uid: UNPRIVILEGED, gid: UNPRIVILEGED })
    }

    fn parse_entry(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        let account = Self { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? };
        (account.uid != 0).then_some(account)
    }

    /// Makes a command run as this account; the standard library drops root's supplementary groups.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Returns whether this is the account with that uid.
    pub(crate) fn has_uid(&self, uid: u32) -> bool {
        self.uid == uid
    }

    /// Changes the owner of a file or folder to this account.
    pub(crate) fn chown(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// Returns whether this account may traverse the existing parents of `path`.
    /// The path itself is not checked.
    pub(crate) fn can_reach(&self, path: &Path) -> bool {
        path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).all(|parent| {
            match fs::metadata(parent) {
                Ok(meta) => self.has_mode(meta.mode(), meta.uid(), meta.gid(), 0o1),
                // A missing folder is created by this process with sufficient permissions.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
        })
    }

    /// Returns whether this account may read and run the program at `path`.
    pub(crate) fn can_run(&self, path: &Path) -> bool {
        self.can_reach(path)
            && fs::metadata(path).is_ok_and(|meta| self.has_mode(meta.mode(), meta.uid(), meta.gid(), 0o5))
    }

    fn has_mode(&self, mode: u32, owner: u32, group: u32, wanted: u32) -> bool {
        let shift = if owner == self.uid {
            6
        } else if group == self.gid {
            3
        } else {
            0
        };
        (mode >> shift) & wanted == wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0::/root:/bin/sh\nnobody:x:99:98::/:/bin/false\n";

    #[test]
    fn account_is_postgres_then_unprivileged_then_default_id() {
        let with_postgres = format!("{PASSWD}postgres:x:101:104::/var/lib/postgresql:/bin/bash\n");
        let numbers = |passwd: &str| {
            let account = Account::select(passwd);
            (account.uid, account.gid)
        };
        assert_eq!(numbers(&with_postgres), (101, 104));
        assert_eq!(numbers(PASSWD), (99, 98));
        assert_eq!(numbers(""), (UNPRIVILEGED, UNPRIVILEGED));
        assert_eq!(numbers("postgres:x:0:0::/:/bin/sh\n"), (UNPRIVILEGED, UNPRIVILEGED), "an alias of root is no help");
        assert_eq!(numbers("postgres:x:many\n"), (UNPRIVILEGED, UNPRIVILEGED));
    }

    #[test]
    fn owner_bits_apply_to_owner() {
        let account = Account { uid: 5, gid: 6 };
        assert!(account.has_mode(0o755, 0, 0, 0o5));
        assert!(!account.has_mode(0o700, 0, 0, 0o1));
        assert!(account.has_mode(0o700, 5, 0, 0o1));
        assert!(account.has_mode(0o750, 0, 6, 0o5));
        assert!(!account.has_mode(0o077, 5, 6, 0o1));
    }
}
