//! The HTTP edge: limits of connections and time below the handlers, and the checks of a request's form.
//!
//! A connection is in one of three phases: idle between two requests, receiving a request's head, or busy with a request.
//! [`state::ConnectionState`] holds the phase; [`stream::EdgeStream`] limits reads and writes by it, [`body::TimedBody`] the
//! progress of a request's body, and [`service`] moves from one phase to the next.
//! [`resting`] gives hyper's buffers back while a connection is idle.

mod admission;
mod body;
mod checks;
mod limits;
pub mod resting;
pub mod service;
mod state;
mod stream;

pub use self::admission::{Admission, refuse};
pub use self::limits::HttpLimits;
pub use self::state::ConnectionState;
pub use self::stream::EdgeStream;
