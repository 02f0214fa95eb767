use super::*;

const NOW: Time = Time::UNIX_EPOCH;

fn request(body: &Value) -> AdminUser {
    AdminUser::decode(body.to_string().as_bytes()).unwrap()
}

fn new(contacts: Contacts) -> New {
    New {
        contacts,
        id: Uuid::from_u128(1),
        identity_ids: [Uuid::from_u128(2), Uuid::from_u128(3)],
        audience: "shop".into(),
        role: "authenticated".into(),
        encrypted_password: "hash".into(),
        ban: None,
    }
}

fn contacts(request: &AdminUser) -> Contacts {
    Contacts { email: email(request).unwrap(), phone: phone(request).unwrap() }
}

fn made(body: &Value) -> Account {
    let request = request(body);
    let new = new(contacts(&request));
    account(request, new, NOW)
}

#[test]
fn a_new_account_needs_an_address_or_a_number() {
    let refused = new_email(&request(&json!({}))).unwrap_err();
    assert_eq!(refused.message(), "Cannot create a user without either an email or phone");
    assert_eq!(new_email(&request(&json!({"phone": "15550100"}))).unwrap(), None);
}

#[test]
fn the_first_complaint_of_address_and_number_wins() {
    let parsed = |text: &str| phone(&request(&json!({ "phone": text })));
    let both = Taken { email: true, phone: true };
    for (phone, taken, code) in [
        (parsed("nonsense"), both, "email_exists"),
        (parsed("nonsense"), Taken::default(), "validation_failed"),
        (parsed("15550100"), Taken { email: false, phone: true }, "phone_exists"),
    ] {
        assert_eq!(free(None, phone, taken).unwrap_err().code(), code);
    }
    assert!(free(None, parsed("15550100"), Taken::default()).unwrap().phone.is_some());
}

#[test]
fn a_password_is_given_or_hashed_or_random() {
    let long = "x".repeat(73);
    for (body, password) in [
        (json!({}), NewPassword::Random),
        (json!({"password": ""}), NewPassword::Random),
        (json!({"password": "a"}), NewPassword::Given("a")),
        (json!({"password": null, "password_hash": "h"}), NewPassword::Hashed("h")),
        (json!({"password_hash": "h"}), NewPassword::Hashed("h")),
    ] {
        assert_eq!(new_password(&request(&body)).unwrap(), password);
    }
    for (body, message) in [
        (json!({"password": "", "password_hash": "h"}), "Only a password or a password hash should be provided"),
        (json!({"password": "a", "password_hash": "h"}), "Only a password or a password hash should be provided"),
        (json!({"password": long, "password_hash": "h"}), "Only a password or a password hash should be provided"),
        (json!({"password": long}), "Internal Server Error"),
    ] {
        assert_eq!(new_password(&request(&body)).unwrap_err().message(), message);
    }
}

#[test]
fn an_id_is_a_uuid_that_is_not_nil() {
    for (id, message) in [
        ("nonsense", "ID must conform to the uuid v4 format"),
        ("00000000-0000-0000-0000-000000000000", "ID cannot be a nil uuid"),
    ] {
        assert_eq!(new_id(&request(&json!({ "id": id }))).unwrap_err().message(), message);
    }
    assert_eq!(new_id(&request(&json!({}))).unwrap(), None);
}

#[test]
fn bans_are_go_durations_or_none() {
    let of = |text: &str| ban(&request(&json!({ "ban_duration": text })), NOW);
    for (text, expected) in [
        ("", None),
        ("none", Some(Ban::Lifted)),
        ("0", Some(Ban::Lifted)),
        ("1h30m", Some(Ban::Until(NOW + TimeDelta::minutes(90)))),
        ("-1h", Some(Ban::Until(NOW - TimeDelta::hours(1)))),
    ] {
        assert_eq!(of(text).unwrap(), expected, "{text}");
    }
    assert_eq!(
        of("forever").unwrap_err().message(),
        "invalid format for ban duration: time: invalid duration \"forever\""
    );
}

#[test]
fn a_new_account_keeps_null_members_and_tells_of_its_confirmation() {
    let made = made(&json!({
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
    let data: Vec<Value> = made.identities.into_iter().map(|it| Value::Object(it.identity_data)).collect();
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
fn nothing_asked_for_changes_nothing() {
    let before = made(&json!({"email": "ann@example.com"}));
    let change = change(&request(&json!({"email_confirm": false, "id": "x", "aud": "x", "password_hash": "x"})), NOW);
    assert_eq!(change.unwrap().applied(before.clone(), Vec::new(), NOW + TimeDelta::days(1)), before);
}

#[test]
fn a_new_address_leaves_the_old_identity_in_the_answer_and_adds_a_missing_one() {
    let before = made(&json!({"email": "ann@example.com"}));
    let request = request(&json!({"email": "anna@example.com", "phone": "15550100", "phone_confirm": true}));
    let change = change(&request, NOW).unwrap();
    let identities = change.identities(before.id, [Uuid::from_u128(4), Uuid::from_u128(5)], NOW);
    let after = change.applied(before, identities, NOW);
    assert_eq!(after.email.as_deref(), Some("anna@example.com"));
    assert_eq!(after.identities[0].email.as_deref(), Some("ann@example.com"));
    assert_eq!(after.identities[1].id, Uuid::from_u128(5));
    assert_eq!(after.identities[1].identity_data["phone_verified"], true);
    assert_eq!(after.identities[1].identity_data["email_verified"], false);
    assert_eq!(after.phone_confirmed_at, Some(NOW));
}

#[test]
fn only_a_contact_confirmed_in_the_same_call_makes_an_account_permanent() {
    for (body, permanent) in [
        (json!({"email": "a@b.c"}), false),
        (json!({"email_confirm": true}), false),
        (json!({"email": "a@b.c", "phone_confirm": true}), false),
        (json!({"email": "a@b.c", "email_confirm": true}), true),
        (json!({"phone": "15550100", "phone_confirm": true}), true),
    ] {
        let change = change(&request(&body), NOW).unwrap();
        let before = Account { is_anonymous: true, ..Account::default() };
        assert_eq!(change.applied(before, Vec::new(), NOW).is_anonymous, !permanent, "{body}");
    }
}

#[test]
fn metadata_of_the_request_wins_over_what_a_confirmation_tells() {
    let body = json!({"email_confirm": true, "user_metadata": {"email_verified": null, "town": "Basel"}});
    let change = change(&request(&body), NOW).unwrap();
    let after = change.applied(made(&json!({"email": "a@b.c"})), Vec::new(), NOW);
    assert_eq!(Value::Object(after.user_metadata), json!({"town": "Basel"}));
}

#[test]
fn c2_a_new_password_forgets_what_was_asked_for_under_the_old_one() {
    let before =
        Account { recovery_sent_at: Some(NOW), email_change: "new@example.com".to_owned(), ..Account::default() };
    let change = Change { encrypted_password: Some("hash".into()), ..Change::default() };
    assert!(change.clears_pending());
    let after = change.applied(before, Vec::new(), NOW);
    assert_eq!((after.recovery_sent_at, after.email_change.as_str()), (None, "new@example.com"));
}
