//! Requests of the shop's pages, counted by page and day.
//!
//! Nothing about a visitor is kept: no cookie, no address, no user agent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::NaiveDate;
use http::{HeaderMap, HeaderName};
use http_edge::request::{is_prefetch, is_program};
use platform::clock::SharedClock;
use platform::store;
use platform::store::Connection;

use crate::store::page_views::{self, CountedViews};

/// The pages and days that are counted between two writes; further ones are left out.
const MOST_COUNTERS: usize = 4_096;

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// A page whose requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ViewedPage {
    /// All templates, or those of a category.
    Catalogue,
    /// The template of this id.
    Template(u16),
    /// The form.
    Submission,
}

impl ViewedPage {
    fn name(self) -> &'static str {
        match self {
            Self::Catalogue => "catalogue",
            Self::Template(_) => "template",
            Self::Submission => "submission",
        }
    }

    fn template(self) -> u16 {
        if let Self::Template(id) = self { id } else { 0 }
    }
}

/// What is counted: requests of a page on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Counter {
    day: NaiveDate,
    page: ViewedPage,
}

/// The counters of one server, which are written once a minute and at the shutdown.
#[derive(Debug)]
pub struct PageViews {
    clock: SharedClock,
    /// Whether the shop is in development: its views are tests, as its purchases are.
    are_tests: bool,
    counters: Mutex<HashMap<Counter, i64>>,
}

impl PageViews {
    /// Creates counters; a day begins at midnight UTC. `are_tests`: the shop is in development.
    pub fn new(clock: SharedClock, are_tests: bool) -> Self {
        Self { clock, are_tests, counters: Mutex::default() }
    }

    /// Counts a page that was answered with 200, if a visitor seems to have requested it.
    pub fn record(&self, page: ViewedPage, headers: &HeaderMap) {
        if is_visit(headers) {
            self.add(Counter { day: self.clock.now().date_naive(), page }, 1);
        }
    }

    fn add(&self, counter: Counter, views: i64) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if counters.len() < MOST_COUNTERS || counters.contains_key(&counter) {
            *counters.entry(counter).or_default() += views;
        }
    }

    /// Adds the counts to those in the database, in one statement.
    ///
    /// After a failure they are kept for the next time.
    ///
    /// # Errors
    /// The database fails.
    pub async fn flush(&self, db: &mut Connection) -> store::Result<()> {
        let counted = std::mem::take(&mut *self.counters.lock().unwrap_or_else(PoisonError::into_inner));
        if counted.is_empty() {
            return Ok(());
        }
        let rows: Vec<CountedViews> = (counted.iter())
            .map(|(Counter { day, page }, views)| CountedViews {
                day: *day,
                page: page.name(),
                template: page.template(),
                views: *views,
            })
            .collect();
        let written = page_views::add(db, &rows, self.are_tests).await;
        if written.is_err() {
            for (counter, views) in counted {
                self.add(counter, views);
            }
        }
        written
    }
}

/// Whether a request of a page is likely that of a visitor.
fn is_visit(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_ascii_lowercase);
    let is_page = text(&SEC_FETCH_DEST).is_none_or(|dest| dest == "document");
    !is_prefetch(headers) && is_page && !is_program(headers)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::USER_AGENT;

    use super::*;

    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

    fn check(headers: &[(&'static str, &'static str)]) -> bool {
        let headers =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        is_visit(&headers.collect())
    }

    #[test]
    fn requests_of_programs_and_prefetches_are_no_visits() {
        assert!(check(&[("user-agent", FIREFOX)]));
        assert!(check(&[("user-agent", FIREFOX), ("sec-fetch-dest", "document")]));
        for headers in [
            &[][..],
            &[("user-agent", "")],
            &[("user-agent", "curl/8.0")],
            &[("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")],
            &[("user-agent", "facebookexternalhit/1.1")],
            &[("user-agent", FIREFOX), ("sec-purpose", "prefetch;prerender")],
            &[("user-agent", FIREFOX), ("purpose", "prefetch")],
            &[("user-agent", FIREFOX), ("x-moz", "prefetch")],
            &[("user-agent", FIREFOX), ("sec-fetch-dest", "iframe")],
        ] {
            assert!(!check(headers), "{headers:?}");
        }
    }

    #[test]
    fn number_of_counters_is_limited() {
        let views = PageViews::new(std::sync::Arc::new(platform::clock::SystemClock), false);
        let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(FIREFOX))]);
        for id in 0..u16::MAX {
            views.record(ViewedPage::Template(id), &headers);
        }
        views.record(ViewedPage::Template(0), &headers);
        let counters = views.counters.lock().expect("counters");
        assert_eq!(counters.len(), MOST_COUNTERS);
        assert_eq!(
            counters.iter().filter(|(counter, views)| counter.page == ViewedPage::Template(0) && **views == 2).count(),
            1
        );
    }
}
