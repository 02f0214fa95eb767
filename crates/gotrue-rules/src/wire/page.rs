//! Pagination of lists: page parameters, cursors, and `Link` headers.
//!
//! Page numbers count from 1; a cursor identifies the last entry of the previous page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use foundation::error::{Error, Result};
use foundation::time::Time;
use serde::Serialize;
use uuid::Uuid;

use super::go_quote::go_quote;
use super::user::UserJson;
use crate::domain::redirect::go_url::form_encode;
use crate::domain::user::User;

const DEFAULT_PAGE_SIZE: u64 = 50;
const MAX_CURSOR_PAGE_SIZE: u64 = 1000;
/// The earliest timestamp of PostgreSQL, in microseconds: 4713 BC.
/// The latest one is beyond chrono's range.
const MIN_POSTGRES_MICROS: i64 = -210_866_803_200_000_000;

/// A page selected by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    number: u64,
    size: u64,
}

impl Page {
    /// Parses `page` and `per_page`; empty means absent. A size of 0 is a 500, as in GoTrue.
    pub fn parse(number: &str, size: &str) -> Result<Self> {
        let page = Self { number: parse_number(number, 1)?, size: parse_number(size, DEFAULT_PAGE_SIZE)? };
        if page.size == 0 {
            return Err(Error::internal_server_error("a page of no size"));
        }
        Ok(page)
    }

    /// Returns the maximum number of entries.
    pub fn limit(self) -> i64 {
        i64::try_from(self.size).unwrap_or(i64::MAX)
    }

    /// Returns the number of entries before the page.
    pub fn offset(self) -> i64 {
        i64::try_from(self.number.saturating_sub(1).saturating_mul(self.size)).unwrap_or(i64::MAX)
    }

    /// Builds the `Link` header: next page, if there is one, and last page.
    /// Links repeat the request's query.
    pub fn link_header(self, total: u64, path: &str, query: &[(String, String)]) -> String {
        let last = total.div_ceil(self.size);
        let link = |number: u64, rel: &str| link(path, query, "page", &number.to_string(), rel);
        if last > self.number {
            return format!("{}, {}", link(self.number + 1, "next"), link(last, "last"));
        }
        link(last, "last")
    }
}

/// A page selected by cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPage {
    /// The maximum number of entries.
    pub limit: u64,
    /// The last entry of the previous page.
    pub after: Option<Cursor>,
}

impl CursorPage {
    /// Parses `limit` and `cursor`; empty means absent.
    pub fn parse(limit: &str, cursor: &str) -> Result<Self> {
        let limit = parse_number(limit, DEFAULT_PAGE_SIZE)?.min(MAX_CURSOR_PAGE_SIZE);
        if limit == 0 {
            return Err(bad_pagination("limit must be greater than 0"));
        }
        let after = (!cursor.is_empty()).then(|| Cursor::parse(cursor).ok_or_else(|| bad_pagination("invalid cursor")));
        Ok(Self { limit, after: after.transpose()? })
    }

    /// Removes the extra entry that indicates a next page; returns the cursor of that page.
    pub fn truncate(self, accounts: &mut Vec<User>) -> Option<Cursor> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if accounts.len() <= limit {
            return None;
        }
        accounts.truncate(limit);
        accounts.last().map(|last| Cursor { created_at: last.created_at, id: last.id })
    }
}

/// A position in a list: an entry and its creation time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The creation time of the entry.
    pub created_at: Time,
    /// The id of the entry.
    pub id: Uuid,
}

impl Cursor {
    /// Encodes the cursor for the client.
    pub fn encode(self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}.{}", self.created_at.timestamp_micros(), self.id))
    }

    /// Builds the `Link` header to the page after this cursor.
    pub fn link_header(self, path: &str, query: &[(String, String)]) -> String {
        link(path, query, "cursor", &self.encode(), "next")
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (micros, id) = std::str::from_utf8(&bytes).ok()?.split_once('.')?;
        let micros = micros.parse().ok().filter(|micros| *micros >= MIN_POSTGRES_MICROS)?;
        Some(Self { created_at: DateTime::from_timestamp_micros(micros)?, id: Uuid::parse_str(id).ok()? })
    }
}

/// The order of lists that administrators page through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortOrder {
    /// `created_at desc`.
    #[default]
    NewestFirst,
    /// `created_at asc`.
    OldestFirst,
}

impl SortOrder {
    /// Parses all `sort` parameters: the first one applies, all must be valid.
    pub fn parse<'a>(sorts: impl Iterator<Item = &'a str>) -> Result<Self> {
        let orders: Vec<Self> = sorts.map(Self::parse_one).collect::<Result<_>>()?;
        Ok(orders.first().copied().unwrap_or_default())
    }

    fn parse_one(sort: &str) -> Result<Self> {
        let (field, direction) = sort.split_once(' ').unwrap_or((sort, "desc"));
        if field != "created_at" {
            return Err(Error::invalid(format!("Bad Sort Parameters: bad field for sort '{field}'")));
        }
        match direction.to_ascii_lowercase().as_str() {
            "desc" => Ok(Self::NewestFirst),
            "asc" => Ok(Self::OldestFirst),
            _ => Err(Error::invalid(format!(
                "Bad Sort Parameters: bad direction for sort '{direction}', only 'asc' and 'desc' allowed"
            ))),
        }
    }
}

/// The response of `GET /admin/users`.
#[derive(Debug, Serialize)]
pub struct UsersJson<'a> {
    users: Vec<UserJson<'a>>,
    aud: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<PaginationJson>,
}

#[derive(Debug, Serialize)]
struct PaginationJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    has_more: bool,
}

impl<'a> UsersJson<'a> {
    /// Builds the response without pagination.
    pub fn new(accounts: &'a [User], aud: &'a str) -> Self {
        Self { users: accounts.iter().map(UserJson::in_list).collect(), aud, pagination: None }
    }

    /// Adds the cursor of the next page, if there is one.
    #[must_use]
    pub fn with_next_cursor(self, next: Option<Cursor>) -> Self {
        let pagination = PaginationJson { next_cursor: next.map(Cursor::encode), has_more: next.is_some() };
        Self { pagination: Some(pagination), ..self }
    }
}

fn parse_number(text: &str, usual: u64) -> Result<u64> {
    if text.is_empty() {
        return Ok(usual);
    }
    let is_natural = text.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = if is_natural { "value out of range" } else { "invalid syntax" };
    let number = text.parse().ok().filter(|_| is_natural);
    number.ok_or_else(|| bad_pagination(&format!("strconv.ParseUint: parsing {}: {wrong}", go_quote(text))))
}

fn bad_pagination(why: &str) -> Error {
    Error::invalid(format!("Bad Pagination Parameters: {why}"))
}

/// Builds a link: path and query of the request with one parameter replaced, sorted by name.
fn link(path: &str, query: &[(String, String)], name: &str, value: &str, rel: &str) -> String {
    let others = query.iter().filter(|(other, _)| other != name);
    let mut members: Vec<(Vec<u8>, Vec<u8>)> =
        others.map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes())).collect();
    members.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    format!("<{path}?{}>; rel=\"{rel}\"", form_encode(&members))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn link_header_repeats_query_with_next_and_last_page() {
        let links = |number: &str, total| {
            let query = query(&[("page", number), ("per_page", "2"), ("filter", "a b&c")]);
            Page::parse(number, "2").unwrap().link_header(total, "/p", &query)
        };
        let next_and_last = "</p?filter=a+b%26c&page=2&per_page=2>; rel=\"next\", \
                             </p?filter=a+b%26c&page=3&per_page=2>; rel=\"last\"";
        let last = "</p?filter=a+b%26c&page=3&per_page=2>; rel=\"last\"";
        assert_eq!(links("1", 5), next_and_last);
        assert_eq!(links("3", 5), last);
        assert_eq!(links("4", 5), last);
        assert_eq!(links("1", 0), "</p?filter=a+b%26c&page=0&per_page=2>; rel=\"last\"");
    }

    #[test]
    fn page_numbers_are_non_negative_integers() {
        let page = |number, size| Page::parse(number, size).map(|page| (page.offset(), page.limit()));
        assert_eq!(page("", "").unwrap(), (0, 50));
        assert_eq!(page("0", "10").unwrap(), (0, 10));
        assert_eq!(page("3", "10").unwrap(), (20, 10));
        assert_eq!(page("18446744073709551615", "3").unwrap(), (i64::MAX, 3));
        for (number, size, wrong) in [
            ("x", "", r#""x": invalid syntax"#),
            ("-1", "", r#""-1": invalid syntax"#),
            ("+1", "", r#""+1": invalid syntax"#),
            ("", "1.5", r#""1.5": invalid syntax"#),
            ("99999999999999999999", "", r#""99999999999999999999": value out of range"#),
        ] {
            let refused = page(number, size).unwrap_err();
            assert_eq!(refused.code().as_str(), "validation_failed", "{number} {size}");
            let message = format!("Bad Pagination Parameters: strconv.ParseUint: parsing {wrong}");
            assert_eq!(refused.message(), message, "{number} {size}");
        }
        assert_eq!(page("1", "0").unwrap_err().message(), "Internal Server Error");
    }

    #[test]
    fn only_created_at_is_sortable() {
        for (sort, order) in [
            (&[][..], SortOrder::NewestFirst),
            (&["created_at"], SortOrder::NewestFirst),
            (&["created_at DESC"], SortOrder::NewestFirst),
            (&["created_at asc"], SortOrder::OldestFirst),
            (&["created_at asc", "created_at"], SortOrder::OldestFirst),
        ] {
            assert_eq!(SortOrder::parse(sort.iter().copied()).unwrap(), order, "{sort:?}");
        }
        for (sort, message) in [
            (&["email"][..], "Bad Sort Parameters: bad field for sort 'email'"),
            (&[""], "Bad Sort Parameters: bad field for sort ''"),
            (&["created_at", ""], "Bad Sort Parameters: bad field for sort ''"),
            (&["created_at "], "Bad Sort Parameters: bad direction for sort '', only 'asc' and 'desc' allowed"),
            (&["created_at up"], "Bad Sort Parameters: bad direction for sort 'up', only 'asc' and 'desc' allowed"),
        ] {
            assert_eq!(SortOrder::parse(sort.iter().copied()).unwrap_err().message(), message);
        }
    }

    #[test]
    fn malformed_cursor_is_rejected() {
        let cursor = Cursor { created_at: Time::UNIX_EPOCH, id: Uuid::from_u128(7) };
        assert_eq!(CursorPage::parse("", &cursor.encode()).unwrap().after, Some(cursor));
        for text in ["nonsense", "MQ", "MS4n", "JyBPUiAxPTE7LS0.x", &URL_SAFE_NO_PAD.encode("9223372036854775807.0")] {
            assert_eq!(CursorPage::parse("", text).unwrap_err().code().as_str(), "validation_failed", "{text}");
        }
    }

    #[test]
    fn cursor_page_size_is_1_to_1000() {
        assert_eq!(CursorPage::parse("", "").unwrap().limit, 50);
        assert_eq!(CursorPage::parse("5000", "").unwrap().limit, 1000);
        let refused = CursorPage::parse("0", "").unwrap_err();
        assert_eq!(refused.message(), "Bad Pagination Parameters: limit must be greater than 0");
    }

    #[test]
    fn extra_entry_indicates_next_page() {
        let user = |n| User { id: Uuid::from_u128(n), ..User::default() };
        let page = CursorPage { limit: 2, after: None };
        let mut accounts = vec![user(1), user(2)];
        assert_eq!(page.truncate(&mut accounts), None);
        accounts.push(user(3));
        assert_eq!(page.truncate(&mut accounts).map(|cursor| cursor.id), Some(Uuid::from_u128(2)));
        assert_eq!(accounts.len(), 2);
    }
}
