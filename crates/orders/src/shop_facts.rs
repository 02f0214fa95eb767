//! What is known about the shop.

use foundation::mail_brand::MailBrand;

/// The paths of the shop's fonts; `None` in a build without the shop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShopFonts {
    /// Of headings.
    pub besley: Option<String>,
    /// Of text.
    pub libre_franklin: Option<String>,
}

/// Who sells, as pages and receipts say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SellerIdentity {
    /// Name of the person or company.
    pub name: String,
    /// Postal address, in one line.
    pub address: Option<String>,
    /// Public e-mail address for questions.
    pub email: Option<String>,
    /// The texts that the seller has pages for, in the order of their links.
    pub documents: Vec<SellerDocument>,
}

/// A text of the seller's, which has a page of the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SellerDocument {
    Terms,
    Privacy,
    Refunds,
}

impl SellerDocument {
    /// Returns the path of its page.
    pub fn path(self) -> &'static str {
        match self {
            Self::Terms => "/terms",
            Self::Privacy => "/privacy",
            Self::Refunds => "/refunds",
        }
    }
}

/// What mails and pages say about the shop.
#[derive(Debug, Clone)]
pub struct ShopFacts {
    /// The shop's name.
    pub name: String,
    /// The look of mails.
    pub brand: MailBrand,
    /// The owner's address, for mails to the owner.
    pub owner: Option<String>,
    /// Who sells.
    pub seller: SellerIdentity,
    /// The host of `Message-ID`s.
    pub mail_host: String,
    /// The URL of the server for browsers, without a slash at the end.
    pub url: String,
    /// The fonts of its pages.
    pub fonts: ShopFonts,
}

impl ShopFacts {
    /// Returns the address that buyers write to: the seller's public one, or the owner's.
    pub(crate) fn contact(&self) -> Option<&str> {
        self.seller.email.as_deref().or(self.owner.as_deref())
    }
}
