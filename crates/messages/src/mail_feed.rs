//! What happens to the mails of a backend, found by comparing two looks at them.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use platform::clock::{Clock, SystemClock};
use platform::mail::inbox::MailState;
use uuid::Uuid;

use crate::message::Message;
use crate::store::{MAX_LATEST, MessageStore, StoreError};

/// The interval of looking for changes that other processes make; this process signals its own.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) enum MailChange {
    /// The mail is new.
    Stored(Box<Message>),
    /// The mail was marked as read or unread.
    Marked(Uuid, bool),
    /// The mail was deleted.
    Deleted(MailState),
}

/// The changes of the latest 500 mails since the last look.
///
/// They are found by comparison, so a mail that comes and goes between two looks is not among them.
pub(crate) struct MailFeed {
    store: MessageStore,
    /// The known mails by their number.
    known: BTreeMap<i64, MailState>,
}

impl MailFeed {
    /// Starts with the present mails.
    pub(crate) async fn start(store: MessageStore) -> Result<Self, StoreError> {
        let known = list_states(&store).await?;
        Ok(Self { store, known })
    }

    /// Returns the messages.
    pub(crate) fn store(&self) -> &MessageStore {
        &self.store
    }

    /// Returns the known mails, oldest first.
    pub(crate) fn mails(&self) -> impl DoubleEndedIterator<Item = &MailState> + ExactSizeIterator {
        self.known.values()
    }

    /// Waits for changes, and returns them.
    ///
    /// New mails are first, in the order of writing, then marked and deleted ones.
    pub(crate) async fn wait(&mut self) -> Result<Vec<MailChange>, StoreError> {
        loop {
            let current = self.wait_for_difference().await?;
            let before = std::mem::replace(&mut self.known, current);
            let changes = self.find_changes(&before).await?;
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    /// Waits until the mails are not the known ones any more, and returns them.
    async fn wait_for_difference(&self) -> Result<BTreeMap<i64, MailState>, StoreError> {
        loop {
            let mut written = pin!(self.store.inbox.written().notified());
            written.as_mut().enable();
            let current = list_states(&self.store).await?;
            if current != self.known {
                return Ok(current);
            }
            tokio::select! {
                () = written => {}
                () = SystemClock.timeout(POLL_INTERVAL) => {}
            }
        }
    }

    async fn find_changes(&mut self, before: &BTreeMap<i64, MailState>) -> Result<Vec<MailChange>, StoreError> {
        let mut changes = Vec::new();
        let mut marked = Vec::new();
        let mut gone = Vec::new();
        for (number, mail) in &self.known {
            match before.get(number) {
                Some(known) if known.is_read != mail.is_read => marked.push(MailChange::Marked(mail.id, mail.is_read)),
                Some(_) => {}
                None if is_older(*number, before) => {}
                None => match self.store.get(mail.id).await? {
                    Some(message) => changes.push(MailChange::Stored(Box::new(message))),
                    None => gone.push(*number),
                },
            }
        }
        let is_listed = |number: &i64| self.known.contains_key(number) || is_older(*number, &self.known);
        let deleted = before.iter().filter(|(number, _)| !is_listed(number));
        let deleted: Vec<MailChange> = deleted.map(|(_, mail)| MailChange::Deleted(mail.clone())).collect();
        for number in gone {
            self.known.remove(&number);
        }
        changes.extend(marked);
        changes.extend(deleted);
        Ok(changes)
    }
}

/// Returns whether a mail is older than all of a list that has no place for more.
fn is_older(number: i64, listed: &BTreeMap<i64, MailState>) -> bool {
    let is_full = i64::try_from(listed.len()).is_ok_and(|length| length >= MAX_LATEST);
    is_full && listed.first_key_value().is_some_and(|(first, _)| number < *first)
}

async fn list_states(store: &MessageStore) -> Result<BTreeMap<i64, MailState>, StoreError> {
    let states = store.inbox.list_mail_states(MAX_LATEST).await?;
    Ok(states.into_iter().map(|state| (state.number, state)).collect())
}
