//! Wrong inbox tokens by network, so that no client tries many.
//!
//! In memory: a restart forgets them, and the token is too long to be guessed in the meantime.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;

/// The wrong tokens of one network in [`WINDOW`], after which its tokens are not compared.
const MAX_WRONG_TOKENS: u32 = 10;
/// How long wrong tokens count.
const WINDOW: Duration = Duration::from_mins(1);
/// The maximum number of networks; a further one waits until an entry ends.
const MAX_NETWORKS: usize = 10_000;

/// The wrong tokens of each network.
#[derive(Default)]
pub(super) struct TokenGuesses(Mutex<HashMap<IpNet, WrongTokens>>);

/// The wrong tokens of one network.
#[derive(Debug, Clone, Copy)]
struct WrongTokens {
    since: Instant,
    count: u32,
}

/// Omits the networks.
impl fmt::Debug for TokenGuesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenGuesses").finish_non_exhaustive()
    }
}

impl TokenGuesses {
    /// Compares a token unless the network has tried too many, and counts a wrong one.
    pub(super) fn check(&self, network: IpNet, now: Instant, is_right: impl FnOnce() -> bool) -> bool {
        let mut networks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |tokens: &WrongTokens| now.duration_since(tokens.since) < WINDOW;
        let found = networks.get(&network).copied().filter(counts);
        if found.is_some_and(|tokens| tokens.count >= MAX_WRONG_TOKENS) {
            return false;
        }
        if found.is_none() && networks.len() >= MAX_NETWORKS {
            networks.retain(|_, tokens| counts(tokens));
            if networks.len() >= MAX_NETWORKS {
                return false;
            }
        }
        if is_right() {
            return true;
        }
        let WrongTokens { since, count } = found.unwrap_or(WrongTokens { since: now, count: 0 });
        networks.insert(network, WrongTokens { since, count: count + 1 });
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(last: u8) -> IpNet {
        format!("192.0.2.{last}/32").parse().expect("a network")
    }

    #[test]
    fn network_that_tries_many_tokens_waits_and_others_do_not() {
        let (guesses, now) = (TokenGuesses::default(), Instant::now());
        for _ in 0..MAX_WRONG_TOKENS {
            assert!(guesses.check(network(2), now, || true), "right tokens do not count");
            assert!(!guesses.check(network(1), now, || false));
        }
        assert!(!guesses.check(network(1), now, || panic!("not compared any more")));
        assert!(guesses.check(network(2), now, || true));
        assert!(guesses.check(network(1), now + WINDOW, || true));
    }

    #[test]
    fn full_table_compares_no_token_of_a_new_network() {
        let (guesses, now) = (TokenGuesses::default(), Instant::now());
        for number in 0..u32::try_from(MAX_NETWORKS).expect("a small number") {
            let address = std::net::Ipv4Addr::from(number);
            assert!(!guesses.check(IpNet::from(std::net::IpAddr::V4(address)), now, || false));
        }
        assert!(!guesses.check(network(1), now, || panic!("not compared")));
        assert!(guesses.check(network(1), now + WINDOW, || true));
    }
}
