//! The threat behind each switch of the hardened profile.
//!
//! `docs/hardening.md` is generated from the table. Tests check that it contains exactly the fields that
//! [`Policy::hardened`](super::Policy::hardened) sets, and that the named tests exist.

use std::fmt::Write as _;

use super::Policy;

/// A policy field that the hardened profile sets.
#[derive(Debug, Clone, Copy)]
pub struct HardenedSwitch {
    /// The path of the field in [`Policy`].
    pub field: &'static str,
    /// What is possible without it, in one sentence.
    pub threat: &'static str,
    /// Advisories and sections of specifications; empty if there are none.
    pub sources: &'static str,
    /// The tests below `gotrue-rs/tests/http` of which each fails without it, as `module::test_name`.
    pub tests: &'static [&'static str],
    /// Gives the field of a policy its default value.
    pub turn_off: fn(&mut Policy),
}

/// Builds entries from lines: field, threat, sources => tests.
macro_rules! switches {
    ($($first:ident $(. $rest:ident)*: $threat:literal, $sources:literal => $($test:literal)|+,)*) => {
        &[$(HardenedSwitch {
            field: concat!(stringify!($first) $(, ".", stringify!($rest))*),
            threat: $threat,
            sources: $sources,
            tests: &[$($test),+],
            turn_off: |policy| policy.$first$(.$rest)* = Policy::default().$first$(.$rest)*,
        },)*]
    };
}

/// All fields that the hardened profile sets.
pub const SWITCHES: &[HardenedSwitch] = switches! {
    limits.key:
        "A client avoids every rate limit by a header that it chooses itself.",
        "CVE-2024-47070, CVE-2026-40575"
        => "threats::guessing::d1_forwarded_headers_do_not_bypass_a_limit",
    limits.targets:
        "Guesses from many networks at one account, and messages to one mailbox, are not limited.",
        "CVE-2024-32868, CVE-2025-64102"
        => "limits::passwords::password_guesses_are_limited_and_refilled_one_by_one"
            | "limits::codes::code_guesses_from_many_networks_are_limited"
            | "limits::messages::mailbox_gets_twelve_mails_an_hour_across_all_routes",
    limits.is_error_detailed:
        "A client that cannot know when a limit ends repeats its requests.",
        "RFC 6585 §4"
        => "limits::requests::refusal_names_the_limit_and_exact_retry_after",
    api.are_database_errors_hidden:
        "An error reveals table names and stored values.",
        "CVE-2024-32967"
        => "database::errors::hardened_policy_hides_constraint_errors",
    api.has_security_headers:
        "A cache stores tokens, or a browser interprets a response as a script.",
        "RFC 6749 §5.1"
        => "meta::headers::hardened_responses_have_no_store_and_nosniff",
    api.metadata_limits:
        "A small request makes every later token and statement of the account expensive.",
        "CVE-2026-4634"
        => "user::metadata_limits::oversized_metadata_is_refused_on_every_route",
    password.hash:
        "Hashes of a stolen database are cheap to attack with specialised hardware.",
        "RFC 9106"
        => "sign_in::new_password_is_hashed_with_argon2id_with_hardened_policy",
    password.should_rehash_after_sign_in:
        "Old hashes stay weak for as long as their users keep the password.",
        ""
        => "sign_in::outdated_hash_is_rehashed_once_if_enabled",
    sign_up.should_drop_contested_password:
        "An attacker signs up first with an address and keeps the password after its owner confirms it.",
        "CVE-2024-38351"
        => "threats::takeover::b1_contested_sign_up_keeps_no_password_the_owner_did_not_choose"
            | "threats::takeover::b1_password_from_before_the_confirmation_ends_with_it",
    sign_up.should_hide_registered_user:
        "Whoever knows the address of an account reads personal data of it: what it was signed up with, its factors and numbers.",
        "CWE-359"
        => "threats::takeover::b1_repeated_sign_up_shows_no_stored_data"
            | "threats::takeover::b1_sign_up_shows_nothing_of_a_confirmed_account",
    refresh.is_revocation_final:
        "A thief whose refresh token was revoked by a reuse rotates it at once, and keeps the session.",
        "RFC 9700 §4.14.2"
        => "refresh::reuse_revokes_the_session_for_good_with_hardened_policy",
    sign_up.phone_change_requires_phone_sign_up:
        "A number becomes confirmed, and an anonymous user permanent, by a disabled sign-up method.",
        "CVE-2024-49757"
        => "user::disabled_phone::phone_change_is_refused_without_writes",
    sign_up.should_disclose_taken_by_kind:
        "A setting for numbers makes the sign-up reveal which addresses have an account.",
        "CVE-2024-41952"
        => "user::disabled_phone::sign_up_does_not_reveal_taken_emails",
    site.is_redirect_validation_strict:
        "A link returns tokens to a host, port or program that the operator did not name.",
        "CVE-2024-52289, RFC 9700 §4.1"
        => "threats::redirects::a2_publicly_requested_mails_redirect_only_to_allowed_targets",
    jwt.is_signature_encoding_strict:
        "A list of refused tokens, or of tokens seen before, misses another spelling of the same token.",
        "RFC 4648 §3.5"
        => "sessions::signature_with_other_unused_bits_is_refused_with_hardened_policy",
    jwt.is_critical_header_rejected:
        "A token whose header demands an extension is accepted without it.",
        "RFC 7515 §4.1.11"
        => "sessions::token_with_crit_is_refused_with_hardened_policy",
    security.is_linking_strict:
        "An address that a provider did not verify gives access to the account that has it.",
        "CVE-2026-41574, CVE-2026-44166"
        => "linking::strict::b1_autoconfirm_does_not_link_unverified_emails",
    security.is_ban_confidential:
        "A stranger learns without a password that an address has an account, and that it is banned.",
        "OWASP ASVS 6.3.8"
        => "threats::guessing::d1_only_the_right_password_tells_of_a_ban",
    password.is_overlong_input_error:
        "An input that is too long looks like a fault of the server, and wakes its operator.",
        "RFC 9110 §15.6"
        => "admin::create::overlong_password_is_an_input_error_with_hardened_policy",
    security.is_equal_work_enabled:
        "The duration of a response reveals whether an address has an account.",
        "CVE-2026-23511"
        => "passwordless::equal_work::mail_requests_send_equal_statements_for_unknown_email",
    mfa.is_totp_replay_rejected:
        "An observed TOTP code is used a second time within its period.",
        "RFC 6238 §5.2"
        => "threats::factors::e2_hardened_policy_accepts_a_totp_code_once",
    mfa.first_verification_requires_aal2:
        "An unverified factor, prepared with a stolen password, replaces the verified one.",
        "CVE-2024-45042"
        => "threats::factors::e1_preexisting_unverified_factor_does_not_bypass_the_verified_one",
    mfa.linking_requires_aal2:
        "A stolen password adds or removes sign-in methods of an account with a second factor.",
        "supabase/auth#2565"
        => "threats::entry::e3_linking_and_unlinking_require_aal2",
    sessions.should_reject_banned_sign_in:
        "A user who is banned during a sign-in still gets a session.",
        "CVE-2024-47000"
        => "threats::entry::c2_ban_applies_to_a_sign_in_in_progress",
    webauthn.counter_must_increase:
        "A copied authenticator signs in beside the original.",
        "WebAuthn §6.1.1"
        => "threats::passkeys::e1_decreasing_counter_is_refused_with_hardened_policy",
    passkeys.requires_user_verification:
        "A found security key without PIN or fingerprint check is enough to sign in.",
        "WebAuthn §5.8.6"
        => "threats::passkeys::e1_user_verification_is_required_with_hardened_policy",
    external.is_id_token_validation_strict:
        "An ID token with an unverified address, of another tenant or for another app opens the account.",
        "CVE-2026-31813"
        => "id_token::issuers::hardened_policy_ignores_presumed_email_verification",
    oauth_server.is_comma_rejected:
        "A redirect URI with a comma is stored as two, of which the second is not validated.",
        "RFC 6749 §3.1.2.3"
        => "threats::oauth_server::a2_redirect_uri_with_comma_is_refused",
    oauth_server.are_redirect_uris_strict:
        "A registered redirect URI opens another program, a document or an unclear host.",
        "RFC 9700 §2.1, RFC 8252 §8.4"
        => "threats::oauth_redirects::a2_risky_redirect_uris_are_not_registered",
    oauth_server.requires_web_uris:
        "The consent page links to a script that a client registered as its web page.",
        "CVE-2024-29891, RFC 7591 §5"
        => "threats::entry::a4_client_metadata_urls_must_not_be_scripts",
    oauth_server.is_plain_challenge_rejected:
        "A `plain` challenge reveals the verifier to a party that sees the authorization request.",
        "RFC 9700 §2.1.1"
        => "threats::oauth_server::b7_pkce_is_required",
    oauth_server.is_repeated_parameter_rejected:
        "Two parsers read different requests from one query with a repeated parameter.",
        "CVE-2026-9689, RFC 6749 §3.1"
        => "threats::oauth_server::a3_duplicate_parameter_is_refused",
    oauth_server.are_clients_restricted:
        "A client with one scope uses its token to change the account or to consent to more scopes.",
        "GHSA-7qjx-gp9h-65qj, RFC 9700 §2.3"
        => "threats::oauth_server::b8_client_token_has_limited_access",
    oauth_server.are_claims_limited_by_scopes:
        "A client with the scope `openid` reads address, number, metadata and identities of its user.",
        "RFC 6749 §3.3, OIDC Core §5.4"
        => "threats::oauth_scopes::b8_access_token_has_only_claims_of_its_scopes"
        | "threats::oauth_scopes::b8_user_of_client_token_is_limited_by_scopes"
        | "threats::oauth_scopes::b8_name_is_never_an_address",
    oauth_server.has_service_scopes:
        "A client that only signs users in calls functions and reads the data of its user.",
        "RFC 9700 §2.3"
        => "threats::oauth_scopes::b8_service_scopes_are_requested_and_listed",
    oauth_server.are_unconfirmed_redirects_rejected:
        "A link to this server leads to the page of an attacker, who registered it as a client.",
        "RFC 9700 §4.11.2"
        => "threats::oauth_redirects::a2_error_of_unconfirmed_client_is_not_redirected",
    oauth_server.requires_consent_of_native_clients:
        "A program that imitates an approved native client gets a code without the user's knowledge.",
        "RFC 8252 §8.6"
        => "threats::oauth_redirects::b7_native_public_client_needs_consent_each_time",
    oauth_server.should_sign_out_deleted_clients:
        "Tokens of a deleted, compromised client stay valid.",
        "RFC 7592 §2.3"
        => "threats::oauth_clients::c2_deleting_a_client_revokes_its_sessions",
    oauth_server.has_standard_responses:
        "A client library misreads a refusal and continues with an ended session.",
        "RFC 6749 §5.2, RFC 7591 §3.2.1"
        => "oauth_server::token::hardened_errors_use_oauth_codes",
    oauth_server.should_revoke_on_code_replay:
        "The session of an intercepted authorization code stays valid.",
        "RFC 6749 §4.1.2"
        => "oauth_server::replay::replayed_code_revokes_issued_tokens",
    saml.is_sha1_rejected:
        "A collision of SHA-1 gives a signature to an assertion that was not signed.",
        "RFC 6194 §2"
        => "saml::repeated::b6_sha1_is_refused_only_with_hardened_policy",
    saml.are_assertions_single_use:
        "A copied assertion signs in a second time.",
        "SAML 2.0 Profiles §4.1.4.5"
        => "saml::repeated::b6_hardened_policy_accepts_an_assertion_once",
    saml.must_assertions_be_complete:
        "An assertion for another service, or without a confirmed bearer, signs in.",
        "CVE-2026-9093, SAML 2.0 Profiles §4.1.4.3"
        => "saml::repeated::b6_assertion_without_audience_is_refused_only_with_hardened_policy"
            | "saml::repeated::b6_assertion_for_a_second_service_is_refused_only_with_hardened_policy"
            | "saml::repeated::b6_assertion_without_bearer_is_refused_only_with_hardened_policy",
    saml.is_rejected_response_hidden:
        "A logged redirect URL contains the personal data of a refused response.",
        "CVE-2026-34969"
        => "saml::repeated::a6_hardened_error_omits_the_saml_response",
    saml.request_signature:
        "A provider cannot tell a forged request from one that is signed with SHA-1.",
        "RFC 6194 §2"
        => "sso::start::requests_are_signed_as_configured",
    mail.are_links_unguessable:
        "A link follows from an address and six digits, so that it can be tried where a limit counts codes.",
        "CWE-340"
        => "threats::links::d1_link_does_not_follow_from_address_and_code"
            | "threats::links::d1_generated_links_and_invitations_are_unguessable",
    mail.has_plain_text_part:
        "A mail with HTML alone is discarded as spam, so that its recipient cannot act on it.",
        "RFC 2046 §5.1.4"
        => "mail::hardened_mails_have_a_plain_text_part",
    mail.template_fetch.should_refuse_mistakes:
        "A mistyped variable in a remote text sends mails without their link or code.",
        "CWE-1288"
        => "mail::hardened_policy_uses_no_remote_text_with_a_mistake",
    web3.is_expiry_always_enforced:
        "An expired wallet message signs in.",
        "EIP-4361"
        => "web3::expired_ethereum_message_is_refused_with_hardened_policy",
    web3.is_domain_always_enforced:
        "A site uses a wallet message that was signed for itself to sign in here.",
        "EIP-4361"
        => "web3::domain_must_match_a_localhost_uri_with_hardened_policy",
    web3.are_messages_single_use:
        "An observed wallet message signs in a second time.",
        "EIP-4361"
        => "web3::message_is_reusable_until_expiry_and_single_use_with_hardened_policy",
    operation.cleanup_enabled:
        "Expired tokens, addresses and challenges stay in the database and its copies.",
        ""
        => "upkeep::cleanup::hardened_policy_deletes_expired_rows",
    operation.should_cleanup_keep_anonymous:
        "The clean-up deletes accounts that the operator did not ask it to delete.",
        ""
        => "upkeep::cleanup::hardened_policy_keeps_old_anonymous_users",
    operation.index_worker.ensure_user_search_indexes_exist:
        "Each list of users reads the whole table, so that few requests occupy the database.",
        "CVE-2026-4634"
        => "upkeep::indexes::hardened_policy_creates_indexes",
};

const INTRODUCTION: &str = "\
# The hardened profile

<!-- Generated from the table of hardened switches. To update: UPDATE_DOCS=1 cargo test -p gotrue-rs hardening -->

`basalt serve` uses `Policy::hardened` (`crates/gotrue-rules/src/domain/policy/hardened.rs`), `basalt gotrue` does not. Each row
names a field that it sets, what is possible without it, and tests below `gotrue-rs/tests/http` that fail without it.
[compatibility.md](compatibility.md) describes the difference that a client sees.

| switch | threat | source | tests |
|---|---|---|---|
";

/// Returns the text of `docs/hardening.md`.
pub fn render_document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for HardenedSwitch { field, threat, sources, tests, .. } in SWITCHES {
        let tests = tests.join("`, `");
        let _ = writeln!(text, "| `{field}` | {threat} | {sources} | `{tests}` |");
    }
    text
}
