use super::*;

const NOW: Time = Time::UNIX_EPOCH;

fn request(body: &Value) -> AdminUserRequest {
    AdminUserRequest::decode(body.to_string().as_bytes()).unwrap()
}

fn new_user(contacts: Contacts) -> NewUser {
    NewUser {
        contacts,
        id: Uuid::from_u128(1),
        identity_ids: [Uuid::from_u128(2), Uuid::from_u128(3)],
        audience: "shop".into(),
        role: "authenticated".into(),
        encrypted_password: "hash".into(),
        ban: None,
    }
}

fn contacts(request: &AdminUserRequest) -> Contacts {
    Contacts { email: parse_email(request).unwrap(), phone: parse_phone(request).unwrap() }
}

fn build(body: &Value) -> User {
    let request = request(body);
    let new = new_user(contacts(&request));
    build_user(request, new, NOW)
}

#[test]
fn creating_user_requires_email_or_phone() {
    let refused = parse_new_email(&request(&json!({}))).unwrap_err();
    assert_eq!(refused.message(), "Cannot create a user without either an email or phone");
    assert_eq!(parse_new_email(&request(&json!({"phone": "15550100"}))).unwrap(), None);
}

#[test]
fn first_contact_error_is_reported() {
    let parsed = |text: &str| parse_phone(&request(&json!({ "phone": text })));
    let both = TakenContacts { email: true, phone: true };
    for (phone, taken, code) in [
        (parsed("nonsense"), both, "email_exists"),
        (parsed("nonsense"), TakenContacts::default(), "validation_failed"),
        (parsed("15550100"), TakenContacts { email: false, phone: true }, "phone_exists"),
    ] {
        assert_eq!(require_available_contacts(None, phone, taken).unwrap_err().code().as_str(), code);
    }
    assert!(require_available_contacts(None, parsed("15550100"), TakenContacts::default()).unwrap().phone.is_some());
}

#[test]
fn password_is_plain_or_hashed_or_random() {
    let long = "x".repeat(73);
    for (body, password) in [
        (json!({}), NewPassword::Random),
        (json!({"password": ""}), NewPassword::Random),
        (json!({"password": "a"}), NewPassword::Plain("a")),
        (json!({"password": null, "password_hash": "h"}), NewPassword::Hashed("h")),
        (json!({"password_hash": "h"}), NewPassword::Hashed("h")),
    ] {
        assert_eq!(parse_new_password(&request(&body), false).unwrap(), password);
    }
    for (body, message) in [
        (json!({"password": "", "password_hash": "h"}), "Only a password or a password hash should be provided"),
        (json!({"password": "a", "password_hash": "h"}), "Only a password or a password hash should be provided"),
        (json!({"password": long, "password_hash": "h"}), "Only a password or a password hash should be provided"),
        (json!({"password": long}), "Internal Server Error"),
    ] {
        assert_eq!(parse_new_password(&request(&body), false).unwrap_err().message(), message);
    }
}

#[test]
fn requested_id_must_be_non_nil_uuid() {
    for (id, message) in [
        ("nonsense", "ID must conform to the uuid v4 format"),
        ("00000000-0000-0000-0000-000000000000", "ID cannot be a nil uuid"),
    ] {
        assert_eq!(parse_requested_id(&request(&json!({ "id": id }))).unwrap_err().message(), message);
    }
    assert_eq!(parse_requested_id(&request(&json!({}))).unwrap(), None);
}

#[test]
fn ban_duration_is_go_duration_or_none() {
    let of = |text: &str| parse_ban(&request(&json!({ "ban_duration": text })), NOW);
    for (text, expected) in [
        ("", None),
        ("none", Some(BanChange::Lifted)),
        ("0", Some(BanChange::Lifted)),
        ("1h30m", Some(BanChange::Until(NOW + TimeDelta::minutes(90)))),
        ("-1h", Some(BanChange::Until(NOW - TimeDelta::hours(1)))),
    ] {
        assert_eq!(of(text).unwrap(), expected, "{text}");
    }
    assert_eq!(
        of("forever").unwrap_err().message(),
        "invalid format for ban duration: time: invalid duration \"forever\""
    );
}

#[test]
fn new_user_keeps_null_metadata_and_records_confirmation() {
    let made = build(&json!({
        "email": "Ann@example.com", "phone": "+1 555 0100", "email_confirm": true, "user_metadata": {"empty": null},
        "app_metadata": {"plan": "gold", "provider": "mine", "gone": null}}));
    assert_eq!(Value::Object(made.user_metadata), json!({"empty": null, "email_verified": true}));
    assert_eq!(
        Value::Object(made.app_metadata),
        json!({"provider": "mine", "providers": ["email", "phone"], "plan": "gold"})
    );
    assert_eq!((made.email.as_deref(), made.phone.as_deref()), (Some("ann@example.com"), Some("15550100")));
    assert_eq!((made.email_confirmed_at, made.phone_confirmed_at), (Some(NOW), None));
    assert_eq!((made.aud.as_str(), made.role.as_str()), ("shop", "authenticated"));
    let data: Vec<Value> = made.identities.into_iter().map(|identity| Value::Object(identity.identity_data)).collect();
    let sub = Uuid::from_u128(1);
    assert_eq!(
        data,
        [
            json!({"sub": sub, "email": "ann@example.com", "email_verified": false, "phone_verified": false}),
            json!({"sub": sub, "phone": "15550100", "email_verified": false, "phone_verified": false}),
        ]
    );
}

#[test]
fn empty_change_leaves_user_unchanged() {
    let before = build(&json!({"email": "ann@example.com"}));
    let change =
        parse_change(&request(&json!({"email_confirm": false, "id": "x", "aud": "x", "password_hash": "x"})), NOW);
    assert_eq!(change.unwrap().apply_to(before.clone(), Vec::new(), NOW + TimeDelta::days(1)), before);
}

#[test]
fn new_email_keeps_existing_identity_and_adds_missing_identity() {
    let before = build(&json!({"email": "ann@example.com"}));
    let request = request(&json!({"email": "anna@example.com", "phone": "15550100", "phone_confirm": true}));
    let change = parse_change(&request, NOW).unwrap();
    let identities = change.build_identities(before.id, [Uuid::from_u128(4), Uuid::from_u128(5)], NOW);
    let after = change.apply_to(before, identities, NOW);
    assert_eq!(after.email.as_deref(), Some("anna@example.com"));
    assert_eq!(after.identities[0].email.as_deref(), Some("ann@example.com"));
    assert_eq!(after.identities[1].id, Uuid::from_u128(5));
    assert_eq!(after.identities[1].identity_data["phone_verified"], true);
    assert_eq!(after.identities[1].identity_data["email_verified"], false);
    assert_eq!(after.phone_confirmed_at, Some(NOW));
}

#[test]
fn only_contact_confirmed_in_same_request_makes_user_permanent() {
    for (body, permanent) in [
        (json!({"email": "a@b.c"}), false),
        (json!({"email_confirm": true}), false),
        (json!({"email": "a@b.c", "phone_confirm": true}), false),
        (json!({"email": "a@b.c", "email_confirm": true}), true),
        (json!({"phone": "15550100", "phone_confirm": true}), true),
    ] {
        let change = parse_change(&request(&body), NOW).unwrap();
        let before = User { is_anonymous: true, ..User::default() };
        assert_eq!(change.apply_to(before, Vec::new(), NOW).is_anonymous, !permanent, "{body}");
    }
}

#[test]
fn request_metadata_overrides_confirmation_metadata() {
    let body = json!({"email_confirm": true, "user_metadata": {"email_verified": null, "town": "Basel"}});
    let change = parse_change(&request(&body), NOW).unwrap();
    let after = change.apply_to(build(&json!({"email": "a@b.c"})), Vec::new(), NOW);
    assert_eq!(Value::Object(after.user_metadata), json!({"town": "Basel"}));
}

#[test]
fn new_password_clears_pending_timestamps() {
    let before = User { recovery_sent_at: Some(NOW), email_change: "new@example.com".to_owned(), ..User::default() };
    let change = AdminUserChange { encrypted_password: Some("hash".into()), ..AdminUserChange::default() };
    assert!(change.should_clear_pending());
    let after = change.apply_to(before, Vec::new(), NOW);
    assert_eq!((after.recovery_sent_at, after.email_change.as_str()), (None, "new@example.com"));
}
