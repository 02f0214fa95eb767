//! Every way to present a code or a link, and every effect.

use std::collections::BTreeMap;

use super::*;

fn at(seconds: i64) -> Time {
    Time::from_timestamp(seconds, 0).unwrap()
}

fn body(kind: &str, token: &str, hash: &str, email: &str, phone: &str) -> Verify {
    Verify {
        kind: kind.into(),
        token: token.into(),
        token_hash: hash.into(),
        email: email.into(),
        phone: phone.into(),
        redirect_to: String::new(),
    }
}

fn code_of(contact: &str, digits: &str) -> Code {
    let body =
        if contact.contains('@') { body("x", digits, "", contact, "") } else { body("x", digits, "", "", contact) };
    code(&body).unwrap()
}

#[test]
fn requests_are_refused_in_order() {
    let with_target = Verify { redirect_to: "x".into(), ..body("signup", "", "h", "", "") };
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
        let refused = Request::of_body(&body).unwrap_err();
        assert_eq!((refused.status(), refused.code(), refused.message()), (status, "validation_failed", message));
    }
    assert_eq!(Request::of_link("", "").unwrap_err().message(), "Verify requires a verification type");
    assert_eq!(Request::of_link("signup", "").unwrap_err().message(), "Verify requires a token or a token hash");
}

#[test]
fn a_code_is_hashed_with_whom_it_was_sent_to() {
    let request = Request::of_body(&body("email", "123456", "", "Ann@Example.com", "")).unwrap();
    let Presented::Code(code) = request.presented else { panic!("a link") };
    assert_eq!(code.hash, TokenHash::of("ann@example.com", "123456"));
    assert_eq!(format!("{code:?}"), "Code { .. }");
}

#[test]
fn accounts_are_looked_up_where_such_codes_are_sent() {
    let (mail, phone) = (code_of("a@b", "1"), code_of("12", "1"));
    let by = |kind: &str, code: &Code, secure: bool| {
        let mut policy = Policy::default();
        policy.mail.secure_email_change = secure;
        match look_up(Kind::from_word(kind), code, &policy) {
            LookUp::Email(email) => email.as_str().to_owned(),
            LookUp::Phone(phone) => phone.as_str().to_owned(),
            LookUp::PendingPhone(phone) => format!("pending {}", phone.as_str()),
            LookUp::EmailChange(slots) => format!("{} slots", slots.len()),
            LookUp::Nowhere => "nowhere".to_owned(),
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

/// An account with a hash in every slot, sent at second 100.
fn account() -> Account {
    let hash = |code: &str| TokenHash::of("a@b", code).as_str().to_owned();
    let sent = Some(at(100));
    Account {
        email: Some("a@b".into()),
        confirmation_token: hash("1"),
        recovery_token: hash("2"),
        email_change_token_current: hash("3"),
        email_change_token_new: format!("pkce_{}", hash("4")),
        phone_change_token: TokenHash::of("12", "5").as_str().to_owned(),
        confirmation_sent_at: sent,
        recovery_sent_at: sent,
        email_change_sent_at: sent,
        phone_change_sent_at: sent,
        ..Account::default()
    }
}

#[test]
fn a_code_fits_its_own_kinds_only() {
    let policy = Policy::default();
    let now = at(100) + policy.mail.otp_exp;
    for (kind, digits, found) in [
        ("signup", "1", Some(Kind::SignUp)),
        ("invite", "1", Some(Kind::Invite)),
        ("magiclink", "2", Some(Kind::MagicLink)),
        ("recovery", "2", Some(Kind::Recovery)),
        ("email", "1", Some(Kind::SignUp)),
        ("email", "2", Some(Kind::MagicLink)),
        ("email_change", "3", Some(Kind::EmailChange)),
        ("email_change", "4", Some(Kind::EmailChange)),
        ("signup", "2", None),
        ("recovery", "1", None),
        ("email", "3", None),
        ("email_change", "1", None),
        ("nonsense", "1", None),
        ("signup", "9", None),
    ] {
        let code = code_of("a@b", digits);
        let check = |now| check_code(Kind::from_word(kind), &code, Some(&account()), &policy, now);
        assert_eq!(check(now).ok(), found.map(CodeCheck::Good), "{kind} {digits}");
        let late = check(now + std::time::Duration::from_secs(1)).unwrap_err();
        assert_eq!(late.to_string(), "403: Token has expired or is invalid");
    }
}

#[test]
fn texts_have_a_clock_of_their_own_and_fixed_codes_none() {
    let mut policy = Policy::default();
    let code = code_of("12", "5");
    let check = |policy: &Policy, code: &Code, seconds| {
        check_code(Some(Kind::PhoneChange), code, Some(&account()), policy, at(seconds)).ok()
    };
    assert_eq!(check(&policy, &code, 160), Some(CodeCheck::Good(Kind::PhoneChange)));
    assert_eq!(check(&policy, &code, 161), None);
    policy.sms.test_otp = BTreeMap::from([("12".to_owned(), "999999".to_owned())]);
    assert_eq!(check(&policy, &code_of("12", "999999"), 1_000_000), Some(CodeCheck::Good(Kind::PhoneChange)));
    assert_eq!(check(&policy, &code_of("12", "999998"), 100), None);
    policy.sms.provider = Some(SmsProvider::TwilioVerify {
        account_sid: String::new(),
        auth_token: "".into(),
        message_service_sid: String::new(),
    });
    assert_eq!(check(&policy, &code, 1_000_000), Some(CodeCheck::AskTwilio(Kind::PhoneChange)));
    assert_eq!(check(&policy, &code_of("12", "999999"), 100), Some(CodeCheck::Good(Kind::PhoneChange)));
}

#[test]
fn a_ban_is_told_before_the_code_is_looked_at() {
    let banned = Account { banned_until: Some(at(1000)), ..account() };
    let policy = Policy::default();
    let by_code = check_code(None, &code_of("a@b", "9"), Some(&banned), &policy, at(100)).unwrap_err();
    let hash = TokenHash::from_link("x");
    let by_link = check_link(Some(Kind::SignUp), &hash, Some(&banned), &policy, at(1 << 40)).unwrap_err();
    assert_eq!((by_code.status(), by_code.code()), (403, "user_banned"));
    assert_eq!(by_link.code(), "otp_expired");
    let by_link = check_link(Some(Kind::SignUp), &hash, Some(&banned), &policy, at(999)).unwrap_err();
    assert_eq!(by_link.code(), "user_banned");
    let nobody = check_code(Some(Kind::SignUp), &code_of("a@b", "1"), None, &policy, at(100)).unwrap_err();
    assert_eq!(nobody.code(), "otp_expired");
}

#[test]
fn links_are_resolved_and_expire_by_the_clock_of_their_slot() {
    let policy = Policy::default();
    let end = at(100) + policy.mail.otp_exp;
    let account = Account { confirmation_sent_at: None, ..account() };
    let recovery = TokenHash::from_link(&account.recovery_token);
    let other = TokenHash::from_link("other");
    for (kind, hash, now, found) in [
        (Kind::Email, &recovery, end, Some(Kind::MagicLink)),
        (Kind::Email, &recovery, end + std::time::Duration::from_nanos(1), None),
        (Kind::Email, &other, at(100), None),
        (Kind::Recovery, &other, end, Some(Kind::Recovery)),
        (Kind::EmailChange, &other, end, Some(Kind::EmailChange)),
        (Kind::SignUp, &other, at(100), None),
    ] {
        let checked = check_link(Some(kind), hash, Some(&account), &policy, now);
        assert_eq!(checked.as_ref().ok(), found.as_ref(), "{kind:?}");
        if let Err(refused) = checked {
            assert_eq!(refused.to_string(), "403: Email link is invalid or has expired");
        }
    }
    for kind in [None, Some(Kind::Sms), Some(Kind::PhoneChange)] {
        let refused = check_link(kind, &other, None, &policy, end).unwrap_err();
        assert_eq!(refused.to_string(), "400: Invalid email verification type");
    }
}

#[test]
fn every_kind_has_its_effect() {
    let mut policy = Policy::default();
    let current = TokenHash::of("a@b", "3");
    let new = TokenHash::of("a@b", "4").for_flow(true);
    let pending = account();
    let confirmed = Account { email_confirmed_at: Some(at(1)), ..account() };
    let invited = Account { invited_at: Some(at(1)), ..account() };
    let with_password = Account { encrypted_password: Some("$2a$".into()), ..invited.clone() };
    let half = Account { email_change_confirm_status: 1, ..account() };
    let without_address = Account { email: None, ..account() };
    for (kind, hash, account, does) in [
        (Kind::SignUp, &new, &pending, Effect::ConfirmEmail { with_password: false }),
        (Kind::Invite, &new, &invited, Effect::ConfirmEmail { with_password: true }),
        (Kind::SignUp, &new, &invited, Effect::ConfirmEmail { with_password: true }),
        (Kind::Invite, &new, &with_password, Effect::ConfirmEmail { with_password: false }),
        (Kind::MagicLink, &new, &pending, Effect::RecoverAndConfirm),
        (Kind::Recovery, &new, &confirmed, Effect::Recover),
        (Kind::Sms, &new, &pending, Effect::ConfirmPhone),
        (Kind::PhoneChange, &new, &pending, Effect::ChangePhone),
        (Kind::EmailChange, &current, &pending, Effect::HalfEmailChange(Slot::EmailChangeCurrent)),
        (Kind::EmailChange, &new, &pending, Effect::HalfEmailChange(Slot::EmailChangeNew)),
        (Kind::EmailChange, &new, &half, Effect::ChangeEmail),
        (Kind::EmailChange, &new, &without_address, Effect::ChangeEmail),
    ] {
        assert_eq!(effect(kind, hash, account, &policy), does, "{kind:?}");
    }
    policy.mail.secure_email_change = false;
    assert_eq!(effect(Kind::EmailChange, &new, &pending, &policy), Effect::ChangeEmail);
    policy.mail.secure_email_change = true;
    policy.mail.autoconfirm = true;
    assert_eq!(effect(Kind::EmailChange, &new, &pending, &policy), Effect::ChangeEmail);
}

#[test]
fn a_missing_flow_quotes_its_cause() {
    assert_eq!(no_flow().to_string(), "400: No associated flow state found. 422: No valid flow state found for user.");
}
