//! Values within a line: scalars, aliases, lists in brackets and maps in braces.

use super::block::{insert, merge};
use super::scalars::{fold_break, fold_lines, parse_escape};
use super::{MAX_VALUES, Parser, Yaml, YamlError};

impl Parser<'_> {
    /// Parses a value that begins in this line; its other lines begin at column `least` or later.
    pub(super) fn parse_inline(&mut self, least: usize) -> Result<Yaml, YamlError> {
        self.enter()?;
        let value = match self.peek() {
            Some(b'&') => {
                let name = self.parse_name();
                self.skip_blanks();
                let value =
                    if self.is_at_line_end() { self.parse_child(least, true) } else { self.parse_inline(least) };
                value.inspect(|value| drop(self.anchors.insert(name, value.clone())))
            }
            Some(b'*') => self.parse_alias(),
            Some(b'!') => {
                self.parse_name();
                self.skip_blanks();
                if self.is_at_line_end() { self.parse_child(least, true) } else { self.parse_inline(least) }
            }
            Some(b'|' | b'>') => Ok(self.parse_block_scalar(least)),
            Some(b'[' | b'{') => self.parse_flow(),
            Some(quote @ (b'"' | b'\'')) => self.parse_quoted(quote).map(Yaml::Text),
            _ => self.parse_plain(least),
        }?;
        self.depth -= 1;
        self.skip_blanks();
        Ok(value)
    }

    /// Parses the name of an anchor, an alias or a tag, after its mark.
    pub(super) fn parse_name(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|character: char| character.is_whitespace() || ",[]{}".contains(character));
        let name = rest.get(1..end.unwrap_or(rest.len())).unwrap_or_default().to_owned();
        self.at += 1 + name.len();
        name
    }

    fn parse_alias(&mut self) -> Result<Yaml, YamlError> {
        let name = self.parse_name();
        let Some(value) = self.anchors.get(&name).cloned() else {
            return Err(self.error("this alias has no anchor before it"));
        };
        self.values += value.count();
        if self.values > MAX_VALUES { Err(self.error("the aliases repeat too many values")) } else { Ok(value) }
    }

    pub(super) fn parse_quoted(&mut self, quote: u8) -> Result<String, YamlError> {
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            match character {
                '\'' if quote == b'\'' && characters.next_if(|(_, next)| *next == '\'').is_some() => text.push('\''),
                _ if character == char::from(quote) => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\n' => fold_break(&mut characters, &mut text),
                '\\' if quote == b'"' => {
                    if let Err(problem) = parse_escape(&mut characters, &mut text) {
                        return Err(self.error(problem));
                    }
                }
                _ => text.push(character),
            }
        }
        Err(self.error("a quote is opened here that is never closed"))
    }

    /// Parses an unquoted text and its further lines.
    fn parse_plain(&mut self, least: usize) -> Result<Yaml, YamlError> {
        let mut text = String::new();
        loop {
            let line = self.rest().lines().next().unwrap_or_default();
            let end = line.find(" #").or_else(|| line.find("\t#")).unwrap_or(line.len());
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line[..end].trim());
            self.at += end;
            let before = self.at;
            let is_continued = self.find_content()?.is_some_and(|column| column >= least && least > 0);
            if !is_continued || self.is_at_key() || (self.peek() == Some(b'-') && self.is_separated()) {
                self.at = if self.at == self.text.len() { self.at } else { before };
                break;
            }
        }
        Ok(to_plain_value(text))
    }

    fn parse_block_scalar(&mut self, least: usize) -> Yaml {
        let mut lines = self.rest().split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        self.at += header.len();
        let digit = header.chars().find_map(|character| character.to_digit(10)).map(|digit| digit as usize);
        let mut indentation = digit.map(|digit| least.saturating_sub(1) + digit);
        let mut content: Vec<&str> = Vec::new();
        for line in lines {
            let bare = line.trim_end_matches(['\n', '\r']);
            let blanks = bare.len() - bare.trim_start_matches(' ').len();
            let is_empty = blanks == bare.len();
            let inner = if is_empty { indentation.unwrap_or(blanks) } else { *indentation.get_or_insert(blanks) };
            if !is_empty && (blanks < inner || blanks < least) {
                break;
            }
            content.push(bare.get(inner.min(bare.len())..).unwrap_or_default());
            self.at += line.len();
        }
        let is_folded = header.starts_with('>');
        let mut text = content.join("\n");
        if is_folded {
            text = fold_lines(&text);
        }
        if !header.contains('+') {
            text.truncate(text.trim_end_matches('\n').len());
        }
        if !header.contains('-') && !text.is_empty() {
            text.push('\n');
        }
        Yaml::Text(text)
    }

    /// Skips white space and comments between the parts of a flow value.
    fn skip_flow_space(&mut self) -> Result<(), YamlError> {
        while self.find_content()?.is_some() && self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        Ok(())
    }

    /// Parses a list in brackets or a map in braces.
    pub(super) fn parse_flow(&mut self) -> Result<Yaml, YamlError> {
        self.enter()?;
        let is_map = self.peek() == Some(b'{');
        let end = if is_map { b'}' } else { b']' };
        self.at += 1;
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        loop {
            self.skip_flow_space()?;
            match self.peek() {
                None => return Err(self.error("a bracket is opened that is never closed")),
                Some(byte) if byte == end => break,
                Some(b',') => self.at += 1,
                Some(_) => {
                    let before = self.at;
                    let value = self.parse_flow_value()?;
                    self.skip_flow_space()?;
                    if self.at == before && self.peek() != Some(b':') {
                        return Err(self.error("a bracket is closed that is not the open one"));
                    }
                    if self.peek() == Some(b':') {
                        self.at += 1;
                        self.skip_flow_space()?;
                        let key = value.as_text().unwrap_or_default().to_owned();
                        let value = self.parse_flow_value()?;
                        if is_map {
                            insert(&mut entries, key, value);
                        } else {
                            items.push(Yaml::Map(vec![(key, value)]));
                        }
                    } else if is_map {
                        insert(&mut entries, value.as_text().unwrap_or_default().to_owned(), Yaml::Null);
                    } else {
                        items.push(value);
                    }
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(if is_map { Yaml::Map(merge(entries)) } else { Yaml::List(items) })
    }

    fn parse_flow_value(&mut self) -> Result<Yaml, YamlError> {
        self.values += 1;
        match self.peek() {
            Some(b'[' | b'{') => self.parse_flow(),
            Some(b'*') => self.parse_alias(),
            Some(quote @ (b'"' | b'\'')) => self.parse_quoted(quote).map(Yaml::Text),
            _ => {
                let rest = self.rest();
                let is_end = |at: usize, character: char| {
                    let next = rest[at + character.len_utf8()..].chars().next();
                    ",[]{}\n".contains(character)
                        || character == ':' && next.is_none_or(|next| next.is_whitespace() || ",[]{}".contains(next))
                        || character == '#' && rest[..at].ends_with([' ', '\t'])
                };
                let end = rest.char_indices().find(|(at, character)| is_end(*at, *character));
                let end = end.map_or(rest.len(), |(at, _)| at);
                self.at += end;
                Ok(to_plain_value(rest[..end].trim().to_owned()))
            }
        }
    }
}

fn to_plain_value(text: String) -> Yaml {
    if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") { Yaml::Null } else { Yaml::Text(text) }
}
