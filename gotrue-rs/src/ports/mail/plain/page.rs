//! Words put together to lines and paragraphs: never two spaces, never two empty lines.

/// What is to come before the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    Nothing,
    Space,
    Line,
    Paragraph,
}

/// Lines so far.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    gap: Gap,
}

impl Page {
    /// Adds words; any white space between them is one space.
    pub fn words(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
        for word in text.split_whitespace() {
            let shown: String = word.chars().filter(|c| is_shown(*c)).collect();
            if shown.is_empty() {
                continue;
            }
            self.fill();
            self.text.push_str(&shown);
            self.gap = Gap::Space;
        }
        // A word goes on where the next text begins without a space.
        if self.gap == Gap::Space && !text.ends_with(char::is_whitespace) && text.chars().any(is_visible) {
            self.gap = Gap::Nothing;
        }
    }

    /// Adds text as it stands, with its lines and spaces.
    pub fn verbatim(&mut self, text: &str) {
        for (number, line) in text.lines().enumerate() {
            if number > 0 {
                self.widen(Gap::Line);
            }
            let shown: String = line.chars().filter(|c| is_shown(*c)).collect();
            if !shown.trim().is_empty() {
                self.fill();
                self.text.push_str(shown.trim_end());
            }
        }
        if text.ends_with('\n') {
            self.widen(Gap::Line);
        }
    }

    /// What follows begins on a new line.
    pub fn line(&mut self) {
        self.widen(Gap::Line);
    }

    /// What follows comes after an empty line.
    pub fn paragraph(&mut self) {
        self.widen(Gap::Paragraph);
    }

    pub fn finished(self) -> String {
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
    !c.is_whitespace() && is_shown(c)
}

/// Not control characters, nor the ones without width that previews are padded with.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
}
