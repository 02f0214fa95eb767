//! Tests of the changes to a user and of sign-in refusals.

use chrono::TimeDelta;
use foundation::error::{Error, Result};
use serde_json::Value;

use super::*;
use crate::domain::linking::outcome::{
    LinkingOutcome, NewAccount, NewIdentity, accept_invitation, apply_decision, link_identity,
};

fn outcome(decision: LinkingDecision, emails: Vec<ProviderEmail>, policy: &Policy) -> Result<LinkingOutcome> {
    outcome_for_profile(&profile("7", emails), false, decision, policy)
}

fn outcome_for_profile(
    profile: &ProviderProfile,
    email_optional: bool,
    decision: LinkingDecision,
    policy: &Policy,
) -> Result<LinkingOutcome> {
    let new = NewAccount { id: Uuid::from_u128(100), audience: "authenticated".into(), now: NOW };
    let external_user = ExternalUser { provider: "github", profile, email_optional };
    apply_decision(&external_user, decision, new, Uuid::from_u128(101), policy)
}

fn create(email: &str) -> LinkingDecision {
    LinkingDecision::CreateAccount { email: Some(email.to_owned()) }
}

fn actions(linked: &LinkingOutcome) -> Vec<&'static str> {
    linked.audit_entries.iter().map(|entry| entry.action.as_str()).collect()
}

#[test]
fn sign_in_or_confirmation_table() {
    let default_policy = policy(|_| {});
    let autoconfirm = policy(|policy| policy.mail.autoconfirm = true);
    let lenient = policy(|policy| policy.mail.allow_unverified_sign_ins = true);
    let known = |confirmed| {
        let mut user = password_account(1, ANN, confirmed);
        user.identities.push(identity("github", "7", Some(ANN), false));
        LinkingDecision::AccountExists(Box::new(user))
    };
    let linked = |confirmed| LinkingDecision::LinkAccount(Box::new(password_account(1, ANN, confirmed)));
    let verified = || vec![email(ANN, true, true)];
    let unverified = || vec![email(ANN, false, true)];
    let mailed = "Unverified email with github. A confirmation email has been sent to your github email";
    let unmailed = "Unverified email with github. Verify the email with github in order to sign in";
    let new = "identity_linked user_signedup";
    #[rustfmt::skip]
    let cases = [
        (&default_policy, create(ANN), verified(), "user_signedup", false, None),
        (&default_policy, create(ANN), unverified(), "", true, Some(mailed)),
        (&default_policy, LinkingDecision::CreateAccountWithoutEmail, unverified(), "", false, Some(unmailed)),
        (&default_policy, LinkingDecision::CreateAccount { email: None }, vec![], "", false, Some(unmailed)),
        (&autoconfirm, create(ANN), unverified(), "user_signedup", false, None),
        (&lenient, create(ANN), unverified(), "", true, None),
        (&lenient, LinkingDecision::CreateAccountWithoutEmail, unverified(), "", false, None),
        (&default_policy, linked(true), verified(), "identity_linked login", false, None),
        (&default_policy, linked(false), verified(), new, false, None),
        (&default_policy, linked(false), vec![email(WORK, false, true), email(ANN, true, false)], "identity_linked", true, Some(mailed)),
        (&autoconfirm, linked(false), unverified(), new, false, None),
        (&default_policy, known(true), verified(), "login", false, None),
        (&default_policy, known(true), unverified(), "login", false, None),
        (&default_policy, known(false), verified(), "user_signedup", false, None),
        (&default_policy, known(false), unverified(), "", true, Some(mailed)),
        (&lenient, known(false), unverified(), "", true, None),
    ];
    for (at, (policy, decision, emails, audit, asks, refused)) in cases.into_iter().enumerate() {
        let linked = outcome(decision, emails, policy).unwrap();
        assert_eq!(actions(&linked).join(" "), audit, "case {at}");
        assert_eq!(linked.sends_confirmation, asks, "case {at}");
        assert_eq!(linked.error.as_ref().map(Error::message), refused, "case {at}");
        let is_in = audit.contains("user_signedup") || audit.contains("login");
        assert_eq!(linked.user.is_email_confirmed(), is_in, "case {at}");
    }
}

#[test]
fn missing_email_is_accepted_if_optional() {
    let default_policy = policy(|_| {});
    for (emails, decision) in [
        (vec![], LinkingDecision::CreateAccount { email: None }),
        (vec![email(ANN, false, true)], LinkingDecision::CreateAccountWithoutEmail),
    ] {
        let linked = outcome_for_profile(&profile("7", emails), true, decision, &default_policy).unwrap();
        assert_eq!(actions(&linked), ["login"]);
        assert!(linked.error.is_none() && !linked.removes_other_credentials && linked.user.email.is_none());
    }
    let linked =
        outcome_for_profile(&profile("7", vec![email(ANN, false, true)]), true, create(ANN), &default_policy).unwrap();
    assert!(linked.error.is_some(), "an address that is present must be confirmed");
}

#[test]
fn sign_in_refusals() {
    let default_policy = policy(|_| {});
    let verified = || vec![email(ANN, true, true)];
    let refusal = |linked: Result<LinkingOutcome>| {
        let error = linked.unwrap_err();
        (error.status(), error.message().to_owned())
    };
    let closed = policy(|policy| policy.sign_up.disabled = true);
    for decision in
        [create(ANN), LinkingDecision::CreateAccount { email: None }, LinkingDecision::CreateAccountWithoutEmail]
    {
        let expected = (422, "Signups not allowed for this instance".to_owned());
        assert_eq!(refusal(outcome(decision, verified(), &closed)), expected);
    }
    assert!(
        outcome(LinkingDecision::LinkAccount(Box::new(password_account(1, ANN, true))), verified(), &closed).is_ok()
    );
    let several = "Multiple accounts with the same email address in the same linking domain detected: default";
    assert_eq!(
        refusal(outcome(LinkingDecision::MultipleAccounts, verified(), &default_policy)),
        (500, several.to_owned())
    );
    let banned = User { banned_until: Some(NOW + TimeDelta::seconds(1)), ..password_account(1, ANN, true) };
    let expected = (403, "User is banned".to_owned());
    assert_eq!(refusal(outcome(LinkingDecision::LinkAccount(Box::new(banned)), verified(), &default_policy)), expected);
}

/// B4: all users without an id at the provider would share an identity.
#[test]
fn b4_missing_subject_is_refused() {
    let (default_policy, without_subject) = (policy(|_| {}), profile("", vec![email(ANN, true, true)]));
    let known = || Box::new(password_account(1, ANN, true));
    for decision in [create(ANN), LinkingDecision::LinkAccount(known()), LinkingDecision::AccountExists(known())] {
        let error = outcome_for_profile(&without_subject, false, decision, &default_policy).unwrap_err();
        assert_eq!(error.message(), "error missing provider id");
    }
    let external_user = external_user("github", &without_subject);
    assert!(
        link_identity(&external_user, *known(), false, NewIdentity { id: Uuid::nil(), now: NOW }, &default_policy)
            .is_err()
    );
    assert!(
        accept_invitation(&external_user, *known(), NewIdentity { id: Uuid::nil(), now: NOW }, &default_policy)
            .is_err()
    );
}

/// B1: the creator of an unconfirmed account keeps no access once the address's owner signs in.
#[test]
fn b1_unconfirmed_account_loses_previous_credentials() {
    let mut taken = password_account(1, ANN, false);
    taken.phone = Some("15550100".into());
    taken.user_metadata.insert("name".into(), json!("Mallory"));
    taken.user_metadata.insert("planted".into(), json!(true));
    taken.app_metadata.insert("team".into(), json!("chess"));
    let emails = || vec![email(ANN, true, true)];
    let strict = policy(|policy| policy.security.is_linking_strict = true);
    for (policy, starts_anew) in [(policy(|_| {}), false), (strict, true)] {
        let linked = outcome(LinkingDecision::LinkAccount(Box::new(taken.clone())), emails(), &policy).unwrap();
        assert!(linked.removes_other_credentials && linked.confirms_email);
        assert_eq!(linked.resets_account, starts_anew);
        let user = &linked.user;
        assert!(!user.has_password());
        assert_eq!(user.phone.is_none(), starts_anew);
        assert_eq!(user.identities.iter().map(|identity| identity.provider.as_str()).collect::<Vec<_>>(), ["github"]);
        assert_eq!(
            Value::Object(user.user_metadata.clone()),
            json!({"sub": "7", "name": "Ann", "email": ANN, "email_verified": true, "phone_verified": false})
        );
        assert_eq!(
            Value::Object(user.app_metadata.clone()),
            json!({"team": "chess", "provider": "github", "providers": ["github"]})
        );
    }
}

/// B1: a verified address does not confirm another, unverified address of the same user.
#[test]
fn b1_verified_email_does_not_confirm_another() {
    let mut claimed = password_account(1, ANN, false);
    claimed.identities = vec![identity("github", "7", Some(ANN), false)];
    let sign_in = |policy: &Policy| {
        let decision = LinkingDecision::AccountExists(Box::new(claimed.clone()));
        outcome(decision, vec![email("mallory@example.com", true, true)], policy).unwrap().user
    };
    assert_eq!(sign_in(&policy(|_| {})).email.as_deref(), Some(ANN), "as recorded");
    let user = sign_in(&policy(|policy| policy.security.is_linking_strict = true));
    assert_eq!(user.email.as_deref(), Some("mallory@example.com"));
}

#[test]
fn confirmed_account_keeps_credentials_and_merges_metadata() {
    let mut known = password_account(1, ANN, true);
    known.user_metadata.insert("name".into(), json!("old"));
    known.user_metadata.insert("desk".into(), json!(7));
    known.identities.push(identity("github", "7", Some("old@example.com"), true));
    let emails = vec![email("Moved@Example.com", true, true)];
    let linked = outcome(LinkingDecision::AccountExists(Box::new(known)), emails, &policy(|_| {})).unwrap();
    assert!(!linked.removes_other_credentials && !linked.is_new);
    let user = linked.user;
    assert_eq!((user.email.as_deref(), user.has_password()), (Some(ANN), true));
    assert_eq!(user.identities[1].email.as_deref(), Some("moved@example.com"));
    assert_eq!((&user.user_metadata["name"], &user.user_metadata["desk"]), (&json!("Ann"), &json!(7)));
    assert_eq!(user.app_metadata["providers"], json!(["email", "github"]));
}

#[test]
fn new_account_of_other_domain_is_sso_user() {
    let user_profile = profile("7", vec![email(ANN, true, true)]);
    for (provider, is_sso_user) in [("github", false), ("gitlab", true), ("sso:1", true)] {
        let external_user = external_user(provider, &user_profile);
        let new = NewAccount { id: Uuid::from_u128(1), audience: "a".into(), now: NOW };
        let linked = apply_decision(&external_user, create(ANN), new, Uuid::from_u128(2), &policy(|_| {})).unwrap();
        assert_eq!(linked.user.is_sso_user, is_sso_user);
        assert_eq!(linked.user.app_metadata["provider"], provider);
    }
}

#[test]
fn invitation_requires_invited_email() {
    let (default_policy, strict) = (policy(|_| {}), policy(|policy| policy.security.is_linking_strict = true));
    let sign_in = |emails, policy: &Policy| {
        let profile = profile("7", emails);
        accept_invitation(
            &external_user("github", &profile),
            password_account(1, ANN, false),
            NewIdentity { id: Uuid::from_u128(9), now: NOW },
            policy,
        )
    };
    let linked = sign_in(vec![email(WORK, true, true), email(ANN, false, false)], &default_policy).unwrap();
    assert_eq!(actions(&linked), ["invite_accepted"]);
    assert!(linked.removes_other_credentials && linked.user.is_email_confirmed() && !linked.user.has_password());
    let in_other_case = || vec![email("Ann@Example.com", true, true)];
    for emails in [vec![], vec![email(WORK, true, true)], in_other_case()] {
        let error = sign_in(emails, &default_policy).unwrap_err();
        assert_eq!(error.message(), "Invited email does not match emails from external provider");
    }
    assert!(sign_in(in_other_case(), &strict).unwrap().removes_other_credentials);
}
