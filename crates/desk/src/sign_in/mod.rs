//! Sign-in in two steps, or with a passkey; and the first owner.
//!
//! A step that needs another one returns a ticket, which the next step presents.

mod code;
mod enrollment;
mod known_device;
mod passkey;
mod password;
mod reset;
mod setup;
mod step;

pub(crate) use self::code::{is_right_code, verify_code};
pub(crate) use self::enrollment::{enroll_named, replace_app};
pub(crate) use self::passkey::{passkeys_unavailable, request_passkey, verify_passkey};
pub(crate) use self::password::{sign_in, verify_own_password};
pub use self::reset::create_reset_link;
pub(crate) use self::reset::reset;
pub use self::setup::{SetupState, create_link, prepare_start};
pub(crate) use self::setup::{is_setup_open, require_strong, set_up};
pub(crate) use self::step::{ATTEMPT_WINDOW, SignIn, create_ticket, end_auth_session, ticket_expired, use_ticket};
