//! Mailpit's search filters (<https://mailpit.axllent.org/docs/usage/search-filters/>).

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use crate::addresses::Addresses;
use crate::mailpit::shapes::message_id;
use crate::message::Message;
use crate::mime::Mailbox;

/// The maximum number of terms.
const MAX_TERMS: usize = 50;

/// A search; all of its terms have to match.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Search {
    terms: Vec<Term>,
}

#[derive(Debug, PartialEq, Eq)]
struct Term {
    is_negated: bool,
    filter: Filter,
}

/// One condition; texts are in lower case.
#[derive(Debug, PartialEq, Eq)]
enum Filter {
    Anywhere(String),
    From(String),
    To(String),
    Cc(String),
    Bcc(String),
    ReplyTo(String),
    Addressed(String),
    Subject(String),
    MessageId(String),
    Read(bool),
    Attachment,
    Before(DateTime<Utc>),
    After(DateTime<Utc>),
    /// Mails have no tags.
    Nothing,
}

impl Search {
    /// Parses words, `"quoted words"` and `filter:value`, each negated by `-` or `!` before it.
    ///
    /// # Errors
    /// A filter has a wrong value, or there are too many terms.
    pub(super) fn parse(query: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        let mut rest = query.trim_start();
        while !rest.is_empty() {
            let word;
            (word, rest) = split_word(rest);
            let is_negated = word.starts_with(['-', '!']) && word.len() > 1;
            let word = if is_negated { &word[1..] } else { word };
            if !word.is_empty() {
                terms.push(Term { is_negated, filter: parse_filter(word)? });
            }
            rest = rest.trim_start();
        }
        if terms.len() > MAX_TERMS {
            return Err(format!("a search has at most {MAX_TERMS} terms"));
        }
        Ok(Self { terms })
    }

    /// Returns whether the search has no terms.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns whether a message matches.
    pub(super) fn matches(&self, message: &Message, addresses: &Addresses) -> bool {
        self.terms.iter().all(|term| term.filter.matches(message, addresses) != term.is_negated)
    }
}

impl Filter {
    fn matches(&self, message: &Message, addresses: &Addresses) -> bool {
        let has = |text: &str, wanted: &str| text.to_lowercase().contains(wanted);
        let is_in = |mailbox: &Mailbox, wanted: &str| has(&mailbox.address, wanted) || has(&mailbox.name, wanted);
        let any = |list: &[Mailbox], wanted: &str| list.iter().any(|mailbox| is_in(mailbox, wanted));
        match self {
            Self::Anywhere(wanted) => {
                has(&message.subject, wanted)
                    || has(&message.text, wanted)
                    || addresses.all().any(|mailbox| is_in(mailbox, wanted))
            }
            Self::From(wanted) => is_in(&addresses.from, wanted),
            Self::To(wanted) => any(&addresses.to, wanted),
            Self::Cc(wanted) => any(&addresses.cc, wanted),
            Self::Bcc(wanted) => any(&addresses.bcc, wanted),
            Self::ReplyTo(wanted) => any(&addresses.reply_to, wanted),
            Self::Addressed(wanted) => addresses.all().any(|mailbox| is_in(mailbox, wanted)),
            Self::Subject(wanted) => has(&message.subject, wanted),
            Self::MessageId(wanted) => has(message_id(message), wanted),
            Self::Read(wanted) => message.is_read == *wanted,
            Self::Attachment => message.attachment_count > 0,
            Self::Before(time) => message.at < *time,
            Self::After(time) => message.at >= *time,
            Self::Nothing => false,
        }
    }
}

/// Splits off a word; a quoted part of it may contain spaces.
fn split_word(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let end = text.find(|c: char| {
        is_quoted ^= c == '"';
        c.is_whitespace() && !is_quoted
    });
    text.split_at(end.unwrap_or(text.len()))
}

fn parse_filter(word: &str) -> Result<Filter, String> {
    let anywhere = || Ok(Filter::Anywhere(unquote(word)));
    let Some((name, value)) = word.split_once(':').filter(|(name, _)| !name.contains('"')) else { return anywhere() };
    let value = unquote(value);
    Ok(match name.to_ascii_lowercase().as_str() {
        "from" => Filter::From(value),
        "to" => Filter::To(value),
        "cc" => Filter::Cc(value),
        "bcc" => Filter::Bcc(value),
        "reply-to" => Filter::ReplyTo(value),
        "addressed" => Filter::Addressed(value),
        "subject" => Filter::Subject(value),
        "message-id" => Filter::MessageId(value),
        "tag" => Filter::Nothing,
        "is" => match value.as_str() {
            "read" => Filter::Read(true),
            "unread" => Filter::Read(false),
            "tagged" => Filter::Nothing,
            _ => return Err(format!("is:{value} is unknown; there are is:read and is:unread")),
        },
        "has" => match value.as_str() {
            "attachment" | "attachments" | "inline" => Filter::Attachment,
            _ => return Err(format!("has:{value} is unknown; there is has:attachment")),
        },
        "before" => Filter::Before(parse_time(&value)?),
        "after" => Filter::After(parse_time(&value)?),
        _ => return anywhere(),
    })
}

fn unquote(text: &str) -> String {
    text.replace('"', "").to_lowercase()
}

/// Parses a time, or the start of a day in UTC.
fn parse_time(value: &str) -> Result<DateTime<Utc>, String> {
    if let Ok(time) = DateTime::parse_from_rfc3339(&value.to_uppercase()) {
        return Ok(time.to_utc());
    }
    let day = NaiveDate::parse_from_str(&value.replace('/', "-"), "%Y-%m-%d");
    day.map(|day| day.and_time(NaiveTime::MIN).and_utc())
        .map_err(|_| format!("{value} is no date such as 2026-11-22 and no time such as 2026-11-22T10:00:00Z"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_phrases_and_filters_are_parsed() {
        let search =
            Search::parse("to:Ada@example.com !subject:\"Reset your\" \"two words\" -is:read x:y").expect("valid");
        let term = |is_negated, filter| Term { is_negated, filter };
        assert_eq!(
            search.terms,
            [
                term(false, Filter::To("ada@example.com".to_owned())),
                term(true, Filter::Subject("reset your".to_owned())),
                term(false, Filter::Anywhere("two words".to_owned())),
                term(true, Filter::Read(true)),
                term(false, Filter::Anywhere("x:y".to_owned())),
            ]
        );
        for wrong in ["is:new", "has:love", "before:yesterday", &"a ".repeat(51)] {
            assert!(Search::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_query_is_parsed_or_refused(query in "[-!a-c:\" äé0-9]{0,60}|(before|after|is|has|to):[ -~]{0,20}") {
            if let Ok(search) = Search::parse(&query) {
                prop_assert!(search.terms.len() <= query.split_whitespace().count());
            }
        }
    }
}
