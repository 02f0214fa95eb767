//! The error codes of API responses; `docs/errors.md` is generated from them.

use std::fmt;

/// A section of `docs/errors.md`.
#[derive(Debug)]
pub struct ErrorCodeSection {
    /// The heading.
    pub title: &'static str,
    pub codes: &'static [ErrorCode],
}

/// The row of a code in the table below.
struct CodeEntry {
    text: &'static str,
    status: u16,
    cause: &'static str,
    cure: &'static str,
}

/// Declares the enum from sections of rows: `variant = usual status "text": cause => resolution`.
macro_rules! error_codes {
    ($($title:literal {
        $($variant:ident = $status:literal $text:literal: $cause:literal => $cure:literal,)*
    })*) => {
        /// A stable word that names the reason of an error to programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(
                #[doc = $cause]
                $variant,
            )*)*
        }

        impl ErrorCode {
            /// All codes, by section of the documentation.
            pub const SECTIONS: &'static [ErrorCodeSection] =
                &[$(ErrorCodeSection { title: $title, codes: &[$(Self::$variant,)*] },)*];

            const fn entry(self) -> &'static CodeEntry {
                match self {
                    $($(Self::$variant => {
                        &CodeEntry { text: $text, status: $status, cause: $cause, cure: $cure }
                    })*)*
                }
            }
        }
    };
}

error_codes! {
    "Requests" {
        ValidationFailed = 400 "validation_failed": "A member or parameter is missing or malformed; the message names it."
            => "Correct the member that the message names.",
        BadJson = 400 "bad_json": "The body is not valid JSON, or a member has the wrong type."
            => "Send `Content-Type: application/json` and a valid body; the message names member and type.",
        RequestEntityTooLarge = 413 "request_entity_too_large": "The body is larger than 1 MiB."
            => "Send less data; store large metadata and files elsewhere.",
        RequestTimeout = 504 "request_timeout": "The request took longer than `GOTRUE_API_MAX_REQUEST_DURATION`. Nothing was stored."
            => "Retry. If the error persists, the operator checks the log for a slow hook, mail server or database.",
        DatabaseUnavailable = 503 "database_unavailable": "The database is down, out of connections, read-only or unresponsive. A concurrent write may have been stored."
            => "Retry after `Retry-After`. The operator finds the database error in the log.",
        OverRequestRateLimit = 429 "over_request_rate_limit": "Too many requests of this kind from one client, or for one user."
            => "Wait for the time in `Retry-After`. The operator sets limits in `[auth.rate_limit]` or `GOTRUE_RATE_LIMIT_*`.",
        CaptchaFailed = 400 "captcha_failed": "The captcha token is missing or was rejected by its provider; the message has the reasons."
            => "Send the widget's token as `gotrue_meta_security.captcha_token`. A token is valid once.",
        FeatureDisabled = 404 "feature_disabled": "The feature is disabled."
            => "The operator enables it; the message names it.",
        Conflict = 409 "conflict": "A concurrent request changed the same data."
            => "Retry.",
        UnexpectedFailure = 500 "unexpected_failure": "An internal failure."
            => "Retry later. The operator finds the cause in the log by the request id (`error_id`).",
        Unknown = 400 "unknown": "A hook rejected the request with a status and without a code."
            => "Read the message, which is from the hook.",
    }
    "Authentication" {
        NoAuthorization = 401 "no_authorization": "The header `Authorization: Bearer …` is missing, or an anonymous user requests what requires a permanent one."
            => "Sign in, or make the anonymous user permanent with an address, a number or an identity.",
        BadJwt = 403 "bad_jwt": "The access token is expired, has an invalid signature, or lacks a claim; the message has the reason."
            => "Refresh the session. If new tokens are rejected, the app uses a server with other keys.",
        NotAdmin = 403 "not_admin": "The token's role is not in `GOTRUE_JWT_ADMIN_ROLES`."
            => "Call the admin API with the secret key, from a server and never from a browser.",
        SessionNotFound = 403 "session_not_found": "The session of the token has ended, by a sign-out or a password change."
            => "Sign in again.",
        SessionExpired = 400 "session_expired": "The session exceeds its time limit or its idle limit, or was replaced by a newer one."
            => "Sign in again. Limits are `GOTRUE_SESSIONS_*`.",
        UserNotFound = 404 "user_not_found": "The user does not exist (any more), or no user has that id, address or token."
            => "Sign in again, or check the id.",
        UserBanned = 403 "user_banned": "The user is banned until `banned_until`."
            => "An administrator lifts the ban with `ban_duration: \"none\"`.",
        UnexpectedAudience = 403 "unexpected_audience": "The token has another audience than the request (`X-JWT-AUD`)."
            => "Omit the header, or send a token of that audience.",
        InsufficientAal = 403 "insufficient_aal": "The user has a second factor that the session has not verified."
            => "Challenge and verify a factor, then retry.",
        RefreshTokenNotFound = 400 "refresh_token_not_found": "The refresh token is unknown, or its session has ended."
            => "Sign in again.",
        RefreshTokenAlreadyUsed = 400 "refresh_token_already_used": "A refresh token was reused, possibly after theft, and the session was ended."
            => "Sign in again. Refresh in one place only: tabs and servers must share their storage.",
    }
    "Sign-up and sign-in" {
        InvalidCredentials = 400 "invalid_credentials": "Address, number or password is wrong, or the grant type is unknown. The error does not distinguish these cases."
            => "Retry, or reset the password.",
        SignupDisabled = 422 "signup_disabled": "Sign-up is disabled, in general or for this sign-in method."
            => "The operator enables it with `enable_signup`, or invites users.",
        UserAlreadyExists = 422 "user_already_exists": "A user with this address or number exists."
            => "Sign in, or recover the account.",
        EmailExists = 422 "email_exists": "Another user has this address."
            => "Sign in with it, or use another one.",
        PhoneExists = 422 "phone_exists": "Another user has this number."
            => "Sign in with it, or use another one.",
        EmailProviderDisabled = 400 "email_provider_disabled": "Sign-in by e-mail is disabled."
            => "The operator enables `[auth.email]`, or `GOTRUE_EXTERNAL_EMAIL_ENABLED`.",
        PhoneProviderDisabled = 400 "phone_provider_disabled": "Sign-in by phone is disabled."
            => "The operator enables `[auth.sms]`, or `GOTRUE_EXTERNAL_PHONE_ENABLED`.",
        AnonymousProviderDisabled = 422 "anonymous_provider_disabled": "A sign-up has neither address nor number, and anonymous users are disabled."
            => "Send an address or a number, or the operator sets `enable_anonymous_sign_ins`.",
        EmailNotConfirmed = 400 "email_not_confirmed": "The address is not confirmed."
            => "Follow the link in the e-mail; `/resend` sends another one.",
        PhoneNotConfirmed = 400 "phone_not_confirmed": "The number is not confirmed."
            => "Enter the code of the message; `/resend` sends another one.",
        WeakPassword = 422 "weak_password": "The password is too short, lacks required characters, or is a known leaked one; see `weak_password.reasons`."
            => "Choose another one. The rules are in `[auth]` and `GOTRUE_PASSWORD_*`.",
        EmailAddressInvalid = 400 "email_address_invalid": "The address is undeliverable: its domain does not exist or does not accept mail."
            => "Correct the address.",
        EmailAddressNotAuthorized = 400 "email_address_not_authorized": "The address is not in the list of authorized recipients."
            => "The operator adds the address to `authorized_addresses`, or removes the list.",
    }
    "Codes and links" {
        OtpExpired = 403 "otp_expired": "The code or link is wrong, expired or used. The error does not distinguish these cases."
            => "Request a new one. If mail scanners consume links before users do, send codes instead.",
        OtpDisabled = 422 "otp_disabled": "The code would create a user, which the request or the operator does not allow."
            => "Sign up first, or omit `create_user: false`.",
        OverEmailSendRateLimit = 429 "over_email_send_rate_limit": "Too many e-mails, or the last one to this address is too recent."
            => "Wait; the message or `Retry-After` has the time. The operator sets `max_frequency` and `email_sent`.",
        OverSmsSendRateLimit = 429 "over_sms_send_rate_limit": "Too many SMS messages, or the last one to this number is too recent."
            => "Wait; the message or `Retry-After` has the time.",
        SmsSendFailed = 422 "sms_send_failed": "The SMS provider rejected the message or did not respond."
            => "Retry. The operator finds the provider's error in the log.",
        FlowStateNotFound = 404 "flow_state_not_found": "The code of a PKCE flow is unknown, or was exchanged already."
            => "Restart the sign-in, and exchange the code once.",
        FlowStateExpired = 422 "flow_state_expired": "The code of a PKCE flow has expired."
            => "Restart the sign-in. The lifetime is `GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION`.",
        FlowStateAlreadyUsed = 400 "flow_state_already_used": "The provider's response to this sign-in was received before."
            => "Restart the sign-in.",
        BadCodeVerifier = 400 "bad_code_verifier": "The code verifier does not match the challenge of the flow."
            => "Exchange the code in the browser that started the sign-in and stores the verifier.",
    }
    "User updates" {
        SamePassword = 422 "same_password": "The new password equals the current one."
            => "Choose another one.",
        ReauthenticationNeeded = 400 "reauthentication_needed": "The session is older than a day, and a password change requires reauthentication."
            => "Request a code at `/reauthenticate` and send it as `nonce`.",
        ReauthenticationNotValid = 422 "reauthentication_not_valid": "The `nonce` is wrong or expired."
            => "Request a new code at `/reauthenticate`.",
        CurrentPasswordRequired = 400 "current_password_required": "A password change requires the current password."
            => "Send it as `current_password`.",
        CurrentPasswordInvalid = 400 "current_password_invalid": "The current password is wrong."
            => "Retry, or recover the account.",
        UserSsoManaged = 422 "user_sso_managed": "The user belongs to a single sign-on provider, which manages address and password."
            => "Change them at the identity provider.",
        IdentityNotFound = 422 "identity_not_found": "The user has no such identity."
            => "List the identities, and use the id of one of them.",
        IdentityAlreadyExists = 422 "identity_already_exists": "The identity is linked already, to this user or to another one."
            => "Sign in with it, or unlink it there first.",
        SingleIdentityNotDeletable = 422 "single_identity_not_deletable": "It is the only identity of the user, who could not sign in without it."
            => "Link another one first.",
        EmailConflictIdentityNotDeletable = 422 "email_conflict_identity_not_deletable": "Without the identity the user would get an address that another user has."
            => "Change the user's address first.",
        ManualLinkingDisabled = 404 "manual_linking_disabled": "Manual linking of identities is disabled."
            => "The operator sets `enable_manual_linking`.",
    }
    "Second factors and passkeys" {
        MfaFactorNotFound = 404 "mfa_factor_not_found": "The user has no such factor."
            => "List the factors, and use the id of one of them.",
        MfaFactorNameConflict = 422 "mfa_factor_name_conflict": "Another factor of the user has this name."
            => "Choose another name, or remove that factor.",
        TooManyEnrolledMfaFactors = 422 "too_many_enrolled_mfa_factors": "The user has the maximum number of factors."
            => "Remove one. The operator sets the limits with `GOTRUE_MFA_MAX_ENROLLED_FACTORS` and `…_MAX_VERIFIED_FACTORS`.",
        MfaVerifiedFactorExists = 422 "mfa_verified_factor_exists": "A verified factor of this kind exists already."
            => "Remove it first.",
        MfaChallengeExpired = 422 "mfa_challenge_expired": "The challenge has expired."
            => "Request a new challenge, and verify it in time.",
        MfaVerificationFailed = 422 "mfa_verification_failed": "The code or the authenticator's response is wrong, or was used before."
            => "Request a new challenge. If TOTP codes never match, check the clock of the device.",
        MfaVerificationRejected = 403 "mfa_verification_rejected": "The hook rejected the attempt."
            => "Read the message, which is from the hook.",
        MfaIpAddressMismatch = 422 "mfa_ip_address_mismatch": "The challenge was requested from another IP address."
            => "Challenge and verify from the same address.",
        MfaTotpEnrollNotEnabled = 422 "mfa_totp_enroll_not_enabled": "Enrollment of authenticator apps is disabled."
            => "The operator sets `[auth.mfa.totp] enroll_enabled`.",
        MfaTotpVerifyNotEnabled = 422 "mfa_totp_verify_not_enabled": "Verification of authenticator apps is disabled."
            => "The operator sets `[auth.mfa.totp] verify_enabled`.",
        MfaPhoneEnrollNotEnabled = 422 "mfa_phone_enroll_not_enabled": "Enrollment of phone factors is disabled."
            => "The operator sets `[auth.mfa.phone] enroll_enabled`.",
        MfaPhoneVerifyNotEnabled = 422 "mfa_phone_verify_not_enabled": "Verification of phone factors is disabled."
            => "The operator sets `[auth.mfa.phone] verify_enabled`.",
        MfaWebAuthnEnrollNotEnabled = 422 "mfa_webauthn_enroll_not_enabled": "Enrollment of security keys is disabled."
            => "The operator sets `[auth.mfa.web_authn] enroll_enabled`.",
        MfaWebAuthnVerifyNotEnabled = 422 "mfa_webauthn_verify_not_enabled": "Verification of security keys is disabled."
            => "The operator sets `[auth.mfa.web_authn] verify_enabled`.",
        MfaRecoveryCodesEnrollNotEnabled = 422 "mfa_recovery_codes_enroll_not_enabled": "Recovery codes cannot be generated."
            => "The operator sets `[auth.mfa.recovery_codes] enroll_enabled`.",
        MfaRecoveryCodesVerifyNotEnabled = 422 "mfa_recovery_codes_verify_not_enabled": "Recovery codes are not accepted."
            => "The operator sets `[auth.mfa.recovery_codes] verify_enabled`.",
        MfaRecoveryCodesLocked = 429 "mfa_recovery_codes_locked": "Too many wrong recovery codes in a row. Further attempts do not prolong the lock."
            => "Wait for the time in `[auth.mfa.recovery_codes] lockout_duration`, use another factor, or generate new codes in a session of `aal2`.",
        MfaRecoveryCodesSoleFactor = 422 "mfa_recovery_codes_sole_factor": "Recovery codes would be the only second factor that the user can use."
            => "Enroll another factor first, or delete the recovery codes before the last other factor.",
        PasskeyDisabled = 404 "passkey_disabled": "Passkeys are disabled."
            => "The operator sets `[auth.passkey] enabled`.",
        TooManyPasskeys = 422 "too_many_passkeys": "The user has the maximum number of passkeys."
            => "Remove one.",
        WebAuthnChallengeNotFound = 400 "webauthn_challenge_not_found": "The challenge is unknown, or was used already."
            => "Request new options, and use them once.",
        WebAuthnChallengeExpired = 400 "webauthn_challenge_expired": "The challenge has expired."
            => "Request new options.",
        WebAuthnVerificationFailed = 400 "webauthn_verification_failed": "The authenticator's response is invalid: wrong origin, relying party or signature."
            => "The page's origin must be in `rp_origins`, and `rp_id` its host or a parent domain.",
    }
    "External providers and wallets" {
        BadOAuthCallback = 400 "bad_oauth_callback": "The provider's response lacks state or code."
            => "Restart the sign-in.",
        BadOAuthState = 400 "bad_oauth_state": "The state in the provider's response is unknown or expired."
            => "Restart the sign-in, and finish it within five minutes.",
        OAuthProviderNotSupported = 400 "oauth_provider_not_supported": "The provider was disabled during the sign-in."
            => "The operator enables it.",
        OAuthClientStateNotFound = 422 "oauth_client_state_not_found": "The state of the sign-in was deleted, because the provider's response was received before."
            => "Restart the sign-in.",
        OAuthClientStateExpired = 422 "oauth_client_state_expired": "The provider's response came after the state had expired."
            => "Restart the sign-in, and finish it within five minutes.",
        OAuthInvalidState = 400 "oauth_invalid_state": "The response belongs to a sign-in with another provider."
            => "Restart the sign-in.",
        ProviderDisabled = 400 "provider_disabled": "Sign-in with ID tokens of this provider is disabled."
            => "The operator enables it in `[auth.external.…]`.",
        ProviderEmailNeedsVerification = 422 "provider_email_needs_verification": "The provider does not report the address as verified. An e-mail was sent, or the user must verify it at the provider."
            => "Follow the link in the e-mail, or verify the address at the provider.",
        InviteNotFound = 404 "invite_not_found": "The invitation was accepted already, or revoked."
            => "Sign in, or request another invitation.",
        CustomProviderNotFound = 404 "custom_provider_not_found": "No custom provider has this identifier."
            => "List them at `GET /admin/custom-providers`.",
        OverCustomProviderQuota = 400 "over_custom_provider_quota": "The maximum number of custom providers is reached."
            => "Remove one, or the operator increases `GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS`.",
        Web3ProviderDisabled = 422 "web3_provider_disabled": "Sign-in with wallets, or of this chain, is disabled."
            => "The operator enables `[auth.web3.…]`.",
        Web3UnsupportedChain = 400 "web3_unsupported_chain": "The chain is neither `ethereum` nor `solana`."
            => "Use one of the two.",
    }
    "Single sign-on" {
        SamlProviderDisabled = 404 "saml_provider_disabled": "Single sign-on is disabled."
            => "The operator sets `[basalt.saml]`, or `GOTRUE_SAML_ENABLED` and a key.",
        SsoProviderNotFound = 404 "sso_provider_not_found": "No identity provider has this id or this domain."
            => "An administrator adds it at `/admin/sso/providers`; domains must match exactly.",
        SsoProviderDisabled = 404 "sso_provider_disabled": "The identity provider is disabled."
            => "An administrator enables it.",
        SsoDomainAlreadyExists = 400 "sso_domain_already_exists": "Another identity provider has this domain."
            => "Remove the domain there first.",
        SamlIdpAlreadyExists = 422 "saml_idp_already_exists": "An identity provider with this entity id exists."
            => "Update that one instead.",
        SamlEntityIdMismatch = 400 "saml_entity_id_mismatch": "The new metadata has another entity id."
            => "Add it as another identity provider.",
        SamlMetadataFetchFailed = 400 "saml_metadata_fetch_failed": "The metadata could not be fetched."
            => "Check that the URL responds with 200 in the server's network, or send `metadata_xml`.",
        SamlIdpNotFound = 404 "saml_idp_not_found": "The response is from an unknown identity provider."
            => "An administrator adds it at `/admin/sso/providers`.",
        SamlRelayStateNotFound = 404 "saml_relay_state_not_found": "The response belongs to no pending sign-in, or to a finished one."
            => "Restart the sign-in.",
        SamlRelayStateExpired = 422 "saml_relay_state_expired": "The response came after the relay state had expired."
            => "Restart the sign-in. The lifetime is `GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD`.",
        SamlAssertionNoUserId = 400 "saml_assertion_no_user_id": "The assertion has no persistent user id."
            => "Configure the identity provider to send a persistent NameID, or the attribute `subject-id`.",
        SamlAssertionNoEmail = 400 "saml_assertion_no_email": "The assertion has no e-mail address."
            => "Configure the identity provider to send one, or map its attribute to `email`.",
    }
    "OAuth server" {
        OAuthClientNotFound = 404 "oauth_client_not_found": "No client has that id."
            => "Register the client, or correct the id.",
        OAuthAuthorizationNotFound = 404 "oauth_authorization_not_found": "The authorization request is unknown, expired, or another user's."
            => "Restart at the app.",
        OAuthConsentNotFound = 404 "oauth_consent_not_found": "The user has no grant for this client."
            => "List the grants at `GET /user/oauth/grants`.",
        OAuthDynamicClientRegistrationDisabled = 403 "oauth_dynamic_client_registration_disabled": "Dynamic client registration is disabled."
            => "An administrator registers the client at `/admin/oauth/clients`, or the operator enables registration.",
    }
    "Hooks" {
        HookTimeout = 422 "hook_timeout": "The hook did not respond in time."
            => "Make the hook faster: the limit is 5 seconds for HTTP, 2 for a database function.",
        HookTimeoutAfterRetry = 422 "hook_timeout_after_retry": "The hook did not respond in several attempts."
            => "Check that the hook runs and is reachable.",
        HookPayloadOverSizeLimit = 422 "hook_payload_over_size_limit": "The hook's response is too large."
            => "Respond with less than 200 KB.",
        HookPayloadInvalidContentType = 400 "hook_payload_invalid_content_type": "The hook's response is not JSON."
            => "Respond with `Content-Type: application/json`.",
    }
}

impl ErrorCode {
    /// Returns the value of `error_code`, or of `code` in the newer API version.
    pub const fn as_str(self) -> &'static str {
        self.entry().text
    }

    /// Returns the usual HTTP status; some routes respond with another one.
    pub const fn status(self) -> u16 {
        self.entry().status
    }

    /// Returns what causes the error.
    pub const fn cause(self) -> &'static str {
        self.entry().cause
    }

    /// Returns how the app, the user or the operator resolves the error.
    pub const fn cure(self) -> &'static str {
        self.entry().cure
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
