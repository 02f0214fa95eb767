//! `POST /admin/generate_link`: a way into an account that the administrator hands over. Nothing is sent, and nothing
//! keeps a gap.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::Email;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::links::{LinkType, Outcome, decide};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::Account;
use gotrue_rules::domain::user_update::email_taken;
use gotrue_rules::wire::link::{LinkJson, Way};
use gotrue_rules::wire::requests::GenerateLink;

use super::{invite, told};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::attempt::Attempt;
use crate::services::audit;
use crate::services::links::{Guest, Link, Wanted, hand_over, newcomer};
use crate::store::audit::AuditRow;
use crate::store::{OrRefuse, users};

/// The account with a link and a code.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = GenerateLink::decode(&cx.bytes().await?)?;
    metadata::check("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    let (kind, made) = match attempt(&cx, &request, None).await? {
        Attempt::Done(made) => made,
        Attempt::Conflict(error) => attempt(&cx, &request, Some(error)).await?.or_refuse()?,
    };
    let way = Way {
        link: made.fresh.link.as_deref().unwrap_or_default(),
        code: &made.fresh.code,
        hash: made.own_hash.as_str(),
        kind,
        redirect_to: &made.fresh.redirect_to,
    };
    Ok(Reply::json(&LinkJson::new(&made.account, way)))
}

/// Makes a link once. `conflict` is the error of the attempt before: it is answered if the address is still free.
async fn attempt(cx: &Cx, request: &GenerateLink, conflict: Option<Error>) -> Result<Attempt<(LinkType, Link)>> {
    let email = Email::parse(&request.email)?;
    let known = users::by_email(&mut cx.db(), email.as_str(), &cx.audience()).await;
    let known = known.or_refuse("Database error finding user")?;
    let (kind, guest) = match (decide(&request.kind, &request.password, known, &cx.app.policy)?, conflict) {
        (Outcome::Known(kind, known), _) => (kind, Guest::Known(known)),
        (Outcome::New(..), Some(error)) => return Err(error),
        (Outcome::New(kind, password), None) => {
            (kind, Guest::New(Box::new(newcomer(cx, email, request.data.clone(), password).await?)))
        }
    };
    let new_email = new_email(cx, kind, &guest, &request.new_email).await?;
    let wanted = Wanted {
        kind,
        new_email: new_email.as_ref(),
        redirect_to: &request.redirect_to,
        // An invitation leaves the metadata of an account that waits as it is.
        data: request.data.as_ref().filter(|_| kind == LinkType::SignUp),
        audit: log(cx, kind, &guest)?,
    };
    Ok(match hand_over(cx, guest, wanted).await? {
        Attempt::Done(link) => Attempt::Done((kind, link)),
        Attempt::Conflict(error) => Attempt::Conflict(error),
    })
}

/// The address that the account changes to, well-formed and nobody's; none where it changes to none.
async fn new_email(cx: &Cx, kind: LinkType, guest: &Guest, given: &str) -> Result<Option<Email>> {
    let Guest::Known(account) = guest else { return Ok(None) };
    if kind.purpose() != Purpose::EmailChange {
        return Ok(None);
    }
    let new = Email::parse(given)?;
    let apart: Vec<String> = cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    let taken = users::email_taken(&mut cx.db(), new.as_str(), &account.aud, &apart, account.id).await;
    if taken.or_refuse("Database error checking email")? || account.email.as_deref() == Some(new.as_str()) {
        return Err(email_taken());
    }
    Ok(Some(new))
}

/// An invitation is the administrator's doing; what else is logged counts as the account's own.
fn log(cx: &Cx, kind: LinkType, guest: &Guest) -> Result<Vec<AuditRow>> {
    let (Guest::Known(account) | Guest::New(account)) = guest;
    match kind.purpose() {
        Purpose::Invite => told(cx, invite::entry(guest)),
        Purpose::MagicLink | Purpose::Recovery => Ok(recovery(cx, account)),
        _ => Ok(Vec::new()),
    }
}

fn recovery(cx: &Cx, account: &Account) -> Vec<AuditRow> {
    audit::rows(cx, account, [Entry::of(Action::UserRecoveryRequested)])
}
