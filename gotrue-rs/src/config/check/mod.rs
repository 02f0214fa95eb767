//! Checks settings that depend on each other and builds the [`Config`].

mod forms;
mod hooks;
mod keys;
mod senders;
mod text_template;

use foundation::limits::LimitKey;
use foundation::secret::Secret;
use gotrue_rules::domain::policy::{
    Argon2Cost, CaptchaPolicy, CaptchaProvider, HookKind, HooksPolicy, PasswordHash, RelyingParty,
};

pub(super) use self::forms::{
    parse_allow_list, parse_database_url, parse_jwt_keys, parse_limit_store_failure, parse_limit_store_prefix,
    parse_limit_store_timeout, parse_limit_store_url, parse_linking_domains, parse_log_format, parse_log_level,
    parse_outbound_timeout, parse_password_hash, parse_replica_url, parse_test_otp_valid_until, validate_driver,
    validate_namespace, validate_url,
};
pub use self::hooks::{check_webhook_url, is_webhook_secret};
use super::configuration::Config;
use super::draft::{Draft, hook_key};
use super::problem::{Notice, Problem};
use super::secret_files::find_secret_name;
use super::{telemetry, values};

/// The maximum size of the Bloom filter: 512 MiB.
///
/// Enough for 170 million hashes at the default false-positive rate.
const MAX_BLOOM_BITS: u64 = 1 << 32;

/// Combines dependent settings and returns all problems.
pub(super) fn build_config(mut draft: Draft) -> Result<Config, Vec<Problem>> {
    check_jwt(&mut draft);
    check_mail(&mut draft);
    check_password(&mut draft);
    check_captcha(&mut draft);
    keys::check_encryption(&mut draft);
    keys::check_saml(&mut draft);
    senders::select_provider(&mut draft);
    senders::check_templates(&mut draft);
    check_relying_party(&mut draft);
    build_hooks(&mut draft);
    merge_linking_domains(&mut draft);
    check_metrics(&mut draft);
    telemetry::check(&mut draft);
    check_reloading(&mut draft);
    if !draft.problems.is_empty() {
        return Err(remove_consequences(draft.problems));
    }
    Ok(Config { policy: draft.policy, ..draft.config })
}

/// Removes problems of secrets that are missing only because their file cannot be used.
fn remove_consequences(mut problems: Vec<Problem>) -> Vec<Problem> {
    let in_files: Vec<String> =
        problems.iter().filter_map(|problem| find_secret_name(&problem.name)).map(str::to_owned).collect();
    problems.retain(|problem| !in_files.contains(&problem.name));
    problems
}

fn check_jwt(draft: &mut Draft) {
    let missing = draft.problems.iter().any(|problem| problem.name == "GOTRUE_JWT_SECRET");
    if draft.config.jwt.secret.is_empty() && draft.config.jwt.keys.is_empty() && !missing {
        let complaint = "is empty, and GOTRUE_JWT_KEYS holds no key in its place";
        draft.problem("GOTRUE_JWT_SECRET", complaint, "at-least-32-characters-of-your-own");
    }
}

fn check_mail(draft: &mut Draft) {
    if draft.policy.mail.autoconfirm && draft.policy.mail.allow_unverified_sign_ins {
        let complaint = "is true together with GOTRUE_MAILER_AUTOCONFIRM; only one of them may be";
        draft.problem("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", complaint, "false");
    }
    if !draft.smtp.host.is_empty() {
        draft.config.smtp = Some(draft.smtp.clone());
    }
}

fn check_password(draft: &mut Draft) {
    if draft.password_hash == "argon2id" {
        draft.policy.password.hash = PasswordHash::Argon2id(Argon2Cost::default());
    }
    let (is_on, size) = draft.bloom;
    if !is_on {
        return;
    }
    if size.false_positives <= 0.0 || size.false_positives >= 1.0 {
        draft.problem("GOTRUE_PASSWORD_HIBP_BLOOM_FALSE_POSITIVES", "is not between 0 and 1", "0.0000099");
    } else if size.bits() > MAX_BLOOM_BITS {
        draft.problem("GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS", "needs more than 512 MiB of memory", "100000");
    }
    draft.policy.password.hibp.bloom = Some(size);
}

fn check_captcha(draft: &mut Draft) {
    if !draft.captcha.enabled {
        return;
    }
    let provider = match draft.captcha.provider.as_str() {
        "hcaptcha" => CaptchaProvider::Hcaptcha,
        "turnstile" => CaptchaProvider::Turnstile,
        other => {
            let complaint = format!("{other:?} is neither hcaptcha nor turnstile");
            return draft.problem("GOTRUE_SECURITY_CAPTCHA_PROVIDER", complaint, "turnstile");
        }
    };
    let secret = Secret::from(draft.captcha.secret.reveal().trim());
    if secret.is_empty() {
        let complaint = "is empty, and GOTRUE_SECURITY_CAPTCHA_ENABLED is true";
        return draft.problem("GOTRUE_SECURITY_CAPTCHA_SECRET", complaint, "the secret your captcha provider gave you");
    }
    draft.policy.security.captcha = Some(CaptchaPolicy { provider, secret, timeout: draft.captcha.timeout });
}

fn check_relying_party(draft: &mut Draft) {
    let (id, display_name, origins) = draft.relying_party.clone();
    let missing = [("GOTRUE_WEBAUTHN_RP_ID", id.is_empty()), ("GOTRUE_WEBAUTHN_RP_ORIGINS", origins.is_empty())];
    let wanted = draft.policy.passkeys.enabled
        || draft.policy.mfa.webauthn_enroll_enabled
        || draft.policy.mfa.webauthn_verify_enabled;
    if wanted && display_name.is_empty() {
        draft.warn("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME", "is empty: no security key and no passkey can be made");
    }
    match missing.iter().find(|(_, missing)| *missing) {
        None => draft.policy.webauthn.relying_party = Some(RelyingParty { id, display_name, origins }),
        Some((name, _)) if wanted => {
            draft.warn(name, "is empty: security keys and passkeys are on, and every use of them will fail");
        }
        Some(_) => {}
    }
}

fn build_hooks(draft: &mut Draft) {
    let mut policy = HooksPolicy::default();
    for kind in HookKind::ALL {
        let slot = match kind {
            HookKind::SendSms => &mut policy.send_sms,
            HookKind::SendEmail => &mut policy.send_email,
            HookKind::CustomAccessToken => &mut policy.custom_access_token,
            HookKind::MfaVerificationAttempt => &mut policy.mfa_verification_attempt,
            HookKind::PasswordVerificationAttempt => &mut policy.password_verification_attempt,
            HookKind::BeforeUserCreated => &mut policy.before_user_created,
            HookKind::AfterUserCreated => &mut policy.after_user_created,
        };
        *slot = hooks::build_hook(draft, hook_key(kind));
    }
    draft.policy.hooks = policy;
}

/// The map takes precedence over the older list.
fn merge_linking_domains(draft: &mut Draft) {
    for provider in std::mem::take(&mut draft.own_linking_domains) {
        draft.policy.experimental.provider_linking_domains.entry(provider.clone()).or_insert(provider);
    }
}

fn check_reloading(draft: &mut Draft) {
    let reloading = &draft.config.reloading;
    if reloading.poller_enabled && !reloading.notify_enabled {
        let why = "files are looked at only in the place of GOTRUE_RELOADING_NOTIFY_ENABLED, which is false";
        draft.unused("GOTRUE_RELOADING_POLLERENABLED", why);
    }
}

fn check_metrics(draft: &mut Draft) {
    let (enabled, exporter, mut listen) = draft.metrics.clone();
    match (enabled, exporter.as_str()) {
        (true, "prometheus") => {
            if let Some(port) = draft.metrics_port.take() {
                let number = values::parse_integer(&port).and_then(|number| u16::try_from(number).ok());
                listen.port = number.unwrap_or_else(|| {
                    let value = if port.is_empty() { "an empty text".to_owned() } else { format!("{port:?}") };
                    let complaint = format!("{value} is not a port from 0 to 65535");
                    draft.problem("GOTRUE_METRICS_OTEL_EXPORTER_PROMETHEUS_PORT", complaint, "9464");
                    0
                });
            }
            draft.config.metrics = Some(listen);
        }
        (true, "opentelemetry") => draft.telemetry.has_metrics = true,
        (true, _) => {
            let text = "is neither `prometheus` nor `opentelemetry`: the metrics are off";
            draft.warn("GOTRUE_METRICS_EXPORTER", text);
        }
        (false, _) => {}
    }
    if draft.policy.limits.key == LimitKey::Header(String::new()) && !draft.policy.security.sb_forwarded_for_enabled {
        let text = "is not set: requests are not limited by caller";
        draft.config.notices.push(Notice::debug("GOTRUE_RATE_LIMIT_HEADER", text));
    }
}
