//! Test support of every service: a database per test, a fake clock, faults, recorded spans.
//!
//! Compiled only with the feature `testing`.

mod answer;
mod clock;
mod database;
mod faults;
mod ledger;
mod load;
mod mailbox;
mod plans;
pub mod postgres;
mod recorder;
mod statements;

pub use answer::Answer;
pub use clock::FakeClock;
pub use database::{DatabaseTemplate, TestDatabase};
pub use faults::{FaultPlan, Gate, Stepper};
pub use ledger::{DatabaseInspector, RowSnapshot, diff_rows, drop_at_poll, drop_when, expire_at_poll};
pub use load::scaled_load;
pub use mailbox::Mailbox;
pub use plans::list_full_scans;
pub use postgres::find_postgres;
pub use recorder::{RecordedEvent, RecordedFields, RecordedSpan, Recording};
pub use statements::{assert_part_is_repeated, check_statements, named_sql};
