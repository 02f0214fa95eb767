//! What becomes of an account, and who is let in.

use chrono::TimeDelta;
use serde_json::Value;

use super::*;
use crate::domain::error::{Error, Result};
use crate::domain::linking::joining::{Joining, accept_invitation, join, link};
use crate::domain::sign_up::Ids;

fn joined(decision: Decision, emails: Vec<ProviderEmail>, policy: &Policy) -> Result<Joining> {
    joined_by(&profile("7", emails), false, decision, policy)
}

fn joined_by(profile: &Profile, email_optional: bool, decision: Decision, policy: &Policy) -> Result<Joining> {
    let ids = Ids { account: Uuid::from_u128(100), identity: Uuid::from_u128(101) };
    let arrival = Arrival { provider: "github", profile, email_optional };
    join(&arrival, decision, (ids, "authenticated".into()), NOW, policy)
}

fn create(email: &str) -> Decision {
    Decision::Create { email: Some(email.to_owned()) }
}

fn actions(joining: &Joining) -> Vec<&'static str> {
    joining.audit.iter().map(|entry| entry.action.as_str()).collect()
}

#[test]
fn who_is_let_in_and_who_must_confirm() {
    let usual = policy(|_| {});
    let autoconfirm = policy(|policy| policy.mail.autoconfirm = true);
    let lenient = policy(|policy| policy.mail.allow_unverified_sign_ins = true);
    let known = |confirmed| {
        let mut account = local(1, ANN, confirmed);
        account.identities.push(identity("github", "7", Some(ANN), false));
        Decision::Exists(Box::new(account))
    };
    let linked = |confirmed| Decision::Link(Box::new(local(1, ANN, confirmed)));
    let verified = || vec![email(ANN, true, true)];
    let unverified = || vec![email(ANN, false, true)];
    let mailed = "Unverified email with github. A confirmation email has been sent to your github email";
    let unmailed = "Unverified email with github. Verify the email with github in order to sign in";
    let new = "identity_linked user_signedup";
    #[rustfmt::skip]
    let cases = [
        (&usual, create(ANN), verified(), "user_signedup", false, None),
        (&usual, create(ANN), unverified(), "", true, Some(mailed)),
        (&usual, Decision::CreateWithoutEmail, unverified(), "", false, Some(unmailed)),
        (&usual, Decision::Create { email: None }, vec![], "", false, Some(unmailed)),
        (&autoconfirm, create(ANN), unverified(), "user_signedup", false, None),
        (&lenient, create(ANN), unverified(), "", true, None),
        (&lenient, Decision::CreateWithoutEmail, unverified(), "", false, None),
        (&usual, linked(true), verified(), "identity_linked login", false, None),
        (&usual, linked(false), verified(), new, false, None),
        (&usual, linked(false), vec![email(WORK, false, true), email(ANN, true, false)], "identity_linked", true, Some(mailed)),
        (&autoconfirm, linked(false), unverified(), new, false, None),
        (&usual, known(true), verified(), "login", false, None),
        (&usual, known(true), unverified(), "login", false, None),
        (&usual, known(false), verified(), "user_signedup", false, None),
        (&usual, known(false), unverified(), "", true, Some(mailed)),
        (&lenient, known(false), unverified(), "", true, None),
    ];
    for (at, (policy, decision, emails, audit, asks, refused)) in cases.into_iter().enumerate() {
        let joining = joined(decision, emails, policy).unwrap();
        assert_eq!(actions(&joining).join(" "), audit, "case {at}");
        assert_eq!(joining.asks, asks, "case {at}");
        assert_eq!(joining.refused.as_ref().map(Error::message), refused, "case {at}");
        let is_in = audit.contains("user_signedup") || audit.contains("login");
        assert_eq!(joining.account.is_email_confirmed(), is_in, "case {at}");
    }
}

#[test]
fn an_address_does_not_matter_where_it_is_optional() {
    let usual = policy(|_| {});
    for (emails, decision) in
        [(vec![], Decision::Create { email: None }), (vec![email(ANN, false, true)], Decision::CreateWithoutEmail)]
    {
        let joining = joined_by(&profile("7", emails), true, decision, &usual).unwrap();
        assert_eq!(actions(&joining), ["login"]);
        assert!(joining.refused.is_none() && !joining.takes_over && joining.account.email.is_none());
    }
    let joining = joined_by(&profile("7", vec![email(ANN, false, true)]), true, create(ANN), &usual).unwrap();
    assert!(joining.refused.is_some(), "one that is told must be confirmed");
}

#[test]
fn what_nobody_gets_in_with() {
    let usual = policy(|_| {});
    let verified = || vec![email(ANN, true, true)];
    let refusal = |joining: Result<Joining>| {
        let error = joining.unwrap_err();
        (error.status(), error.message().to_owned())
    };
    let closed = policy(|policy| policy.sign_up.disabled = true);
    for decision in [create(ANN), Decision::Create { email: None }, Decision::CreateWithoutEmail] {
        let told = (422, "Signups not allowed for this instance".to_owned());
        assert_eq!(refusal(joined(decision, verified(), &closed)), told);
    }
    assert!(joined(Decision::Link(Box::new(local(1, ANN, true))), verified(), &closed).is_ok());
    let several = "Multiple accounts with the same email address in the same linking domain detected: default";
    assert_eq!(refusal(joined(Decision::Several, verified(), &usual)), (500, several.to_owned()));
    let banned = Account { banned_until: Some(NOW + TimeDelta::seconds(1)), ..local(1, ANN, true) };
    let told = (403, "User is banned".to_owned());
    assert_eq!(refusal(joined(Decision::Link(Box::new(banned)), verified(), &usual)), told);
}

/// B4: everybody whom a provider gives no id would be one person.
#[test]
fn b4_nobody_is_let_in_without_an_id() {
    let (usual, nobody) = (policy(|_| {}), profile("", vec![email(ANN, true, true)]));
    let known = || Box::new(local(1, ANN, true));
    for decision in [create(ANN), Decision::Link(known()), Decision::Exists(known())] {
        let error = joined_by(&nobody, false, decision, &usual).unwrap_err();
        assert_eq!(error.message(), "error missing provider id");
    }
    let arrival = arrival("github", &nobody);
    assert!(link(&arrival, *known(), false, (Uuid::nil(), NOW), &usual).is_err());
    assert!(accept_invitation(&arrival, *known(), (Uuid::nil(), NOW), &usual).is_err());
}

/// B1: whoever made an unconfirmed account keeps no way into it once its owner comes.
#[test]
fn b1_an_unconfirmed_account_loses_what_its_maker_put_in() {
    let mut taken = local(1, ANN, false);
    taken.phone = Some("15550100".into());
    taken.user_metadata.insert("name".into(), json!("Mallory"));
    taken.user_metadata.insert("planted".into(), json!(true));
    taken.app_metadata.insert("team".into(), json!("chess"));
    let emails = || vec![email(ANN, true, true)];
    let strict = policy(|policy| policy.security.strict_linking = true);
    for (policy, starts_anew) in [(policy(|_| {}), false), (strict, true)] {
        let joining = joined(Decision::Link(Box::new(taken.clone())), emails(), &policy).unwrap();
        assert!(joining.takes_over && joining.confirms);
        assert_eq!(joining.starts_anew, starts_anew);
        let account = &joining.account;
        assert!(!account.has_password());
        assert_eq!(account.phone.is_none(), starts_anew);
        assert_eq!(account.identities.iter().map(|it| it.provider.as_str()).collect::<Vec<_>>(), ["github"]);
        assert_eq!(
            Value::Object(account.user_metadata.clone()),
            json!({"sub": "7", "name": "Ann", "email": ANN, "email_verified": true, "phone_verified": false})
        );
        assert_eq!(
            Value::Object(account.app_metadata.clone()),
            json!({"team": "chess", "provider": "github", "providers": ["github"]})
        );
    }
}

/// B1: at a provider where one address is verified and another was claimed, the claimed one is not confirmed by it.
#[test]
fn b1_the_word_for_one_address_does_not_confirm_another() {
    let mut claimed = local(1, ANN, false);
    claimed.identities = vec![identity("github", "7", Some(ANN), false)];
    let come = |policy: &Policy| {
        let decision = Decision::Exists(Box::new(claimed.clone()));
        joined(decision, vec![email("mallory@example.com", true, true)], policy).unwrap().account
    };
    assert_eq!(come(&policy(|_| {})).email.as_deref(), Some(ANN), "as recorded");
    let account = come(&policy(|policy| policy.security.strict_linking = true));
    assert_eq!(account.email.as_deref(), Some("mallory@example.com"));
}

#[test]
fn a_confirmed_account_keeps_everything_and_learns_more() {
    let mut known = local(1, ANN, true);
    known.user_metadata.insert("name".into(), json!("old"));
    known.user_metadata.insert("desk".into(), json!(7));
    known.identities.push(identity("github", "7", Some("old@example.com"), true));
    let emails = vec![email("Moved@Example.com", true, true)];
    let joining = joined(Decision::Exists(Box::new(known)), emails, &policy(|_| {})).unwrap();
    assert!(!joining.takes_over && !joining.is_new);
    let account = joining.account;
    assert_eq!((account.email.as_deref(), account.has_password()), (Some(ANN), true));
    assert_eq!(account.identities[1].email.as_deref(), Some("moved@example.com"));
    assert_eq!((&account.user_metadata["name"], &account.user_metadata["desk"]), (&json!("Ann"), &json!(7)));
    assert_eq!(account.app_metadata["providers"], json!(["email", "github"]));
}

#[test]
fn a_new_account_is_told_apart_by_its_domain() {
    let person = profile("7", vec![email(ANN, true, true)]);
    for (provider, is_apart) in [("github", false), ("gitlab", true), ("sso:1", true)] {
        let arrival = arrival(provider, &person);
        let ids = Ids { account: Uuid::from_u128(1), identity: Uuid::from_u128(2) };
        let joining = join(&arrival, create(ANN), (ids, "a".into()), NOW, &policy(|_| {})).unwrap();
        assert_eq!(joining.account.is_sso_user, is_apart);
        assert_eq!(joining.account.app_metadata["provider"], provider);
    }
}

#[test]
fn an_invitation_is_for_one_address() {
    let (usual, strict) = (policy(|_| {}), policy(|policy| policy.security.strict_linking = true));
    let come = |emails, policy: &Policy| {
        let profile = profile("7", emails);
        accept_invitation(&arrival("github", &profile), local(1, ANN, false), (Uuid::from_u128(9), NOW), policy)
    };
    let joining = come(vec![email(WORK, true, true), email(ANN, false, false)], &usual).unwrap();
    assert_eq!(actions(&joining), ["invite_accepted"]);
    assert!(joining.takes_over && joining.account.is_email_confirmed() && !joining.account.has_password());
    let in_other_letters = || vec![email("Ann@Example.com", true, true)];
    for emails in [vec![], vec![email(WORK, true, true)], in_other_letters()] {
        let error = come(emails, &usual).unwrap_err();
        assert_eq!(error.message(), "Invited email does not match emails from external provider");
    }
    assert!(come(in_other_letters(), &strict).unwrap().takes_over);
}
