//! Query plans: no request statement scans a whole table or index, which would grow with the number of users.

use gotrue_rs::testing::clone_migrated;
use platform::testing::list_full_scans;
use sqlx::{Connection, PgConnection};

use super::list_statements;

/// Statements that no request sends, with the reason.
const MAY_READ_ALL: &[(&str, &str)] = &[
    ("bulk.attach_identities", "an import: by the index where there are many accounts"),
    ("bulk.attach_factors", "an import: by the index where there are many accounts"),
    ("bulk.attach_passkeys", "an import: by the index where there are many accounts"),
    ("bulk.attach_oauth_consents", "an import: by the index where there are many accounts"),
    ("bulk.attach_recovery_code_sets", "an import: by the index where there are many accounts"),
    ("bulk.find_completable", "an import: by the index where there are many accounts"),
    ("bulk.complete", "an import: by the index where there are many accounts"),
    ("bulk.count", "an export"),
    ("cleanup.oauth_requests", "in the background, after a write; what is there is of one day"),
    ("cleanup.inactive_sessions", "in the background, after a write, with a rest after each sweep"),
    ("outbox.find_next_attempt", "the worker: its index holds waiting mails alone"),
    ("outbox.count_by_state", "figures for the operator: indexes of waiting and failed mails alone"),
    ("outbox.list_failing", "figures for the operator"),
    ("outbox.list_inbox", "the development inbox: its index holds its mails alone"),
    ("custom_oauth_providers.count", "a new provider of the administrator's, of which there are few"),
    ("custom_oauth_providers.list", "the administrator's list of providers, of which there are few"),
    ("limit_counters.delete_expired", "once a minute: the index begins with those that have expired"),
    ("replicas.list_live", "the start of a server: there are few replicas"),
    ("replicas.delete_dead", "the start of a server: there are few replicas"),
    ("sso_providers.list", "the administrator's list of companies, of which there are few"),
    ("outbox.find_message", "the development inbox: its index holds its mails alone"),
    ("outbox.list_messages", "the development inbox: its index holds its mails alone"),
    ("outbox.list_mail_states", "the development inbox: its index holds its mails alone"),
    ("outbox.find_last_number", "the development inbox: its index holds its mails alone"),
    ("outbox.delete_selected", "the development inbox: its index holds its mails alone"),
    ("outbox.mark_read", "the development inbox: its index holds its mails alone"),
    ("outbox.delete_surplus", "the development inbox: its index holds 500 mails of applications"),
];

#[tokio::test]
async fn request_statements_never_scan_a_whole_table() {
    let database = clone_migrated().await;
    let options = database.admin_options().options([("search_path", "auth")]);
    let mut connection = PgConnection::connect_with(&options).await.expect("the test server answers");
    let scans = list_full_scans(&mut connection, list_statements()).await;
    let is_allowed = |name: &str| MAY_READ_ALL.iter().any(|(allowed, _)| *allowed == name);
    let refused = scans.iter().filter(|(name, _)| !is_allowed(name)).map(|(name, found)| format!("{name}: {found}"));
    let is_found = |name: &str| scans.iter().any(|(found, _)| *found == name);
    let stale = MAY_READ_ALL.iter().filter(|(name, _)| !is_found(name));
    let stale = stale.map(|(name, _)| format!("{name} reads no whole table any more"));
    let complaints: Vec<String> = refused.chain(stale).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
