//! Connects the rules to the application: outbound calls, statements, and mails of the inbox.

use std::collections::HashSet;
use std::sync::OnceLock;

use gotrue_rs::config::hook_key;
use gotrue_rs::store;
use gotrue_rules::domain::policy::HookKind;
use platform::clock::{Clock, SystemClock};
use platform::http_client::faults::{OutboundEffect, OutboundFault, OutboundFaultInjector};
use platform::journal::{Fault, FaultInjector, Step};
use platform::mail::{MailFault, MailFaultInjector};
use platform::store::Statement;

use super::action::{FaultEffect, TargetFailure};
use super::content::ResponseContent;
use super::rules::FaultRules;
use super::target::FaultTarget;

/// SQLSTATE `serialization_failure`.
const SERIALIZATION_FAILURE: &str = "40001";
/// SQLSTATE `read_only_sql_transaction`.
const READ_ONLY: &str = "25006";

impl FaultInjector for FaultRules {
    fn fault_at(&self, step: Step) -> Option<Fault> {
        let Step::Statement(name) = step else { return None };
        if self.is_empty() {
            return None;
        }
        let action = self.for_statement(writing_statements().contains(name))?;
        match action.effect {
            FaultEffect::Fail(TargetFailure::SerializationFailure) => Some(Fault::Reject(SERIALIZATION_FAILURE)),
            FaultEffect::Fail(TargetFailure::LostConnection) => Some(Fault::Disconnect),
            FaultEffect::Fail(TargetFailure::ReadOnly) => Some(Fault::Reject(READ_ONLY)),
            _ => Some(Fault::Wait(SystemClock.sleep(action.delay))),
        }
    }
}

/// Returns the names of the statements that a read-only database rejects.
fn writing_statements() -> &'static HashSet<&'static str> {
    static NAMES: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let is_writing = |sql: &str| sql.split_whitespace().any(|word| matches!(word, "INSERT" | "UPDATE" | "DELETE"));
    NAMES.get_or_init(|| {
        platform::store::list_statements()
            .chain(store::list_statements())
            .filter(|statement| is_writing(statement.sql()))
            .map(Statement::name)
            .collect()
    })
}

impl OutboundFaultInjector for FaultRules {
    fn fault_of(&self, service: &str) -> Option<OutboundFault> {
        if self.is_empty() {
            return None;
        }
        let hook = HookKind::ALL.into_iter().find(|kind| kind.as_str() == service);
        let target = match hook {
            Some(kind) => FaultTarget::Hook(hook_key(kind).to_owned()),
            None => FaultTarget::Provider(service.to_owned()),
        };
        let action = self.for_target(&target)?;
        let effect = match action.effect {
            FaultEffect::Respond { status, body, retry_after } => {
                let ResponseContent { headers, body } = ResponseContent::build(body, retry_after);
                OutboundEffect::Respond { status, headers, body }
            }
            FaultEffect::Fail(TargetFailure::Hang) => OutboundEffect::TimeOut,
            FaultEffect::Fail(_) | FaultEffect::Drop => OutboundEffect::Refuse,
            FaultEffect::Continue | FaultEffect::Error { .. } | FaultEffect::Truncate(_) => OutboundEffect::Continue,
        };
        Some(OutboundFault { delay: action.delay, effect })
    }
}

impl MailFaultInjector for FaultRules {
    fn fault_of_mail(&self) -> Option<MailFault> {
        let action = self.for_target(&FaultTarget::Smtp)?;
        match action.effect {
            FaultEffect::Fail(_) => Some(MailFault::Withhold),
            _ => Some(MailFault::Delay(action.delay)),
        }
    }
}
