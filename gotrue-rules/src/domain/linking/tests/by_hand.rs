//! What an owner adds and takes away.

use chrono::TimeDelta;

use super::*;
use crate::domain::audit::{Action, Entry};
use crate::domain::linking::by_hand::{Address, address, part, require_free, unlinkable};
use crate::domain::linking::joining::link;

#[test]
fn what_linking_by_hand_adds() {
    let anonymous = || Account { is_anonymous: true, email_confirmed_at: None, ..account(1, None, Vec::new()) };
    let come = |account: Account, emails| {
        let profile = profile("7", emails);
        link(&arrival("github", &profile), account, false, (Uuid::from_u128(9), NOW), &policy(|_| {})).unwrap()
    };
    let joining = come(local(1, ANN, true), vec![email(WORK, false, true)]);
    assert!(joining.refused.is_none() && !joining.forgets);
    assert_eq!(joining.account.email.as_deref(), Some(ANN));
    assert!(joining.account.user_metadata.is_empty(), "what the provider says stays with the identity");
    assert_eq!(joining.account.app_metadata["providers"], json!(["email", "github"]));

    let joining = come(anonymous(), vec![email(WORK, true, true)]);
    assert!(!joining.account.is_anonymous && joining.account.is_email_confirmed() && joining.forgets);
    assert_eq!(joining.account.email.as_deref(), Some(WORK));

    let joining = come(anonymous(), vec![email(WORK, false, true)]);
    assert!(joining.account.is_anonymous && joining.asks && !joining.account.is_email_confirmed());
    assert!(joining.account.app_metadata.is_empty(), "its providers are told once it is confirmed");
    let message = "Unverified email with github. A confirmation email has been sent to your github email";
    let error = joining.refused.unwrap();
    assert_eq!((error.status(), error.code(), error.message()), (422, "email_not_confirmed", message));

    let joining = come(anonymous(), vec![]);
    assert!(!joining.account.is_anonymous && !joining.asks && joining.refused.is_none());
}

#[test]
fn an_identity_is_linked_once_and_one_remains() {
    let (own, others) = (Uuid::from_u128(1), Uuid::from_u128(2));
    assert!(require_free(None, own).is_ok());
    assert_eq!(require_free(Some(own), own).unwrap_err().message(), "Identity is already linked");
    assert_eq!(require_free(Some(others), own).unwrap_err().message(), "Identity is already linked to another user");
    let two = account(1, None, vec![identity("email", "1", None, true), identity("github", "7", None, true)]);
    assert_eq!(unlinkable(&two, two.identities[1].id).unwrap().provider, "github");
    assert_eq!(unlinkable(&two, others).unwrap_err().code(), "identity_not_found");
    assert_eq!(unlinkable(&local(1, ANN, true), others).unwrap_err().code(), "single_identity_not_deletable");
}

#[test]
fn the_address_of_an_account_follows_its_identities() {
    let at = |seconds, identity| Identity { created_at: NOW + TimeDelta::seconds(seconds), ..identity };
    let claimed = || at(1, identity("a", "1", Some("claimed@x.y"), false));
    let older = || at(2, identity("b", "2", Some("older@x.y"), true));
    let newer = || at(3, identity("c", "3", Some("newer@x.y"), true));
    let none = || at(0, identity("phone", "4", None, false));
    let becomes = |email: &str, is_verified| Address::Becomes { email: Some(email.into()), is_verified };
    let taken = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    #[rustfmt::skip]
    let cases = [
        (Some("older@x.y"), vec![claimed(), older()], vec![], false, Address::Same),
        (None, vec![none(), older()], vec![], false, Address::Same),
        (Some("gone@x.y"), vec![claimed(), none(), newer(), older()], vec![], false, becomes("older@x.y", true)),
        (Some("gone@x.y"), vec![newer(), older()], vec!["older@x.y"], false, becomes("newer@x.y", true)),
        (Some("gone@x.y"), vec![none(), claimed()], vec![], false, becomes("claimed@x.y", false)),
        (Some("gone@x.y"), vec![none(), claimed()], vec![], true, becomes("claimed@x.y", true)),
        (Some("gone@x.y"), vec![none()], vec![], true, Address::Becomes { email: None, is_verified: false }),
        (Some("gone@x.y"), vec![claimed(), none()], vec!["claimed@x.y"], false, Address::Becomes { email: None, is_verified: false }),
        (Some("gone@x.y"), vec![claimed(), older()], vec!["claimed@x.y", "older@x.y"], false, Address::Conflict),
    ];
    for (case, (email, identities, others, autoconfirm, expected)) in cases.into_iter().enumerate() {
        assert_eq!(address(email, &identities, &taken(&others), autoconfirm), expected, "case {case}");
    }
}

#[test]
fn what_remains_without_an_identity() {
    let mut both = local(1, ANN, true);
    both.phone = Some("15550100".into());
    both.phone_confirmed_at = Some(NOW);
    both.identities.push(identity("phone", "p", None, false));
    both.identities.push(identity("github", "7", Some(WORK), true));
    let [by_email, by_phone, by_github] = [0, 1, 2].map(|at| both.identities[at].id);
    let without = |identity, taken: &[String]| part(both.clone(), identity, taken, false);

    let parting = without(by_phone, &[]).unwrap();
    assert!(parting.account.phone.is_none() && parting.account.phone_confirmed_at.is_none() && !parting.forgets);
    assert_eq!(parting.account.app_metadata["providers"], json!(["email", "github"]));

    let parting = without(by_github, &[]).unwrap();
    assert_eq!((parting.account.email.as_deref(), parting.forgets), (Some(ANN), false));

    let parting = without(by_email, &[]).unwrap();
    assert_eq!((parting.account.email.as_deref(), parting.forgets), (Some(WORK), true));
    assert!(parting.account.is_email_confirmed() && parting.account.phone.is_some());
    let parting = without(by_email, &[WORK.to_owned()]).unwrap();
    assert!(parting.account.email.is_none() && !parting.account.is_email_confirmed());
    assert_eq!(parting.account.user_metadata["email_verified"], false);

    let mut two = both.clone();
    two.identities.remove(1);
    let error = part(two, by_email, &[WORK.to_owned()], false).unwrap_err();
    assert_eq!(error.code(), "email_conflict_identity_not_deletable");
}

#[test]
fn an_action_of_linking_names_the_address_it_came_from() {
    for action in [Action::IdentityLinked, Action::IdentityUnlinked] {
        assert!(Entry::of(action).names_address());
    }
}
