//! The HTTP edge: accepts connections, limits number, size and time, and checks the form of requests.
//!
//! A connection is in one of three phases: idle between two requests, receiving a request's head, or busy with a request.
//! [`state::ConnectionState`] holds the phase; [`stream::EdgeStream`] limits reads and writes by it, [`body::TimedBody`] the
//! progress of a request's body, and [`service`] moves from one phase to the next. [`connection`] frees hyper's buffers
//! while a connection is idle, and [`request_task`] runs each request to its end although its client disconnects.
//!
//! [`request`] resolves what a request says about its sender: client address, credentials, request id, CORS.
//!
//! The crate depends on none of the APIs behind it.

pub mod request;

mod admission;
mod background;
mod body;
mod checks;
mod connection;
mod foreign_content;
mod limits;
mod listen;
mod presence;
mod request_task;
mod service;
mod socket;
mod state;
mod stream;
mod target;
mod tls;
mod transport;
mod upgrade;

pub use self::background::spawn_task;
pub use self::foreign_content::isolate_foreign_content;
pub use self::limits::HttpLimits;
pub use self::listen::{LocalAddress, ShutdownSignal, serve};
pub use self::presence::ClientPresence;
pub use self::request_task::panic_message;
pub use self::tls::{Listener, TlsCertificate, TlsError, TlsFiles};
pub use self::upgrade::{PendingUpgrade, UpgradedStream};
