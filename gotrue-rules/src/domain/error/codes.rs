//! The documentation of every error code; `docs/errors.md` is generated from it.
//!
//! A test checks that the table contains exactly the codes that the source uses.

use std::fmt::Write as _;

/// An error code with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    /// The value of `error_code`, or of `code` in the newer API version.
    pub code: &'static str,
    /// What causes it.
    pub cause: &'static str,
    /// How the app, the user or the operator resolves it.
    pub cure: &'static str,
}

/// A section of the document.
#[derive(Debug)]
pub struct ErrorCodeSection {
    /// The heading.
    pub title: &'static str,
    /// The codes.
    pub codes: &'static [Code],
}

/// Builds entries from lines: code, cause => resolution.
macro_rules! codes {
    ($($code:ident: $cause:literal => $cure:literal,)*) => {
        &[$(Code { code: stringify!($code), cause: $cause, cure: $cure },)*]
    };
}

/// All sections of the document.
pub const SECTIONS: &[ErrorCodeSection] = &[
    ErrorCodeSection { title: "Requests", codes: REQUESTS },
    ErrorCodeSection { title: "Authentication", codes: CALLERS },
    ErrorCodeSection { title: "Sign-up and sign-in", codes: SIGN_IN },
    ErrorCodeSection { title: "Codes and links", codes: ONE_TIME },
    ErrorCodeSection { title: "User updates", codes: ACCOUNT },
    ErrorCodeSection { title: "Second factors and passkeys", codes: FACTORS },
    ErrorCodeSection { title: "External providers and wallets", codes: PROVIDERS },
    ErrorCodeSection { title: "Single sign-on", codes: SSO },
    ErrorCodeSection { title: "OAuth server", codes: OAUTH_SERVER },
    ErrorCodeSection { title: "Hooks", codes: HOOKS },
];

const REQUESTS: &[Code] = codes! {
    validation_failed: "A member or parameter is missing or malformed; the message names it."
        => "Correct the member that the message names.",
    bad_json: "The body is not valid JSON, or a member has the wrong type."
        => "Send `Content-Type: application/json` and a valid body; the message names member and type.",
    request_entity_too_large: "The body is larger than 1 MiB."
        => "Send less data; store large metadata and files elsewhere.",
    request_timeout: "The request took longer than `GOTRUE_API_MAX_REQUEST_DURATION`. Nothing was stored."
        => "Retry. If the error persists, the operator checks the log for a slow hook, mail server or database.",
    database_unavailable: "The database is down, out of connections, read-only or unresponsive. A concurrent write may have been stored."
        => "Retry after `Retry-After`. The operator finds the database error in the log.",
    over_request_rate_limit: "Too many requests of this kind from one client, or for one user."
        => "Wait for the time in `Retry-After`. The operator sets limits in `[auth.rate_limit]` or `GOTRUE_RATE_LIMIT_*`.",
    captcha_failed: "The captcha token is missing or was rejected by its provider; the message has the reasons."
        => "Send the widget's token as `gotrue_meta_security.captcha_token`. A token is valid once.",
    feature_disabled: "The feature is disabled."
        => "The operator enables it; the message names it.",
    conflict: "A concurrent request changed the same data."
        => "Retry.",
    unexpected_failure: "An internal failure."
        => "Retry later. The operator finds the cause in the log by the request id (`error_id`).",
    unknown: "A hook rejected the request with a status and without a code."
        => "Read the message, which is from the hook.",
};

const CALLERS: &[Code] = codes! {
    no_authorization: "The header `Authorization: Bearer …` is missing, or an anonymous user requests what requires a permanent one."
        => "Sign in, or make the anonymous user permanent with an address, a number or an identity.",
    bad_jwt: "The access token is expired, has an invalid signature, or lacks a claim; the message has the reason."
        => "Refresh the session. If new tokens are rejected, the app uses a server with other keys.",
    not_admin: "The token's role is not in `GOTRUE_JWT_ADMIN_ROLES`."
        => "Call the admin API with the secret key, from a server and never from a browser.",
    session_not_found: "The session of the token has ended, by a sign-out or a password change."
        => "Sign in again.",
    session_expired: "The session exceeds its time limit or its idle limit, or was replaced by a newer one."
        => "Sign in again. Limits are `GOTRUE_SESSIONS_*`.",
    user_not_found: "The user does not exist (any more), or no user has that id, address or token."
        => "Sign in again, or check the id.",
    user_banned: "The user is banned until `banned_until`."
        => "An administrator lifts the ban with `ban_duration: \"none\"`.",
    unexpected_audience: "The token has another audience than the request (`X-JWT-AUD`)."
        => "Omit the header, or send a token of that audience.",
    insufficient_aal: "The user has a second factor that the session has not verified."
        => "Challenge and verify a factor, then retry.",
    refresh_token_not_found: "The refresh token is unknown, or its session has ended."
        => "Sign in again.",
    refresh_token_already_used: "A refresh token was reused, possibly after theft, and the session was ended."
        => "Sign in again. Refresh in one place only: tabs and servers must share their storage.",
};

const SIGN_IN: &[Code] = codes! {
    invalid_credentials: "Address, number or password is wrong, or the grant type is unknown. The error does not distinguish these cases."
        => "Retry, or reset the password.",
    signup_disabled: "Sign-up is disabled, in general or for this sign-in method."
        => "The operator enables it with `enable_signup`, or invites users.",
    user_already_exists: "A user with this address or number exists."
        => "Sign in, or recover the account.",
    email_exists: "Another user has this address."
        => "Sign in with it, or use another one.",
    phone_exists: "Another user has this number."
        => "Sign in with it, or use another one.",
    email_provider_disabled: "Sign-in by e-mail is disabled."
        => "The operator enables `[auth.email]`, or `GOTRUE_EXTERNAL_EMAIL_ENABLED`.",
    phone_provider_disabled: "Sign-in by phone is disabled."
        => "The operator enables `[auth.sms]`, or `GOTRUE_EXTERNAL_PHONE_ENABLED`.",
    anonymous_provider_disabled: "A sign-up has neither address nor number, and anonymous users are disabled."
        => "Send an address or a number, or the operator sets `enable_anonymous_sign_ins`.",
    email_not_confirmed: "The address is not confirmed."
        => "Follow the link in the e-mail; `/resend` sends another one.",
    phone_not_confirmed: "The number is not confirmed."
        => "Enter the code of the message; `/resend` sends another one.",
    weak_password: "The password is too short, lacks required characters, or is a known leaked one; see `weak_password.reasons`."
        => "Choose another one. The rules are in `[auth]` and `GOTRUE_PASSWORD_*`.",
    email_address_invalid: "The address is undeliverable: its domain does not exist or does not accept mail."
        => "Correct the address.",
    email_address_not_authorized: "The address is not in the list of authorized recipients."
        => "The operator adds the address to `authorized_addresses`, or removes the list.",
};

const ONE_TIME: &[Code] = codes! {
    otp_expired: "The code or link is wrong, expired or used. The error does not distinguish these cases."
        => "Request a new one. If mail scanners consume links before users do, send codes instead.",
    otp_disabled: "The code would create a user, which the request or the operator does not allow."
        => "Sign up first, or omit `create_user: false`.",
    over_email_send_rate_limit: "Too many e-mails, or the last one to this address is too recent."
        => "Wait; the message or `Retry-After` has the time. The operator sets `max_frequency` and `email_sent`.",
    over_sms_send_rate_limit: "Too many SMS messages, or the last one to this number is too recent."
        => "Wait; the message or `Retry-After` has the time.",
    sms_send_failed: "The SMS provider rejected the message or did not respond."
        => "Retry. The operator finds the provider's error in the log.",
    flow_state_not_found: "The code of a PKCE flow is unknown, or was exchanged already."
        => "Restart the sign-in, and exchange the code once.",
    flow_state_expired: "The code of a PKCE flow has expired."
        => "Restart the sign-in. The lifetime is `GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION`.",
    flow_state_already_used: "The provider's response to this sign-in was received before."
        => "Restart the sign-in.",
    bad_code_verifier: "The code verifier does not match the challenge of the flow."
        => "Exchange the code in the browser that started the sign-in and stores the verifier.",
};

const ACCOUNT: &[Code] = codes! {
    same_password: "The new password equals the current one."
        => "Choose another one.",
    reauthentication_needed: "The session is older than a day, and a password change requires reauthentication."
        => "Request a code at `/reauthenticate` and send it as `nonce`.",
    reauthentication_not_valid: "The `nonce` is wrong or expired."
        => "Request a new code at `/reauthenticate`.",
    current_password_required: "A password change requires the current password."
        => "Send it as `current_password`.",
    current_password_invalid: "The current password is wrong."
        => "Retry, or recover the account.",
    user_sso_managed: "The user belongs to a single sign-on provider, which manages address and password."
        => "Change them at the identity provider.",
    identity_not_found: "The user has no such identity."
        => "List the identities, and use the id of one of them.",
    identity_already_exists: "The identity is linked already, to this user or to another one."
        => "Sign in with it, or unlink it there first.",
    single_identity_not_deletable: "It is the only identity of the user, who could not sign in without it."
        => "Link another one first.",
    email_conflict_identity_not_deletable: "Without the identity the user would get an address that another user has."
        => "Change the user's address first.",
    manual_linking_disabled: "Manual linking of identities is disabled."
        => "The operator sets `enable_manual_linking`.",
};

const FACTORS: &[Code] = codes! {
    mfa_factor_not_found: "The user has no such factor."
        => "List the factors, and use the id of one of them.",
    mfa_factor_name_conflict: "Another factor of the user has this name."
        => "Choose another name, or remove that factor.",
    too_many_enrolled_mfa_factors: "The user has the maximum number of factors."
        => "Remove one. The operator sets the limits with `GOTRUE_MFA_MAX_ENROLLED_FACTORS` and `…_MAX_VERIFIED_FACTORS`.",
    mfa_verified_factor_exists: "A verified factor of this kind exists already."
        => "Remove it first.",
    mfa_challenge_expired: "The challenge has expired."
        => "Request a new challenge, and verify it in time.",
    mfa_verification_failed: "The code or the authenticator's response is wrong, or was used before."
        => "Request a new challenge. If TOTP codes never match, check the clock of the device.",
    mfa_verification_rejected: "The hook rejected the attempt."
        => "Read the message, which is from the hook.",
    mfa_ip_address_mismatch: "The challenge was requested from another IP address."
        => "Challenge and verify from the same address.",
    mfa_totp_enroll_not_enabled: "Enrolment of authenticator apps is disabled."
        => "The operator sets `[auth.mfa.totp] enroll_enabled`.",
    mfa_totp_verify_not_enabled: "Verification of authenticator apps is disabled."
        => "The operator sets `[auth.mfa.totp] verify_enabled`.",
    mfa_phone_enroll_not_enabled: "Enrolment of phone factors is disabled."
        => "The operator sets `[auth.mfa.phone] enroll_enabled`.",
    mfa_phone_verify_not_enabled: "Verification of phone factors is disabled."
        => "The operator sets `[auth.mfa.phone] verify_enabled`.",
    mfa_webauthn_enroll_not_enabled: "Enrolment of security keys is disabled."
        => "The operator sets `[auth.mfa.web_authn] enroll_enabled`.",
    mfa_webauthn_verify_not_enabled: "Verification of security keys is disabled."
        => "The operator sets `[auth.mfa.web_authn] verify_enabled`.",
    passkey_disabled: "Passkeys are disabled."
        => "The operator sets `[auth.passkey] enabled`.",
    too_many_passkeys: "The user has the maximum number of passkeys."
        => "Remove one.",
    webauthn_challenge_not_found: "The challenge is unknown, or was used already."
        => "Request new options, and use them once.",
    webauthn_challenge_expired: "The challenge has expired."
        => "Request new options.",
    webauthn_verification_failed: "The authenticator's response is invalid: wrong origin, relying party or signature."
        => "The page's origin must be in `rp_origins`, and `rp_id` its host or a parent domain.",
};

const PROVIDERS: &[Code] = codes! {
    bad_oauth_callback: "The provider's response lacks state or code."
        => "Restart the sign-in.",
    bad_oauth_state: "The state in the provider's response is unknown or expired."
        => "Restart the sign-in, and finish it within five minutes.",
    oauth_provider_not_supported: "The provider was disabled during the sign-in."
        => "The operator enables it.",
    oauth_client_state_not_found: "The state of the sign-in was deleted, because the provider's response was received before."
        => "Restart the sign-in.",
    oauth_client_state_expired: "The provider's response came after the state had expired."
        => "Restart the sign-in, and finish it within five minutes.",
    oauth_invalid_state: "The response belongs to a sign-in with another provider."
        => "Restart the sign-in.",
    provider_disabled: "Sign-in with ID tokens of this provider is disabled."
        => "The operator enables it in `[auth.external.…]`.",
    provider_email_needs_verification: "The provider does not report the address as verified. An e-mail was sent, or the user must verify it at the provider."
        => "Follow the link in the e-mail, or verify the address at the provider.",
    invite_not_found: "The invitation was accepted already, or revoked."
        => "Sign in, or request another invitation.",
    custom_provider_not_found: "No custom provider has this identifier."
        => "List them at `GET /admin/custom-providers`.",
    over_custom_provider_quota: "The maximum number of custom providers is reached."
        => "Remove one, or the operator increases `GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS`.",
    web3_provider_disabled: "Sign-in with wallets, or of this chain, is disabled."
        => "The operator enables `[auth.web3.…]`.",
    web3_unsupported_chain: "The chain is neither `ethereum` nor `solana`."
        => "Use one of the two.",
};

const SSO: &[Code] = codes! {
    saml_provider_disabled: "Single sign-on is disabled."
        => "The operator sets `[basalt.saml]`, or `GOTRUE_SAML_ENABLED` and a key.",
    sso_provider_not_found: "No identity provider has this id or this domain."
        => "An administrator adds it at `/admin/sso/providers`; domains must match exactly.",
    sso_provider_disabled: "The identity provider is disabled."
        => "An administrator enables it.",
    sso_domain_already_exists: "Another identity provider has this domain."
        => "Remove the domain there first.",
    saml_idp_already_exists: "An identity provider with this entity id exists."
        => "Update that one instead.",
    saml_entity_id_mismatch: "The new metadata has another entity id."
        => "Add it as another identity provider.",
    saml_metadata_fetch_failed: "The metadata could not be fetched."
        => "Check that the URL responds with 200 in the server's network, or send `metadata_xml`.",
    saml_idp_not_found: "The response is from an unknown identity provider."
        => "An administrator adds it at `/admin/sso/providers`.",
    saml_relay_state_not_found: "The response belongs to no pending sign-in, or to a finished one."
        => "Restart the sign-in.",
    saml_relay_state_expired: "The response came after the relay state had expired."
        => "Restart the sign-in. The lifetime is `GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD`.",
    saml_assertion_no_user_id: "The assertion has no persistent user id."
        => "Configure the identity provider to send a persistent NameID, or the attribute `subject-id`.",
    saml_assertion_no_email: "The assertion has no e-mail address."
        => "Configure the identity provider to send one, or map its attribute to `email`.",
};

const OAUTH_SERVER: &[Code] = codes! {
    oauth_client_not_found: "No client has that id."
        => "Register the client, or correct the id.",
    oauth_authorization_not_found: "The authorization request is unknown, expired, or another user's."
        => "Restart at the app.",
    oauth_consent_not_found: "The user has no grant for this client."
        => "List the grants at `GET /user/oauth/grants`.",
    oauth_dynamic_client_registration_disabled: "Dynamic client registration is disabled."
        => "An administrator registers the client at `/admin/oauth/clients`, or the operator enables registration.",
};

const HOOKS: &[Code] = codes! {
    hook_timeout: "The hook did not respond in time."
        => "Make the hook faster: the limit is 5 seconds for HTTP, 2 for a database function.",
    hook_timeout_after_retry: "The hook did not respond in several attempts."
        => "Check that the hook runs and is reachable.",
    hook_payload_over_size_limit: "The hook's response is too large."
        => "Respond with less than 200 KB.",
    hook_payload_invalid_content_type: "The hook's response is not JSON."
        => "Respond with `Content-Type: application/json`.",
};

const INTRODUCTION: &str = "\
# Errors

<!-- Generated from the table of error codes. To update: UPDATE_DOCS=1 cargo test -p gotrue-rs errors -->

An error response has a stable code: `error_code` next to `code` (the status) and `msg`, or, with the header
`X-Supabase-Api-Version: 2024-01-01`, `code` next to `message`; the header `x-sb-error-code` repeats it. OAuth endpoints
respond with `error` and `error_description` instead. An error that a database trigger of the operator raises has its
SQLSTATE as `code`. The message is for developers; the internal cause is in the log, under the request id.
";

/// Renders the Markdown document.
pub fn render_document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in SECTIONS {
        let _ = write!(text, "\n## {}\n\n| code | cause | resolution |\n|---|---|---|\n", section.title);
        for Code { code, cause, cure } in section.codes {
            let _ = writeln!(text, "| `{code}` | {cause} | {cure} |");
        }
    }
    text
}
