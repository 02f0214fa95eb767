//! What a row alone cannot see: values that need each other, or exclude each other, become a [`Config`] here.

mod forms;
mod hooks;
mod keys;
mod senders;
mod text_template;

use gotrue_rules::domain::policy::{
    Captcha, CaptchaProvider, HookKind, HooksPolicy, LimitKey, PasswordHash, RelyingParty,
};
use gotrue_rules::domain::secret::Secret;

pub use self::forms::{
    absolute, allow_list, database_url, driver, jwt_keys, linking_domains, log_format, log_level, namespace,
    outbound_timeout, password_hash, test_otp_valid_until,
};
use super::draft::Draft;
use super::problem::Problem;
use super::{Config, hook_key};

/// The largest filter of leaked passwords: 512 MiB, room for 170 million at the usual share of wrong hits.
const MOST_BLOOM_BITS: u64 = 1 << 32;

/// Puts together what belongs together, and says everything that is wrong.
pub fn finish(mut draft: Draft) -> Result<Config, Vec<Problem>> {
    jwt(&mut draft);
    mail(&mut draft);
    password(&mut draft);
    captcha(&mut draft);
    keys::encryption(&mut draft);
    keys::saml(&mut draft);
    senders::sms(&mut draft);
    senders::templates(&mut draft);
    relying_party(&mut draft);
    all_hooks(&mut draft);
    linking(&mut draft);
    metrics(&mut draft);
    reloading(&mut draft);
    if !draft.problems.is_empty() {
        return Err(draft.problems);
    }
    Ok(Config { policy: draft.policy, ..draft.config })
}

fn jwt(draft: &mut Draft) {
    let missing = draft.problems.iter().any(|problem| problem.name == "GOTRUE_JWT_SECRET");
    if draft.config.jwt.secret.is_empty() && draft.config.jwt.keys.is_empty() && !missing {
        let complaint = "is empty, and GOTRUE_JWT_KEYS holds no key in its place";
        draft.problem("GOTRUE_JWT_SECRET", complaint, "at-least-32-characters-of-your-own");
    }
}

fn mail(draft: &mut Draft) {
    if draft.policy.mail.autoconfirm && draft.policy.mail.allow_unverified_sign_ins {
        let complaint = "is true together with GOTRUE_MAILER_AUTOCONFIRM; only one of them may be";
        draft.problem("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", complaint, "false");
    }
    if !draft.smtp.host.is_empty() {
        draft.config.smtp = Some(draft.smtp.clone());
    }
}

fn password(draft: &mut Draft) {
    if draft.password_hash == "argon2id" {
        draft.policy.password.hash = PasswordHash::Argon2id;
    }
    let (is_on, size) = draft.bloom;
    if !is_on {
        return;
    }
    if size.false_positives <= 0.0 || size.false_positives >= 1.0 {
        draft.problem("GOTRUE_PASSWORD_HIBP_BLOOM_FALSE_POSITIVES", "is not between 0 and 1", "0.0000099");
    } else if size.bits() > MOST_BLOOM_BITS {
        draft.problem("GOTRUE_PASSWORD_HIBP_BLOOM_ITEMS", "needs more than 512 MiB of memory", "100000");
    }
    draft.policy.password.hibp.bloom = Some(size);
}

fn captcha(draft: &mut Draft) {
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
    draft.policy.security.captcha = Some(Captcha { provider, secret, timeout: draft.captcha.timeout });
}

fn relying_party(draft: &mut Draft) {
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

fn all_hooks(draft: &mut Draft) {
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
        *slot = hooks::check(draft, hook_key(kind));
    }
    draft.policy.hooks = policy;
}

/// The older list gives way to the map.
fn linking(draft: &mut Draft) {
    for provider in std::mem::take(&mut draft.own_linking_domains) {
        draft.policy.experimental.provider_linking_domains.entry(provider.clone()).or_insert(provider);
    }
}

fn reloading(draft: &mut Draft) {
    let reloading = &draft.config.reloading;
    if reloading.poller_enabled && !reloading.notify_enabled {
        let why = "files are looked at only in the place of GOTRUE_RELOADING_NOTIFY_ENABLED, which is false";
        draft.unused("GOTRUE_RELOADING_POLLERENABLED", why);
    }
}

fn metrics(draft: &mut Draft) {
    let (enabled, exporter, listen) = draft.metrics.clone();
    match (enabled, exporter.as_str()) {
        (true, "prometheus") => draft.config.metrics = Some(listen),
        (true, _) => {
            let text = "only `prometheus` is served; set it to serve the metrics, which are off now";
            draft.warn("GOTRUE_METRICS_EXPORTER", text);
        }
        (false, _) => {}
    }
    if draft.policy.limits.key == LimitKey::Header(String::new()) && !draft.policy.security.sb_forwarded_for_enabled {
        let text = "is not set: requests are not limited by caller";
        draft.config.notices.push(super::Notice::debug("GOTRUE_RATE_LIMIT_HEADER", text));
    }
}
