//! The second step of an account, after which its new password is chosen: the code of an authenticator app, that of a text
//! message, or a recovery code.
//!
//! The auth API alone issues and verifies challenges, counts wrong codes and raises the session.

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use foundation::error::ErrorCode;
use foundation::html::escape_html;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::policy::MfaPolicy;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::links::MailedLinks;
use super::page::{CodeField, Form, format_code_field};
use super::requests::{Answer, Sender};
use super::texts::SecondStepTexts;

/// The way that stands for all recovery codes.
const RECOVERY: &str = "recovery";
/// How many digits of a number are shown.
const SHOWN_DIGITS: usize = 2;

/// A session that a link has opened, to choose a password in.
#[derive(Debug, Clone, Copy)]
pub(super) struct PasswordChange<'a> {
    /// The `type` of the link.
    pub kind: &'a str,
    /// The access token.
    pub session: &'a str,
}

/// A way to prove the second step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    App {
        factor: String,
        name: String,
    },
    Phone {
        factor: String,
        /// The last digits of the number.
        ending: String,
    },
    RecoveryCode,
}

/// What a form of a code holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnteredCode<'a> {
    pub way: &'a str,
    /// The challenge of a text message.
    pub challenge: &'a str,
    pub code: &'a str,
}

/// What the form of a code says first.
enum Notice<'a> {
    None,
    Sent,
    Problem(StatusCode, &'a str),
}

impl Way {
    /// Reads a verified factor; `None` for one that needs a script or cannot be used here.
    fn read(factor: &Value, policy: &MfaPolicy) -> Option<Self> {
        let text = |name: &str| factor[name].as_str().unwrap_or_default().to_owned();
        let kind = FactorType::parse(&text("factor_type")).ok().filter(|kind| kind.is_usable(policy))?;
        match kind {
            FactorType::Totp => Some(Self::App { factor: text("id"), name: text("friendly_name") }),
            FactorType::Phone => {
                let digits: Vec<char> = text("phone").chars().collect();
                let ending = digits[digits.len().saturating_sub(SHOWN_DIGITS)..].iter().collect();
                Some(Self::Phone { factor: text("id"), ending })
            }
            FactorType::WebAuthn | FactorType::RecoveryCode => None,
        }
    }

    /// What forms call it.
    fn key(&self) -> &str {
        match self {
            Self::App { factor, .. } | Self::Phone { factor, .. } => factor,
            Self::RecoveryCode => RECOVERY,
        }
    }

    /// The label of the field, as HTML.
    fn field(&self, texts: &SecondStepTexts) -> String {
        match self {
            Self::App { name, .. } if name.is_empty() => texts.app_field.to_owned(),
            Self::App { name, .. } => texts.named_app_field.replace("{factor}", &escape_html(name)),
            Self::Phone { .. } => texts.phone_field.to_owned(),
            Self::RecoveryCode => texts.recovery_field.to_owned(),
        }
    }

    /// The label of the button that leads to it, as HTML.
    fn button(&self, texts: &SecondStepTexts) -> String {
        match self {
            Self::App { name, .. } if name.is_empty() => texts.use_app.to_owned(),
            Self::App { name, .. } => texts.use_named_app.replace("{factor}", &escape_html(name)),
            Self::Phone { ending, .. } => texts.use_phone.replace("{ending}", &escape_html(ending)),
            Self::RecoveryCode => texts.use_recovery.to_owned(),
        }
    }
}

impl MailedLinks {
    /// Loads the second steps of a session's account that the page can ask for; `None` if the account has none.
    ///
    /// # Errors
    /// The answer of the API to a session that has ended, or that it cannot serve.
    pub(super) async fn load_account(
        &self,
        auth: &Router,
        sender: &Sender,
        session: &str,
    ) -> Result<Option<Vec<Way>>, Answer> {
        let answer = sender.call(auth, Method::GET, "/user", Some(session), None).await;
        if answer.status != StatusCode::OK {
            return Err(answer);
        }
        let app = Arc::clone(&self.app.borrow());
        let policy = &app.policy.mfa;
        let user = answer.body;
        let factors = user["factors"].as_array().into_iter().flatten();
        let verified: Vec<&Value> = factors.filter(|factor| factor["status"] == "verified").collect();
        if verified.is_empty() {
            return Ok(None);
        }
        let mut ways: Vec<Way> = verified.iter().filter_map(|factor| Way::read(factor, policy)).collect();
        ways.sort_by_key(|way| matches!(way, Way::Phone { .. }));
        let has_codes = verified.iter().any(|factor| factor["factor_type"] == FactorType::RecoveryCode.as_str());
        if has_codes && FactorType::RecoveryCode.is_usable(policy) {
            let codes = sender.call(auth, Method::GET, "/factors/recovery-codes", Some(session), None).await;
            ways.extend(codes.body["remaining"].as_u64().filter(|count| *count > 0).map(|_| Way::RecoveryCode));
        }
        Ok(Some(ways))
    }

    /// Answers with the form of the account's second step.
    pub(super) fn ask_for_second_step(&self, sender: &Sender, change: PasswordChange<'_>, ways: &[Way]) -> Response {
        let Some(first) = ways.first() else {
            let page = self.page(sender, |texts| texts.second_step.impossible).with_status(StatusCode::FORBIDDEN);
            return page.with_way_on(None).respond();
        };
        self.ask_for_code(sender, change, ways, first, "", &Notice::None)
    }

    /// Answers with the form of a code. A text message is sent first, by a click.
    fn ask_for_code(
        &self,
        sender: &Sender,
        change: PasswordChange<'_>,
        ways: &[Way],
        chosen: &Way,
        challenge: &str,
        notice: &Notice<'_>,
    ) -> Response {
        let page = self.page(sender, |texts| texts.second_step.page);
        let (texts, labels) = (page.texts, page.texts.second_step);
        let mut page = match (notice, chosen) {
            (Notice::Problem(status, text), _) => page.with_status(*status).with_alert(text),
            (Notice::Sent, Way::Phone { ending, .. }) => {
                page.with_notice(&labels.sent.replace("{ending}", &escape_html(ending)))
            }
            _ => page,
        };
        let PasswordChange { kind, session } = change;
        let is_sent = !challenge.is_empty();
        if is_sent || !matches!(chosen, Way::Phone { .. }) {
            let field = CodeField {
                label: chosen.field(&labels),
                is_numeric: *chosen != Way::RecoveryCode,
                is_invalid: matches!(notice, Notice::Problem(StatusCode::UNPROCESSABLE_ENTITY, _)),
            };
            let hidden = [
                ("action", "code"),
                ("type", kind),
                ("session", session),
                ("way", chosen.key()),
                ("challenge", challenge),
            ];
            let field = format_code_field(&field);
            page = page.with_form(&Form { hidden: &hidden, field, label: texts.open_label, is_other_way: false });
        }
        for way in ways.iter().filter(|way| *way != chosen || matches!(way, Way::Phone { .. })) {
            let hidden = [("action", "way"), ("type", kind), ("session", session), ("way", way.key())];
            let label = way.button(&labels);
            let is_other_way = is_sent || way != chosen;
            page = page.with_form(&Form { hidden: &hidden, field: String::new(), label: &label, is_other_way });
        }
        page.respond()
    }

    /// Answers with the form of another way, to which a text message is sent.
    pub(super) async fn choose_way(
        &self,
        auth: &Router,
        sender: &Sender,
        change: PasswordChange<'_>,
        key: &str,
    ) -> Response {
        let account = match self.load_account(auth, sender, change.session).await {
            Ok(account) => account,
            Err(answer) => return self.refuse_session(sender, change, &answer).await,
        };
        let ways = account.unwrap_or_default();
        let Some(way) = ways.iter().find(|way| way.key() == key) else {
            return self.ask_for_second_step(sender, change, &ways);
        };
        let Way::Phone { factor, .. } = way else {
            return self.ask_for_code(sender, change, &ways, way, "", &Notice::None);
        };
        let answer = challenge(auth, sender, change, factor).await;
        match answer.body["id"].as_str().filter(|_| answer.status == StatusCode::OK) {
            Some(id) => self.ask_for_code(sender, change, &ways, way, id, &Notice::Sent),
            None => self.refuse_code(sender, change, &ways, way, "", &answer).await,
        }
    }

    /// Lets the API verify a code, and answers with the form of the password.
    pub(super) async fn verify_code(
        &self,
        auth: &Router,
        sender: &Sender,
        change: PasswordChange<'_>,
        entered: EnteredCode<'_>,
    ) -> Response {
        let account = match self.load_account(auth, sender, change.session).await {
            Ok(account) => account,
            Err(answer) => return self.refuse_session(sender, change, &answer).await,
        };
        let Some(ways) = account else { return self.ask_for_password(sender, change, None) };
        let Some(way) = ways.iter().find(|way| way.key() == entered.way) else {
            return self.ask_for_second_step(sender, change, &ways);
        };
        let code: String = entered.code.split_whitespace().collect();
        let answer = match way {
            Way::App { factor, .. } => {
                let issued = challenge(auth, sender, change, factor).await;
                match issued.body["id"].as_str() {
                    Some(id) => verify(auth, sender, change, factor, id, &code).await,
                    None => issued,
                }
            }
            Way::Phone { factor, .. } => verify(auth, sender, change, factor, entered.challenge, &code).await,
            Way::RecoveryCode => {
                let body = json!({ "code": code });
                let path = "/factors/recovery-codes/verify";
                sender.call(auth, Method::POST, path, Some(change.session), Some(&body)).await
            }
        };
        match answer.body["access_token"].as_str().filter(|_| answer.status == StatusCode::OK) {
            Some(session) => self.ask_for_password(sender, PasswordChange { session, ..change }, None),
            None => self.refuse_code(sender, change, &ways, way, entered.challenge, &answer).await,
        }
    }

    /// Says why a code is not accepted, and asks again.
    async fn refuse_code(
        &self,
        sender: &Sender,
        change: PasswordChange<'_>,
        ways: &[Way],
        way: &Way,
        challenge: &str,
        answer: &Answer,
    ) -> Response {
        let texts = super::texts::find_texts(sender.language);
        let (status, text) = match answer.status {
            _ if answer.is(ErrorCode::MfaRecoveryCodesLocked) => {
                (StatusCode::TOO_MANY_REQUESTS, texts.second_step.locked.to_owned())
            }
            _ if answer.is(ErrorCode::MfaVerificationRejected) => return self.show_blocked(sender),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return self.refuse_session(sender, change, answer).await;
            }
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                (StatusCode::UNPROCESSABLE_ENTITY, texts.second_step.wrong_code.to_owned())
            }
            _ => answer.describe_failure(texts),
        };
        self.ask_for_code(sender, change, ways, way, challenge, &Notice::Problem(status, &text))
    }
}

async fn challenge(auth: &Router, sender: &Sender, change: PasswordChange<'_>, factor: &str) -> Answer {
    let path = format!("/factors/{factor}/challenge");
    sender.call(auth, Method::POST, &path, Some(change.session), Some(&json!({}))).await
}

async fn verify(
    auth: &Router,
    sender: &Sender,
    change: PasswordChange<'_>,
    factor: &str,
    challenge: &str,
    code: &str,
) -> Answer {
    let path = format!("/factors/{factor}/verify");
    let body = json!({ "challenge_id": challenge, "code": code });
    sender.call(auth, Method::POST, &path, Some(change.session), Some(&body)).await
}
