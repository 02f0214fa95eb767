//! Who PostgreSQL runs as. It refuses to be root, so root hands over to another account and everything that account must
//! read or write has to lie where it can reach it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The account of last resort on every Unix.
const NOBODY: u32 = 65_534;

/// The account the server runs as when we are root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// None when we are not root: then PostgreSQL runs as we do. Otherwise `postgres`, else `nobody`.
    pub fn choose() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Some(Self::among(&passwd))
    }

    fn among(passwd: &str) -> Self {
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| Self::named(passwd, name))
            .unwrap_or(Self { uid: NOBODY, gid: NOBODY })
    }

    fn named(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        let account = Self { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? };
        (account.uid != 0).then_some(account)
    }

    /// Makes the command run as this account; the standard library drops root's other groups.
    pub fn apply(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Whether this is the account with that number.
    pub fn is(&self, uid: u32) -> bool {
        self.uid == uid
    }

    /// Gives a file or folder to this account.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// Whether this account may walk to `path`, as far as its parents exist. The path itself is not looked at.
    pub fn reaches(&self, path: &Path) -> bool {
        path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).all(|parent| {
            match fs::metadata(parent) {
                Ok(meta) => self.may(meta.mode(), meta.uid(), meta.gid(), 0o1),
                // What does not exist yet is made by us, and open enough.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
        })
    }

    /// Whether this account may read and run the program at `path`.
    pub fn may_run(&self, path: &Path) -> bool {
        self.reaches(path) && fs::metadata(path).is_ok_and(|meta| self.may(meta.mode(), meta.uid(), meta.gid(), 0o5))
    }

    fn may(&self, mode: u32, owner: u32, group: u32, wanted: u32) -> bool {
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
    fn postgres_is_preferred_to_nobody_and_nobody_to_a_number() {
        let with_postgres = format!("{PASSWD}postgres:x:101:104::/var/lib/postgresql:/bin/bash\n");
        let numbers = |passwd: &str| {
            let account = Account::among(passwd);
            (account.uid, account.gid)
        };
        assert_eq!(numbers(&with_postgres), (101, 104));
        assert_eq!(numbers(PASSWD), (99, 98));
        assert_eq!(numbers(""), (NOBODY, NOBODY));
        assert_eq!(numbers("postgres:x:0:0::/:/bin/sh\n"), (NOBODY, NOBODY), "an alias of root is no help");
        assert_eq!(numbers("postgres:x:many\n"), (NOBODY, NOBODY));
    }

    #[test]
    fn the_owners_bits_count_for_the_owner_even_when_others_have_more() {
        let account = Account { uid: 5, gid: 6 };
        assert!(account.may(0o755, 0, 0, 0o5));
        assert!(!account.may(0o700, 0, 0, 0o1));
        assert!(account.may(0o700, 5, 0, 0o1));
        assert!(account.may(0o750, 0, 6, 0o5));
        assert!(!account.may(0o077, 5, 6, 0o1));
    }
}
