//! `basalt serve --test`: a server for one test run, reachable from this machine only.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use foundation::limits::{Bucket, Quota};
use foundation::limits_policy::LimitsPolicy;
use functions_rs::functions::send_submission::limits::{SubmissionLimits, TokenBucketLimit};
use gotrue_rs::config::Config;
use gotrue_rules::domain::policy::{Argon2Cost, PasswordHash, Policy};
use serde_json::{Map, Value, json};

use crate::config_file::ConfigFile;
use crate::keys::generate_elliptic;
use crate::project::Project;

/// The length of the id of a signing key, the beginning of the key itself.
const ID_LENGTH: usize = 12;
/// The lowest cost of bcrypt: hashes that protect nothing and cost a millisecond.
const LOW_COST: PasswordHash = PasswordHash::Bcrypt { cost: 4 };

/// Adapts the project: loopback only, development pages, no shop, no limits but those of the file.
pub(crate) fn apply_to_project(project: &mut Project) {
    project.has_shop = false;
    project.file.disable_mail_server_and_tls();
    project.submission_limits = unlimited_submissions();
    // The files of worlds are in the data folder, whatever bucket the project names.
    project.file.basalt.storage.store = None;
    project.file.basalt.storage.content_url = None;
    let keys = ["wrong_passwords", "wrong_codes", "messages"];
    let is_set = keys.map(|key| project.file.is_set(&format!("basalt.rate_limit.{key}")));
    let basalt = &mut project.file.basalt;
    basalt.host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    basalt.development_pages = Some(true);
    let targets = &mut basalt.limits;
    let limits = [&mut targets.wrong_passwords, &mut targets.wrong_codes, &mut targets.messages];
    for (limit, is_set) in limits.into_iter().zip(is_set) {
        if !is_set {
            *limit = None;
        }
    }
}

/// Adapts the settings: local links, no senders, quick hashing, ES256 tokens, no limits.
///
/// `url` is the server's own URL, which mailed links and redirects use whatever external URL is configured.
pub(crate) fn apply_to_settings(config: &mut Config, file: &ConfigFile, url: &str, signing_key: &Map<String, Value>) {
    config.policy.site.external_url = format!("{url}/auth/v1");
    config.smtp = None;
    config.policy.sms.provider = None;
    config.policy.password.hash = LOW_COST;
    config.policy.mfa.recovery_codes.hash_cost = Argon2Cost::LOWEST;
    remove_unset_limits(&mut config.policy, file);
    if config.jwt.keys.is_empty() {
        config.jwt.keys.push(signing_key.clone());
    }
}

/// Returns limits that no number of submissions reaches.
fn unlimited_submissions() -> SubmissionLimits {
    let unlimited = TokenBucketLimit { count: 1_000_000, per: Duration::from_secs(1) };
    SubmissionLimits {
        submissions: unlimited,
        confirmations_by_peer: unlimited,
        confirmations_to_address: unlimited,
        ..SubmissionLimits::default()
    }
}

fn remove_unset_limits(policy: &mut Policy, file: &ConfigFile) {
    let LimitsPolicy { email_sent, sms_sent, verify, token_refresh, otp, web3, anonymous_users, .. } =
        &mut policy.limits;
    for (key, bucket) in [
        ("auth.rate_limit.token_verifications", verify),
        ("auth.rate_limit.token_refresh", token_refresh),
        ("auth.rate_limit.sign_in_sign_ups", otp),
        ("auth.rate_limit.web3", web3),
        ("auth.rate_limit.anonymous_users", anonymous_users),
    ] {
        if !file.is_set(key) {
            *bucket = Bucket::unlimited();
        }
    }
    for (key, quota) in [("auth.rate_limit.email_sent", email_sent), ("auth.rate_limit.sms_sent", sms_sent)] {
        if !file.is_set(key) {
            *quota = Quota::unlimited();
        }
    }
    let LimitsPolicy { sso, passkey, oauth_client_register, saml_assertion, mfa_challenge_and_verify, .. } =
        &mut policy.limits;
    // These have no key in config.toml.
    for bucket in [sso, passkey, oauth_client_register, saml_assertion, mfa_challenge_and_verify] {
        *bucket = Bucket::unlimited();
    }
    for (key, pause) in [
        ("auth.email.max_frequency", &mut policy.mail.max_frequency),
        ("auth.sms.max_frequency", &mut policy.sms.max_frequency),
        ("auth.mfa.phone.max_frequency", &mut policy.mfa.phone.max_frequency),
    ] {
        if !file.is_set(key) {
            *pause = Duration::ZERO;
        }
    }
}

/// Generates an ES256 key as a JSON Web Key (RFC 7517) that signs and verifies.
pub(crate) fn generate_signing_key() -> anyhow::Result<Map<String, Value>> {
    let mut key = generate_elliptic()?;
    let id: String = key["x"].as_str().unwrap_or_default().chars().take(ID_LENGTH).collect();
    key.extend(
        [("use", json!("sig")), ("kid", json!(id)), ("key_ops", json!(["sign", "verify"]))]
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Ok(key)
}
