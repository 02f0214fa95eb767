//! Sign-in in two steps, or with a passkey; and the first owner.
//!
//! A step that needs another one returns a ticket, which the next step presents.

mod call;
mod code;
mod enrollment;
mod known_device;
mod passkey;
mod password;
mod reset;
mod setup;
mod step;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::call::SignInCall;
pub(crate) use self::code::is_right_code;
pub(crate) use self::enrollment::{enroll_named, replace_app};
pub(crate) use self::passkey::passkeys_unavailable;
pub(crate) use self::password::verify_own_password;
pub use self::reset::create_reset_link;
pub(crate) use self::setup::require_strong;
pub use self::setup::{SetupState, create_link, prepare_start};
pub(crate) use self::step::{ATTEMPT_WINDOW, SignIn, create_ticket, end_auth_session, ticket_expired, use_ticket};
use crate::state::DeskState;

/// Returns the steps. Other methods of their paths need a session, as all other paths.
pub(crate) fn steps() -> OpenApiRouter<Arc<DeskState>> {
    OpenApiRouter::default()
        .routes(routes!(setup::set_up))
        .routes(routes!(code::verify_first_code))
        .routes(routes!(reset::reset))
        .routes(routes!(password::sign_in))
        .routes(routes!(code::verify_code))
        .routes(routes!(passkey::request_passkey))
        .routes(routes!(passkey::verify_passkey))
}
