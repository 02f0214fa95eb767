//! Secrets in files: the variable `NAME_FILE` names one, and systemd passes others as credentials.
//!
//! A credential is a file in the folder of `$CREDENTIALS_DIRECTORY`, named like the variable or with `basalt_` before it.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use super::vars::Vars;

/// The suffix of a variable that names a file.
const SUFFIX: &str = "_FILE";
/// The variable in which systemd passes the folder of credentials (systemd.exec(5)).
pub(super) const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// What systemd puts before the names of the files of a folder that is loaded as `basalt`.
const CREDENTIAL_PREFIX: &str = "basalt_";
/// The largest secret in a file, in bytes: a list of several RSA keys fits.
const MAX_SECRET_BYTES: u64 = 65_536;

/// Why a secret cannot be read from its file. Contains nothing of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {complaint}")]
pub struct SecretFileError {
    /// The variable that names the file, or that a credential stands for.
    pub name: String,
    /// The problem, as a sentence without subject and full stop.
    pub complaint: String,
}

impl Vars {
    /// Returns a secret: the value of the variable, of the file that `NAME_FILE` names, or of a credential.
    ///
    /// One line ending at the end of a file is removed. An empty `NAME_FILE` counts as not set.
    ///
    /// # Errors
    /// The file cannot be used, or several of the three are given.
    pub fn find_secret(&self, name: &str) -> Result<Option<String>, SecretFileError> {
        let variable = format!("{name}{SUFFIX}");
        let file = self.get(&variable).filter(|path| !path.is_empty());
        let credential = self.find_credential(name);
        let value = self.get(name).filter(|value| !value.is_empty() || (file.is_none() && credential.is_none()));
        let conflict = |name: &str, with: &str| {
            let complaint = format!("is set, and so is {with}; remove one of the two");
            Err(SecretFileError { name: name.to_owned(), complaint })
        };
        match (value, file, credential) {
            (Some(_), Some(_), _) => conflict(&variable, name),
            (Some(_), None, Some(_)) => conflict(name, &format!("the credential {name}")),
            (None, Some(_), Some(_)) => conflict(&variable, &format!("the credential {name}")),
            (Some(value), None, None) => Ok(Some(value.to_owned())),
            (None, Some(path), None) => read_secret(&variable, Path::new(path)).map(Some),
            (None, None, Some(path)) => read_secret(name, Path::new(&path)).map(Some),
            (None, None, None) => Ok(None),
        }
    }

    /// Finds the file of a credential.
    fn find_credential(&self, name: &str) -> Option<String> {
        let folder = self.get(CREDENTIALS_DIRECTORY).filter(|folder| !folder.is_empty())?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        let paths = ["", CREDENTIAL_PREFIX].map(|prefix| format!("{folder}/{prefix}{name}"));
        paths.into_iter().find(|path| Path::new(path).symlink_metadata().is_ok())
    }
}

/// Returns the name of the secret that is in the file of a variable: `A` for `A_FILE`.
pub(super) fn find_secret_name(variable: &str) -> Option<&str> {
    variable.strip_suffix(SUFFIX)
}

/// Reads a file of one secret.
fn read_secret(name: &str, path: &Path) -> Result<String, SecretFileError> {
    let refuse = |what: &str| {
        let complaint = format!("is in the file {}, {what}", path.display());
        Err(SecretFileError { name: name.to_owned(), complaint })
    };
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_SECRET_BYTES + 1).read_to_end(&mut bytes));
    match read.map_err(|error| error.kind()) {
        Ok(_) => {}
        Err(ErrorKind::NotFound) => return refuse("which does not exist"),
        Err(ErrorKind::PermissionDenied) => {
            return refuse("which this process may not read: check owner and mode of the file and its folders");
        }
        Err(ErrorKind::IsADirectory) => return refuse("which is a folder"),
        Err(kind) => return refuse(&format!("which cannot be read ({kind})")),
    }
    if bytes.len() as u64 > MAX_SECRET_BYTES {
        return refuse(&format!("which has more than {MAX_SECRET_BYTES} bytes"));
    }
    let Ok(mut text) = String::from_utf8(bytes) else { return refuse("which is not text in UTF-8") };
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() { refuse("which is empty") } else { Ok(text) }
}
