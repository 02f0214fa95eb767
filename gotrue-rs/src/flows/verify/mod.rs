//! `/verify`: a mailed link (`GET`, ends in a redirect) or a typed code (`POST`, ends in JSON).

pub mod get;
pub mod post;

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::one_time_token::TokenHash;
use gotrue_rules::domain::purpose::Kind;
use gotrue_rules::domain::user::Account;
use gotrue_rules::domain::verification::{check_link, link_kind};

use crate::cx::Cx;
use crate::services::verification::{Good, prepare};
use crate::store::{OrRefuse, one_time_tokens};

/// The account behind a link's hash, once the link is known to be good.
async fn by_link(cx: &Cx, kind: Option<Kind>, hash: &TokenHash) -> Result<Good> {
    let slots = link_kind(kind)?.slots();
    let found: Option<Account> = one_time_tokens::account_of(&mut cx.db(), hash.as_str(), slots)
        .await
        .or_refuse("Database error finding user from email link")?;
    let kind = check_link(kind, hash, found.as_ref(), &cx.app.policy, cx.now)?;
    let account = found.ok_or_else(gotrue_rules::domain::verification::bad_link)?;
    prepare(cx, kind, hash.clone(), account).await
}
