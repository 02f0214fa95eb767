//! In what `basalt serve` and `basalt gotrue` differ, as values: everything below them reads a policy and knows neither.

use gotrue_rules::domain::policy::{ExternalProvider, LimitKey, PasswordHash, Policy, RequestSignature};
use gotrue_rules::domain::secret::Secret;

use crate::config_file::Basalt;
use crate::dev::provider::Registration;

/// `serve`: today's hashes, also for accounts that bring older ones, limits that nobody can talk their way around, and
/// no way into an account for who signed up with its owner's address first, and none around a second factor or with a copied key or a copied assertion. Old rows go by
/// themselves, but no account does.
pub fn serve(policy: &mut Policy, basalt: &Basalt) {
    policy.password.hash = PasswordHash::Argon2id;
    policy.password.rehash_after_sign_in = true;
    policy.sign_up.contested_password_dropped = true;
    policy.security.strict_linking = true;
    policy.mfa.totp_replay_refused = true;
    policy.mfa.first_verification_needs_aal2 = true;
    policy.mfa.linking_needs_aal2 = true;
    policy.sessions.banned_get_none = true;
    policy.webauthn.counter_must_grow = true;
    policy.passkeys.user_verification_required = true;
    policy.external.strict_id_tokens = true;
    policy.oauth_server.commas_refused = true;
    policy.oauth_server.web_addresses_only = true;
    policy.oauth_server.plain_challenges_refused = true;
    policy.oauth_server.repeated_parameters_refused = true;
    policy.oauth_server.clients_confined = true;
    policy.oauth_server.deleted_client_signed_out = true;
    policy.oauth_server.standard_answers = true;
    policy.saml.sha1_refused = true;
    policy.saml.assertions_count_once = true;
    policy.saml.assertions_must_be_complete = true;
    policy.saml.refused_response_withheld = true;
    policy.mail.plain_text_part = true;
    policy.web3.end_always_counts = true;
    policy.web3.domain_always_counts = true;
    policy.web3.once_only = true;
    policy.saml.request_signature = RequestSignature::RsaSha256;
    policy.limits.key = LimitKey::Peer { trusted_proxies: basalt.trusted_proxies.clone() };
    policy.limits.explained = true;
    policy.limits.targets = basalt.limits;
    policy.operation.cleanup_enabled = true;
    policy.operation.cleanup_keeps_anonymous = true;
    policy.operation.index_worker.ensure_user_search_indexes_exist = true;
}

/// The development provider in the place of these.
pub fn stand_in(policy: &mut Policy, names: &[String], registration: &Registration) {
    let settings = ExternalProvider {
        enabled: true,
        client_ids: vec![registration.client_id.clone()],
        secret: Secret::from(registration.client_secret.as_str()),
        redirect_uri: registration.callback.clone(),
        url: registration.issuer.clone(),
        email_optional: true,
        ..ExternalProvider::default()
    };
    for name in names {
        policy.external.providers.insert(name.clone(), settings.clone());
    }
    policy.external.stood_in_for = names.to_vec();
}

/// The development page at `url` asks for consent where the operator has named none; whether it does.
pub fn ask_for_consent_at(policy: &mut Policy, url: &str) -> bool {
    let is_wanted = policy.oauth_server.enabled && policy.oauth_server.authorization_path.is_empty();
    if is_wanted {
        url.clone_into(&mut policy.oauth_server.consent_page);
    }
    is_wanted
}

/// `gotrue`: as the reference was recorded, but for what its operator sets. Its defaults are the policy's own.
pub fn gotrue(policy: &mut Policy) {
    policy.password.rehash_after_sign_in = false;
    policy.hooks.first_audience_is_list = true;
}
