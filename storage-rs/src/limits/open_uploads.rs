//! The resumable uploads that users have open at this server.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::error::Error;

/// The uploads that began at this server and are not over. Those that another server ended count until they are looked up.
#[derive(Debug)]
pub(crate) struct OpenUploads {
    most: usize,
    lifetime: TimeDelta,
    uploads: Mutex<Uploads>,
}

#[derive(Debug, Default)]
struct Uploads {
    by_user: HashMap<String, HashMap<Uuid, DateTime<Utc>>>,
    users: HashMap<Uuid, String>,
}

impl Uploads {
    fn remove(&mut self, id: Uuid) {
        let Some(user) = self.users.remove(&id) else { return };
        if let Some(open) = self.by_user.get_mut(&user) {
            open.remove(&id);
            if open.is_empty() {
                self.by_user.remove(&user);
            }
        }
    }
}

impl OpenUploads {
    /// No uploads, of which a user may have so many.
    pub(crate) fn new(most: usize, lifetime: TimeDelta) -> Self {
        Self { most, lifetime, uploads: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Uploads> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an upload of a user.
    ///
    /// # Errors
    /// 429: the user has too many.
    pub(crate) fn begin(&self, user: &str, id: Uuid, now: DateTime<Utc>) -> Result<(), Error> {
        let mut uploads = self.lock();
        if uploads.by_user.get(user).is_some_and(|open| open.len() >= self.most) {
            let is_over = |begun: &DateTime<Utc>| now - *begun >= self.lifetime;
            let open = &uploads.by_user[user];
            let over: Vec<Uuid> = open.iter().filter(|(_, begun)| is_over(begun)).map(|(id, _)| *id).collect();
            for id in &over {
                uploads.remove(*id);
            }
            if over.is_empty() {
                return Err(Error::too_many_open_uploads());
            }
        }
        uploads.by_user.entry(user.to_owned()).or_default().insert(id, now);
        uploads.users.insert(id, user.to_owned());
        Ok(())
    }

    /// Lists the uploads of a user that count.
    pub(crate) fn list(&self, user: &str) -> Vec<Uuid> {
        self.lock().by_user.get(user).map(|open| open.keys().copied().collect()).unwrap_or_default()
    }

    /// Counts an upload no more.
    pub(crate) fn end(&self, id: Uuid) {
        self.lock().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_has_so_many_until_one_ends_or_is_old() {
        let open = OpenUploads::new(2, TimeDelta::hours(24));
        let at = |hours| DateTime::UNIX_EPOCH + TimeDelta::hours(hours);
        let id = Uuid::from_u128;
        assert!(open.begin("a", id(1), at(0)).is_ok() && open.begin("a", id(2), at(1)).is_ok());
        assert_eq!(open.begin("a", id(3), at(23)).unwrap_err().status, 429);
        assert!(open.begin("b", id(4), at(23)).is_ok(), "another user");
        open.end(id(2));
        assert!(open.begin("a", id(3), at(23)).is_ok());
        assert!(open.begin("a", id(5), at(24)).is_ok(), "the first one is a day old");
        assert!(open.begin("a", id(6), at(24)).is_err());
        for number in 1..7 {
            open.end(id(number));
        }
        assert!(open.lock().by_user.is_empty() && open.lock().users.is_empty());
    }
}
