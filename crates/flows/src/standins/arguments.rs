//! The arguments of a call of a stand-in.

use serde_json::Value;

use crate::FlowError;
use crate::sources::wanted;

/// The arguments of a call by position, with errors that name the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    name: &'a str,
    value: &'a Value,
}

impl<'a> Arguments<'a> {
    /// Wraps the arguments of a call.
    pub(crate) fn new(name: &'a str, value: &'a Value) -> Self {
        Self { name, value }
    }

    /// The error of arguments that have another form.
    pub(crate) fn wanted(&self, form: &str) -> FlowError {
        wanted(self.name, form)
    }

    /// Returns all arguments.
    pub(crate) fn items(&self) -> Result<&'a [Value], FlowError> {
        self.value.as_array().map(Vec::as_slice).ok_or_else(|| self.wanted("a list of arguments"))
    }

    /// Returns an argument.
    pub(crate) fn any(&self, at: usize) -> Result<&'a Value, FlowError> {
        self.value.get(at).ok_or_else(|| self.wanted(&format!("a list of at least {} arguments", at + 1)))
    }

    /// Returns an argument that is a text.
    pub(crate) fn text(&self, at: usize) -> Result<&'a str, FlowError> {
        self.any(at)?.as_str().ok_or_else(|| self.wanted(&format!("a list with a text at {at}")))
    }

    /// Returns an argument that is a list.
    pub(crate) fn list(&self, at: usize) -> Result<&'a [Value], FlowError> {
        let list = self.any(at)?.as_array().map(Vec::as_slice);
        list.ok_or_else(|| self.wanted(&format!("a list with a list at {at}")))
    }

    /// Returns an argument that is a number.
    pub(crate) fn number(&self, at: usize) -> Result<f64, FlowError> {
        self.any(at)?.as_f64().ok_or_else(|| self.wanted(&format!("a list with a number at {at}")))
    }

    /// Returns an argument that is a length.
    pub(crate) fn size(&self, at: usize) -> Result<usize, FlowError> {
        let size = self.any(at)?.as_u64().and_then(|size| usize::try_from(size).ok());
        size.ok_or_else(|| self.wanted(&format!("a list with a length at {at}")))
    }
}
