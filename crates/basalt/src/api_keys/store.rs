//! Sources of API keys: `config.toml`, the stored file of an earlier start, or random generation.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use data_folder::PrivateFile;
use data_folder::restrict_permissions;
use http_edge::request::ApiKeyRole;
use jsonwebtoken::{EncodingKey, Header};
use platform::entropy::Entropy;
use serde::Serialize;

use super::keys::{ApiKeys, SECRET_PREFIX, is_token_with_role};

/// The file's name in the data folder.
const FILE: &str = "keys.json";
/// Readable by the owner only.
const MODE: u32 = 0o600;
/// Lifetime of the tokens that serve as keys, in years.
const LIFETIME_YEARS: i32 = 10;
/// Minimum length of the signing secret: that of an HS256 signature (RFC 7518 §3.2).
const MIN_SECRET_LENGTH: usize = 32;

/// Published values: the defaults of the Supabase CLI and of its files for self-hosting.
/// The tokens among those defaults are signed with these secrets, so they are rejected with them.
const PUBLISHED_KEYS: [&str; 4] = [
    "super-secret-jwt-token-with-at-least-32-characters-long",
    "your-super-secret-jwt-token-with-at-least-32-characters-long",
    "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH",
    "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz",
];

/// Keys from the configuration; missing ones are generated.
#[derive(Debug, Default)]
pub(crate) struct ConfiguredKeys<'a> {
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

/// Loads the keys of the data folder `data`; generates missing ones and stores changes.
pub(crate) fn load_or_create(
    data: &Path,
    given: &ConfiguredKeys<'_>,
    entropy: &Entropy,
    now: DateTime<Utc>,
) -> anyhow::Result<ApiKeys> {
    let file = data.join(FILE);
    let kept = read(&file)?;
    let keys = combine(kept.as_ref(), given, entropy, now)?;
    if kept.as_ref() != Some(&keys) {
        write(&file, &keys).with_context(|| format!("writing the keys to {}", file.display()))?;
    }
    Ok(keys)
}

/// The tokens that the Supabase CLI publishes, signed with the first of [`PUBLISHED_KEYS`].
const DEMO_ANON_KEY: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6ImFub24iLCJleHAiOjE5ODM4MTI5OTZ9.CRXP1A7WOeoJeXxjNni43kdQwgnWNReilDMblYTn_I0";
pub(super) const DEMO_SERVICE_ROLE_KEY: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6InNlcnZpY2Vfcm9sZSIsImV4cCI6MTk4MzgxMjk5Nn0.EGIM96RAZx35lJzdJsyH-qQwv8Hdp7fsn3W0YpN81IU";

/// Returns the keys that the Supabase CLI publishes: for test servers, which only this machine reaches.
pub(crate) fn demo_keys() -> ApiKeys {
    let [jwt_secret, _, publishable_key, secret_key] = PUBLISHED_KEYS.map(str::to_owned);
    ApiKeys {
        jwt_secret,
        anon_key: DEMO_ANON_KEY.to_owned(),
        service_role_key: DEMO_SERVICE_ROLE_KEY.to_owned(),
        publishable_key,
        secret_key,
    }
}

/// Loads the stored keys of the data folder; `None` before the first start.
pub(crate) fn load(data: &Path) -> anyhow::Result<Option<ApiKeys>> {
    read(&data.join(FILE))
}

fn read(file: &Path) -> anyhow::Result<Option<ApiKeys>> {
    restrict_permissions(file, MODE)?;
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading the keys from {}", file.display())),
    };
    serde_json::from_str(&text)
        .map(Some)
        .with_context(|| format!("{} is damaged; remove it to have new keys made", file.display()))
}

/// Combines configured keys, stored keys and newly generated ones, in this order of precedence.
pub(crate) fn combine(
    kept: Option<&ApiKeys>,
    given: &ConfiguredKeys<'_>,
    entropy: &Entropy,
    now: DateTime<Utc>,
) -> anyhow::Result<ApiKeys> {
    let jwt_secret = match (given.jwt_secret, kept) {
        (Some(given), _) => validate_secret(given)?.to_owned(),
        (None, Some(kept)) => kept.jwt_secret.clone(),
        (None, None) => STANDARD.encode(entropy.bytes::<48>()),
    };
    let token = |given: Option<&str>, kept: Option<&String>, role: ApiKeyRole| match (given, kept) {
        (Some(given), _) if is_token_with_role(given, &jwt_secret, role) => Ok(given.to_owned()),
        (Some(_), _) => bail!(
            "auth.{}_key must be a token of that role signed with auth.jwt_secret; leave it out to have one made",
            role.name().trim_end_matches("_key")
        ),
        (None, Some(kept)) if is_token_with_role(kept, &jwt_secret, role) => Ok(kept.clone()),
        (None, _) => sign_role_token(&jwt_secret, role, now),
    };
    let plain = |given: Option<&str>, kept: Option<&String>, prefix: &str| match (given, kept) {
        (Some(given), _) => validate_key(given, prefix),
        (None, Some(kept)) => Ok(kept.clone()),
        (None, None) => Ok(generate_api_key(entropy, prefix)),
    };
    Ok(ApiKeys {
        anon_key: token(given.anon_key, kept.map(|keys| &keys.anon_key), ApiKeyRole::Anon)?,
        service_role_key: token(given.service_role_key, kept.map(|keys| &keys.service_role_key), ApiKeyRole::Service)?,
        publishable_key: plain(given.publishable_key, kept.map(|keys| &keys.publishable_key), "sb_publishable_")?,
        secret_key: plain(given.secret_key, kept.map(|keys| &keys.secret_key), SECRET_PREFIX)?,
        jwt_secret,
    })
}

fn validate_secret(secret: &str) -> anyhow::Result<&str> {
    if PUBLISHED_KEYS.contains(&secret) {
        bail!(
            "auth.jwt_secret is the one that Supabase publishes for local use: anyone could sign tokens with it. Leave it out to have one made"
        );
    }
    if secret.len() < MIN_SECRET_LENGTH {
        bail!("auth.jwt_secret must have {MIN_SECRET_LENGTH} characters or more; leave it out to have one made");
    }
    Ok(secret)
}

fn validate_key(key: &str, prefix: &str) -> anyhow::Result<String> {
    let name = if prefix == SECRET_PREFIX { "secret_key" } else { "publishable_key" };
    if PUBLISHED_KEYS.contains(&key) {
        bail!(
            "auth.{name} is one that Supabase publishes for local use, so everybody has it; leave it out to have one made"
        );
    }
    if !key.starts_with(prefix) || key.len() < prefix.len() + 22 {
        bail!("auth.{name} must be {prefix} and 22 characters or more after it; leave it out to have one made");
    }
    Ok(key.to_owned())
}

/// The claims of a token that stands for a role.
#[derive(Debug, Serialize)]
pub(crate) struct RoleClaims {
    iss: &'static str,
    role: &'static str,
    iat: i64,
    exp: i64,
}

impl RoleClaims {
    /// Returns the claims of a token that is issued at `now`.
    pub(crate) fn new(role: ApiKeyRole, now: DateTime<Utc>) -> Self {
        let until = now.checked_add_months(chrono::Months::new(12 * LIFETIME_YEARS.unsigned_abs())).unwrap_or(now);
        Self { iss: "basalt", role: role.name(), iat: now.timestamp(), exp: until.timestamp() }
    }
}

fn sign_role_token(secret: &str, role: ApiKeyRole, now: DateTime<Utc>) -> anyhow::Result<String> {
    let claims = RoleClaims::new(role, now);
    jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(secret.as_bytes()))
        .context("signing a key")
}

/// Generates a key in Supabase's form.
/// It has 22 random characters, and eight that make typing errors detectable.
pub(crate) fn generate_api_key(entropy: &Entropy, prefix: &str) -> String {
    let mut key = format!(
        "{prefix}{}_{}",
        URL_SAFE_NO_PAD.encode(entropy.bytes::<16>()),
        URL_SAFE_NO_PAD.encode(entropy.bytes::<6>())
    );
    key.truncate(prefix.len() + 31);
    key
}

fn write(file: &Path, keys: &ApiKeys) -> anyhow::Result<()> {
    let mut out = PrivateFile::create(file, true)?;
    out.write_all(&serde_json::to_vec_pretty(keys)?)?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use data_folder::testing::TestFolder;

    use super::super::live::LiveApiKeys;
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).expect("a time")
    }

    fn combine_seeded(kept: Option<&ApiKeys>, given: &ConfiguredKeys<'_>) -> anyhow::Result<ApiKeys> {
        combine(kept, given, &Entropy::from_seed(7), now())
    }

    #[test]
    fn generated_keys_have_expected_form_and_role() {
        let keys = combine_seeded(None, &ConfiguredKeys::default()).expect("keys");
        assert!(keys.publishable_key.starts_with("sb_publishable_") && keys.publishable_key.len() == 46);
        assert!(keys.secret_key.starts_with("sb_secret_") && keys.secret_key.len() == 41);
        assert!(is_token_with_role(&keys.anon_key, &keys.jwt_secret, ApiKeyRole::Anon));
        assert!(is_token_with_role(&keys.service_role_key, &keys.jwt_secret, ApiKeyRole::Service));
        assert!(!is_token_with_role(&keys.anon_key, &keys.jwt_secret, ApiKeyRole::Service));
        let live = LiveApiKeys::new(&keys);
        let ring = live.ring();
        assert_eq!(ring.find_role(&keys.publishable_key), Some(ApiKeyRole::Anon));
        assert_eq!(ring.find_role(&keys.service_role_key), Some(ApiKeyRole::Service));
        assert_eq!(ring.find_role("sb_secret_"), None);
        assert_eq!(ring.find_role(""), None);
    }

    #[test]
    fn stored_keys_are_kept_and_resigned_for_new_secret() {
        let kept = combine_seeded(None, &ConfiguredKeys::default()).expect("keys");
        let same = combine(Some(&kept), &ConfiguredKeys::default(), &Entropy::from_seed(8), now()).expect("keys");
        assert!(same == kept);
        let secret = "another secret of more than thirty-two characters";
        let given = ConfiguredKeys { jwt_secret: Some(secret), ..ConfiguredKeys::default() };
        let changed = combine_seeded(Some(&kept), &given).expect("keys");
        assert_eq!(changed.publishable_key, kept.publishable_key);
        assert!(is_token_with_role(&changed.anon_key, secret, ApiKeyRole::Anon));
    }

    #[test]
    fn published_and_weak_keys_are_rejected() {
        let refused = [
            ConfiguredKeys { jwt_secret: Some(PUBLISHED_KEYS[0]), ..ConfiguredKeys::default() },
            ConfiguredKeys { jwt_secret: Some(PUBLISHED_KEYS[1]), ..ConfiguredKeys::default() },
            ConfiguredKeys { jwt_secret: Some("short"), ..ConfiguredKeys::default() },
            ConfiguredKeys { publishable_key: Some(PUBLISHED_KEYS[2]), ..ConfiguredKeys::default() },
            ConfiguredKeys { secret_key: Some(PUBLISHED_KEYS[3]), ..ConfiguredKeys::default() },
            ConfiguredKeys { secret_key: Some("sb_secret_1"), ..ConfiguredKeys::default() },
            ConfiguredKeys { anon_key: Some(DEMO_ANON_KEY), ..ConfiguredKeys::default() },
        ];
        for given in refused {
            assert!(combine_seeded(None, &given).is_err(), "{given:?}");
        }
        assert!(
            is_token_with_role(DEMO_ANON_KEY, PUBLISHED_KEYS[0], ApiKeyRole::Anon),
            "the demo key is signed with the published secret"
        );
    }

    #[test]
    fn demo_keys_have_their_roles() {
        let keys = demo_keys();
        assert!(is_token_with_role(&keys.anon_key, &keys.jwt_secret, ApiKeyRole::Anon));
        assert!(is_token_with_role(&keys.service_role_key, &keys.jwt_secret, ApiKeyRole::Service));
        assert_eq!(LiveApiKeys::new(&keys).ring().find_role(&keys.secret_key), Some(ApiKeyRole::Service));
    }

    #[test]
    fn keys_file_is_readable_by_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TestFolder::new("keys");
        let first = load_or_create(&folder, &ConfiguredKeys::default(), &Entropy::from_seed(1), now())
            .expect("create the keys");
        let again =
            load_or_create(&folder, &ConfiguredKeys::default(), &Entropy::from_seed(2), now()).expect("load the keys");
        assert!(first == again);
        let mode = fs::metadata(folder.join(FILE)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
