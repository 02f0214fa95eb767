//! In what `basalt serve` and `basalt gotrue` differ, as values: everything below them reads a policy and knows neither.

use gotrue_rules::domain::policy::{LimitKey, PasswordHash, Policy};

use crate::config_file::Basalt;

/// `serve`: today's hashes, also for accounts that bring older ones, limits that nobody can talk their way around, and
/// no way into an account for who signed up with its owner's address first, and none around a second factor or with a copied key. Old rows go by
/// themselves, but no account does.
pub fn serve(policy: &mut Policy, basalt: &Basalt) {
    policy.password.hash = PasswordHash::Argon2id;
    policy.password.rehash_after_sign_in = true;
    policy.sign_up.contested_password_dropped = true;
    policy.security.strict_linking = true;
    policy.mfa.totp_replay_refused = true;
    policy.mfa.first_verification_needs_aal2 = true;
    policy.webauthn.counter_must_grow = true;
    policy.passkeys.user_verification_required = true;
    policy.mail.plain_text_part = true;
    policy.limits.key = LimitKey::Peer { trusted_proxies: basalt.trusted_proxies.clone() };
    policy.limits.explained = true;
    policy.limits.targets = basalt.limits;
    policy.operation.cleanup_enabled = true;
    policy.operation.cleanup_keeps_anonymous = true;
    policy.operation.index_worker.ensure_user_search_indexes_exist = true;
}

/// `gotrue`: as the reference was recorded, but for what its operator sets. Its defaults are the policy's own.
pub fn gotrue(policy: &mut Policy) {
    policy.password.rehash_after_sign_in = false;
    policy.hooks.first_audience_is_list = true;
}
