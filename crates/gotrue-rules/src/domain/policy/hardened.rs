//! The hardened profile of `basalt serve`, in its only definition.

use foundation::limits::LimitKey;
use foundation::limits_policy::TargetLimits;
use ipnet::IpNet;

use super::{Argon2Cost, MetadataLimits, PasswordHash, Policy, RequestSignature};

impl Policy {
    /// Returns the policy with all hardening of `basalt serve`; for the reasons see [`super::hardening`].
    ///
    /// Rate limits use the peer's address, behind `trusted_proxies` the forwarded address. `targets` limits guesses and
    /// messages per user.
    #[must_use]
    pub fn hardened(mut self, trusted_proxies: Vec<IpNet>, targets: TargetLimits) -> Self {
        self.limits.key = LimitKey::Peer { trusted_proxies };
        self.limits.targets = targets;
        self.api.are_database_errors_hidden = true;
        self.password.hash = PasswordHash::Argon2id(Argon2Cost::default());
        self.password.should_rehash_after_sign_in = true;
        self.sign_up.should_drop_contested_password = true;
        self.sign_up.should_hide_registered_user = true;
        self.sign_up.phone_change_requires_phone_sign_up = true;
        self.sign_up.should_disclose_taken_by_kind = true;
        self.refresh.is_revocation_final = true;
        self.site.is_redirect_validation_strict = true;
        self.jwt.is_signature_encoding_strict = true;
        self.jwt.is_critical_header_rejected = true;
        self.security.is_linking_strict = true;
        self.security.is_equal_work_enabled = true;
        self.security.is_ban_confidential = true;
        self.password.is_overlong_input_error = true;
        self.api.has_security_headers = true;
        self.api.metadata_limits = Some(MetadataLimits::RECOMMENDED);
        self.mfa.is_totp_replay_rejected = true;
        self.mfa.first_verification_requires_aal2 = true;
        self.mfa.linking_requires_aal2 = true;
        self.sessions.should_reject_banned_sign_in = true;
        self.webauthn.counter_must_increase = true;
        self.passkeys.requires_user_verification = true;
        self.external.is_id_token_validation_strict = true;
        self.oauth_server.is_comma_rejected = true;
        self.oauth_server.are_redirect_uris_strict = true;
        self.oauth_server.requires_web_uris = true;
        self.oauth_server.is_plain_challenge_rejected = true;
        self.oauth_server.is_repeated_parameter_rejected = true;
        self.oauth_server.are_clients_restricted = true;
        self.oauth_server.are_claims_limited_by_scopes = true;
        self.oauth_server.has_service_scopes = true;
        self.oauth_server.are_unconfirmed_redirects_rejected = true;
        self.oauth_server.requires_consent_of_native_clients = true;
        self.oauth_server.should_sign_out_deleted_clients = true;
        self.oauth_server.has_standard_responses = true;
        self.oauth_server.should_revoke_on_code_replay = true;
        self.saml.is_sha1_rejected = true;
        self.saml.are_assertions_single_use = true;
        self.saml.must_assertions_be_complete = true;
        self.saml.is_rejected_response_hidden = true;
        self.mail.are_links_unguessable = true;
        self.mail.has_plain_text_part = true;
        self.mail.template_fetch.should_refuse_mistakes = true;
        self.web3.is_expiry_always_enforced = true;
        self.web3.is_domain_always_enforced = true;
        self.web3.are_messages_single_use = true;
        self.saml.request_signature = RequestSignature::RsaSha256;
        self.limits.is_error_detailed = true;
        self.operation.cleanup_enabled = true;
        self.operation.should_cleanup_keep_anonymous = true;
        self.operation.index_worker.ensure_user_search_indexes_exist = true;
        self
    }
}
