//! The hooks that are on, prepared at start: addresses and secrets are read once. Over HTTP they are called from here;
//! functions of the database are called by `store/hooks.rs`, in the transaction that asks.

mod http;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gotrue_rules::domain::policy::{Hook, HookKind, HookTarget, HooksPolicy};

pub use self::http::Webhook;
use crate::ports::clock::SharedClock;
use crate::ports::http_client::HttpClient;

/// The hooks that are on.
#[derive(Debug)]
pub struct Hooks {
    by_kind: BTreeMap<HookKind, Ready>,
    /// Whether a token was signed since the start: see `first_audience_is_list` of the policy.
    has_signed: AtomicBool,
}

/// A hook, ready to be called.
#[derive(Debug)]
pub enum Ready {
    /// Over HTTP.
    Http(Webhook),
    /// A function of the database.
    PgFunction {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
        /// The address as the operator wrote it, for complaints.
        uri: String,
    },
    /// It has no address, and every call fails.
    Missing,
}

impl Hooks {
    /// Prepares those that are on. Nothing is called yet.
    pub fn new(policy: &HooksPolicy, http: &Arc<HttpClient>, clock: &SharedClock) -> Self {
        let ready = |hook: &Hook| match &hook.target {
            HookTarget::Http { url } => Ready::Http(Webhook::new(url, &hook.secrets, http.clone(), clock.clone())),
            HookTarget::PgFunction { schema, name } => {
                Ready::PgFunction { schema: schema.clone(), name: name.clone(), uri: hook.uri.clone() }
            }
            HookTarget::Missing => Ready::Missing,
        };
        let by_kind = HookKind::ALL.into_iter().filter_map(|kind| Some((kind, ready(policy.get(kind)?)))).collect();
        Self { by_kind, has_signed: AtomicBool::new(!policy.first_audience_is_list) }
    }

    /// The hook of this kind, if it is on.
    pub fn get(&self, kind: HookKind) -> Option<&Ready> {
        self.by_kind.get(&kind)
    }

    /// Whether the hook of this kind is on.
    pub fn is_on(&self, kind: HookKind) -> bool {
        self.by_kind.contains_key(&kind)
    }

    /// Whether it is on and called over HTTP, so that a request waits for somebody else.
    pub fn is_http(&self, kind: HookKind) -> bool {
        matches!(self.get(kind), Some(Ready::Http(_)))
    }

    /// Whether the token hook is shown the audience as a list.
    pub fn shows_audience_as_list(&self) -> bool {
        !self.has_signed.load(Ordering::Relaxed)
    }

    /// A token was signed.
    pub fn note_signed(&self) {
        self.has_signed.store(true, Ordering::Relaxed);
    }

    /// Whether it is on and a function of the database.
    pub fn is_in_database(&self, kind: HookKind) -> bool {
        matches!(self.get(kind), Some(Ready::PgFunction { .. }))
    }
}
