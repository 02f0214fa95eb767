//! Every error code with what brings it about and what to do about it. `docs/errors.md` is made from this table, and a
//! test holds it to the codes that stand in the source.

use std::fmt::Write as _;

/// A code, and what there is to say of it.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    /// As it stands in `error_code`, or in `code` in the newer API version.
    pub code: &'static str,
    /// What brings it about.
    pub cause: &'static str,
    /// What to do, and who: the app, the person, the operator.
    pub cure: &'static str,
}

/// Codes that belong together.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// The codes.
    pub codes: &'static [Code],
}

/// A line per code: what brings it about => what to do.
macro_rules! codes {
    ($($code:ident: $cause:literal => $cure:literal,)*) => {
        &[$(Code { code: stringify!($code), cause: $cause, cure: $cure },)*]
    };
}

/// All of them.
pub const SECTIONS: &[Section] = &[
    Section { title: "Requests", codes: REQUESTS },
    Section { title: "Who asks", codes: CALLERS },
    Section { title: "Signing up and in", codes: SIGN_IN },
    Section { title: "Codes and links", codes: ONE_TIME },
    Section { title: "Changing an account", codes: ACCOUNT },
    Section { title: "Second factors and passkeys", codes: FACTORS },
    Section { title: "Other services and wallets", codes: PROVIDERS },
    Section { title: "Single sign-on", codes: SSO },
    Section { title: "This server as a provider", codes: OAUTH_SERVER },
    Section { title: "Hooks", codes: HOOKS },
];

const REQUESTS: &[Code] = codes! {
    validation_failed: "A member or parameter is missing or has no form that can be used; the message names it."
        => "Send what the message asks for.",
    bad_json: "The body is no JSON, or a member is of another type than it must be."
        => "Send `Content-Type: application/json` and a body as the client libraries do; the message names member and type.",
    request_entity_too_large: "The body is over 1 MiB."
        => "Send less: metadata is for small things, files belong elsewhere.",
    request_timeout: "The request took longer than `GOTRUE_API_MAX_REQUEST_DURATION`. Nothing was stored."
        => "Try again. If it lasts, the operator looks for a slow hook, mail server or database in the log.",
    database_unavailable: "The database is down, out of connections, read-only or does not answer. Whether a write under way was stored is not known."
        => "Try again after `Retry-After`. The operator finds the database's own words in the log.",
    over_request_rate_limit: "Too many requests of this kind from one sender, or for one account."
        => "Wait for as long as `Retry-After` says. The operator sets limits in `[auth.rate_limit]` or `GOTRUE_RATE_LIMIT_*`.",
    captcha_failed: "The captcha was not solved, not sent, or refused by its provider; the message has the reasons."
        => "Send the widget's token as `gotrue_meta_security.captcha_token`. A token works once.",
    feature_disabled: "The operator has this feature switched off."
        => "The operator switches it on; the message names it.",
    conflict: "Another request changed the same thing at the same moment."
        => "Try again.",
    unexpected_failure: "Something went wrong that the caller can do nothing about."
        => "Try again later. The operator finds the cause in the log by the request's id (`error_id`).",
    unknown: "A hook refused with a status and without a code."
        => "Read the message: it is the hook's own.",
};

const CALLERS: &[Code] = codes! {
    no_authorization: "There is no `Authorization: Bearer …`, or an anonymous account asks for what needs a permanent one."
        => "Sign in first; make an anonymous account permanent by giving it an address, a number or an identity.",
    bad_jwt: "The access token is expired, badly signed, or lacks a claim; the message says which."
        => "Refresh the session. If fresh tokens are refused, the app talks to a server with other keys.",
    not_admin: "The token's role is none of `GOTRUE_JWT_ADMIN_ROLES`."
        => "Call administrators' endpoints with the secret key, from a server and never from a browser.",
    session_not_found: "The session of the token was ended: signed out, or ended by a change of the password."
        => "Sign in again.",
    session_expired: "The session is past its time limit, was idle for too long, or another took its place."
        => "Sign in again. Limits are `GOTRUE_SESSIONS_*`.",
    user_not_found: "The account does not exist any more, or no account has that id, address or token."
        => "Sign in again, or look the id up.",
    user_banned: "The account is banned until the time in `banned_until`."
        => "An administrator lifts the ban with `ban_duration: \"none\"`.",
    unexpected_audience: "The token is for another audience than the request (`X-JWT-AUD`)."
        => "Leave the header away, or send a token of that audience.",
    insufficient_aal: "The account has a second factor, and the session has not shown it."
        => "Challenge and verify a factor, then ask again.",
    refresh_token_not_found: "The refresh token is unknown, or its session has ended."
        => "Sign in again.",
    refresh_token_already_used: "An old refresh token came back. Somebody may have copied it, so the session was ended."
        => "Sign in again. Let one place alone refresh: tabs and servers must share what they store.",
};

const SIGN_IN: &[Code] = codes! {
    invalid_credentials: "Address, number or password are wrong, or the grant type is unknown. Which of them is not told."
        => "Try again, or ask for a new password.",
    signup_disabled: "Nobody may sign up, or nobody may by this sign-in."
        => "The operator allows it with `enable_signup`, or invites people.",
    user_already_exists: "Somebody with this address or number is registered."
        => "Sign in, or recover the account.",
    email_exists: "Somebody has this address already."
        => "Sign in with it, or take another.",
    phone_exists: "Somebody has this number already."
        => "Sign in with it, or take another.",
    email_provider_disabled: "Sign-in by e-mail is switched off."
        => "The operator enables `[auth.email]`, or `GOTRUE_EXTERNAL_EMAIL_ENABLED`.",
    phone_provider_disabled: "Sign-in by phone is switched off."
        => "The operator enables `[auth.sms]`, or `GOTRUE_EXTERNAL_PHONE_ENABLED`.",
    anonymous_provider_disabled: "A sign-up without address and number, while anonymous accounts are off."
        => "Send an address or a number, or the operator sets `enable_anonymous_sign_ins`.",
    email_not_confirmed: "The address was never confirmed."
        => "Follow the mailed link; `/resend` sends another.",
    phone_not_confirmed: "The number was never confirmed."
        => "Enter the code of the message; `/resend` sends another.",
    weak_password: "The password is too short, lacks kinds of characters, or is known from leaks; `weak_password.reasons` says which."
        => "Choose another. Rules are in `[auth]` and `GOTRUE_PASSWORD_*`.",
    email_address_invalid: "No mail can be delivered to the address: its domain does not exist or takes no mail."
        => "Correct the address.",
    email_address_not_authorized: "The operator writes to listed addresses alone."
        => "The operator adds the address to `authorized_addresses`, or takes the list away.",
};

const ONE_TIME: &[Code] = codes! {
    otp_expired: "The code or link is wrong, too old, or was used before. Which of them is not told."
        => "Ask for a new one. If links are used up before people click, a scanner follows them: mail codes instead.",
    otp_disabled: "The code would make a new account, which this request or the operator does not allow."
        => "Sign up first, or leave `create_user: false` away.",
    over_email_send_rate_limit: "Too many mails, or the last one to this address is too recent."
        => "Wait; the message or `Retry-After` says how long. The operator sets `max_frequency` and `email_sent`.",
    over_sms_send_rate_limit: "Too many messages, or the last one to this number is too recent."
        => "Wait; the message or `Retry-After` says how long.",
    sms_send_failed: "The sender of messages refused or did not answer."
        => "Try again. The operator finds the sender's words in the log.",
    flow_state_not_found: "The code of a PKCE flow is unknown, or was exchanged already."
        => "Begin the sign-in anew, and exchange the code once.",
    flow_state_expired: "The code of a PKCE flow is too old."
        => "Begin the sign-in anew. Its life is `GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION`.",
    flow_state_already_used: "The provider's answer to this sign-in came before."
        => "Begin the sign-in anew.",
    bad_code_verifier: "The verifier does not fit the challenge that the flow began with."
        => "Exchange the code in the browser in which the sign-in began: it keeps the verifier.",
};

const ACCOUNT: &[Code] = codes! {
    same_password: "The new password is the old one."
        => "Choose another.",
    reauthentication_needed: "The password is changed later than a day after signing in, and the operator wants a fresh proof."
        => "Ask for a code at `/reauthenticate` and send it as `nonce`.",
    reauthentication_not_valid: "The `nonce` is wrong or too old."
        => "Ask for a new code at `/reauthenticate`.",
    current_password_required: "The operator wants the current password with the new one."
        => "Send it as `current_password`.",
    current_password_invalid: "The current password is wrong."
        => "Try again, or recover the account.",
    user_sso_managed: "The account belongs to a company's single sign-on, which says its address and password."
        => "Change them there.",
    identity_not_found: "The account has no such identity."
        => "Ask for the identities, and name one of them.",
    identity_already_exists: "The identity is linked already, to this account or to another."
        => "Sign in with it, or unlink it there first.",
    single_identity_not_deletable: "It is the only identity, and without any nobody could sign in."
        => "Link another first.",
    email_conflict_identity_not_deletable: "Without the identity the account would fall back to an address that somebody else has."
        => "Change the account's address first.",
    manual_linking_disabled: "Identities are not linked by hand here."
        => "The operator sets `enable_manual_linking`.",
};

const FACTORS: &[Code] = codes! {
    mfa_factor_not_found: "The account has no such factor."
        => "Ask for the factors, and name one of them.",
    mfa_factor_name_conflict: "Another factor of the account has that name."
        => "Choose another name, or remove that factor.",
    too_many_enrolled_mfa_factors: "The account has as many factors as it may."
        => "Remove one. The operator sets the number with `GOTRUE_MFA_MAX_ENROLLED_FACTORS` and `…_MAX_VERIFIED_FACTORS`.",
    mfa_verified_factor_exists: "A verified factor of this kind exists already."
        => "Remove it first.",
    mfa_challenge_expired: "The challenge is too old."
        => "Ask for a new challenge, and verify it at once.",
    mfa_verification_failed: "The code or the key's answer is wrong, or was used before."
        => "Ask for a new challenge. If codes of an app never fit, its clock is off.",
    mfa_verification_rejected: "The operator's hook refused the attempt."
        => "Read the message: it is the hook's own.",
    mfa_ip_address_mismatch: "The challenge was asked for from another address."
        => "Challenge and verify from the same place.",
    mfa_totp_enroll_not_enabled: "Authenticator apps cannot be enrolled here."
        => "The operator sets `[auth.mfa.totp] enroll_enabled`.",
    mfa_totp_verify_not_enabled: "Authenticator apps are not asked here."
        => "The operator sets `[auth.mfa.totp] verify_enabled`.",
    mfa_phone_enroll_not_enabled: "Phones cannot be enrolled here."
        => "The operator sets `[auth.mfa.phone] enroll_enabled`.",
    mfa_phone_verify_not_enabled: "Phones are not asked here."
        => "The operator sets `[auth.mfa.phone] verify_enabled`.",
    mfa_webauthn_enroll_not_enabled: "Security keys cannot be enrolled here."
        => "The operator sets `[auth.mfa.web_authn] enroll_enabled`.",
    mfa_webauthn_verify_not_enabled: "Security keys are not asked here."
        => "The operator sets `[auth.mfa.web_authn] verify_enabled`.",
    passkey_disabled: "Passkeys are switched off."
        => "The operator sets `[auth.passkey] enabled`.",
    too_many_passkeys: "The account has as many passkeys as it may."
        => "Remove one.",
    webauthn_challenge_not_found: "The challenge is unknown, or was answered already."
        => "Ask for options again, and answer them once.",
    webauthn_challenge_expired: "The challenge is too old."
        => "Ask for options again.",
    webauthn_verification_failed: "The authenticator's answer does not hold: another origin, another relying party, a wrong signature."
        => "The page's origin must be among `rp_origins`, and `rp_id` its host or above it.",
};

const PROVIDERS: &[Code] = codes! {
    bad_oauth_callback: "The provider's answer lacks its state or its code."
        => "Begin the sign-in anew.",
    bad_oauth_state: "The state of the provider's answer is unknown or too old."
        => "Begin the sign-in anew, and finish it within five minutes.",
    oauth_provider_not_supported: "The provider was switched off after the sign-in had begun."
        => "The operator switches it on.",
    oauth_client_state_not_found: "What was kept for the provider's answer is gone: it came before."
        => "Begin the sign-in anew.",
    oauth_client_state_expired: "The provider's answer came too late."
        => "Begin the sign-in anew, and finish it within five minutes.",
    oauth_invalid_state: "The answer belongs to another provider's sign-in."
        => "Begin the sign-in anew.",
    provider_disabled: "Sign-in with ID tokens of this provider is switched off."
        => "The operator enables it in `[auth.external.…]`.",
    provider_email_needs_verification: "The provider does not vouch for the address. A mail was sent, or the person must confirm it there."
        => "Follow the mailed link, or confirm the address at the provider.",
    invite_not_found: "The invitation was accepted already, or taken back."
        => "Sign in, or ask to be invited again.",
    custom_provider_not_found: "No stored provider has that identifier."
        => "List them at `GET /admin/custom-providers`.",
    over_custom_provider_quota: "As many providers are stored as may be."
        => "Remove one, or the operator sets `GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS` higher.",
    web3_provider_disabled: "Sign-in with wallets, or of this chain, is switched off."
        => "The operator enables `[auth.web3.…]`.",
    web3_unsupported_chain: "The chain is neither `ethereum` nor `solana`."
        => "Name one of the two.",
};

const SSO: &[Code] = codes! {
    saml_provider_disabled: "Single sign-on is switched off."
        => "The operator sets `[basalt.saml]`, or `GOTRUE_SAML_ENABLED` and a key.",
    sso_provider_not_found: "No identity provider has that id, or none is assigned to that domain."
        => "An administrator adds it at `/admin/sso/providers`; domains are compared letter by letter.",
    sso_provider_disabled: "The identity provider is switched off."
        => "An administrator enables it.",
    sso_domain_already_exists: "Another identity provider has that domain."
        => "Take it away there first.",
    saml_idp_already_exists: "An identity provider with that entity id exists."
        => "Change that one instead.",
    saml_entity_id_mismatch: "The new metadata is of another identity provider."
        => "Add that one instead of changing this one.",
    saml_metadata_fetch_failed: "The metadata could not be fetched."
        => "Look whether the address answers with 200 from the server's network, or send `metadata_xml`.",
    saml_idp_not_found: "The response is from an identity provider that is not added here."
        => "An administrator adds it at `/admin/sso/providers`.",
    saml_relay_state_not_found: "The response belongs to no sign-in that waits, or its sign-in was finished before."
        => "Begin the sign-in anew.",
    saml_relay_state_expired: "The response came too late."
        => "Begin the sign-in anew. The time is `GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD`.",
    saml_assertion_no_user_id: "The assertion says no id of the person that lasts."
        => "The identity provider sends a persistent NameID, or the attribute `subject-id`.",
    saml_assertion_no_email: "The assertion says no address."
        => "The identity provider sends one, or an administrator maps the attribute that has it to `email`.",
};

const OAUTH_SERVER: &[Code] = codes! {
    oauth_client_not_found: "No client has that id."
        => "Register the client, or correct the id.",
    oauth_authorization_not_found: "The request for consent is unknown, too old, or somebody else's."
        => "Begin at the app anew.",
    oauth_consent_not_found: "The account has granted that client nothing."
        => "List the grants at `GET /user/oauth/grants`.",
    oauth_dynamic_client_registration_disabled: "Clients may not register themselves."
        => "An administrator registers it at `/admin/oauth/clients`, or the operator allows it.",
};

const HOOKS: &[Code] = codes! {
    hook_timeout: "The operator's hook did not answer in time."
        => "The operator makes the hook faster: 5 seconds for HTTP, 2 for a function of the database.",
    hook_timeout_after_retry: "The operator's hook did not answer, asked several times."
        => "The operator looks whether the hook runs and can be reached.",
    hook_payload_over_size_limit: "The hook's answer is too long."
        => "The operator answers with less than 200 KB.",
    hook_payload_invalid_content_type: "The hook's answer is no JSON."
        => "The operator answers with `Content-Type: application/json`.",
};

const INTRODUCTION: &str = "\
# Errors

<!-- Made from the table of codes. After a change there: UPDATE_DOCS=1 cargo test -p gotrue-rs errors -->

An answer that refuses has a code that programs can rely on: `error_code` beside `code` (the status) and `msg`, or, with
the header `X-Supabase-Api-Version: 2024-01-01`, `code` beside `message`; the header `x-sb-error-code` repeats it. Where
OAuth wants its own form, `error` and `error_description` stand there instead. Errors of the database that a trigger of the
operator's raised have its SQLSTATE as `code`. The message is for people who develop; what really happened is in the log, under
the request's id.
";

/// The document.
pub fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in SECTIONS {
        let _ = write!(text, "\n## {}\n\n| code | cause | cure |\n|---|---|---|\n", section.title);
        for Code { code, cause, cure } in section.codes {
            let _ = writeln!(text, "| `{code}` | {cause} | {cure} |");
        }
    }
    text
}
