//! The record of one decision: what was decided, by which inputs, and what changes the decision.
//!
//! Records are logged, and shown in development.

use std::borrow::Cow;

use serde_json::Value;

/// The effect of a decision on the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionEffect {
    /// The request was refused.
    Refused,
    /// The request went on with another value than the requested one.
    Adjusted,
}

/// A decision about a request with its inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionRecord {
    /// A stable name: `redirect_not_listed`.
    pub name: &'static str,
    pub effect: DecisionEffect,
    /// Why, in one sentence without secrets and addresses.
    pub reason: Cow<'static, str>,
    /// The setting that decided, by its variable: `GOTRUE_URI_ALLOW_LIST`.
    pub setting: Option<Cow<'static, str>>,
    /// The value that decided, for the log: never a secret or the address of a user.
    pub value: Option<String>,
    /// Further inputs, for development only.
    pub inputs: Vec<(&'static str, Value)>,
    /// What changes the decision; `None` for the resolution of the error code.
    pub remedy: Option<Cow<'static, str>>,
}

impl DecisionRecord {
    /// Records that the request was refused.
    pub fn refused(name: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, DecisionEffect::Refused, reason.into())
    }

    /// Records that the request went on with another value than the requested one.
    pub fn adjusted(name: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, DecisionEffect::Adjusted, reason.into())
    }

    fn new(name: &'static str, effect: DecisionEffect, reason: Cow<'static, str>) -> Self {
        Self { name, effect, reason, setting: None, value: None, inputs: Vec::new(), remedy: None }
    }

    /// Adds the setting that decided.
    #[must_use]
    pub fn with_setting(self, variable: impl Into<Cow<'static, str>>) -> Self {
        Self { setting: Some(variable.into()), ..self }
    }

    /// Adds the value that decided; never a secret or the address of a user.
    #[must_use]
    pub fn with_value(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// Adds an input that only development shows.
    #[must_use]
    pub fn with_input(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.inputs.push((name, value.into()));
        self
    }

    /// Adds what changes the decision.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_keeps_its_parts() {
        let record = DecisionRecord::refused("rate_limit", "too many requests")
            .with_setting("GOTRUE_RATE_LIMIT_OTP")
            .with_value("30")
            .with_input("remaining", 0)
            .with_remedy("wait");
        assert_eq!((record.name, record.effect), ("rate_limit", DecisionEffect::Refused));
        assert_eq!(record.setting.as_deref(), Some("GOTRUE_RATE_LIMIT_OTP"));
        assert_eq!(record.value.as_deref(), Some("30"));
        assert_eq!(record.inputs, [("remaining", Value::from(0))]);
        assert_eq!(record.remedy.as_deref(), Some("wait"));
    }
}
