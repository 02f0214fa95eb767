//! The spam score of a submission: how it was sent, its links, and how often its text came, pure.
//!
//! No weak sign is enough by itself: only a filled trap, or several signs together, put a submission into quarantine.

use std::borrow::Cow;

/// The header in which the plain form of the shop says how it was sent. It can only raise the score.
pub const FORM_SIGNS: &str = "x-basalt-form-signs";
/// A value of [`FORM_SIGNS`]: the field that no visitor sees is filled.
pub const TRAP_FILLED: &str = "trap";
/// A value of [`FORM_SIGNS`]: the form came right after its page.
pub const TOO_FAST: &str = "fast";
/// The score from which a submission is spam.
pub const QUARANTINE_SCORE: u8 = 60;
/// The number of equal texts from other networks within a day that is a sign.
const MANY_REPEATS: i64 = 3;
/// The number of characters from which equal texts are no coincidence.
const LONG_TEXT: usize = 40;
/// The number of links that an ordinary submission may have.
const USUAL_LINKS: usize = 2;

/// What is known of a submission besides its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpamSigns {
    /// The field that no visitor sees is filled.
    pub is_trap_filled: bool,
    /// The form came right after its page.
    pub is_too_fast: bool,
    /// The number of equal texts from other networks within a day.
    pub repeats: i64,
}

impl SpamSigns {
    /// Reads the values of [`FORM_SIGNS`]; unknown ones are ignored.
    pub fn parse(header: Option<&str>) -> Self {
        let has = |sign: &str| header.unwrap_or_default().split(',').any(|value| value.trim() == sign);
        Self { is_trap_filled: has(TRAP_FILLED), is_too_fast: has(TOO_FAST), repeats: 0 }
    }

    /// Returns the value of [`FORM_SIGNS`]; `None` without a sign.
    pub fn format(self) -> Option<Cow<'static, str>> {
        match (self.is_trap_filled, self.is_too_fast) {
            (false, false) => None,
            (true, false) => Some(TRAP_FILLED.into()),
            (false, true) => Some(TOO_FAST.into()),
            (true, true) => Some(format!("{TRAP_FILLED}, {TOO_FAST}").into()),
        }
    }

    /// Returns the score of a text with these signs, 0 to 100.
    pub fn score(self, text: &str) -> u8 {
        let lower = text.to_ascii_lowercase();
        let links = count_links(&lower);
        let has_bbcode = ["[url=", "[link=", "[url]http", "[url]www."].iter().any(|markup| lower.contains(markup));
        let has_html = lower.contains("<a ") && lower.contains("href=");
        let is_repeated = self.repeats >= MANY_REPEATS;
        let points = [
            if self.is_trap_filled { 100 } else { 0 },
            if self.is_too_fast { 40 } else { 0 },
            10 * links.saturating_sub(USUAL_LINKS).min(4),
            match (has_html, has_bbcode, links) {
                // Programs that do not know the form try every way to write a link.
                (true, true, _) => 100,
                (false, false, _) | (_, _, 0) => 0,
                _ => 50,
            },
            match (is_repeated, links) {
                (true, 1..) => 60,
                (true, 0) if text.chars().take(LONG_TEXT).count() == LONG_TEXT => 40,
                _ => 0,
            },
        ];
        u8::try_from(points.iter().sum::<usize>().min(100)).unwrap_or(100)
    }
}

/// Counts the links of a text in lower case.
fn count_links(lower: &str) -> usize {
    let schemes = lower.matches("http://").count() + lower.matches("https://").count();
    let without_scheme = lower.match_indices("www.").filter(|(at, _)| !lower[..*at].ends_with("//")).count();
    schemes + without_scheme
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: SpamSigns = SpamSigns { is_trap_filled: false, is_too_fast: false, repeats: 0 };

    #[test]
    fn ordinary_texts_are_not_quarantined() {
        let fast = SpamSigns { is_too_fast: true, ..NONE };
        let repeated = SpamSigns { repeats: 20, ..NONE };
        for (signs, text) in [
            (NONE, "We need a newsletter. ada@example.com"),
            (NONE, "Like https://a.example, http://b.example, www.c.example and https://www.d.example please"),
            (NONE, "Our page has <a href=x> in it, what now?"),
            (NONE, &"https://a.example ".repeat(40)),
            (NONE, "The footer has <a href=\"{{unsubscribe}}\">, the button leads to [link to our shop]"),
            (fast, "Hello"),
            (repeated, "Hello"),
            (repeated, "Please send the price list for ten templates to us."),
        ] {
            assert!(signs.score(text) < QUARANTINE_SCORE, "{text}: {}", signs.score(text));
        }
    }

    #[test]
    fn several_signs_are_spam() {
        let trap = SpamSigns { is_trap_filled: true, ..NONE };
        let fast = SpamSigns { is_too_fast: true, ..NONE };
        let repeated = SpamSigns { repeats: 3, ..NONE };
        let markup = "[url=http://a.example]cheap[/url]";
        for (signs, text) in [
            (trap, "Hello"),
            (fast, markup),
            (fast, &"http://a.example ".repeat(4)),
            (repeated, "Buy at https://a.example"),
            (NONE, &markup.repeat(3)),
            (NONE, "<a href=\"http://a.example\">cheap</a> [url=http://a.example]cheap[/url]"),
            (NONE, "<a href=a.example>cheap</a> [link=a.example]cheap[/link]"),
            (
                SpamSigns { is_too_fast: true, repeats: 3, ..NONE },
                "Please send the price list for ten templates to us.",
            ),
        ] {
            assert!(signs.score(text) >= QUARANTINE_SCORE, "{text}: {}", signs.score(text));
        }
    }

    proptest! {
        #[test]
        fn signs_are_read_back(is_trap_filled: bool, is_too_fast: bool) {
            let signs = SpamSigns { is_trap_filled, is_too_fast, repeats: 0 };
            prop_assert_eq!(SpamSigns::parse(signs.format().as_deref()), signs);
        }

        #[test]
        fn score_grows_with_signs(text in "(\\PC|http://|\\[url){0,60}", header in "\\PC{0,20}", repeats: i64) {
            let least = SpamSigns::parse(None).score(&text);
            let signs = SpamSigns { repeats, ..SpamSigns::parse(Some(&header)) };
            prop_assert!(least <= signs.score(&text) && signs.score(&text) <= 100);
        }
    }
}
