//! `[basalt.shop.seller]`: who sells, and the files with the terms.

use std::path::{Path, PathBuf};

use foundation::email::Email;
use orders::SellerDocument;

const TABLE: &str = "basalt.shop.seller";
/// Maximum length of name and address, in characters.
const MAX_LENGTH: usize = 200;
/// The longest language tag (RFC 5646 §4.4.1).
const MAX_TAG_LENGTH: usize = 35;

/// What the table says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SellerSettings {
    /// Name of the person or company.
    pub name: Option<String>,
    /// Postal address, in one line.
    pub address: Option<String>,
    /// Public e-mail address for questions.
    pub email: Option<String>,
    /// Language of the files, such as `de`.
    pub language: Option<String>,
    /// Markdown files, relative to the folder of the configuration.
    pub terms: Option<PathBuf>,
    /// Like `terms`.
    pub privacy: Option<PathBuf>,
    /// Like `terms`.
    pub refunds: Option<PathBuf>,
}

impl SellerSettings {
    /// Returns the texts that are set, with their files, in the order of their links.
    pub(crate) fn list_documents(&self) -> Vec<(SellerDocument, &Path)> {
        let files = [
            (SellerDocument::Terms, &self.terms),
            (SellerDocument::Privacy, &self.privacy),
            (SellerDocument::Refunds, &self.refunds),
        ];
        files.into_iter().filter_map(|(document, file)| Some((document, file.as_deref()?))).collect()
    }

    /// Parses the table; a faulty value is refused and left out.
    pub(super) fn from_text(text: &impl Fn(&str) -> Option<String>, refuse: &mut impl FnMut(&str, &str)) -> Self {
        let mut read = |name: &str, is_valid: &dyn Fn(&str) -> bool, problem: &str| {
            let key = format!("{TABLE}.{name}");
            let value = text(&key)?;
            if is_valid(&value) {
                return Some(value);
            }
            refuse(&key, problem);
            None
        };
        let is_line = |text: &str| text.chars().count() <= MAX_LENGTH && !text.contains(char::is_control);
        let is_tag = |text: &str| {
            text.len() <= MAX_TAG_LENGTH
                && text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.split('-').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        };
        let line = "must be one line of at most 200 characters";
        let file = |name: &str| text(&format!("{TABLE}.{name}")).map(PathBuf::from);
        Self {
            name: read("name", &is_line, line),
            address: read("address", &is_line, line),
            email: read(
                "email",
                &|text| Email::parse(text).is_ok(),
                "must be an e-mail address, such as \"help@example.com\"",
            ),
            language: read("language", &is_tag, "must be a language tag, such as \"en\" or \"de\""),
            terms: file("terms"),
            privacy: file("privacy"),
            refunds: file("refunds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;

    fn read(text: &str) -> Result<ConfigFile, Vec<String>> {
        ConfigFile::read(Path::new("config.toml"), text, &|_| Ok(None))
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn seller_is_read_and_validated() {
        let file =
            read("[basalt.shop.seller]\nname = \"Paper & Post\"\nlanguage = \"pt-BR\"\nterms = \"legal/terms.md\"");
        let seller = file.expect("no problem").basalt.seller;
        assert_eq!((seller.name.as_deref(), seller.language.as_deref()), (Some("Paper & Post"), Some("pt-BR")));
        assert_eq!((seller.terms.as_deref(), seller.privacy), (Some(Path::new("legal/terms.md")), None));
        for invalid in ["name = \"a\\nb\"", "email = \"nobody\"", "language = \"en us\"", "language = \"-\""] {
            let problems = read(&format!("[basalt.shop.seller]\n{invalid}")).expect_err("a problem");
            let key = invalid.split(' ').next().unwrap_or_default();
            assert!(problems.len() == 1 && problems[0].contains(&format!("seller.{key} must be")), "{problems:?}");
        }
    }
}
