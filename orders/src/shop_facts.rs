//! What is known about the shop.

use gotrue_rules::domain::policy::MailBrand;

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
}
