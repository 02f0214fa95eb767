//! The checks of `PUT /user`, row by row.

use serde_json::Map;

use super::*;
use crate::domain::session::AmrClaim;
use crate::domain::user::{Factor, Time};

fn ann() -> Account {
    Account { email: Some("ann@example.com".into()), phone: Some("15550100".into()), ..Account::default() }
}

fn session(aal: Aal, method: &str) -> Session {
    let amr = vec![AmrClaim { method: method.into(), updated_at: Time::default() }];
    Session { aal, amr, ..Session::default() }
}

fn password() -> UserUpdate {
    UserUpdate { password: Some("correct horse".into()), ..UserUpdate::default() }
}

fn email(email: &str) -> UserUpdate {
    UserUpdate { email: email.into(), ..UserUpdate::default() }
}

fn phone(phone: &str) -> UserUpdate {
    UserUpdate { phone: phone.into(), ..UserUpdate::default() }
}

fn answer(request: &UserUpdate, account: &Account, session: Option<&Session>) -> &'static str {
    let policy = Policy::default();
    let permitted =
        contacts(request, &policy).and_then(|contacts| permit(request, contacts, account, session, &policy));
    permitted.map_or_else(|error| error.code(), |_| "")
}

#[test]
fn forms_are_checked_address_first() {
    let both = UserUpdate { phone: "call me".into(), ..email("no address") };
    let channel = UserUpdate { channel: "pigeon".into(), ..phone("15550100") };
    let unused_channel = UserUpdate { channel: "pigeon".into(), ..UserUpdate::default() };
    for (request, words) in [
        (both, "Unable to validate email address"),
        (phone("call me"), "Invalid phone number format"),
        (channel, "Invalid channel"),
    ] {
        let refused = contacts(&request, &Policy::default()).unwrap_err();
        assert!(refused.message().starts_with(words), "{refused}");
    }
    assert_eq!(contacts(&unused_channel, &Policy::default()).unwrap(), Contacts::default());
}

#[test]
fn the_same_address_or_number_is_no_change() {
    let policy = Policy::default();
    let changes =
        |request: UserUpdate| permit(&request, contacts(&request, &policy).unwrap(), &ann(), None, &policy).unwrap();
    assert_eq!(changes(email("ANN@example.com")), Changes::default());
    assert_eq!(changes(phone("+1 5550100")), Changes::default());
    assert_eq!(changes(email("bob@example.com")).email.unwrap().as_str(), "bob@example.com");
    assert_eq!(changes(phone("15550101")).phone.unwrap().0.as_str(), "15550101");
}

#[test]
fn f1_app_metadata_is_for_administrators_of_the_own_audience() {
    let request = UserUpdate { app_metadata: Some(Map::new()), ..UserUpdate::default() };
    let of_group = |role: &str, aud: &str| Account { role: role.into(), aud: aud.into(), ..ann() };
    assert_eq!(answer(&request, &of_group("", ""), None), "not_admin");
    assert_eq!(answer(&request, &of_group("admin", "shop"), None), "not_admin");
    assert_eq!(answer(&request, &of_group("admin", ""), None), "");
}

#[test]
fn e1_a_second_factor_is_asked_for_where_there_is_one() {
    let protected = Account { factors: vec![Factor { status: "verified".into(), ..Factor::default() }], ..ann() };
    let unverified = Account { factors: vec![Factor { status: "unverified".into(), ..Factor::default() }], ..ann() };
    let (low, high) = (session(Aal::Aal1, "password"), session(Aal::Aal2, "totp"));
    let data = UserUpdate { data: Some(Map::new()), ..UserUpdate::default() };
    for (request, account, session, code) in [
        (password(), &protected, Some(&low), "insufficient_aal"),
        (email("bob@example.com"), &protected, Some(&low), "insufficient_aal"),
        (phone("15550101"), &protected, Some(&low), "insufficient_aal"),
        (email("ann@example.com"), &protected, Some(&low), ""),
        (data.clone(), &protected, Some(&low), ""),
        (password(), &protected, Some(&high), ""),
        (password(), &unverified, Some(&low), ""),
        (password(), &ann(), None, ""),
        (data, &protected, None, "unexpected_failure"),
    ] {
        assert_eq!(answer(&request, account, session), code, "{request:?}");
    }
}

#[test]
fn an_anonymous_account_needs_a_contact_for_a_password() {
    let anonymous = Account { is_anonymous: true, ..Account::default() };
    assert_eq!(answer(&password(), &anonymous, None), "validation_failed");
    assert_eq!(answer(&UserUpdate { email: "a@b".into(), ..password() }, &anonymous, None), "");
    assert_eq!(answer(&UserUpdate { phone: "12".into(), ..password() }, &anonymous, None), "");
}

#[test]
fn an_account_of_single_sign_on_is_changed_there() {
    let sso = Account { is_sso_user: true, ..ann() };
    let nonce = UserUpdate { nonce: "1".into(), ..UserUpdate::default() };
    for request in [password(), email("bob@example.com"), phone("15550101"), nonce] {
        assert_eq!(answer(&request, &sso, None), "user_sso_managed", "{request:?}");
    }
    assert_eq!(answer(&email("ann@example.com"), &sso, None), "");
}

#[test]
fn the_old_password_is_asked_for_unless_it_was_forgotten() {
    let on = SecurityPolicy { update_password_require_current_password: true, ..SecurityPolicy::default() };
    let with_password = Account { encrypted_password: Some("$2a$".into()), ..ann() };
    let given = UserUpdate { current_password: Some("old".into()), ..password() };
    let empty = UserUpdate { current_password: Some(String::new()), ..password() };
    let by = |method| session(Aal::Aal1, method);
    let check = |request: &UserUpdate, account: &Account, session: Option<&Session>, policy: &SecurityPolicy| {
        let asked = current_password(request, account, session, policy);
        asked.map(|password| password.map(str::to_owned)).map_err(|error| error.code())
    };
    assert_eq!(check(&given, &with_password, Some(&by("password")), &on), Ok(Some("old".to_owned())));
    assert_eq!(check(&empty, &with_password, Some(&by("password")), &on), Err("current_password_required"));
    assert_eq!(check(&password(), &with_password, Some(&by("oauth")), &on), Err("current_password_required"));
    for method in ["otp", "magiclink", "recovery"] {
        assert_eq!(check(&password(), &with_password, Some(&by(method)), &on), Ok(None), "{method}");
    }
    assert_eq!(check(&password(), &ann(), None, &on), Ok(None));
    assert_eq!(check(&password(), &with_password, None, &on), Err("unexpected_failure"));
    assert_eq!(check(&password(), &with_password, None, &SecurityPolicy::default()), Ok(None));
}

#[test]
fn contacts_change_at_once_only_where_they_count_as_confirmed() {
    let mut policy = Policy::default();
    let anonymous = Account { is_anonymous: true, ..Account::default() };
    assert_eq!(email_change(&anonymous, &policy), ContactChange::WhenConfirmed);
    assert_eq!(phone_change(&policy), ContactChange::WhenConfirmed);
    policy.mail.autoconfirm = true;
    policy.sms.autoconfirm = true;
    assert_eq!(email_change(&anonymous, &policy), ContactChange::AtOnce);
    assert_eq!(email_change(&ann(), &policy), ContactChange::WhenConfirmed);
    assert_eq!(phone_change(&policy), ContactChange::AtOnce);
    assert_eq!(also_confirms(&ann(), &policy), Some("ann@example.com"));
    assert_eq!(also_confirms(&anonymous, &policy), None);
    policy.mail.secure_email_change = false;
    assert_eq!(also_confirms(&ann(), &policy), None);
}

#[test]
fn refusals_that_others_ask_for_have_their_words() {
    for (error, said) in [
        (email_taken(), "422: A user with this email address has already been registered"),
        (phone_taken(), "422: A user with this phone number has already been registered"),
        (current_password_wrong(), "400: Current password required when setting new password."),
        (same_password(), "422: New password should be different from the old password."),
    ] {
        assert_eq!(error.to_string(), said);
    }
}
