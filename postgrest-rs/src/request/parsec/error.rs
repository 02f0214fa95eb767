//! What is known where parsing failed, and how it is written.

/// What is known about a place in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// A character that no parser took; `None` is the end of the input.
    FoundCharacter(Option<char>),
    /// What a parser refused, as shown.
    Found(String),
    /// What a parser would have taken, as shown.
    Expected(Expected),
}

impl Message {
    /// The order in which kinds of messages are shown.
    fn rank(&self) -> u8 {
        match self {
            Self::FoundCharacter(_) => 0,
            Self::Found(_) => 1,
            Self::Expected(_) => 2,
        }
    }
}

/// What a parser would have taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A description.
    Label(&'static str),
    /// A text, shown as a Haskell string literal.
    Text(&'static str),
}

impl Expected {
    fn show(self) -> String {
        match self {
            Self::Label(label) => label.to_owned(),
            Self::Text(text) => show_literal(text),
        }
    }
}

/// A place in the input and what is known about it.
#[derive(Debug, Clone, Default)]
pub(in crate::request) struct ParseError {
    pub(super) position: usize,
    pub(super) messages: Vec<Message>,
}

impl ParseError {
    /// The farther of both, or both when they are at the same place.
    pub(super) fn merge(mut self, other: Self) -> Self {
        if other.messages.is_empty() {
            return if self.messages.is_empty() && other.position > self.position { other } else { self };
        }
        if self.messages.is_empty() || other.position > self.position {
            return other;
        }
        if self.position == other.position {
            self.messages.extend(other.messages);
        }
        self
    }

    /// Replaces what was expected.
    pub(super) fn expect(&mut self, expected: Expected) {
        self.messages.retain(|message| !matches!(message, Message::Expected(_)));
        self.messages.insert(0, Message::Expected(expected));
    }

    /// The messages as one line: `unexpected … expecting …`.
    pub(super) fn describe(&self) -> String {
        let mut messages: Vec<_> = self.messages.iter().collect();
        messages.sort_by_key(|message| message.rank());
        let mut found = Vec::new();
        let mut expected = Vec::new();
        let mut character = None;
        for message in messages {
            match message {
                Message::FoundCharacter(found) => character = character.or(Some(*found)),
                Message::Found(text) if !found.contains(text) => found.push(text.clone()),
                Message::Found(_) => {}
                Message::Expected(label) => {
                    let text = label.show();
                    if !text.is_empty() && !expected.contains(&text) {
                        expected.push(text);
                    }
                }
            }
        }
        if found.is_empty() {
            match character {
                Some(Some(character)) => found.push(show_text(character)),
                Some(None) => found.push("end of input".to_owned()),
                None => {}
            }
        }
        let parts = [("unexpected", found), ("expecting", expected)];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(word, list)| format!("{word} {}", enumerate(&list)))
            .collect();
        if parts.is_empty() { "unknown parse error".to_owned() } else { parts.join(" ") }
    }
}

/// `a, b or c`
fn enumerate(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// A character as a Haskell string literal.
fn show_text(character: char) -> String {
    match character {
        '"' => "\"\\\"\"".to_owned(),
        _ => format!("\"{}\"", escape(character)),
    }
}

/// A text as a Haskell string literal.
pub(in crate::request) fn show_literal(text: &str) -> String {
    let mut shown = String::from('"');
    let mut is_number = false;
    for character in text.chars() {
        // `\&` separates the number of a character from a digit after it.
        if is_number && character.is_ascii_digit() {
            shown.push_str("\\&");
        }
        is_number = !character.is_ascii();
        match character {
            '"' => shown.push_str("\\\""),
            _ => shown.push_str(&escape(character)),
        }
    }
    shown.push('"');
    shown
}

/// A character as a Haskell character literal.
pub(super) fn show_character(character: char) -> String {
    match character {
        '\'' => "'\\''".to_owned(),
        _ => format!("'{}'", escape(character)),
    }
}

/// A character inside a Haskell literal.
fn escape(character: char) -> String {
    const CONTROLS: [&str; 33] = [
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a", "b", "t", "n", "v", "f", "r", "SO", "SI", "DLE", "DC1",
        "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US", "SP",
    ];
    match character {
        '\\' => "\\\\".to_owned(),
        '\u{7f}' => "\\DEL".to_owned(),
        ' '..='~' => character.to_string(),
        control if (control as usize) < 32 => format!("\\{}", CONTROLS[control as usize]),
        other => format!("\\{}", other as u32),
    }
}
