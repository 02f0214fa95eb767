//! Joining accounts: whom a provider vouches for is signed in, linked or invited in. What becomes of an account is
//! decided by the rules; here it is read, written, and mailed. The callers own the transaction, and commit it also where
//! somebody is refused.

mod unlinking;

use gotrue_rules::domain::error::{Error, Result};
pub use gotrue_rules::domain::linking::Arrival;
use gotrue_rules::domain::linking::by_hand::require_free;
use gotrue_rules::domain::linking::joining::{self, Joining};
use gotrue_rules::domain::linking::{Decision, decide};
use gotrue_rules::domain::one_time_token::Slot;
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::{Ids, require_open};
use gotrue_rules::domain::user::Account;
use serde_json::json;
use uuid::Uuid;

pub use self::unlinking::unlink;
use super::messages::{self, Letter};
use super::notices::{self, IdentityNews};
use super::{audit, hooks, sessions};
use crate::cx::Cx;
use crate::journal::Step;
use crate::store::identities::{self, Sought};
use crate::store::{Connection, OrRefuse, one_time_tokens};

const FINDING: &str = "Database error finding user";
const SAVING: &str = "Database error saving new user";
const UPDATING: &str = "Database error updating user";
/// How often somebody may be faster.
const ATTEMPTS: usize = 4;

/// What came of somebody's arrival.
#[derive(Debug)]
pub enum Joined {
    /// They are in.
    In {
        /// The account as an answer shows it.
        account: Box<Account>,
        /// It was made just now.
        is_new: bool,
    },
    /// They are not, although what happened stays: the flow commits, and answers with the error.
    Refused(Error),
}

/// The transaction in which somebody arrives and gets a session. Where that means to wait for others, for a mail server
/// or a hook, it is one of few.
pub async fn begin(cx: &Cx, arrival: &Arrival<'_>) -> Result<Connection> {
    let is_vouched_for = arrival.is_vouched_for(&cx.app.policy) && arrival.profile.claims.email_verified;
    if is_vouched_for || arrival.provider == "web3" {
        return Ok(sessions::begin(cx).await?);
    }
    messages::begin_to_mail(cx).await
}

/// Asks the operator's hook whether a new account may be made, if one is to be made. Before the transaction: no
/// connection is held while the hook thinks.
pub async fn announce(cx: &Cx, arrival: &Arrival<'_>) -> Result<()> {
    if !cx.app.hooks.is_on(HookKind::BeforeUserCreated) {
        return Ok(());
    }
    let policy = &cx.app.policy;
    let known = known(cx, &mut cx.db(), arrival, None).await?;
    let email = match decide(arrival, known, &cx.audience(), policy) {
        Decision::Create { email } => email,
        Decision::CreateWithoutEmail => None,
        Decision::Exists(_) | Decision::Beside(_) | Decision::Link(_) | Decision::Move { .. } | Decision::Several => {
            return Ok(());
        }
    };
    require_open(policy)?;
    let shown = joining::new_account(arrival, email, (cx.entropy.uuid(), cx.audience()), cx.now, policy);
    hooks::before_user_created(cx, &shown, &arrival.profile.claims.identity_data()).await
}

/// Tells the operator's hook of an account, once it is stored.
pub async fn tell(cx: &Cx, account: &Account) -> Result<()> {
    hooks::after_user_created(cx, account).await
}

/// Tells the owner of an identity that was linked by hand, once it is stored. Only the log hears of it when that fails.
pub async fn tell_of_link(cx: &Cx, account: &Account, provider: &str) {
    notices::of_identity(cx, account, IdentityNews::Linked, provider).await;
}

/// Signs in: finds, links or makes the account. In the flow's transaction.
pub async fn sign_in(cx: &Cx, db: &mut Connection, arrival: &Arrival<'_>) -> Result<Joined> {
    joining::require_subject(arrival)?;
    let policy = &cx.app.policy;
    for _ in 0..ATTEMPTS {
        let known = known(cx, db, arrival, None).await?;
        let decision = decide(arrival, known, &cx.audience(), policy);
        cx.journal.note(Step::Decision(decision.name()));
        let ids = Ids { account: cx.entropy.uuid(), identity: cx.entropy.uuid() };
        let joining = joining::join(arrival, decision, (ids, cx.audience()), cx.now, policy)?;
        if write(cx, db, &joining).await? {
            return finish(cx, db, joining).await;
        }
    }
    Err(Error::internal(SAVING).because("others were faster every time"))
}

/// Adds the identity to the account, as its owner asked. In the flow's transaction.
pub async fn link(cx: &Cx, db: &mut Connection, account: &Account, arrival: &Arrival<'_>) -> Result<Joined> {
    joining::require_subject(arrival)?;
    for _ in 0..ATTEMPTS {
        let known = known(cx, db, arrival, Some(account.id)).await?;
        require_free(owner(&known, arrival), account.id)?;
        let is_taken = is_taken(&known, arrival, account.id);
        let current = known.into_iter().find(|it| it.id == account.id).ok_or_else(|| Error::internal(FINDING))?;
        let joining = joining::link(arrival, current, is_taken, (cx.entropy.uuid(), cx.now), &cx.app.policy)?;
        if write(cx, db, &joining).await? {
            return finish(cx, db, joining).await;
        }
    }
    Err(Error::internal(UPDATING).because("others were faster every time"))
}

/// Accepts the invitation of that token. In the flow's transaction.
pub async fn accept_invitation(cx: &Cx, db: &mut Connection, token: &str, arrival: &Arrival<'_>) -> Result<Joined> {
    let invited = one_time_tokens::account_of(db, token, &[Slot::Confirmation]).await.or_refuse(FINDING)?;
    let invited = invited.ok_or_else(|| Error::not_found("invite_not_found", "Invite not found"))?;
    let joining = joining::accept_invitation(arrival, invited, (cx.entropy.uuid(), cx.now), &cx.app.policy)?;
    if write(cx, db, &joining).await? {
        return finish(cx, db, joining).await;
    }
    Err(Error::internal("Error creating identity").because("the identity is somebody's already"))
}

async fn known(cx: &Cx, db: &mut Connection, arrival: &Arrival<'_>, account: Option<Uuid>) -> Result<Vec<Account>> {
    let emails = arrival.emails(&cx.app.policy);
    let subject = &arrival.profile.claims.subject;
    let sought = Sought { provider: arrival.provider, subject, emails: &emails, account };
    identities::known(db, sought).await.or_refuse(FINDING)
}

fn owner(known: &[Account], arrival: &Arrival<'_>) -> Option<Uuid> {
    let subject = &arrival.profile.claims.subject;
    let mut all = known.iter().flat_map(|account| &account.identities);
    all.find(|it| it.provider == arrival.provider && it.provider_id == *subject).map(|it| it.user_id)
}

/// Whether another account than that one has the address that the provider tells.
fn is_taken(known: &[Account], arrival: &Arrival<'_>, account: Uuid) -> bool {
    let email = arrival.profile.claims.email.to_lowercase();
    let has = |it: &Account| it.id != account && !it.is_sso_user && it.email.as_deref() == Some(&*email);
    !email.is_empty() && known.iter().any(has)
}

async fn write(cx: &Cx, db: &mut Connection, joining: &Joining) -> Result<bool> {
    let rows = audit::rows(cx, &joining.account, joining.audit.clone());
    if joining.is_new {
        return identities::make(db, joining, rows).await.or_refuse(SAVING);
    }
    match identities::join(db, joining, cx.now, rows).await {
        Err(error) if error.constraint() == Some("users_email_partial_key") => {
            Err(Error::bad_request("email_exists", "A user with this email address has already been registered")
                .because(error))
        }
        written => written.or_refuse(UPDATING),
    }
}

/// Asks for the confirmation that is still needed.
async fn finish(cx: &Cx, db: &mut Connection, joining: Joining) -> Result<Joined> {
    let Joining { mut account, identities_before, is_new, takes_over, confirms, asks, refused, .. } = joining;
    if asks && let Some(to) = account.email.clone() {
        let letter = Letter { purpose: Purpose::SignUp, to: &to, pkce: false, new_email: None };
        messages::mail_newcomer(cx, db, &account, letter, Vec::new()).await?;
        account.confirmation_sent_at = Some(cx.now);
    }
    if is_new && confirms {
        // As recorded: the first identity of an account that is confirmed with it is shown, not stored, as verified.
        for identity in &mut account.identities {
            identity.identity_data.insert("email_verified".to_owned(), json!(true));
        }
    }
    if !is_new && !takes_over {
        account.identities = identities_before;
    }
    Ok(match refused {
        Some(error) => Joined::Refused(error),
        None => Joined::In { account: Box::new(account), is_new },
    })
}
