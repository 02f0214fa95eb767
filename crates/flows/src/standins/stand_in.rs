//! A stand-in and what it starts.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::FlowError;
use crate::format::Settings;
use crate::sources::Sources;

/// The future of a start.
pub type StandInFuture<'a> = Pin<Box<dyn Future<Output = Result<StartedStandIns, FlowError>> + Send + 'a>>;

/// A kind of stand-in, started for each replay.
pub trait StandIns: Send + Sync {
    /// Starts it for these settings.
    fn start<'a>(&'a self, settings: &'a Settings) -> StandInFuture<'a>;
}

/// What runs until it is dropped.
#[derive(Clone)]
pub struct StartedStandIns {
    /// Values for placeholders in settings and steps; URLs among them are shown by their names.
    pub names: Map<String, Value>,
    /// Its values and effects.
    pub sources: Arc<dyn Sources>,
}
