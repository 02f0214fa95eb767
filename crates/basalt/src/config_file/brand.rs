//! `[basalt.shop]`: the look of the built-in mails.

use foundation::mail_brand::{BrandColor, MailBrand};
use url::Url;

use super::read::Values;

/// Maximum length of name and address, in characters.
const MAX_LENGTH: usize = 200;
/// Maximum length of the picture's URL, in bytes.
const MAX_URL_LENGTH: usize = 2000;

/// Returns whether a text is one line of limited length.
pub(super) fn is_line(text: &str) -> bool {
    text.chars().count() <= MAX_LENGTH && !text.contains(char::is_control)
}

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
    let is_url = |text: &str| {
        let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_URL_LENGTH);
        url.is_some_and(|url| url.scheme() == "https" && url.has_host())
    };
    let color = read("accent_color", &|text| BrandColor::parse(text).is_some(), "must be a color, such as \"#c83314\"");
    MailBrand {
        name: read("name", &is_line, "must be one line of at most 200 characters"),
        color: color.as_deref().and_then(BrandColor::parse).unwrap_or_default(),
        logo_url: read("logo_url", &is_url, "must be an https URL, such as \"https://example.com/logo.png\""),
        address: read("address", &is_line, "must be one line of at most 200 characters"),
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
    fn brand_of_mails_is_read_and_validated() {
        let file = read(
            "[basalt.shop]\nname = \"Paper & Post\"\naccent_color = \"#B5341F\"\nlogo_url = \"https://example.com/a.png\"\naddress = \"Bath\"",
        );
        let brand = file.expect("no problem").basalt.mail_brand;
        assert_eq!((brand.name.as_deref(), brand.address.as_deref()), (Some("Paper & Post"), Some("Bath")));
        assert_eq!(brand.logo_url.as_deref(), Some("https://example.com/a.png"));
        assert_eq!(brand.color.to_hexadecimal(), "#b5341f");
        let long = format!("name = \"{}\"", "x".repeat(201));
        for invalid in [
            "accent_color = \"red\"",
            "logo_url = \"http://example.com/a.png\"",
            "logo_url = \"/a.png\"",
            "name = \"a\\nb\"",
            "address = \"a\\nb\"",
            &long,
        ] {
            let problems = read(&format!("[basalt.shop]\n{invalid}")).expect_err("a problem");
            let key = invalid.split(' ').next().unwrap_or_default();
            assert!(problems.len() == 1 && problems[0].contains(&format!("basalt.shop.{key} must be")), "{problems:?}");
        }
    }
}
