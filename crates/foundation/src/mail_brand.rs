//! The look of the built-in e-mails.

/// The look of the built-in e-mails, which also exist in several languages then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailBrand {
    /// The name at the top. Default: the host of the site.
    pub name: Option<String>,
    /// The colour of the line at the top and of buttons.
    pub color: BrandColor,
    /// An https URL of a picture, shown in place of the name. Default none.
    pub logo_url: Option<String>,
    /// The sender's postal address or another last line. Default none.
    pub address: Option<String>,
}

/// An opaque sRGB colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrandColor([u8; 3]);

impl Default for BrandColor {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl BrandColor {
    /// The accent of the built-in shop.
    pub const DEFAULT: Self = Self([0xc8, 0x33, 0x14]);

    /// Parses `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
        let [_, red, green, blue] = value.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    /// Returns the colour as `#rrggbb`.
    pub fn to_hexadecimal(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// Returns black or white, by which has more contrast with this colour.
    ///
    /// The contrast is 4.5 or more (WCAG 2.2, 1.4.3).
    pub fn text_color(self) -> &'static str {
        let luminance = self.luminance();
        let (with_white, with_black) = (1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05);
        if with_white >= with_black { "#ffffff" } else { "#000000" }
    }

    /// Returns the relative luminance (WCAG 2.2), 0 to 1.
    fn luminance(self) -> f64 {
        let linear = self.0.map(|component| {
            let share = f64::from(component) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        linear.iter().zip([0.2126, 0.7152, 0.0722]).map(|(component, weight)| component * weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::BrandColor;

    #[test]
    fn only_six_hexadecimal_digits_are_a_color() {
        for text in ["", "#", "#12345", "#1234567", "123456", "#12345g", "#+12345", "red", "#é1234"] {
            assert_eq!(BrandColor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn text_is_white_on_dark_colors_and_black_on_light_ones() {
        for (color, text) in [("#000000", "#ffffff"), ("#1d4ed8", "#ffffff"), ("#FFD400", "#000000")] {
            assert_eq!(BrandColor::parse(color).map(BrandColor::text_color), Some(text), "{color}");
        }
    }

    proptest! {
        #[test]
        fn every_color_is_read_back_and_has_readable_text(red: u8, green: u8, blue: u8) {
            let color = BrandColor([red, green, blue]);
            prop_assert_eq!(BrandColor::parse(&color.to_hexadecimal()), Some(color));
            let text = BrandColor::parse(color.text_color()).expect("a color");
            let (one, two) = (color.luminance() + 0.05, text.luminance() + 0.05);
            prop_assert!(one.max(two) / one.min(two) >= 4.5);
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC{0,9}") {
            let _ = BrandColor::parse(&text);
        }
    }
}
