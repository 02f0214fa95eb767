//! Table tests of `PUT /user`.

use foundation::time::Time;
use serde_json::Map;

use super::*;
use crate::domain::session::{Aal, AmrClaim};
use crate::domain::user::Factor;

fn user() -> User {
    User { email: Some("ann@example.com".into()), phone: Some("15550100".into()), ..User::default() }
}

fn session(aal: Aal, method: &str) -> Session {
    let amr = vec![AmrClaim { method: method.into(), updated_at: Time::default() }];
    Session { aal, amr, ..Session::default() }
}

fn password() -> UserUpdateRequest {
    UserUpdateRequest { password: Some("correct horse".into()), ..UserUpdateRequest::default() }
}

fn email(email: &str) -> UserUpdateRequest {
    UserUpdateRequest { email: email.into(), ..UserUpdateRequest::default() }
}

fn phone(phone: &str) -> UserUpdateRequest {
    UserUpdateRequest { phone: phone.into(), ..UserUpdateRequest::default() }
}

fn error_code(request: &UserUpdateRequest, user: &User, session: Option<&Session>) -> &'static str {
    let policy = Policy::default();
    let permitted = parse_contacts(request, &policy)
        .and_then(|contacts| authorize_update(request, contacts, user, session, &policy));
    permitted.map_or_else(|error| error.code().as_str(), |_| "")
}

#[test]
fn email_format_is_checked_before_phone() {
    let both = UserUpdateRequest { phone: "call me".into(), ..email("no address") };
    let channel = UserUpdateRequest { channel: "pigeon".into(), ..phone("15550100") };
    let unused_channel = UserUpdateRequest { channel: "pigeon".into(), ..UserUpdateRequest::default() };
    for (request, words) in [
        (both, "Unable to validate email address"),
        (phone("call me"), "Invalid phone number format"),
        (channel, "Invalid channel"),
    ] {
        let refused = parse_contacts(&request, &Policy::default()).unwrap_err();
        assert!(refused.message().starts_with(words), "{refused}");
    }
    assert_eq!(parse_contacts(&unused_channel, &Policy::default()).unwrap(), UserUpdateContacts::default());
}

#[test]
fn unchanged_contacts_are_omitted() {
    let policy = Policy::default();
    let changes = |request: UserUpdateRequest| {
        authorize_update(&request, parse_contacts(&request, &policy).unwrap(), &user(), None, &policy).unwrap()
    };
    assert_eq!(changes(email("ANN@example.com")), ContactChanges::default());
    assert_eq!(changes(phone("+1 5550100")), ContactChanges::default());
    assert_eq!(changes(email("bob@example.com")).email.unwrap().as_str(), "bob@example.com");
    assert_eq!(changes(phone("15550101")).phone.unwrap().0.as_str(), "15550101");
}

#[test]
fn app_metadata_requires_admin_of_own_audience() {
    let request = UserUpdateRequest { app_metadata: Some(Map::new()), ..UserUpdateRequest::default() };
    let of_group = |role: &str, aud: &str| User { role: role.into(), aud: aud.into(), ..user() };
    assert_eq!(error_code(&request, &of_group("", ""), None), "not_admin");
    assert_eq!(error_code(&request, &of_group("admin", "shop"), None), "not_admin");
    assert_eq!(error_code(&request, &of_group("admin", ""), None), "");
}

#[test]
fn update_requires_aal2_if_user_has_verified_factor() {
    let protected = User { factors: vec![Factor { status: "verified".into(), ..Factor::default() }], ..user() };
    let unverified = User { factors: vec![Factor { status: "unverified".into(), ..Factor::default() }], ..user() };
    let (low, high) = (session(Aal::Aal1, "password"), session(Aal::Aal2, "totp"));
    let data = UserUpdateRequest { data: Some(Map::new()), ..UserUpdateRequest::default() };
    for (request, user, session, code) in [
        (password(), &protected, Some(&low), "insufficient_aal"),
        (email("bob@example.com"), &protected, Some(&low), "insufficient_aal"),
        (phone("15550101"), &protected, Some(&low), "insufficient_aal"),
        (email("ann@example.com"), &protected, Some(&low), ""),
        (data.clone(), &protected, Some(&low), ""),
        (password(), &protected, Some(&high), ""),
        (password(), &unverified, Some(&low), ""),
        (password(), &user(), None, ""),
        (data, &protected, None, "unexpected_failure"),
    ] {
        assert_eq!(error_code(&request, user, session), code, "{request:?}");
    }
}

#[test]
fn anonymous_user_needs_contact_to_set_password() {
    let anonymous = User { is_anonymous: true, ..User::default() };
    assert_eq!(error_code(&password(), &anonymous, None), "validation_failed");
    assert_eq!(error_code(&UserUpdateRequest { email: "a@b".into(), ..password() }, &anonymous, None), "");
    assert_eq!(error_code(&UserUpdateRequest { phone: "12".into(), ..password() }, &anonymous, None), "");
}

#[test]
fn sso_user_cannot_change_managed_fields() {
    let sso = User { is_sso_user: true, ..user() };
    let nonce = UserUpdateRequest { nonce: "1".into(), ..UserUpdateRequest::default() };
    for request in [password(), email("bob@example.com"), phone("15550101"), nonce] {
        assert_eq!(error_code(&request, &sso, None), "user_sso_managed", "{request:?}");
    }
    assert_eq!(error_code(&email("ann@example.com"), &sso, None), "");
}

#[test]
fn current_password_is_required_except_after_recovery() {
    let on = SecurityPolicy { update_password_require_current_password: true, ..SecurityPolicy::default() };
    let with_password = User { encrypted_password: Some("$2a$".into()), ..user() };
    let given = UserUpdateRequest { current_password: Some("old".into()), ..password() };
    let empty = UserUpdateRequest { current_password: Some(String::new()), ..password() };
    let by = |method| session(Aal::Aal1, method);
    let check = |request: &UserUpdateRequest, user: &User, session: Option<&Session>, policy: &SecurityPolicy| {
        let required = current_password_to_verify(request, user, session, policy);
        required.map(|password| password.map(str::to_owned)).map_err(|error| error.code().as_str())
    };
    assert_eq!(check(&given, &with_password, Some(&by("password")), &on), Ok(Some("old".to_owned())));
    assert_eq!(check(&empty, &with_password, Some(&by("password")), &on), Err("current_password_required"));
    assert_eq!(check(&password(), &with_password, Some(&by("oauth")), &on), Err("current_password_required"));
    for method in ["otp", "magiclink", "recovery"] {
        assert_eq!(check(&password(), &with_password, Some(&by(method)), &on), Ok(None), "{method}");
    }
    assert_eq!(check(&password(), &user(), None, &on), Ok(None));
    assert_eq!(check(&password(), &with_password, None, &on), Err("unexpected_failure"));
    assert_eq!(check(&password(), &with_password, None, &SecurityPolicy::default()), Ok(None));
}

#[test]
fn contacts_change_immediately_only_with_autoconfirm() {
    let mut policy = Policy::default();
    let anonymous = User { is_anonymous: true, ..User::default() };
    assert_eq!(email_change_mode(&anonymous, &policy), ContactChangeMode::AfterConfirmation);
    assert_eq!(phone_change_mode(&policy), ContactChangeMode::AfterConfirmation);
    policy.mail.autoconfirm = true;
    policy.sms.autoconfirm = true;
    assert_eq!(email_change_mode(&anonymous, &policy), ContactChangeMode::Immediate);
    assert_eq!(email_change_mode(&user(), &policy), ContactChangeMode::AfterConfirmation);
    assert_eq!(phone_change_mode(&policy), ContactChangeMode::Immediate);
    assert_eq!(current_email_to_confirm(&user(), &policy), Some("ann@example.com"));
    assert_eq!(current_email_to_confirm(&anonymous, &policy), None);
    policy.mail.secure_email_change = false;
    assert_eq!(current_email_to_confirm(&user(), &policy), None);
}

#[test]
fn shared_errors_have_expected_messages() {
    for (error, expected) in [
        (email_taken(), "422: A user with this email address has already been registered"),
        (phone_taken(), "422: A user with this phone number has already been registered"),
        (current_password_wrong(), "400: Current password required when setting new password."),
        (same_password(), "422: New password should be different from the old password."),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}
