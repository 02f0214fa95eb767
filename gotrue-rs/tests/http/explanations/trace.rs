//! What a request did is reported once it is true.

use std::time::Duration;

use platform::journal::{Fact, FactCondition, FactKind, SecretDigest, Trace, TracedStatement};

fn used(number: u8) -> Fact {
    Fact::SecretUsed { digest: SecretDigest([number; 16]) }
}

fn issued(number: u8) -> Fact {
    Fact::SecretIssued { digest: SecretDigest([number; 16]), slot: "x".to_owned() }
}

fn statement(error: Option<&str>) -> TracedStatement {
    TracedStatement { name: "x", rows: Some(1), duration: Duration::ZERO, error: error.map(str::to_owned) }
}

#[test]
fn fact_of_a_transaction_is_true_after_its_commit() {
    for (commits, expected) in [(true, vec![issued(1)]), (false, Vec::new())] {
        let mut trace = Trace::default();
        trace.note(issued(1), FactCondition::Statement);
        trace.record_statement(statement(None), &[FactKind::Audit], true);
        trace.commit();
        assert_eq!(trace.facts(false), Vec::new());
        trace.record_statement(statement(None), &[FactKind::SecretIssued], true);
        assert_eq!(trace.facts(false), Vec::new());
        if commits {
            trace.commit();
        } else {
            trace.roll_back();
        }
        assert_eq!(trace.facts(true), expected);
    }
}

#[test]
fn fact_of_a_failed_statement_is_not_true() {
    let mut trace = Trace::default();
    trace.note(issued(1), FactCondition::Statement);
    trace.record_statement(statement(Some("23505")), &[FactKind::SecretIssued], false);
    assert_eq!(trace.facts(false), Vec::new());
    trace.record_statement(statement(None), &[FactKind::SecretIssued], false);
    assert_eq!(trace.facts(false), [issued(1)]);
}

#[test]
fn fact_of_success_is_not_true_in_a_refused_request() {
    let mut trace = Trace::default();
    trace.note(used(1), FactCondition::Success);
    trace.note(used(2), FactCondition::Now);
    assert_eq!(trace.facts(true), [used(2)]);
    assert_eq!(trace.facts(false), [used(1), used(2)]);
}

#[test]
fn number_of_entries_is_limited() {
    let mut trace = Trace::default();
    for _ in 0..205 {
        trace.note(used(1), FactCondition::Now);
        trace.record_statement(statement(None), &[], false);
    }
    assert_eq!((trace.facts(false).len(), trace.statements.len()), (200, 200));
}
