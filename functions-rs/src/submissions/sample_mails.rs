//! The mails of submissions filled in with an example, to look at before one is sent.

use chrono::TimeDelta;
use foundation::language::Language;
use foundation::time::Time;
use platform::mail::EmailMessage;
use uuid::Uuid;

use super::changes::QuotedSubmission;
use super::input::ReplyInput;
use super::reply::{ReplyMail, build_reply};
use crate::functions::send_submission::SubmissionSettings;
use crate::functions::send_submission::address::EmailAddress;
use crate::functions::send_submission::mails::{
    MailContext, Submitter, build_confirmation, build_digest, build_notice,
};
use crate::functions::send_submission::store::CollectedSubmissions;
use crate::functions::send_submission::text::SubmissionText;

/// A mail to a visitor or to the owner that a preview shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmissionMail {
    /// Tells the visitor that the submission has come.
    Confirmation,
    /// The owner's answer.
    Reply,
    /// Tells the owner about one submission.
    Notice,
    /// Tells the owner about those beyond the hourly limit.
    Digest,
}

impl SubmissionMail {
    pub const ALL: [Self; 4] = [Self::Confirmation, Self::Reply, Self::Notice, Self::Digest];

    /// Returns whether the mail exists in English alone: the owner gets or writes it.
    pub fn is_in_english(self) -> bool {
        self != Self::Confirmation
    }
}

/// Builds a mail as it is sent, about an example.
pub fn build_sample_mail(
    settings: &SubmissionSettings,
    now: Time,
    mail: SubmissionMail,
    language: Language,
) -> EmailMessage {
    const VISITOR: &str = "ada@example.com";
    const TEXT: &str = "Could you make the Welcome Series in blue?\n\nAda Mills, ada@example.com";
    const ANSWER: &str = "Dear Ada,\n\nyes, by Friday.";
    let SubmissionSettings { shop, brand, host, .. } = settings;
    let context = MailContext { id: Uuid::nil(), now, shop, brand, host };
    let owner = settings.owner.as_deref().unwrap_or("owner@example.com");
    let visitor = EmailAddress::parse(VISITOR).expect("the address is valid");
    match mail {
        SubmissionMail::Confirmation => build_confirmation(context, &visitor, Some(owner), language),
        SubmissionMail::Notice => {
            let text = SubmissionText::new(TEXT).expect("the text is valid");
            build_notice(context, owner, &text, &Submitter::AddressInText(visitor), None)
        }
        SubmissionMail::Digest => {
            let collected = CollectedSubmissions { count: 12, first: now - TimeDelta::minutes(40), last: now };
            build_digest(context, owner, &collected, settings.limits.notices)
        }
        SubmissionMail::Reply => {
            let input = ReplyInput::new(VISITOR, "Your details", ANSWER).expect("the reply is valid");
            let quoted = QuotedSubmission {
                description: TEXT.to_owned(),
                created_at: now - TimeDelta::days(1),
                account_email: None,
                senders: None,
            };
            let reply =
                ReplyMail { id: Uuid::nil(), now, to: &visitor, input: &input, quoted: &quoted, confirmation: None };
            build_reply(settings, reply)
        }
    }
}
