//! Parses the rules of faults, and decides which operations they affect.

use http::Method;
use platform::nearest::format_suggestion;
use serde_json::{Map, Value};

use super::action::FaultAction;
use super::pattern::{MAX_PATTERN, PathPattern};
use super::target::FaultTarget;
use super::user::RequestUser;
use crate::TestApiError;

const MAX_BODY_BYTES: usize = 1 << 20;
/// The highest number of a request, and the highest count.
const MAX_COUNT: u64 = 1_000_000_000;
/// The longest id or address of a user, in bytes.
const MAX_USER: usize = 320;
const MEMBERS: [&str; 4] = ["match", "target", "do", "count"];
const CONDITIONS: [&str; 5] = ["method", "path", "nth", "user", "probability"];
const HINT: &str = "send a rule such as {\"match\": {\"path\": \"/auth/v1/token\"}, \"do\": {\"status\": 503}}";

/// A rule: the operations that it affects, and what it does to them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FaultRule {
    pub(super) target: FaultTarget,
    pub(super) condition: FaultCondition,
    pub(super) action: FaultAction,
    /// The rule as it was sent.
    pub(super) source: Map<String, Value>,
}

/// The operations that a rule affects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FaultCondition {
    method: Option<Method>,
    path: Option<PathPattern>,
    /// An id, or an address in lower case.
    user: Option<String>,
    /// The number of the first affected operation among the matching ones.
    pub(super) first: u64,
    /// The share of affected operations.
    pub(super) probability: f64,
    /// The largest number of affected operations.
    pub(super) count: Option<u64>,
}

impl FaultRule {
    pub(super) fn parse(body: &[u8]) -> Result<Self, TestApiError> {
        let invalid = |problem: String| TestApiError::bad_request(problem, HINT);
        if body.len() > MAX_BODY_BYTES {
            return Err(invalid(format!("the body is larger than {MAX_BODY_BYTES} bytes")));
        }
        let parsed =
            serde_json::from_slice(body).map_err(|error| invalid(format!("the body is no JSON object: {error}")));
        Self::from_members(parsed?).map_err(invalid)
    }

    fn from_members(source: Map<String, Value>) -> Result<Self, String> {
        require_known(&source, &MEMBERS, "")?;
        let target = match source.get("target") {
            None => FaultTarget::Http,
            Some(target) => {
                let word = target.as_str().unwrap_or_default();
                FaultTarget::parse(word).ok_or_else(|| {
                    let suggestion = format_suggestion(word, FaultTarget::list().iter().map(String::as_str));
                    format!("target: one of {} is wanted{suggestion}", FaultTarget::FORMS)
                })?
            }
        };
        let none = Map::new();
        let conditions = match source.get("match") {
            None => &none,
            Some(Value::Object(conditions)) => conditions,
            Some(_) => return Err("match: an object is wanted".to_owned()),
        };
        let Some(Value::Object(action)) = source.get("do") else { return Err("do: an object is wanted".to_owned()) };
        let condition = FaultCondition::parse(conditions, &target, whole(&source, "count")?)?;
        Ok(Self { action: FaultAction::parse(action, &target)?, target, condition, source })
    }
}

impl FaultCondition {
    fn parse(members: &Map<String, Value>, target: &FaultTarget, count: Option<u64>) -> Result<Self, String> {
        require_known(members, &CONDITIONS, "match.")?;
        let of_requests = ["method", "path", "user"].into_iter().find(|name| members.contains_key(*name));
        if let Some(name) = of_requests.filter(|_| *target != FaultTarget::Http) {
            return Err(format!("match.{name}: only requests have one, and the target is {target}"));
        }
        let text = |name: &str, most: usize| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() && text.len() <= most => Ok(Some(text.as_str())),
            Some(_) => Err(format!("match.{name}: a text of 1 to {most} bytes is wanted")),
        };
        let method = text("method", 16)?.map(|name| Method::from_bytes(name.to_ascii_uppercase().as_bytes()));
        let method = method.transpose().map_err(|_| "match.method: a method such as POST is wanted".to_owned())?;
        let path = match text("path", MAX_PATTERN)? {
            None => None,
            Some(path) => Some(PathPattern::parse(path).ok_or("match.path: a path such as /auth/v1/* is wanted")?),
        };
        let probability = match members.get("probability").map(Value::as_f64) {
            None => 1.0,
            Some(Some(probability)) if (0.0..=1.0).contains(&probability) => probability,
            Some(_) => return Err("match.probability: a number of 0 to 1 is wanted".to_owned()),
        };
        let nth = whole(members, "nth").map_err(|problem| format!("match.{problem}"))?;
        Ok(Self {
            method,
            path,
            user: text("user", MAX_USER)?.map(str::to_ascii_lowercase),
            first: nth.unwrap_or(1),
            probability,
            count: count.or(nth.map(|_| 1)),
        })
    }

    /// Whether the condition depends on the user of a request.
    pub(super) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// Whether a request has the method, path and user of the condition.
    ///
    /// A preflight of CORS is matched only if the condition names its method.
    pub(super) fn matches_request(&self, method: &Method, path: &str, user: Option<&RequestUser>) -> bool {
        let has_method = self.method.as_ref().map_or(*method != Method::OPTIONS, |wanted| wanted == method);
        let has_path = self.path.as_ref().is_none_or(|pattern| pattern.matches(path));
        let is_user = |wanted: &String| {
            user.is_some_and(|user| [&user.id, &user.email].iter().any(|own| own.eq_ignore_ascii_case(wanted)))
        };
        has_method && has_path && self.user.as_ref().is_none_or(is_user)
    }
}

fn require_known(members: &Map<String, Value>, known: &[&str], prefix: &str) -> Result<(), String> {
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => {
            let suggestion = format_suggestion(unknown, known.iter().copied());
            Err(format!("{prefix}{unknown}: no such member{suggestion}; known are {}", known.join(", ")))
        }
        None => Ok(()),
    }
}

/// Parses a number of at least one.
fn whole(members: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    match members.get(name).map(Value::as_u64) {
        None => Ok(None),
        Some(Some(number)) if (1..=MAX_COUNT).contains(&number) => Ok(Some(number)),
        Some(_) => Err(format!("{name}: a whole number of 1 to {MAX_COUNT} is wanted")),
    }
}
