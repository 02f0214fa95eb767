//! The operator's settings for submissions, and the titles of templates.

use std::sync::Arc;
use std::time::Duration;

use foundation::mail_brand::MailBrand;

use super::limits::SubmissionLimits;

/// The operator's settings for submissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionSettings {
    /// The recipient of a mail about each submission.
    /// Default none.
    pub owner: Option<String>,
    /// The shop's name in mails.
    /// Default `Email Templates`.
    pub shop: String,
    /// The look of the mails.
    pub brand: MailBrand,
    /// The host in `Message-ID`s: that of the server's public URL.
    /// Default `localhost`.
    pub host: String,
    /// Rate limits.
    pub limits: SubmissionLimits,
    /// Time within which identical text of the same visitor is the same submission.
    /// This covers a double click, or a retry after a lost response. Default 2 min.
    pub duplicate_window: Duration,
    /// Whether new submissions are events for a webhook.
    /// Default off.
    pub has_webhook: bool,
}

impl Default for SubmissionSettings {
    fn default() -> Self {
        Self {
            owner: None,
            shop: "Email Templates".to_owned(),
            brand: MailBrand::default(),
            host: "localhost".to_owned(),
            limits: SubmissionLimits::default(),
            duplicate_window: Duration::from_mins(2),
            has_webhook: false,
        }
    }
}

/// Returns the title of a template, for the mails to the owner.
#[derive(Clone)]
pub struct TemplateTitles(Arc<dyn Fn(u16) -> Option<String> + Send + Sync>);

impl TemplateTitles {
    /// Finds titles by this function.
    pub fn new(find: impl Fn(u16) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Returns the title of a template.
    pub fn find(&self, id: u16) -> Option<String> {
        (self.0)(id)
    }
}

impl Default for TemplateTitles {
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl std::fmt::Debug for TemplateTitles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplateTitles").finish_non_exhaustive()
    }
}
