//! What is known about the shop.

use gotrue_rules::domain::policy::MailBrand;

/// The paths of the shop's fonts; `None` in a build without the shop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShopFonts {
    /// Of headings.
    pub besley: Option<String>,
    /// Of text.
    pub libre_franklin: Option<String>,
}

/// What mails and pages say about the shop.
#[derive(Debug, Clone)]
pub struct ShopFacts {
    /// The shop's name.
    pub name: String,
    /// The look of mails.
    pub brand: MailBrand,
    /// The owner's address.
    pub owner: Option<String>,
    /// The host of `Message-ID`s.
    pub mail_host: String,
    /// The URL of the server for browsers, without a slash at the end.
    pub url: String,
    /// The fonts of its pages.
    pub fonts: ShopFonts,
}
