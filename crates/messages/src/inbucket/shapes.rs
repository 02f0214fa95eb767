//! Names of mailboxes, and messages as Inbucket describes them.

use platform::request_info::parse_pairs;
use serde_json::{Value, json};

use crate::addresses::Addresses;
use crate::message::Message;
use crate::mime::Mailbox;
use crate::store::{MessageStore, StoreError};

/// Returns the description of a message in a mailbox.
pub(super) async fn list_item(store: &MessageStore, mailbox: &str, message: &Message) -> Result<Value, StoreError> {
    let addresses = Addresses::new(message, &store.sender);
    let to: Vec<String> = addresses.to.iter().map(format_mailbox).collect();
    Ok(json!({
        "mailbox": mailbox,
        "id": message.id,
        "from": format_mailbox(&addresses.from),
        "to": to,
        "subject": message.subject,
        "date": message.at,
        "posix-millis": message.at.timestamp_millis(),
        "size": store.raw(message).await?.len(),
        "seen": message.is_read,
    }))
}

/// Returns whether a mailbox has an address.
///
/// Its name is the address, or the local part with or without its suffix.
pub(super) fn is_mailbox(name: &str, address: &str) -> bool {
    [address, local_part(address), plain_name(address)].iter().any(|form| form.eq_ignore_ascii_case(name))
}

/// Returns the usual name of the mailbox of an address: the local part before a `+`.
pub(super) fn plain_name(address: &str) -> &str {
    let local = local_part(address);
    local.split_once('+').map_or(local, |(plain, _)| plain)
}

fn local_part(address: &str) -> &str {
    address.rsplit_once('@').map_or(address, |(local, _)| local)
}

/// Decodes a segment of a path, in which `+` is no space.
pub(super) fn decode_name(segment: &str) -> String {
    let query = format!("name={}", segment.replace('+', "%2B").replace('&', "%26").replace(';', "%3B"));
    parse_pairs(&query).into_iter().next().map_or_else(|| segment.to_owned(), |(_, name)| name)
}

fn format_mailbox(mailbox: &Mailbox) -> String {
    if mailbox.name.is_empty() {
        format!("<{}>", mailbox.address)
    } else {
        format!("{} <{}>", mailbox.name, mailbox.address)
    }
}
