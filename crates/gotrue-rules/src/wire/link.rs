//! The response of `POST /admin/generate_link`.

use serde::Serialize;

use super::user::UserJson;
use crate::domain::links::LinkType;
use crate::domain::user::User;

/// The body of `POST /admin/generate_link`.
#[derive(Serialize)]
pub struct LinkJson<'a> {
    #[serde(flatten)]
    user: UserJson<'a>,
    action_link: &'a str,
    email_otp: &'a str,
    hashed_token: &'a str,
    verification_type: &'static str,
    redirect_to: &'a str,
}

/// The link and its one-time token.
#[derive(Clone, Copy)]
pub struct GeneratedLink<'a> {
    pub link: &'a str,
    pub code: &'a str,
    /// The hash of the code and the user's address.
    pub hash: &'a str,
    pub link_type: LinkType,
    /// The final redirect target of the link.
    pub redirect_to: &'a str,
}

impl<'a> LinkJson<'a> {
    /// Builds the response from user and link.
    pub fn new(user: &'a User, way: GeneratedLink<'a>) -> Self {
        Self {
            user: UserJson::from(user),
            action_link: way.link,
            email_otp: way.code,
            hashed_token: way.hash,
            verification_type: way.link_type.as_str(),
            redirect_to: way.redirect_to,
        }
    }
}
