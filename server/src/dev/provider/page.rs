//! The page that lets the developer choose a user: a form without any script.
//! The frontend build renders it from `frontend/development/provider`.

use super::parameters::Parameters;
use crate::dev::page::fill_template;

const PAGE_TEMPLATE: &str = include_str!("../../../../frontend/dist/development/provider/page.html");
/// The field of the page with the address of another user.
const EMAIL_FIELD: &str = "email";

/// Formats the page; `hint` is the initial value of the address.
pub(super) fn format_chooser(requested: &Parameters, hint: &str) -> String {
    fill_template(PAGE_TEMPLATE, |name| if name == EMAIL_FIELD { hint } else { requested.get(name) })
}
