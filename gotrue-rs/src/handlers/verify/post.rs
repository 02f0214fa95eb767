//! `POST /verify`: exchanges a code with its address or number, or a token hash, for a session.

use foundation::error::Result;
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::verification::{
    CodeCheckResult, FIRST_CONFIRMATION_ACCEPTED, OneTimeCode, PresentedToken, UserLookup, VerificationRequest,
    invalid_code, select_lookup, verify_code,
};
use gotrue_rules::wire::requests::VerifyRequest;
use gotrue_rules::wire::verify::FirstConfirmationJson;
use platform::journal::{Fact, FactCondition};
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::explanations::{self, SecretKind};
use crate::services::messages::require_provider_approval;
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::sessions::{self, SessionExtras};
use crate::services::verification::{TokenOutcome, VerifiedToken, apply_token, prepare_token};
use crate::services::{equal_work, limits, notices};
use crate::store::{one_time_tokens, users};

/// Verifies a code or token hash and returns a session.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let request = VerificationRequest::from_body(&VerifyRequest::decode(&cx.read_body().await?)?)?;
    let good = match &request.token {
        PresentedToken::Link(link) => super::load_verified_link(&cx, request.verification_type, link).await?,
        PresentedToken::Code(code) => {
            let guess = limits::count_code_guess(&cx, code.contact.as_str()).await?;
            let good = load_verified_code(&cx, &request, code).await?;
            guess.release_correct();
            good
        }
    };
    let mut db = sessions::begin_token_transaction(&cx).await?;
    let TokenOutcome::Applied(user) = apply_token(&cx, &mut db, &good).await? else {
        db.commit().await?;
        return Ok(Reply::json(&FirstConfirmationJson { code: "200", msg: FIRST_CONFIRMATION_ACCEPTED }));
    };
    let issued = create_session(&cx, &mut db, Authentication::new(&user, "otp", Vec::new())).await?;
    db.commit().await?;
    notices::send_contact_changed(&cx, &good.user, &user).await;
    Ok(issued.reply(SessionExtras::default()))
}

async fn load_verified_code(
    cx: &RequestContext,
    request: &VerificationRequest,
    code: &OneTimeCode,
) -> Result<VerifiedToken> {
    let found = find_user(cx, request, code).await?;
    let checked = verify_code(request.verification_type, code, found.as_ref(), &cx.app.policy, cx.now);
    if checked.is_err() {
        let is_sms = matches!(code.contact, Contact::Phone(_));
        let kind = if is_sms { SecretKind::SmsCode } else { SecretKind::EmailCode };
        explanations::record_refused_secret(cx, &code.hash, kind);
        equal_work::run_opposite_lookup(cx, found.is_some()).await?;
    }
    let kind = match checked? {
        CodeCheckResult::Valid(kind) => kind,
        CodeCheckResult::RequiresTwilioCheck(kind) => {
            require_provider_approval(cx, code.contact.as_str(), &code.digits).await?;
            kind
        }
    };
    cx.note(FactCondition::Success, || Fact::SecretUsed { digest: explanations::digest_token(&code.hash) });
    prepare_token(cx, kind, code.hash.clone(), found.ok_or_else(invalid_code)?).await
}

async fn find_user(cx: &RequestContext, request: &VerificationRequest, code: &OneTimeCode) -> Result<Option<User>> {
    let audience = cx.audience();
    let mut db = cx.db();
    let found = match select_lookup(request.verification_type, code, &cx.app.policy) {
        UserLookup::Email(email) => users::find_by_email(&mut db, email.as_str(), &audience).await,
        UserLookup::Phone(phone) => users::find_by_phone(&mut db, phone.as_str(), &audience).await,
        UserLookup::PendingPhone(phone) => users::find_by_pending_phone(&mut db, phone.as_str(), &audience).await,
        UserLookup::EmailChange(slots) => {
            let found = one_time_tokens::find_user_by_code(&mut db, &code.hash, slots).await;
            found.map(|user| user.filter(|user| code.allows_email_change(user, &audience)))
        }
        UserLookup::Impossible => Ok(None),
    };
    found.or_internal_error("Database error finding user")
}
