//! Lists in pages (`endpoints.md` §13.3): what a request asks for, and the links that lead to the other pages. Page
//! numbers count from 1; a cursor is the place after which the next page begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use serde::Serialize;
use uuid::Uuid;

use super::user::UserJson;
use crate::domain::error::{Error, Result};
use crate::domain::redirect::go_url::form_encode;
use crate::domain::user::{Account, Time};

const USUAL_SIZE: u64 = 50;
const LARGEST_CURSOR_PAGE: u64 = 1000;
/// The first moment that PostgreSQL can be asked about, in microseconds: the beginning of the year 4713 BC. Its last one
/// is later than any that we can tell.
const FIRST_MOMENT: i64 = -210_866_803_200_000_000;

/// A page by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    number: u64,
    size: u64,
}

impl Page {
    /// Reads `page` and `per_page`; empty ones are not given. A page of no size breaks the reference down.
    pub fn parse(number: &str, size: &str) -> Result<Self> {
        let page = Self { number: number_of(number, 1)?, size: number_of(size, USUAL_SIZE)? };
        if page.size == 0 {
            return Err(Error::broken("a page of no size"));
        }
        Ok(page)
    }

    /// How many entries there are on it at most.
    pub fn limit(self) -> i64 {
        i64::try_from(self.size).unwrap_or(i64::MAX)
    }

    /// How many entries come before it.
    pub fn offset(self) -> i64 {
        i64::try_from(self.number.saturating_sub(1).saturating_mul(self.size)).unwrap_or(i64::MAX)
    }

    /// The header `Link`: to the next page, if there is one, and to the last. The links repeat the request's own query.
    pub fn links(self, total: u64, path: &str, query: &[(String, String)]) -> String {
        let last = total.div_ceil(self.size);
        let link = |number: u64, rel: &str| link(path, query, ("page", &number.to_string()), rel);
        if last > self.number {
            return format!("{}, {}", link(self.number + 1, "next"), link(last, "last"));
        }
        link(last, "last")
    }
}

/// A page by the place where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPage {
    /// How many entries there are on it at most.
    pub limit: u64,
    /// The last entry of the page before it.
    pub after: Option<Cursor>,
}

impl CursorPage {
    /// Reads `limit` and `cursor`; empty ones are not given.
    pub fn parse(limit: &str, cursor: &str) -> Result<Self> {
        let limit = number_of(limit, USUAL_SIZE)?.min(LARGEST_CURSOR_PAGE);
        if limit == 0 {
            return Err(bad("limit must be greater than 0"));
        }
        let after = (!cursor.is_empty()).then(|| Cursor::parse(cursor).ok_or_else(|| bad("invalid cursor")));
        Ok(Self { limit, after: after.transpose()? })
    }

    /// Takes the entry too many off the page; the cursor of the next page, if there is one.
    pub fn cut(self, accounts: &mut Vec<Account>) -> Option<Cursor> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if accounts.len() <= limit {
            return None;
        }
        accounts.truncate(limit);
        accounts.last().map(|last| Cursor { created_at: last.created_at, id: last.id })
    }
}

/// A place in a list: an entry and when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// When the entry was made.
    pub created_at: Time,
    /// Its id.
    pub id: Uuid,
}

impl Cursor {
    /// As a client carries it.
    pub fn text(self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}.{}", self.created_at.timestamp_micros(), self.id))
    }

    /// The header `Link` to the page that begins here.
    pub fn link(self, path: &str, query: &[(String, String)]) -> String {
        link(path, query, ("cursor", &self.text()), "next")
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (micros, id) = std::str::from_utf8(&bytes).ok()?.split_once('.')?;
        let micros = micros.parse().ok().filter(|micros| *micros >= FIRST_MOMENT)?;
        Some(Self { created_at: DateTime::from_timestamp_micros(micros)?, id: Uuid::parse_str(id).ok()? })
    }
}

/// Which entries come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// `created_at desc`.
    #[default]
    NewestFirst,
    /// `created_at asc`.
    OldestFirst,
}

impl Order {
    /// Reads every `sort` that is given: the first one counts, all must be good.
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

/// The body of `GET /admin/users`.
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
    /// Accounts of an audience.
    pub fn new(accounts: &'a [Account], aud: &'a str) -> Self {
        Self { users: accounts.iter().map(UserJson::in_list).collect(), aud, pagination: None }
    }

    /// The same with where the next page begins, if there is one.
    #[must_use]
    pub fn continued(self, next: Option<Cursor>) -> Self {
        let pagination = PaginationJson { next_cursor: next.map(Cursor::text), has_more: next.is_some() };
        Self { pagination: Some(pagination), ..self }
    }
}

fn number_of(text: &str, usual: u64) -> Result<u64> {
    if text.is_empty() {
        return Ok(usual);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain).ok_or_else(|| bad(&format!("{text:?} is no whole number of at least 0")))
}

fn bad(why: &str) -> Error {
    Error::invalid(format!("Bad Pagination Parameters: {why}"))
}

/// The request's own path and query with one member replaced, its members in alphabetical order.
fn link(path: &str, query: &[(String, String)], (name, value): (&str, &str), rel: &str) -> String {
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
    fn links_repeat_the_query_and_lead_to_the_next_and_the_last_page() {
        let links = |number: &str, total| {
            let query = query(&[("page", number), ("per_page", "2"), ("filter", "a b&c")]);
            Page::parse(number, "2").unwrap().links(total, "/p", &query)
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
    fn numbers_are_whole_and_not_negative() {
        let page = |number, size| Page::parse(number, size).map(|page| (page.offset(), page.limit()));
        assert_eq!(page("", "").unwrap(), (0, 50));
        assert_eq!(page("0", "10").unwrap(), (0, 10));
        assert_eq!(page("3", "10").unwrap(), (20, 10));
        assert_eq!(page("18446744073709551615", "3").unwrap(), (i64::MAX, 3));
        for (number, size) in [("x", ""), ("-1", ""), ("+1", ""), ("", "1.5"), ("99999999999999999999", "")] {
            assert_eq!(page(number, size).unwrap_err().code(), "validation_failed", "{number} {size}");
        }
        assert_eq!(page("1", "0").unwrap_err().message(), "Internal Server Error");
    }

    #[test]
    fn only_the_time_of_creation_sorts() {
        for (sort, order) in [
            (&[][..], Order::NewestFirst),
            (&["created_at"], Order::NewestFirst),
            (&["created_at DESC"], Order::NewestFirst),
            (&["created_at asc"], Order::OldestFirst),
            (&["created_at asc", "created_at"], Order::OldestFirst),
        ] {
            assert_eq!(Order::parse(sort.iter().copied()).unwrap(), order, "{sort:?}");
        }
        for (sort, message) in [
            (&["email"][..], "Bad Sort Parameters: bad field for sort 'email'"),
            (&[""], "Bad Sort Parameters: bad field for sort ''"),
            (&["created_at", ""], "Bad Sort Parameters: bad field for sort ''"),
            (&["created_at "], "Bad Sort Parameters: bad direction for sort '', only 'asc' and 'desc' allowed"),
            (&["created_at up"], "Bad Sort Parameters: bad direction for sort 'up', only 'asc' and 'desc' allowed"),
        ] {
            assert_eq!(Order::parse(sort.iter().copied()).unwrap_err().message(), message);
        }
    }

    #[test]
    fn g1_a_cursor_that_was_not_given_out_is_refused() {
        let cursor = Cursor { created_at: Time::UNIX_EPOCH, id: Uuid::from_u128(7) };
        assert_eq!(CursorPage::parse("", &cursor.text()).unwrap().after, Some(cursor));
        for text in ["nonsense", "MQ", "MS4n", "JyBPUiAxPTE7LS0.x", &URL_SAFE_NO_PAD.encode("9223372036854775807.0")] {
            assert_eq!(CursorPage::parse("", text).unwrap_err().code(), "validation_failed", "{text}");
        }
    }

    #[test]
    fn a_page_by_cursor_has_at_least_one_and_at_most_a_thousand_entries() {
        assert_eq!(CursorPage::parse("", "").unwrap().limit, 50);
        assert_eq!(CursorPage::parse("5000", "").unwrap().limit, 1000);
        let refused = CursorPage::parse("0", "").unwrap_err();
        assert_eq!(refused.message(), "Bad Pagination Parameters: limit must be greater than 0");
    }

    #[test]
    fn the_entry_too_many_tells_that_there_are_more() {
        let account = |n| Account { id: Uuid::from_u128(n), ..Account::default() };
        let page = CursorPage { limit: 2, after: None };
        let mut accounts = vec![account(1), account(2)];
        assert_eq!(page.cut(&mut accounts), None);
        accounts.push(account(3));
        assert_eq!(page.cut(&mut accounts).map(|cursor| cursor.id), Some(Uuid::from_u128(2)));
        assert_eq!(accounts.len(), 2);
    }
}
