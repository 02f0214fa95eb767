//! Few tries that somebody has whatever others did: who asked for a code may try it.

use std::collections::HashMap;

use gotrue_rules::domain::user::Time;

/// Most grants kept at a time: about 5 MB.
const MOST: usize = 30_000;

/// Grants by whom they are for.
#[derive(Debug, Default)]
pub(super) struct Grants(HashMap<Box<str>, Grant>);

#[derive(Debug, Clone, Copy)]
struct Grant {
    tries: u8,
    until: Time,
}

impl Grants {
    /// Gives anew; what was left of an earlier grant is void.
    pub(super) fn give(&mut self, to: Box<str>, tries: u8, until: Time, now: Time) {
        if self.0.len() >= MOST && !self.0.contains_key(&to) {
            self.make_room(now);
        }
        self.0.insert(to, Grant { tries, until });
    }

    /// Uses one try; false if there is none left.
    pub(super) fn take(&mut self, of: &str, now: Time) -> bool {
        let Some(grant) = self.0.get_mut(of).filter(|grant| grant.tries > 0 && now < grant.until) else { return false };
        grant.tries -= 1;
        true
    }

    /// Drops what is over; else the half that would be over first.
    fn make_room(&mut self, now: Time) {
        self.0.retain(|_, grant| grant.tries > 0 && now < grant.until);
        if self.0.len() < MOST {
            return;
        }
        let mut ends: Vec<Time> = self.0.values().map(|grant| grant.until).collect();
        let half = ends.len() / 2;
        let (_, median, _) = ends.select_nth_unstable(half);
        let (median, mut left) = (*median, half + 1);
        self.0.retain(|_, grant| {
            let goes = left > 0 && grant.until <= median;
            left -= usize::from(goes);
            !goes
        });
    }

    pub(super) fn kept(&self) -> usize {
        self.0.len()
    }
}
