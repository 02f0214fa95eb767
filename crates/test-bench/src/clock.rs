//! The virtual clock of a world: real time that can be moved, stopped and sped up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use foundation::time::format_milliseconds;
use futures::FutureExt;
use futures::future::{BoxFuture, select};
use gotrue_rules::wire::go_duration::GoDuration;
use platform::clock::{Clock, SystemClock};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::TestApiError;

/// The fastest rate.
const MAX_RATE: f64 = 1_000_000.0;
/// The years that a clock may show: those of four digits, which all formats can express.
const YEARS: std::ops::RangeInclusive<i64> = 0..=253_402_300_799;
const EXAMPLES: &str =
    r#"for example {"advance": "61m"}, {"at": "2030-01-01T00:00:00Z"}, {"freeze": true} or {"rate": 60}"#;

/// A clock that a test controls; clones share it.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    state: Arc<Mutex<ClockState>>,
    changed: watch::Sender<()>,
}

/// The time at a real instant, and how it passes since then.
#[derive(Debug, Clone, Copy)]
pub struct ClockState {
    /// The time at `since`.
    moment: DateTime<Utc>,
    since: Instant,
    /// Seconds of this clock per real second.
    rate: f64,
    is_frozen: bool,
}

/// What a test does to the clock of a world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClockChange {
    /// Adds to the time.
    Advance(TimeDelta),
    /// Sets the time.
    Set(DateTime<Utc>),
    /// Stops the clock, or lets it go on.
    Freeze(bool),
    /// Sets the seconds of this clock per real second.
    Rate(f64),
}

/// The time of a clock and how it passes.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ClockReading {
    /// RFC 3339, in milliseconds.
    pub now: String,
    /// Seconds per real second.
    pub rate: f64,
    /// Whether the clock stands still.
    pub frozen: bool,
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::from_state(ClockState::real())
    }
}

impl ClockState {
    fn real() -> Self {
        Self { moment: SystemClock.now(), since: Instant::now(), rate: 1.0, is_frozen: false }
    }

    fn now(&self) -> DateTime<Utc> {
        if self.is_frozen {
            return self.moment;
        }
        let passed = Duration::try_from_secs_f64(self.since.elapsed().as_secs_f64() * self.rate).unwrap_or_default();
        TimeDelta::from_std(passed)
            .ok()
            .and_then(|passed| self.moment.checked_add_signed(passed))
            .unwrap_or(self.moment)
    }

    /// Returns the real time until the clock shows `moment`; `None` while it stands still.
    fn real_time_until(&self, moment: DateTime<Utc>) -> Option<Duration> {
        let left = (moment - self.now()).to_std().unwrap_or_default();
        (!self.is_frozen).then(|| Duration::try_from_secs_f64(left.as_secs_f64() / self.rate).unwrap_or(Duration::MAX))
    }

    /// Applies the changes in order, from the present time on.
    fn apply(mut self, changes: &[ClockChange]) -> Result<Self, TestApiError> {
        (self.moment, self.since) = (self.now(), Instant::now());
        for change in changes {
            match *change {
                ClockChange::Advance(by) => {
                    let moment =
                        self.moment.checked_add_signed(by).filter(|moment| YEARS.contains(&moment.timestamp()));
                    self.moment = moment.ok_or_else(|| invalid("the time would be outside the years 1970 to 9999"))?;
                }
                ClockChange::Set(moment) => self.moment = moment,
                ClockChange::Freeze(is_frozen) => self.is_frozen = is_frozen,
                ClockChange::Rate(rate) => self.rate = rate,
            }
        }
        Ok(self)
    }
}

impl VirtualClock {
    /// Creates a clock that goes on from this state.
    pub fn from_state(state: ClockState) -> Self {
        Self { state: Arc::new(Mutex::new(state)), changed: watch::Sender::new(()) }
    }

    /// Returns the state, for a copy of the world.
    pub fn state(&self) -> ClockState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the state; sleeps that are due then complete.
    pub fn set_state(&self, state: ClockState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.send_replace(());
    }

    /// Returns to real time.
    pub fn reset(&self) {
        self.set_state(ClockState::real());
    }

    /// Applies a JSON object of changes.
    ///
    /// # Errors
    /// The object is invalid; nothing is changed.
    pub fn apply(&self, body: &Value) -> Result<(), TestApiError> {
        let changes = parse_changes(body)?;
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            *state = state.apply(&changes)?;
        }
        self.changed.send_replace(());
        Ok(())
    }

    /// Returns the time and how it passes.
    pub fn reading(&self) -> ClockReading {
        let state = self.state();
        ClockReading { now: format_milliseconds(state.now()), rate: state.rate, frozen: state.is_frozen }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> DateTime<Utc> {
        self.state().now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        let wanted = TimeDelta::from_std(duration).ok().and_then(|length| self.now().checked_add_signed(length));
        async move {
            let mut changed = clock.changed.subscribe();
            let Some(end) = wanted else { return std::future::pending().await };
            while clock.now() < end {
                let is_due = match clock.state().real_time_until(end) {
                    // Timers have milliseconds: one more, so that the loop does not turn without waiting.
                    Some(left) => tokio::time::sleep(left.saturating_add(Duration::from_millis(1))).boxed(),
                    None => std::future::pending().boxed(),
                };
                select(std::pin::pin!(changed.changed()), is_due).await;
            }
        }
        .boxed()
    }

    fn timeout(&self, duration: Duration) -> BoxFuture<'static, ()> {
        SystemClock.sleep(duration)
    }
}

fn invalid(message: &str) -> TestApiError {
    TestApiError::bad_request(message, EXAMPLES)
}

/// Parses the changes, in the order in which they are given.
fn parse_changes(body: &Value) -> Result<Vec<ClockChange>, TestApiError> {
    let Some(members) = body.as_object().filter(|members| !members.is_empty()) else {
        return Err(invalid("the body must be an object with at least one member"));
    };
    if members.contains_key("at") && members.contains_key("advance") {
        return Err(invalid("at and advance exclude each other"));
    }
    let mut changes = Vec::new();
    for (name, value) in members {
        changes.push(match (name.as_str(), value) {
            ("at", Value::String(text)) => ClockChange::Set(parse_moment(text)?),
            ("advance", Value::String(text)) => ClockChange::Advance(parse_length(text)?),
            ("rate", Value::Number(rate)) => ClockChange::Rate(parse_rate(rate.as_f64())?),
            ("freeze", Value::Bool(is_frozen)) => ClockChange::Freeze(*is_frozen),
            ("at" | "advance" | "rate" | "freeze", _) => return Err(invalid(&format!("{name} has the wrong type"))),
            _ => return Err(invalid(&format!("{name} is unknown: at, advance, rate and freeze are known"))),
        });
    }
    Ok(changes)
}

fn parse_moment(text: &str) -> Result<DateTime<Utc>, TestApiError> {
    let moment = DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.to_utc());
    let moment = moment.filter(|moment| YEARS.contains(&moment.timestamp()));
    moment.ok_or_else(|| invalid("at must be a time of RFC 3339 in the years 1970 to 9999"))
}

fn parse_length(text: &str) -> Result<TimeDelta, TestApiError> {
    let length = GoDuration::parse(text).map(|length| TimeDelta::nanoseconds(length.nanoseconds()));
    length.ok_or_else(|| invalid("advance must be a length of time, such as 90s, 61m or 1h30m"))
}

fn parse_rate(rate: Option<f64>) -> Result<f64, TestApiError> {
    let rate = rate.filter(|rate| *rate > 0.0 && *rate <= MAX_RATE);
    rate.ok_or_else(|| invalid("rate must be above 0 and at most 1000000; to stop the clock, send freeze"))
}
