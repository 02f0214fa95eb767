//! `[basalt.shop]`: the look of the built-in mails.

use gotrue_rules::domain::policy::{BrandColor, MailBrand};
use url::Url;

use super::read::Values;

/// Maximum length of name and address, in characters.
const MAX_LENGTH: usize = 200;
/// Maximum length of the picture's URL, in bytes.
const MAX_URL_LENGTH: usize = 2000;

/// Parses name, colour, picture and address; a faulty value is refused and left out.
pub(super) fn parse_brand(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> MailBrand {
    let mut read = |name: &str, is_valid: &dyn Fn(&str) -> bool, problem: &str| {
        let key = format!("basalt.shop.{name}");
        let text = values.text(&key).filter(|text| !text.is_empty())?;
        if is_valid(text) {
            return Some(text.to_owned());
        }
        refuse(&key, problem);
        None
    };
    let is_line = |text: &str| text.chars().count() <= MAX_LENGTH && !text.contains(char::is_control);
    let is_url = |text: &str| {
        let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_URL_LENGTH);
        url.is_some_and(|url| url.scheme() == "https" && url.has_host())
    };
    let color = read("accent_color", &|text| BrandColor::parse(text).is_some(), "must be a color, such as \"#1d4ed8\"");
    MailBrand {
        name: read("name", &is_line, "must be one line of at most 200 characters"),
        color: color.as_deref().and_then(BrandColor::parse).unwrap_or_default(),
        logo_url: read("logo_url", &is_url, "must be an https URL, such as \"https://example.com/logo.png\""),
        address: read("address", &is_line, "must be one line of at most 200 characters"),
    }
}
