//! Settings that must have a certain form.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::claim_path::ClaimPath;
use super::sources::{Sources, split_commas};
use super::values::{LogLevel, OpenApiMode, TransactionEnd};
use crate::jwt::keys::KeySet;

/// Collects what is wrong with settings: `PostgREST`'s message, and what to set; a line for each.
#[derive(Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    /// Returns a setting, or adds its problem with the remedy.
    pub(super) fn keep<T>(&mut self, read: Result<T, String>, remedy: &str) -> Option<T> {
        let add = |message: String| {
            let line = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            self.0.push(format!("{line} {remedy}"));
        };
        read.map_err(add).ok()
    }

    /// Returns the lines.
    pub(super) fn into_text(self) -> String {
        self.0.join("\n")
    }
}

/// The place of the role in the claims.
pub(super) fn role_claim_path(sources: &Sources) -> Result<ClaimPath, String> {
    sources.text(&["jwt-role-claim-key", "role-claim-key"]).map_or_else(|| Ok(ClaimPath::default()), ClaimPath::parse)
}

/// The ports of the API and of the administration.
pub(super) fn ports(sources: &Sources) -> Result<(u16, Option<u16>), String> {
    let port = sources.number(&["server-port"], 3000);
    let admin = sources.text(&["admin-server-port"]).and_then(|text| text.trim().parse().ok());
    if admin == Some(port) && port != 0 {
        return Err("admin-server-port cannot be the same as server-port".to_owned());
    }
    Ok((port, admin))
}

/// An empty setting means no further schema.
pub(super) fn extra_search_path(sources: &Sources) -> Vec<String> {
    match sources.find("db-extra-search-path") {
        None => vec!["public".to_owned()],
        Some("") => Vec::new(),
        Some(text) => split_commas(text),
    }
}

pub(super) fn transaction_end(sources: &Sources) -> Result<TransactionEnd, String> {
    let (rolls_back, allows_override) = match sources.text(&["db-tx-end"]) {
        None | Some("commit") => (false, false),
        Some("commit-allow-override") => (false, true),
        Some("rollback") => (true, false),
        Some("rollback-allow-override") => (true, true),
        Some(_) => return Err("Invalid transaction termination. Check your configuration.".to_owned()),
    };
    Ok(TransactionEnd { rolls_back, allows_override })
}

pub(super) fn log_level(sources: &Sources) -> Result<LogLevel, String> {
    Ok(match sources.text(&["log-level"]) {
        Some("crit") => LogLevel::Critical,
        None | Some("error") => LogLevel::Error,
        Some("warn") => LogLevel::Warn,
        Some("info") => LogLevel::Info,
        Some("debug") => LogLevel::Debug,
        Some(_) => return Err("Invalid logging level. Check your configuration.".to_owned()),
    })
}

pub(super) fn openapi_mode(sources: &Sources) -> Result<OpenApiMode, String> {
    Ok(match sources.text(&["openapi-mode"]) {
        None | Some("follow-privileges") => OpenApiMode::FollowPrivileges,
        Some("ignore-privileges") => OpenApiMode::IgnorePrivileges,
        Some("disabled") => OpenApiMode::Disabled,
        Some(_) => return Err("Invalid openapi-mode. Check your configuration.".to_owned()),
    })
}

/// An absolute HTTP address without query and credentials.
pub(super) fn proxy_uri(sources: &Sources) -> Result<Option<String>, String> {
    let Some(text) = sources.text(&["openapi-server-proxy-uri"]) else { return Ok(None) };
    let is_valid = text.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.query().is_none()
            && uri
                .authority()
                .is_some_and(|authority| !authority.as_str().contains('@') && !authority.host().is_empty())
            && uri.port_u16() != Some(0)
    });
    if !is_valid {
        return Err("Malformed proxy uri, a correct example: https://example.com:8443/basePath".to_owned());
    }
    Ok(Some(text.to_owned()))
}

/// A text, or a URI (RFC 3986) where it holds a colon (RFC 7519 §2, `StringOrURI`).
pub(super) fn audience(sources: &Sources) -> Result<Option<String>, String> {
    let Some(text) = sources.text(&["jwt-aud"]) else { return Ok(None) };
    if text.contains(':') && !is_uri(text) {
        return Err("jwt-aud should be a string or a valid URI".to_owned());
    }
    Ok(Some(text.to_owned()))
}

/// Whether a text has a scheme and the characters of a URI alone.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        let is_allowed = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            other => other.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&other),
        };
        if !is_allowed {
            return false;
        }
    }
    is_scheme
}

pub(super) fn socket_mode(sources: &Sources) -> Result<u32, String> {
    let Some(text) = sources.text(&["server-unix-socket-mode"]) else { return Ok(0o660) };
    match u32::from_str_radix(text, 8) {
        Err(_) => Err("Invalid server-unix-socket-mode: not an octal".to_owned()),
        Ok(mode) if !(0o600..=0o777).contains(&mode) => {
            Err("Invalid server-unix-socket-mode: needs to be between 600 and 777".to_owned())
        }
        Ok(mode) => Ok(mode),
    }
}

/// The contents of pipes and the like by their paths: they can be read once, settings are read several times.
static STREAMS: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);

/// The text, or the content of the file that `@` names.
pub(super) fn read_reference(text: &str) -> Result<String, String> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let read = || std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    if std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return read();
    }
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(content) = streams.get(path) {
        return Ok(content.clone());
    }
    let content = read()?;
    streams.insert(path.to_owned(), content.clone());
    Ok(content)
}

pub(super) fn read_uri(sources: &Sources) -> Result<String, String> {
    let text = sources.text(&["db-uri"]).unwrap_or("postgresql://");
    Ok(read_reference(text)?.trim().to_owned())
}

/// The keys of `jwt-secret`: a JSON Web Key (set), or a text.
pub(super) fn read_keys(sources: &Sources) -> Result<Option<KeySet>, String> {
    let Some(text) = sources.text(&["jwt-secret"]) else { return Ok(None) };
    let secret = read_reference(text)?;
    let secret = secret.strip_suffix('\n').filter(|_| text.starts_with('@')).unwrap_or(&secret);
    let is_base64 = sources.truth(&["jwt-secret-is-base64", "secret-is-base64"], false);
    KeySet::parse(secret, is_base64).map(Some)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn stream_is_read_once_and_a_file_anew() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"a secret").unwrap();
        drop(writer);
        let name = format!("@/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read_reference(&name).unwrap(), "a secret");
        assert_eq!(read_reference(&name).unwrap(), "a secret");

        let file = tempfile::NamedTempFile::new().unwrap();
        let name = format!("@{}", file.path().display());
        for content in ["one", "two"] {
            std::fs::write(file.path(), content).unwrap();
            assert_eq!(read_reference(&name).unwrap(), content);
        }
        assert!(read_reference("@/does/not/exist").is_err());
    }
}
