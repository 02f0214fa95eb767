//! The enabled hooks, with their URLs and secrets parsed at start.
//!
//! This module calls HTTP hooks; `store/hooks.rs` calls Postgres functions in the caller's transaction.

mod http;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gotrue_rules::domain::policy::{Hook, HookKind, HookTarget, HooksPolicy};
use platform::clock::SharedClock;
use platform::http_client::HttpClient;

pub use self::http::Webhook;

/// The enabled hooks.
#[derive(Debug)]
pub struct Hooks {
    by_kind: BTreeMap<HookKind, ReadyHook>,
    /// Whether a token was signed since the start: see `first_audience_is_list` of the policy.
    has_signed: AtomicBool,
}

/// A hook that is ready to be called.
#[derive(Debug)]
pub enum ReadyHook {
    /// An HTTP hook.
    Http(Webhook),
    /// A Postgres function.
    PgFunction {
        schema: String,
        name: String,
        /// The configured URI, for error messages.
        uri: String,
    },
    /// The hook has no URI, and every call fails.
    Missing,
}

impl Hooks {
    /// Prepares the enabled hooks. Nothing is called yet.
    pub fn new(policy: &HooksPolicy, http: &Arc<HttpClient>, clock: &SharedClock) -> Self {
        let ready = |kind: HookKind, hook: &Hook| match &hook.target {
            HookTarget::Http { url } => {
                ReadyHook::Http(Webhook::new(kind, url, &hook.secrets, http.clone(), clock.clone()))
            }
            HookTarget::PgFunction { schema, name } => {
                ReadyHook::PgFunction { schema: schema.clone(), name: name.clone(), uri: hook.uri.clone() }
            }
            HookTarget::Missing => ReadyHook::Missing,
        };
        let by_kind =
            HookKind::ALL.into_iter().filter_map(|kind| Some((kind, ready(kind, policy.get(kind)?)))).collect();
        Self { by_kind, has_signed: AtomicBool::new(!policy.is_first_audience_list) }
    }

    /// Returns the hook of this kind, if it is enabled.
    pub fn get(&self, kind: HookKind) -> Option<&ReadyHook> {
        self.by_kind.get(&kind)
    }

    /// Whether the hook of this kind is enabled.
    pub fn is_enabled(&self, kind: HookKind) -> bool {
        self.by_kind.contains_key(&kind)
    }

    /// Whether the hook is enabled and called over HTTP, so that a request waits for a third party.
    pub fn is_http(&self, kind: HookKind) -> bool {
        matches!(self.get(kind), Some(ReadyHook::Http(_)))
    }

    /// Whether the token hook gets the audience as a list.
    pub fn should_show_audience_as_list(&self) -> bool {
        !self.has_signed.load(Ordering::Relaxed)
    }

    /// Records that a token was signed.
    pub fn record_signed_token(&self) {
        self.has_signed.store(true, Ordering::Relaxed);
    }

    /// Whether the hook is enabled and a Postgres function.
    pub fn is_in_database(&self, kind: HookKind) -> bool {
        matches!(self.get(kind), Some(ReadyHook::PgFunction { .. }))
    }
}
