//! Recovery codes: a sign-in without the authenticator app, which connects a new one.

use aws_lc_rs::digest::{SHA256, digest};
use axum::response::Response;
use foundation::time::Time;
use http::StatusCode;
use platform::entropy::Entropy;
use serde_json::json;

use crate::account_call::AccountCall;
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::schemas;
use crate::sign_in::{self, SignInCall};
use crate::store::recovery_codes;
use crate::store::tickets::{self, Purpose};

/// The codes of an owner.
const CODES: usize = 10;
/// Characters of a code and of its groups: 80 bits.
const CODE_LENGTH: usize = 16;
const GROUP_LENGTH: usize = 4;

/// Answers how many codes the signed-in owner has, and whether the owner has kept them.
#[utoipa::path(
    get, path = "/account/recovery-codes", tag = "account",
    responses((status = 200, description = "The number of codes", body = Object), Refusal)
)]
pub(crate) async fn show_codes(call: AccountCall) -> Result<Response, DeskError> {
    let codes = recovery_codes::count(&mut call.visit.db(), call.session.user.id).await?;
    Ok(respond::ok(&json!({ "left": codes.left, "are_unconfirmed": codes.are_unconfirmed })))
}

/// Replaces the codes of the signed-in owner and answers with the new ones, which are not shown again.
///
/// Until [`confirm_codes`] the desk asks for new ones: the answer may never have been seen.
#[utoipa::path(
    post, path = "/account/recovery-codes", tag = "account",
    responses((status = 200, description = "The new codes", body = Object), Refusal)
)]
pub(crate) async fn replace_codes(call: AccountCall) -> Result<Response, DeskError> {
    let visit = &call.visit;
    let entropy = visit.app.entropy.fork();
    let codes: Vec<String> = (0..CODES).map(|_| generate(&entropy)).collect();
    let hashes: Vec<Vec<u8>> = codes.iter().filter_map(|code| hash_presented(code)).collect();
    recovery_codes::replace(&mut visit.db(), call.session.user.id, &hashes, visit.now).await?;
    call.record_done("recovery_codes_replaced", None).await;
    Ok(respond::ok(&json!({ "codes": codes, "made_at": visit.now })))
}

/// Records that the owner has kept the codes of the named time.
#[utoipa::path(
    post, path = "/account/recovery-codes/kept", tag = "account", request_body = schemas::KeptCodes,
    responses((status = 204, description = "It is recorded"), Refusal)
)]
pub(crate) async fn confirm_codes(call: AccountCall) -> Result<Response, DeskError> {
    let made_at = call.body.text("made_at", 40)?.parse::<Time>();
    let made_at = made_at.map_err(|_| DeskError::invalid("made_at must be the time with which the codes came."))?;
    if !recovery_codes::confirm(&mut call.visit.db(), call.session.user.id, made_at).await? {
        let error = DeskError::new(StatusCode::CONFLICT, "codes_replaced", "These codes are not valid any more.");
        return Err(error.hint("Other codes have replaced them since. Make new ones and keep those."));
    }
    call.record_done("recovery_codes_kept", None).await;
    Ok(respond::no_content())
}

/// Uses a code up in place of the code of the app, and enrolls a new app in place of the lost one.
///
/// The ticket is that of a right password. A code that leads to no new app stays valid.
#[utoipa::path(
    post, path = "/sign-in/recovery", tag = "sign-in", security(()), request_body = schemas::TicketCode,
    responses((status = 200, description = "The secret of the application, and a ticket", body = Object), Refusal)
)]
pub(crate) async fn recover(call: SignInCall) -> Result<Response, DeskError> {
    let (step, body) = call.parts();
    let visit = step.visit;
    let presented = body.text("ticket", 100)?;
    let hash = hash_presented(body.text("code", 40)?);
    let (ticket_hash, ticket) = sign_in::use_ticket(visit, presented, [Purpose::Code, Purpose::Code]).await?;
    let session = ticket.session.ok_or_else(sign_in::ticket_expired)?;
    let hash = match hash {
        Some(hash) if recovery_codes::record_use(&mut visit.db(), session.user_id, &hash, visit.now).await? => hash,
        _ => {
            visit.record_refused(Some(session.user_id), "recovery_code_failed", None).await;
            return Err(DeskError::new(StatusCode::UNAUTHORIZED, "invalid_code", "The recovery code is not valid.")
                .hint(
                    "Each code counts once. Without a code, `basalt desk reset` on the machine of the server helps.",
                ));
        }
    };
    let enrolled = sign_in::replace_app(step, session.user_id, session).await;
    let (totp, new_ticket) = match enrolled {
        Ok(enrolled) => enrolled,
        Err(error) => {
            recovery_codes::release(&mut visit.db(), session.user_id, &hash).await?;
            return Err(error);
        }
    };
    tickets::delete(&mut visit.db(), &ticket_hash).await?;
    visit.record_done(session.user_id, "recovery_code_used", None).await;
    Ok(respond::ok(&json!({ "ticket": new_ticket, "next": "enroll", "totp": totp })))
}

/// Generates a code in groups, such as `abcd-efgh-ijkl-mnop`.
fn generate(entropy: &Entropy) -> String {
    let text = entropy.base32(CODE_LENGTH).to_ascii_lowercase();
    let groups: Vec<&str> = (0..text.len()).step_by(GROUP_LENGTH).map(|at| &text[at..at + GROUP_LENGTH]).collect();
    groups.join("-")
}

/// Returns the digest of a code as an owner enters it; `None` if it has not the form of one.
fn hash_presented(text: &str) -> Option<Vec<u8>> {
    let plain: String = text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '-')
        .map(|character| character.to_ascii_lowercase())
        .collect();
    let is_code = plain.len() == CODE_LENGTH && plain.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'));
    is_code.then(|| digest(&SHA256, format!("recovery:{plain}").as_bytes()).as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entered_code_may_differ_in_case_and_spaces() {
        let code = generate(&Entropy::from_seed(1));
        assert_eq!((code.len(), code.matches('-').count()), (19, 3), "{code}");
        let hash = hash_presented(&code);
        assert!(hash.is_some());
        assert_eq!(hash_presented(&code.to_ascii_uppercase().replace('-', " ")), hash);
        assert_eq!(hash_presented(&code[1..]), None);
        assert_ne!(generate(&Entropy::from_seed(2)), code);
    }

    proptest! {
        #[test]
        fn arbitrary_texts_do_not_panic(text in "\\PC{0,40}") {
            let _ = hash_presented(&text);
        }
    }
}
