//! The calls of every desk, beside which its sections have theirs.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::account_call::AccountCall;
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::section::OwnerRoutes;
use crate::state::DeskState;
use crate::{account, passkeys, recovery, sign_in};

/// Returns the calls of signed-in owners about the own session and account.
pub(crate) fn account_calls() -> OwnerRoutes<DeskState> {
    OwnerRoutes::new(unknown_path)
        .calls(routes!(get_document))
        .calls(routes!(account::show_session, account::sign_out))
        .calls(routes!(account::show_account))
        .calls(routes!(account::list_activity))
        .calls(routes!(account::change_password))
        .calls(routes!(account::change_email))
        .calls(routes!(account::begin_authenticator))
        .calls(routes!(account::confirm_authenticator))
        .calls(routes!(account::end_sessions))
        .calls(routes!(account::add_owner))
        .calls(routes!(account::remove_owner))
        .calls(routes!(recovery::show_codes, recovery::replace_codes))
        .calls(routes!(recovery::confirm_codes))
        .calls(routes!(passkeys::list_passkeys, passkeys::register_passkey))
        .calls(routes!(passkeys::delete_passkey))
        .other_methods(passkeys::refuse_name)
        .calls(routes!(passkeys::request_registration))
}

/// Returns the calls that need no session. Other methods of their paths need one, as all other paths.
pub(crate) fn sign_in_steps() -> OpenApiRouter<Arc<DeskState>> {
    sign_in::steps().routes(routes!(recovery::recover))
}

/// Returns this document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "document",
    responses((status = 200, description = "The document", body = Object), Refusal)
)]
async fn get_document(call: AccountCall) -> Response {
    respond::json_text(StatusCode::OK, call.desk.document.clone())
}

/// Answers a path that no call has, and other methods of the paths that have one: 404.
pub(crate) async fn unknown_path(_: AccountCall) -> DeskError {
    DeskError::not_found("The path")
}
