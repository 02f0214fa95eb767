//! `POST /verify`: a code with its address or number, or a hash alone, for a session.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::user::Account;
use gotrue_rules::domain::verification::{
    Code, CodeCheck, HALF_ACCEPTED, LookUp, Presented, Request, bad_code, check_code, look_up,
};
use gotrue_rules::wire::requests::Verify;
use gotrue_rules::wire::verify::HalfJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::messages::require_right_by_sender;
use crate::services::sessions::open::{Proof, open};
use crate::services::sessions::{self, Extras};
use crate::services::verification::{Good, Redeemed, prepare, redeem};
use crate::services::{equal_work, limits, notices};
use crate::store::{OrRefuse, one_time_tokens, users};

/// Takes a code or hash for a session.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = Request::of_body(&Verify::decode(&cx.bytes().await?)?)?;
    let good = match &request.presented {
        Presented::Link(hash) => super::by_link(&cx, request.kind, hash).await?,
        Presented::Code(code) => {
            let guess = limits::at_code(&cx, code.contact.as_str()).await?;
            let good = by_code(&cx, &request, code).await?;
            guess.was_right();
            good
        }
    };
    let mut db = sessions::begin(&cx).await?;
    let Redeemed::Done(account) = redeem(&cx, &mut db, &good).await? else {
        db.commit().await?;
        return Ok(Reply::json(&HalfJson { code: "200", msg: HALF_ACCEPTED }));
    };
    let minted = open(&cx, &mut db, Proof::new(&account, "otp", Vec::new())).await?;
    db.commit().await?;
    notices::of_contacts(&cx, &good.account, &account).await;
    Ok(minted.reply(Extras::default()))
}

async fn by_code(cx: &Cx, request: &Request, code: &Code) -> Result<Good> {
    let found = find(cx, request, code).await?;
    let checked = check_code(request.kind, code, found.as_ref(), &cx.app.policy, cx.now);
    if checked.is_err() {
        equal_work::look_up_opposite(cx, found.is_some()).await?;
    }
    let kind = match checked? {
        CodeCheck::Good(kind) => kind,
        CodeCheck::AskTwilio(kind) => {
            require_right_by_sender(cx, code.contact.as_str(), &code.digits).await?;
            kind
        }
    };
    prepare(cx, kind, code.hash.clone(), found.ok_or_else(bad_code)?).await
}

async fn find(cx: &Cx, request: &Request, code: &Code) -> Result<Option<Account>> {
    let audience = cx.audience();
    let mut db = cx.db();
    let found = match look_up(request.kind, code, &cx.app.policy) {
        LookUp::Email(email) => users::by_email(&mut db, email.as_str(), &audience).await,
        LookUp::Phone(phone) => users::by_phone(&mut db, phone.as_str(), &audience).await,
        LookUp::PendingPhone(phone) => users::by_pending_phone(&mut db, phone.as_str(), &audience).await,
        LookUp::EmailChange(slots) => one_time_tokens::account_of_code(&mut db, &code.hash, slots).await,
        LookUp::Nowhere => Ok(None),
    };
    found.or_refuse("Database error finding user")
}
