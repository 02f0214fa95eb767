//! Tests of manual linking and unlinking.

use chrono::TimeDelta;

use super::*;
use crate::domain::audit::{AuditAction, AuditEntry};
use crate::domain::linking::manual::{
    EmailSelection, find_unlinkable_identity, require_unlinked_identity, select_email, unlink_identity,
};
use crate::domain::linking::outcome::{NewIdentity, link_identity};

#[test]
fn manual_linking_adds_identity_and_email() {
    let anonymous = || User { is_anonymous: true, email_confirmed_at: None, ..user(1, None, Vec::new()) };
    let link_profile = |user: User, emails| {
        let profile = profile("7", emails);
        link_identity(
            &external_user("github", &profile),
            user,
            false,
            NewIdentity { id: Uuid::from_u128(9), now: NOW },
            &policy(|_| {}),
        )
        .unwrap()
    };
    let linked = link_profile(password_account(1, ANN, true), vec![email(WORK, false, true)]);
    assert!(linked.error.is_none() && !linked.voids_pending_requests);
    assert_eq!(linked.user.email.as_deref(), Some(ANN));
    assert!(linked.user.user_metadata.is_empty(), "what the provider says stays with the identity");
    assert_eq!(linked.user.app_metadata["providers"], json!(["email", "github"]));

    let linked = link_profile(anonymous(), vec![email(WORK, true, true)]);
    assert!(!linked.user.is_anonymous && linked.user.is_email_confirmed() && linked.voids_pending_requests);
    assert_eq!(linked.user.email.as_deref(), Some(WORK));

    let linked = link_profile(anonymous(), vec![email(WORK, false, true)]);
    assert!(linked.user.is_anonymous && linked.sends_confirmation && !linked.user.is_email_confirmed());
    assert!(linked.user.app_metadata.is_empty(), "providers are set once it is confirmed");
    let message = "Unverified email with github. A confirmation email has been sent to your github email";
    let error = linked.error.unwrap();
    assert_eq!((error.status(), error.code().as_str(), error.message()), (422, "email_not_confirmed", message));

    let linked = link_profile(anonymous(), vec![]);
    assert!(!linked.user.is_anonymous && !linked.sends_confirmation && linked.error.is_none());
}

#[test]
fn identity_is_linked_once_and_last_one_cannot_be_unlinked() {
    let (own, others) = (Uuid::from_u128(1), Uuid::from_u128(2));
    assert!(require_unlinked_identity(None, own).is_ok());
    assert_eq!(require_unlinked_identity(Some(own), own).unwrap_err().message(), "Identity is already linked");
    assert_eq!(
        require_unlinked_identity(Some(others), own).unwrap_err().message(),
        "Identity is already linked to another user"
    );
    let two = user(1, None, vec![identity("email", "1", None, true), identity("github", "7", None, true)]);
    assert_eq!(find_unlinkable_identity(&two, two.identities[1].id).unwrap().provider, "github");
    assert_eq!(find_unlinkable_identity(&two, others).unwrap_err().code().as_str(), "identity_not_found");
    assert_eq!(
        find_unlinkable_identity(&password_account(1, ANN, true), others).unwrap_err().code().as_str(),
        "single_identity_not_deletable"
    );
}

#[test]
fn email_is_selected_from_remaining_identities() {
    let at = |seconds, identity| Identity { created_at: NOW + TimeDelta::seconds(seconds), ..identity };
    let claimed = || at(1, identity("a", "1", Some("claimed@x.y"), false));
    let older = || at(2, identity("b", "2", Some("older@x.y"), true));
    let newer = || at(3, identity("c", "3", Some("newer@x.y"), true));
    let none = || at(0, identity("phone", "4", None, false));
    let becomes = |email: &str, is_verified| EmailSelection::Changed { email: Some(email.into()), is_verified };
    let taken = |all: &[&str]| all.iter().map(|email| (*email).to_owned()).collect::<Vec<_>>();
    #[rustfmt::skip]
    let cases = [
        (Some("older@x.y"), vec![claimed(), older()], vec![], false, EmailSelection::Unchanged),
        (None, vec![none(), older()], vec![], false, EmailSelection::Unchanged),
        (Some("gone@x.y"), vec![claimed(), none(), newer(), older()], vec![], false, becomes("older@x.y", true)),
        (Some("gone@x.y"), vec![newer(), older()], vec!["older@x.y"], false, becomes("newer@x.y", true)),
        (Some("gone@x.y"), vec![none(), claimed()], vec![], false, becomes("claimed@x.y", false)),
        (Some("gone@x.y"), vec![none(), claimed()], vec![], true, becomes("claimed@x.y", true)),
        (Some("gone@x.y"), vec![none()], vec![], true, EmailSelection::Changed { email: None, is_verified: false }),
        (Some("gone@x.y"), vec![claimed(), none()], vec!["claimed@x.y"], false, EmailSelection::Changed { email: None, is_verified: false }),
        (Some("gone@x.y"), vec![claimed(), older()], vec!["claimed@x.y", "older@x.y"], false, EmailSelection::Conflict),
    ];
    for (case, (email, identities, others, autoconfirm, expected)) in cases.into_iter().enumerate() {
        assert_eq!(select_email(email, &identities, &taken(&others), autoconfirm), expected, "case {case}");
    }
}

#[test]
fn unlinking_updates_account() {
    let mut both = password_account(1, ANN, true);
    both.phone = Some("15550100".into());
    both.phone_confirmed_at = Some(NOW);
    both.identities.push(identity("phone", "p", None, false));
    both.identities.push(identity("github", "7", Some(WORK), true));
    let [by_email, by_phone, by_github] = [0, 1, 2].map(|at| both.identities[at].id);
    let without = |identity, taken: &[String]| unlink_identity(both.clone(), identity, taken, false);

    let parting = without(by_phone, &[]).unwrap();
    assert!(
        parting.user.phone.is_none() && parting.user.phone_confirmed_at.is_none() && !parting.voids_pending_requests
    );
    assert_eq!(parting.user.app_metadata["providers"], json!(["email", "github"]));

    let parting = without(by_github, &[]).unwrap();
    assert_eq!((parting.user.email.as_deref(), parting.voids_pending_requests), (Some(ANN), false));

    let parting = without(by_email, &[]).unwrap();
    assert_eq!((parting.user.email.as_deref(), parting.voids_pending_requests), (Some(WORK), true));
    assert!(parting.user.is_email_confirmed() && parting.user.phone.is_some());
    let parting = without(by_email, &[WORK.to_owned()]).unwrap();
    assert!(parting.user.email.is_none() && !parting.user.is_email_confirmed());
    assert_eq!(parting.user.user_metadata["email_verified"], false);

    let mut two = both.clone();
    two.identities.remove(1);
    let error = unlink_identity(two, by_email, &[WORK.to_owned()], false).unwrap_err();
    assert_eq!(error.code().as_str(), "email_conflict_identity_not_deletable");
}

#[test]
fn linking_audit_entries_contain_ip_address() {
    for action in [AuditAction::IdentityLinked, AuditAction::IdentityUnlinked] {
        assert!(AuditEntry::new(action).has_client_address());
    }
}
