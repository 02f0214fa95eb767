//! The faults of a world in the statements of its data API and its storage API.

use std::sync::Arc;

use postgrest_rs::service::dependencies::{StatementFailure, StatementFault, StatementFaults};
use test_bench::faults::{FaultEffect, FaultRules, TargetFailure};

/// The faults of a world, as its data API and its storage API ask for them.
#[derive(Debug)]
pub(super) struct WorldFaults(Arc<FaultRules>);

impl WorldFaults {
    pub(super) fn new(rules: &Arc<FaultRules>) -> Self {
        Self(Arc::clone(rules))
    }
}

impl StatementFaults for WorldFaults {
    fn fault_of(&self, writes: bool) -> Option<StatementFault> {
        let action = self.0.for_statement(writes)?;
        let failure = match action.effect {
            FaultEffect::Fail(TargetFailure::SerializationFailure) => Some(StatementFailure::Serialization),
            FaultEffect::Fail(TargetFailure::ReadOnly) => Some(StatementFailure::ReadOnly),
            FaultEffect::Fail(_) => Some(StatementFailure::LostConnection),
            _ => None,
        };
        Some(StatementFault { delay: action.delay, failure })
    }
}
