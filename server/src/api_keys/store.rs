//! Where keys come from: `config.toml`, the file of an earlier start, or chance.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use gotrue_rs::ports::entropy::Entropy;
use jsonwebtoken::{EncodingKey, Header};
use serde::Serialize;

use super::{ApiKeys, Role, is_token_of};
use crate::data_folder::restrict;

/// The file in the data folder.
const FILE: &str = "keys.json";
/// For its owner alone.
const MODE: u32 = 0o600;
/// How long the tokens that serve as keys are good.
const YEARS: i32 = 10;
/// The shortest secret for signing: as long as what it makes.
const SHORTEST_SECRET: usize = 32;

/// What everybody knows: the defaults of the Supabase CLI and of its files for self-hosting. The tokens among those defaults
/// are signed with these secrets, so they are no good here either.
const PUBLISHED: &[&str] = &[
    "super-secret-jwt-token-with-at-least-32-characters-long",
    "your-super-secret-jwt-token-with-at-least-32-characters-long",
    "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH",
    "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz",
];

/// Keys that the operator brings; what is missing is made.
#[derive(Debug, Default)]
pub struct Given<'a> {
    /// `auth.jwt_secret`.
    pub jwt_secret: Option<&'a str>,
    /// `auth.anon_key`.
    pub anon_key: Option<&'a str>,
    /// `auth.service_role_key`.
    pub service_role_key: Option<&'a str>,
    /// `auth.publishable_key`.
    pub publishable_key: Option<&'a str>,
    /// `auth.secret_key`.
    pub secret_key: Option<&'a str>,
}

/// The keys of the data folder `data`, made and kept there where they are missing or the operator brings others.
pub fn open_or_make(data: &Path, given: &Given<'_>, entropy: &Entropy, now: DateTime<Utc>) -> anyhow::Result<ApiKeys> {
    let file = data.join(FILE);
    let kept = read(&file)?;
    let keys = combine(kept.as_ref(), given, entropy, now)?;
    if kept.as_ref() != Some(&keys) {
        write(&file, &keys).with_context(|| format!("writing the keys to {}", file.display()))?;
    }
    Ok(keys)
}

/// The keys of the data folder as they are; none before the first start.
pub fn kept(data: &Path) -> anyhow::Result<Option<ApiKeys>> {
    read(&data.join(FILE))
}

fn read(file: &Path) -> anyhow::Result<Option<ApiKeys>> {
    restrict(file, MODE)?;
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading the keys from {}", file.display())),
    };
    serde_json::from_str(&text)
        .map(Some)
        .with_context(|| format!("{} is damaged; remove it to have new keys made", file.display()))
}

/// The keys that an operator brings, those that were kept, and new ones, in this order.
pub fn combine(
    kept: Option<&ApiKeys>,
    given: &Given<'_>,
    entropy: &Entropy,
    now: DateTime<Utc>,
) -> anyhow::Result<ApiKeys> {
    let jwt_secret = match (given.jwt_secret, kept) {
        (Some(given), _) => checked_secret(given)?.to_owned(),
        (None, Some(kept)) => kept.jwt_secret.clone(),
        (None, None) => STANDARD.encode(entropy.bytes::<48>()),
    };
    let token = |given: Option<&str>, kept: Option<&String>, role: Role| match (given, kept) {
        (Some(given), _) if is_token_of(given, &jwt_secret, role) => Ok(given.to_owned()),
        (Some(_), _) => bail!(
            "auth.{}_key must be a token of that role signed with auth.jwt_secret; leave it out to have one made",
            role.name().trim_end_matches("_key")
        ),
        (None, Some(kept)) if is_token_of(kept, &jwt_secret, role) => Ok(kept.clone()),
        (None, _) => sign(&jwt_secret, role, now),
    };
    let plain = |given: Option<&str>, kept: Option<&String>, prefix: &str| match (given, kept) {
        (Some(given), _) => checked_key(given, prefix),
        (None, Some(kept)) => Ok(kept.clone()),
        (None, None) => Ok(new_key(entropy, prefix)),
    };
    Ok(ApiKeys {
        anon_key: token(given.anon_key, kept.map(|keys| &keys.anon_key), Role::Anon)?,
        service_role_key: token(given.service_role_key, kept.map(|keys| &keys.service_role_key), Role::Service)?,
        publishable_key: plain(given.publishable_key, kept.map(|keys| &keys.publishable_key), "sb_publishable_")?,
        secret_key: plain(given.secret_key, kept.map(|keys| &keys.secret_key), "sb_secret_")?,
        jwt_secret,
    })
}

fn checked_secret(secret: &str) -> anyhow::Result<&str> {
    if PUBLISHED.contains(&secret) {
        bail!(
            "auth.jwt_secret is the one that Supabase publishes for local use: anyone could sign tokens with it. Leave it out to have one made"
        );
    }
    if secret.len() < SHORTEST_SECRET {
        bail!("auth.jwt_secret must have {SHORTEST_SECRET} characters or more; leave it out to have one made");
    }
    Ok(secret)
}

fn checked_key(key: &str, prefix: &str) -> anyhow::Result<String> {
    let name = if prefix == "sb_secret_" { "secret_key" } else { "publishable_key" };
    if PUBLISHED.contains(&key) {
        bail!(
            "auth.{name} is one that Supabase publishes for local use, so everybody has it; leave it out to have one made"
        );
    }
    if !key.starts_with(prefix) || key.len() < prefix.len() + 22 {
        bail!("auth.{name} must be {prefix} and 22 characters or more after it; leave it out to have one made");
    }
    Ok(key.to_owned())
}

fn sign(secret: &str, role: Role, now: DateTime<Utc>) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Claims {
        iss: &'static str,
        role: &'static str,
        iat: i64,
        exp: i64,
    }
    let until = now.checked_add_months(chrono::Months::new(12 * YEARS.unsigned_abs())).unwrap_or(now);
    let claims = Claims { iss: "basalt", role: role.name(), iat: now.timestamp(), exp: until.timestamp() };
    jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(secret.as_bytes()))
        .context("signing a key")
}

/// In the form of Supabase's: 22 characters that count, and eight that make a slip of the hand improbable.
fn new_key(entropy: &Entropy, prefix: &str) -> String {
    let mut key = format!(
        "{prefix}{}_{}",
        URL_SAFE_NO_PAD.encode(entropy.bytes::<16>()),
        URL_SAFE_NO_PAD.encode(entropy.bytes::<6>())
    );
    key.truncate(prefix.len() + 31);
    key
}

fn write(file: &Path, keys: &ApiKeys) -> anyhow::Result<()> {
    let half = file.with_extension("json.tmp");
    let _ = fs::remove_file(&half);
    let mut out = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&half)?;
    out.write_all(&serde_json::to_vec_pretty(keys)?)?;
    out.sync_all()?;
    fs::rename(&half, file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).expect("a time")
    }

    fn made(kept: Option<&ApiKeys>, given: &Given<'_>) -> anyhow::Result<ApiKeys> {
        combine(kept, given, &Entropy::from_seed(7), now())
    }

    #[test]
    fn new_keys_have_the_form_and_the_role_that_clients_expect() {
        let keys = made(None, &Given::default()).expect("keys");
        assert!(keys.publishable_key.starts_with("sb_publishable_") && keys.publishable_key.len() == 46);
        assert!(keys.secret_key.starts_with("sb_secret_") && keys.secret_key.len() == 41);
        assert!(is_token_of(&keys.anon_key, &keys.jwt_secret, Role::Anon));
        assert!(is_token_of(&keys.service_role_key, &keys.jwt_secret, Role::Service));
        assert!(!is_token_of(&keys.anon_key, &keys.jwt_secret, Role::Service));
        assert_eq!(keys.role_of(&keys.publishable_key), Some(Role::Anon));
        assert_eq!(keys.role_of(&keys.service_role_key), Some(Role::Service));
        assert_eq!(keys.role_of("sb_secret_"), None);
        assert_eq!(keys.role_of(""), None);
    }

    #[test]
    fn kept_keys_stay_and_follow_a_new_secret() {
        let kept = made(None, &Given::default()).expect("keys");
        let same = combine(Some(&kept), &Given::default(), &Entropy::from_seed(8), now()).expect("keys");
        assert!(same == kept);
        let secret = "another secret of more than thirty-two characters";
        let given = Given { jwt_secret: Some(secret), ..Given::default() };
        let changed = made(Some(&kept), &given).expect("keys");
        assert_eq!(changed.publishable_key, kept.publishable_key);
        assert!(is_token_of(&changed.anon_key, secret, Role::Anon));
    }

    #[test]
    fn f5_keys_that_everybody_knows_are_refused() {
        const DEMO: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6ImFub24iLCJleHAiOjE5ODM4MTI5OTZ9.CRXP1A7WOeoJeXxjNni43kdQwgnWNReilDMblYTn_I0";
        let refused = [
            Given { jwt_secret: Some(PUBLISHED[0]), ..Given::default() },
            Given { jwt_secret: Some(PUBLISHED[1]), ..Given::default() },
            Given { jwt_secret: Some("short"), ..Given::default() },
            Given { publishable_key: Some(PUBLISHED[2]), ..Given::default() },
            Given { secret_key: Some(PUBLISHED[3]), ..Given::default() },
            Given { secret_key: Some("sb_secret_1"), ..Given::default() },
            Given { anon_key: Some(DEMO), ..Given::default() },
        ];
        for given in refused {
            assert!(made(None, &given).is_err(), "{given:?}");
        }
        assert!(is_token_of(DEMO, PUBLISHED[0], Role::Anon), "the demo key is what we take it for");
    }

    #[test]
    fn keys_are_written_for_the_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("basalt-keys-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let first = open_or_make(&folder, &Given::default(), &Entropy::from_seed(1), now()).expect("made");
        let again = open_or_make(&folder, &Given::default(), &Entropy::from_seed(2), now()).expect("kept");
        assert!(first == again);
        let mode = fs::metadata(folder.join(FILE)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
