//! Joins words to lines and paragraphs without double spaces or double empty lines.

/// The white space before the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    Nothing,
    Space,
    Line,
    Paragraph,
}

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    gap: Gap,
}

impl Page {
    /// Adds words; white space between them collapses to one space.
    pub(super) fn add_words(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
        for word in text.split_whitespace() {
            let shown: String = word.chars().filter(|c| is_printable(*c)).collect();
            if shown.is_empty() {
                continue;
            }
            self.fill();
            self.text.push_str(&shown);
            self.gap = Gap::Space;
        }
        // A word continues if the next text starts without a space.
        if self.gap == Gap::Space && !text.ends_with(char::is_whitespace) && text.chars().any(is_visible) {
            self.gap = Gap::Nothing;
        }
    }

    /// Adds preformatted text.
    pub(super) fn add_verbatim(&mut self, text: &str) {
        for (number, line) in text.lines().enumerate() {
            if number > 0 {
                self.widen(Gap::Line);
            }
            let shown: String = line.chars().filter(|c| is_printable(*c)).collect();
            if !shown.trim().is_empty() {
                self.fill();
                self.text.push_str(shown.trim_end());
            }
        }
        if text.ends_with('\n') {
            self.widen(Gap::Line);
        }
    }

    /// Starts a new line.
    pub(super) fn break_line(&mut self) {
        self.widen(Gap::Line);
    }

    /// Starts a new paragraph.
    pub(super) fn break_paragraph(&mut self) {
        self.widen(Gap::Paragraph);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn fill(&mut self) {
        let gap = match std::mem::take(&mut self.gap) {
            _ if self.text.is_empty() => "",
            Gap::Nothing => "",
            Gap::Space => " ",
            Gap::Line => "\n",
            Gap::Paragraph => "\n\n",
        };
        self.text.push_str(gap);
    }
}

fn is_visible(c: char) -> bool {
    !c.is_whitespace() && is_printable(c)
}

/// Whether a character is visible: excludes control and zero-width characters, which pad previews.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
}
