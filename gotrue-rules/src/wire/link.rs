//! A link as an administrator gets it (`endpoints.md` §13.2): the account with what leads into it.

use serde::Serialize;

use super::user::UserJson;
use crate::domain::links::LinkType;
use crate::domain::user::Account;

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

/// What leads into an account.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// The link.
    pub link: &'a str,
    /// The code.
    pub code: &'a str,
    /// The hash of the code with the account's own address.
    pub hash: &'a str,
    /// What it is for.
    pub kind: LinkType,
    /// Where the link leads in the end.
    pub redirect_to: &'a str,
}

impl<'a> LinkJson<'a> {
    /// The account with what leads into it.
    pub fn new(account: &'a Account, way: Way<'a>) -> Self {
        Self {
            user: UserJson::from(account),
            action_link: way.link,
            email_otp: way.code,
            hashed_token: way.hash,
            verification_type: way.kind.as_str(),
            redirect_to: way.redirect_to,
        }
    }
}
