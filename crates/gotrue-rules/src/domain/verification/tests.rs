//! Table tests of verification requests and effects.

use std::collections::BTreeMap;

use super::*;

fn at(seconds: i64) -> Time {
    Time::from_timestamp(seconds, 0).unwrap()
}

fn body(kind: &str, token: &str, hash: &str, email: &str, phone: &str) -> VerifyRequest {
    VerifyRequest {
        kind: kind.into(),
        token: token.into(),
        token_hash: hash.into(),
        email: email.into(),
        phone: phone.into(),
        redirect_to: String::new(),
    }
}

fn one_time_code(contact: &str, digits: &str) -> OneTimeCode {
    let body =
        if contact.contains('@') { body("x", digits, "", contact, "") } else { body("x", digits, "", "", contact) };
    parse_code(&body).unwrap()
}

#[test]
fn first_verification_error_is_reported() {
    let with_target = VerifyRequest { redirect_to: "x".into(), ..body("signup", "", "h", "", "") };
    for (body, status, message) in [
        (body("", "", "", "", ""), 400, "Verify requires a verification type"),
        (body("signup", "", "", "", ""), 400, "Verify requires either a token or a token hash"),
        (body("signup", "1", "h", "", ""), 400, "Verify requires either a token or a token hash"),
        (body("signup", "1", "", "", ""), 400, "Only an email address or phone number should be provided on verify"),
        (
            body("signup", "1", "", "a@b", "12"),
            400,
            "Only an email address or phone number should be provided on verify",
        ),
        (body("signup", "1", "", "no address", ""), 422, "Invalid email format"),
        (body("sms", "1", "", "", "call me"), 400, "Invalid phone number format (E.164 required)"),
        (body("signup", "", "h", "a@b", ""), 400, "Only the token_hash and type should be provided"),
        (body("signup", "", "h", "", "12"), 400, "Only the token_hash and type should be provided"),
        (with_target, 400, "Only the token_hash and type should be provided"),
    ] {
        let refused = VerificationRequest::from_body(&body).unwrap_err();
        assert_eq!(
            (refused.status(), refused.code().as_str(), refused.message()),
            (status, "validation_failed", message)
        );
    }
    assert_eq!(VerificationRequest::from_link("", "").unwrap_err().message(), "Verify requires a verification type");
    assert_eq!(
        VerificationRequest::from_link("signup", "").unwrap_err().message(),
        "Verify requires a token or a token hash"
    );
}

#[test]
fn code_is_hashed_with_recipient() {
    let request = VerificationRequest::from_body(&body("email", "123456", "", "Ann@Example.com", "")).unwrap();
    let PresentedToken::Code(code) = request.token else { panic!("a link") };
    assert_eq!(code.hash, TokenHash::new("ann@example.com", "123456"));
    assert_eq!(format!("{code:?}"), "Code { .. }");
}

#[test]
fn lookup_follows_from_type_and_contact() {
    let (mail, phone) = (one_time_code("a@b", "1"), one_time_code("12", "1"));
    let by = |kind: &str, code: &OneTimeCode, secure: bool| {
        let mut policy = Policy::default();
        policy.mail.secure_email_change = secure;
        match select_lookup(VerificationType::parse(kind), code, &policy) {
            UserLookup::Email(email) => email.as_str().to_owned(),
            UserLookup::Phone(phone) => phone.as_str().to_owned(),
            UserLookup::PendingPhone(phone) => format!("pending {}", phone.as_str()),
            UserLookup::EmailChange(slots) => format!("{} slots", slots.len()),
            UserLookup::Impossible => "nowhere".to_owned(),
        }
    };
    for (kind, code, found) in [
        ("signup", &mail, "a@b"),
        ("email", &mail, "a@b"),
        ("nonsense", &mail, "a@b"),
        ("nonsense", &phone, "nowhere"),
        ("signup", &phone, "nowhere"),
        ("sms", &phone, "12"),
        ("sms", &mail, "nowhere"),
        ("phone_change", &phone, "pending 12"),
        ("phone_change", &mail, "nowhere"),
        ("email_change", &mail, "2 slots"),
    ] {
        assert_eq!(by(kind, code, true), found, "{kind}");
    }
    assert_eq!(by("email_change", &mail, false), "1 slots");
}

/// Builds a user with a hash in every column, sent at second 100.
fn user() -> User {
    let hash = |code: &str| TokenHash::new("a@b", code).as_str().to_owned();
    let sent = Some(at(100));
    User {
        email: Some("a@b".into()),
        confirmation_token: hash("1"),
        recovery_token: hash("2"),
        email_change_token_current: hash("3"),
        email_change_token_new: format!("pkce_{}", hash("4")),
        phone_change_token: TokenHash::new("12", "5").as_str().to_owned(),
        confirmation_sent_at: sent,
        recovery_sent_at: sent,
        email_change_sent_at: sent,
        phone_change_sent_at: sent,
        ..User::default()
    }
}

#[test]
fn code_is_valid_for_its_own_types_only() {
    let policy = Policy::default();
    let now = at(100) + policy.mail.otp_exp;
    for (kind, digits, found) in [
        ("signup", "1", Some(VerificationType::SignUp)),
        ("invite", "1", Some(VerificationType::Invite)),
        ("magiclink", "2", Some(VerificationType::MagicLink)),
        ("recovery", "2", Some(VerificationType::Recovery)),
        ("email", "1", Some(VerificationType::SignUp)),
        ("email", "2", Some(VerificationType::MagicLink)),
        ("email_change", "3", Some(VerificationType::EmailChange)),
        ("email_change", "4", Some(VerificationType::EmailChange)),
        ("signup", "2", None),
        ("recovery", "1", None),
        ("email", "3", None),
        ("email_change", "1", None),
        ("nonsense", "1", None),
        ("signup", "9", None),
    ] {
        let code = one_time_code("a@b", digits);
        let check = |now| verify_code(VerificationType::parse(kind), &code, Some(&user()), &policy, now);
        assert_eq!(check(now).ok(), found.map(CodeCheckResult::Valid), "{kind} {digits}");
        let late = check(now + std::time::Duration::from_secs(1)).unwrap_err();
        assert_eq!(late.to_string(), "403: Token has expired or is invalid");
    }
}

#[test]
fn sms_codes_expire_separately_and_fixed_codes_never() {
    let mut policy = Policy::default();
    let code = one_time_code("12", "5");
    let check = |policy: &Policy, code: &OneTimeCode, seconds| {
        verify_code(Some(VerificationType::PhoneChange), code, Some(&user()), policy, at(seconds)).ok()
    };
    assert_eq!(check(&policy, &code, 160), Some(CodeCheckResult::Valid(VerificationType::PhoneChange)));
    assert_eq!(check(&policy, &code, 161), None);
    policy.sms.test_otp = BTreeMap::from([("12".to_owned(), "999999".to_owned())]);
    assert_eq!(
        check(&policy, &one_time_code("12", "999999"), 1_000_000),
        Some(CodeCheckResult::Valid(VerificationType::PhoneChange))
    );
    assert_eq!(check(&policy, &one_time_code("12", "999998"), 100), None);
    policy.sms.provider = Some(SmsProvider::TwilioVerify {
        account_sid: String::new(),
        auth_token: "".into(),
        message_service_sid: String::new(),
    });
    assert_eq!(
        check(&policy, &code, 1_000_000),
        Some(CodeCheckResult::RequiresTwilioCheck(VerificationType::PhoneChange))
    );
    assert_eq!(
        check(&policy, &one_time_code("12", "999999"), 100),
        Some(CodeCheckResult::Valid(VerificationType::PhoneChange))
    );
}

#[test]
fn ban_is_reported_before_code_check() {
    let banned = User { banned_until: Some(at(1000)), ..user() };
    let policy = Policy::default();
    let by_code = verify_code(None, &one_time_code("a@b", "9"), Some(&banned), &policy, at(100)).unwrap_err();
    let hash = TokenHash::from_link("x");
    let by_link = verify_link(Some(VerificationType::SignUp), &hash, Some(&banned), &policy, at(1 << 40)).unwrap_err();
    assert_eq!((by_code.status(), by_code.code().as_str()), (403, "user_banned"));
    assert_eq!(by_link.code().as_str(), "otp_expired");
    let by_link = verify_link(Some(VerificationType::SignUp), &hash, Some(&banned), &policy, at(999)).unwrap_err();
    assert_eq!(by_link.code().as_str(), "user_banned");
    let no_user =
        verify_code(Some(VerificationType::SignUp), &one_time_code("a@b", "1"), None, &policy, at(100)).unwrap_err();
    assert_eq!(no_user.code().as_str(), "otp_expired");
}

#[test]
fn links_resolve_and_expire_by_send_time_of_their_column() {
    let policy = Policy::default();
    let end = at(100) + policy.mail.otp_exp;
    let user = User { confirmation_sent_at: None, ..user() };
    let recovery = TokenHash::from_link(&user.recovery_token);
    let other = TokenHash::from_link("other");
    for (kind, hash, now, found) in [
        (VerificationType::Email, &recovery, end, Some(VerificationType::MagicLink)),
        (VerificationType::Email, &recovery, end + std::time::Duration::from_nanos(1), None),
        (VerificationType::Email, &other, at(100), None),
        (VerificationType::Recovery, &other, end, Some(VerificationType::Recovery)),
        (VerificationType::EmailChange, &other, end, Some(VerificationType::EmailChange)),
        (VerificationType::SignUp, &other, at(100), None),
    ] {
        let checked = verify_link(Some(kind), hash, Some(&user), &policy, now);
        assert_eq!(checked.as_ref().ok(), found.as_ref(), "{kind:?}");
        if let Err(refused) = checked {
            assert_eq!(refused.to_string(), "403: Email link is invalid or has expired");
        }
    }
    for kind in [None, Some(VerificationType::Sms), Some(VerificationType::PhoneChange)] {
        let refused = verify_link(kind, &other, None, &policy, end).unwrap_err();
        assert_eq!(refused.to_string(), "400: Invalid email verification type");
    }
}

#[test]
fn every_type_has_its_effect() {
    let mut policy = Policy::default();
    let current = TokenHash::new("a@b", "3");
    let new = TokenHash::new("a@b", "4").with_pkce(true);
    let pending = user();
    let confirmed = User { email_confirmed_at: Some(at(1)), ..user() };
    let invited = User { invited_at: Some(at(1)), ..user() };
    let with_password = User { encrypted_password: Some("$2a$".into()), ..invited.clone() };
    let half = User { email_change_confirm_status: 1, ..user() };
    let without_address = User { email: None, ..user() };
    for (kind, hash, user, does) in [
        (VerificationType::SignUp, &new, &pending, VerificationEffect::ConfirmEmail { should_set_password: false }),
        (VerificationType::Invite, &new, &invited, VerificationEffect::ConfirmEmail { should_set_password: true }),
        (VerificationType::SignUp, &new, &invited, VerificationEffect::ConfirmEmail { should_set_password: true }),
        (
            VerificationType::Invite,
            &new,
            &with_password,
            VerificationEffect::ConfirmEmail { should_set_password: false },
        ),
        (
            VerificationType::MagicLink,
            &new,
            &pending,
            VerificationEffect::RecoverAndConfirm { should_set_password: false },
        ),
        (VerificationType::Recovery, &new, &confirmed, VerificationEffect::Recover),
        (VerificationType::Sms, &new, &pending, VerificationEffect::ConfirmPhone),
        (VerificationType::PhoneChange, &new, &pending, VerificationEffect::ChangePhone),
        (
            VerificationType::EmailChange,
            &current,
            &pending,
            VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeCurrent),
        ),
        (
            VerificationType::EmailChange,
            &new,
            &pending,
            VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeNew),
        ),
        (VerificationType::EmailChange, &new, &half, VerificationEffect::ChangeEmail),
        (VerificationType::EmailChange, &new, &without_address, VerificationEffect::ChangeEmail),
    ] {
        assert_eq!(decide_effect(kind, hash, user, &policy), does, "{kind:?}");
    }
    policy.mail.secure_email_change = false;
    assert_eq!(decide_effect(VerificationType::EmailChange, &new, &pending, &policy), VerificationEffect::ChangeEmail);
    policy.mail.secure_email_change = true;
    policy.mail.autoconfirm = true;
    assert_eq!(decide_effect(VerificationType::EmailChange, &new, &pending, &policy), VerificationEffect::ChangeEmail);
}

#[test]
fn missing_flow_state_error_quotes_cause() {
    assert_eq!(
        flow_state_missing().to_string(),
        "400: No associated flow state found. 422: No valid flow state found for user."
    );
}
