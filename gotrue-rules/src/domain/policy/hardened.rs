//! What `basalt serve` tightens compared with the reference: the only definition of it.

use ipnet::IpNet;

use super::{LimitKey, MetadataLimits, PasswordHash, Policy, RequestSignature, TargetLimits};

impl Policy {
    /// This policy with every hardening of `basalt serve`; `docs/compatibility.md` gives the reason for each.
    ///
    /// Rate limits count by the peer's address, behind `trusted_proxies` by the address that they report. `targets`
    /// limits guesses and messages per account.
    #[must_use]
    pub fn hardened(mut self, trusted_proxies: Vec<IpNet>, targets: TargetLimits) -> Self {
        self.limits.key = LimitKey::Peer { trusted_proxies };
        self.limits.targets = targets;
        self.api.database_errors_hidden = true;
        self.password.hash = PasswordHash::Argon2id;
        self.password.rehash_after_sign_in = true;
        self.sign_up.contested_password_dropped = true;
        self.sign_up.phone_change_needs_phone = true;
        self.sign_up.taken_told_by_kind = true;
        self.site.strict_redirects = true;
        self.security.strict_linking = true;
        self.security.equal_work = true;
        self.api.security_headers = true;
        self.api.metadata_limits = Some(MetadataLimits::USUAL);
        self.mfa.totp_replay_refused = true;
        self.mfa.first_verification_needs_aal2 = true;
        self.mfa.linking_needs_aal2 = true;
        self.sessions.banned_get_none = true;
        self.webauthn.counter_must_grow = true;
        self.passkeys.user_verification_required = true;
        self.external.strict_id_tokens = true;
        self.oauth_server.commas_refused = true;
        self.oauth_server.web_addresses_only = true;
        self.oauth_server.plain_challenges_refused = true;
        self.oauth_server.repeated_parameters_refused = true;
        self.oauth_server.clients_confined = true;
        self.oauth_server.deleted_client_signed_out = true;
        self.oauth_server.standard_answers = true;
        self.oauth_server.replayed_code_revokes = true;
        self.saml.sha1_refused = true;
        self.saml.assertions_count_once = true;
        self.saml.assertions_must_be_complete = true;
        self.saml.refused_response_withheld = true;
        self.mail.plain_text_part = true;
        self.web3.end_always_counts = true;
        self.web3.domain_always_counts = true;
        self.web3.once_only = true;
        self.saml.request_signature = RequestSignature::RsaSha256;
        self.limits.explained = true;
        self.operation.cleanup_enabled = true;
        self.operation.cleanup_keeps_anonymous = true;
        self.operation.index_worker.ensure_user_search_indexes_exist = true;
        self
    }
}
