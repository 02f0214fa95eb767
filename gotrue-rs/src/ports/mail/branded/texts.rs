//! The texts of a language.

/// The texts of a mail: Go templates, whose markup is `<strong>` only.
///
/// Tables of them are in the order of [`gotrue_rules::domain::policy::MailKind::ALL`].
pub(super) struct MailTexts {
    pub subject: &'static str,
    pub title: &'static str,
    pub preview: &'static str,
    /// The first paragraph.
    pub lead: &'static str,
    /// The label of the button; empty for mails without a link.
    pub label: &'static str,
    /// A paragraph below button or code; may be empty.
    pub note: &'static str,
    /// What to do if the mail was not expected.
    pub closing: &'static str,
}

/// The texts that all mails with a link share.
pub(super) struct CommonTexts {
    /// Before the address of the button.
    pub address: &'static str,
    /// Before the code.
    pub code: &'static str,
    /// The end of link and code: in `{number}` minutes or hours, tomorrow, in `{number}` days.
    pub minutes: &'static str,
    pub hour: &'static str,
    pub hours: &'static str,
    pub tomorrow: &'static str,
    pub days: &'static str,
}
