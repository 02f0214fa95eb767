//! The rules of a world, and the selection of the one that acts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::Method;
use platform::entropy::Entropy;
use serde_json::{Map, Value, json};

use super::action::{FaultAction, FaultEffect, TargetFailure};
use super::rule::FaultRule;
use super::target::FaultTarget;
use super::user::RequestUser;
use crate::TestApiError;

/// The largest number of rules of a world.
pub(super) const MAX_RULES: usize = 1000;

/// The rules of a world. Without rules, a request costs one atomic read.
#[derive(Debug)]
pub struct FaultRules {
    number: AtomicUsize,
    state: Mutex<RuleState>,
}

#[derive(Debug)]
struct RuleState {
    rules: Vec<ActiveRule>,
    next_id: u64,
    entropy: Entropy,
}

#[derive(Debug)]
struct ActiveRule {
    id: String,
    rule: FaultRule,
    /// The number of operations that matched.
    matched: u64,
    /// The number of operations that were affected.
    hits: u64,
}

impl FaultRules {
    /// Creates an empty list. The seed determines which operations a probability selects.
    pub fn new(seed: u64) -> Self {
        let state = RuleState { rules: Vec::new(), next_id: 1, entropy: Entropy::from_seed(seed) };
        Self { number: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// Adds a rule `{match?, target?, do, count?}` and returns its id and its hits.
    ///
    /// # Errors
    ///
    /// 400 for an invalid rule, 409 if there are too many.
    pub fn add(&self, body: &[u8]) -> Result<Value, TestApiError> {
        let rule = FaultRule::parse(body)?;
        let mut state = self.lock();
        if state.rules.len() >= MAX_RULES {
            let message = format!("there are {MAX_RULES} rules already");
            return Err(TestApiError::conflict(message, "delete rules, or use `count` so that one rule is enough"));
        }
        let id = format!("fault-{}", state.next_id);
        state.next_id += 1;
        let added = ActiveRule { id, rule, matched: 0, hits: 0 };
        let answer = json!({ "id": added.id, "hits": added.hits });
        state.rules.push(added);
        self.number.store(state.rules.len(), Ordering::Release);
        Ok(answer)
    }

    /// Returns all rules, oldest first.
    ///
    /// `matched` is the number of operations that matched, `hits` that of affected ones.
    pub fn list(&self) -> Value {
        let state = self.lock();
        let format = |active: &ActiveRule| {
            let mut shown = Map::new();
            shown.insert("id".to_owned(), json!(active.id));
            shown.insert("hits".to_owned(), json!(active.hits));
            shown.insert("matched".to_owned(), json!(active.matched));
            shown.extend(active.rule.source.clone());
            Value::Object(shown)
        };
        json!({ "faults": state.rules.iter().map(format).collect::<Vec<_>>() })
    }

    /// Deletes the rule of this id, or all rules.
    ///
    /// # Errors
    ///
    /// 404 if there is no such rule.
    pub fn clear(&self, id: Option<&str>) -> Result<(), TestApiError> {
        let mut state = self.lock();
        let before = state.rules.len();
        state.rules.retain(|active| id.is_some_and(|id| active.id != id));
        self.number.store(state.rules.len(), Ordering::Release);
        match id {
            Some(id) if state.rules.len() == before => {
                Err(TestApiError::not_found(format!("there is no rule {id}"), "list the rules with GET"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the action for a request; `path` is below the base URL of the world, with its query.
    ///
    /// Of several rules that match, the oldest that affects the request acts; the others count the request.
    pub fn for_request(&self, method: &Method, path: &str, user: Option<&RequestUser>) -> Option<FaultAction> {
        self.select(&FaultTarget::Http, |rule| rule.condition.matches_request(method, path, user))
    }

    /// Returns the action for an operation of another target.
    pub fn for_target(&self, target: &FaultTarget) -> Option<FaultAction> {
        self.select(target, |_| true)
    }

    /// Returns the action for a statement.
    ///
    /// Rules with `read_only` affect only statements that write or lock rows.
    pub fn for_statement(&self, is_writing: bool) -> Option<FaultAction> {
        let is_read_only = |rule: &FaultRule| rule.action.effect == FaultEffect::Fail(TargetFailure::ReadOnly);
        self.select(&FaultTarget::Database, |rule| is_writing || !is_read_only(rule))
    }

    /// Whether a rule depends on the user of requests.
    pub(super) fn needs_user(&self) -> bool {
        !self.is_empty() && self.lock().rules.iter().any(|active| active.rule.condition.has_user())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.number.load(Ordering::Acquire) == 0
    }

    fn select(&self, target: &FaultTarget, matches: impl Fn(&FaultRule) -> bool) -> Option<FaultAction> {
        if self.is_empty() {
            return None;
        }
        let mut state = self.lock();
        let RuleState { rules, entropy, .. } = &mut *state;
        let mut selected = None;
        for active in rules.iter_mut().filter(|active| active.rule.target == *target && matches(&active.rule)) {
            active.matched += 1;
            if selected.is_none() && active.affects_current(entropy) {
                active.hits += 1;
                selected = Some(active.rule.action.clone());
            }
        }
        selected
    }

    fn lock(&self) -> MutexGuard<'_, RuleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveRule {
    /// Whether the rule affects the operation that was counted last.
    fn affects_current(&self, entropy: &Entropy) -> bool {
        let condition = &self.rule.condition;
        let is_due = self.matched >= condition.first && condition.count.is_none_or(|count| self.hits < count);
        is_due && (condition.probability >= 1.0 || draw(entropy) < condition.probability)
    }
}

/// Returns a number of 0 to 1, without 1.
fn draw(entropy: &Entropy) -> f64 {
    f64::from(u32::from_le_bytes(entropy.bytes())) / (f64::from(u32::MAX) + 1.0)
}
