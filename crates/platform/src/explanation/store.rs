//! The latest explanations of a backend, in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::history::History;

/// The path of the pages below the base URL of a backend.
pub const EXPLANATION_PATH: &str = "/_dev/explain";
/// The maximum number of explanations.
const MAX_EXPLANATIONS: usize = 1_000;
/// The maximum size of all explanations together, as JSON.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The maximum size of one explanation; a larger one loses its statements and inputs.
const MAX_EXPLANATION_BYTES: usize = 128 * 1024;

/// The latest explanations of a backend; the oldest are removed.
#[derive(Debug)]
pub struct ExplanationStore {
    base_url: String,
    id_prefix: String,
    ring: Mutex<Ring>,
    history: History,
}

#[derive(Debug, Default)]
struct Ring {
    count: u64,
    bytes: usize,
    kept: VecDeque<KeptExplanation>,
}

#[derive(Debug)]
struct KeptExplanation {
    id: String,
    json: Arc<str>,
}

impl ExplanationStore {
    /// Creates an empty store of the backend at `base_url`.
    ///
    /// `id_prefix` differs between two runs, so that an old link shows no other explanation.
    pub fn new(base_url: &str, id_prefix: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            id_prefix: id_prefix.to_owned(),
            ring: Mutex::default(),
            history: History::default(),
        }
    }

    /// What became of secrets and sessions.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Stores an explanation with the members `id` and `link` and returns its link.
    pub fn insert(&self, mut explanation: Value) -> String {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.count += 1;
        let id = format!("{}{}", self.id_prefix, ring.count);
        let link = format!("{}{EXPLANATION_PATH}/{id}", self.base_url);
        explanation["id"] = json!(id);
        explanation["link"] = json!(link);
        let mut text = explanation.to_string();
        if text.len() > MAX_EXPLANATION_BYTES {
            explanation["statements"] = json!([]);
            explanation["decisions"] = json!([]);
            explanation["decision"]["inputs"] = json!({});
            text = explanation.to_string();
        }
        ring.bytes += text.len();
        ring.kept.push_back(KeptExplanation { id, json: text.into() });
        while ring.kept.len() > MAX_EXPLANATIONS || ring.bytes > MAX_BYTES {
            let Some(removed) = ring.kept.pop_front() else { break };
            ring.bytes -= removed.json.len();
        }
        link
    }

    /// Finds an explanation; returns its JSON.
    pub fn find(&self, id: &str) -> Option<Arc<str>> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.kept.iter().find(|kept| kept.id == id).map(|kept| Arc::clone(&kept.json))
    }

    /// Returns the latest explanations as JSON, newest first.
    pub fn list(&self, limit: usize) -> Vec<Arc<str>> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.kept.iter().rev().take(limit).map(|kept| Arc::clone(&kept.json)).collect()
    }
}
