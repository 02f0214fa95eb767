//! `/_dev/users`: the accounts of the auth API, newest first, with a search. It is only read.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::response::Response;
use foundation::error_chain::ErrorChain;
use foundation::html::escape_html;
use foundation::time::{Time, format_minutes};
use gotrue_rs::app::App;
use gotrue_rs::store::admin::listing::{self, UserSelection};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::page::{Page, SortOrder};
use http::{Method, StatusCode, Uri};
use platform::store::Connection;
use serde_json::Value;
use tokio::sync::watch;
use url::form_urlencoded;

use super::responses::{DEFAULT_POLICY, is_read, response, text};

/// The path of the page.
pub(super) const PATH: &str = "/_dev/users";
const STYLE_PATH: &str = "/_dev/users/page.css";
const STYLE: &str = concat!(
    include_str!("../../../../frontend/development/base.css"),
    include_str!("../../../../frontend/development/users/page.css")
);
/// The number of accounts on a page.
const PAGE_SIZE: u64 = 50;

/// The list of accounts.
pub(crate) struct UserPages {
    app: watch::Receiver<Arc<App>>,
}

/// What the parameters of the page choose.
#[derive(Debug, PartialEq, Eq)]
struct Selection {
    filter: String,
    /// The number of the page, from 1.
    page: u64,
}

/// The accounts of a page, and the number of all that were found.
struct FoundUsers {
    users: Vec<User>,
    total: u64,
    now: Time,
}

impl UserPages {
    /// Creates the list of the accounts of `app`, as the admin API lists them.
    pub(crate) fn new(app: watch::Receiver<Arc<App>>) -> Self {
        Self { app }
    }

    /// Answers a request for the page or its styles.
    pub(super) async fn answer(&self, method: &Method, uri: &Uri, header: &str) -> Response {
        if !is_read(method) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "the page is only read\n");
        }
        if uri.path() == STYLE_PATH {
            return response(StatusCode::OK, "text/css; charset=utf-8", DEFAULT_POLICY, STYLE.as_bytes().to_vec());
        }
        let selection = Selection::parse(uri.query().unwrap_or_default());
        match self.find(&selection).await {
            Ok(found) => {
                let html = format_page(&selection, &found, header);
                response(StatusCode::OK, "text/html; charset=utf-8", DEFAULT_POLICY, html.into_bytes())
            }
            Err(error) => {
                tracing::error!(error = %ErrorChain(error.as_ref()), "listing the accounts failed");
                text(StatusCode::INTERNAL_SERVER_ERROR, "the accounts cannot be read; the log says why\n")
            }
        }
    }

    async fn find(&self, selection: &Selection) -> anyhow::Result<FoundUsers> {
        let app = Arc::clone(&self.app.borrow());
        let page = Page::parse(&selection.page.to_string(), &PAGE_SIZE.to_string())?;
        let (audience, filter) = (app.policy.jwt.aud.as_str(), selection.filter.as_str());
        let selected = UserSelection { audience, filter, order: SortOrder::NewestFirst };
        let mut database = Connection::pooled(app.pool.clone(), Arc::default()).with_long_statements();
        let (users, total) = listing::list_page(&mut database, selected, page).await?;
        Ok(FoundUsers { users, total, now: app.clock.now() })
    }
}

/// Returns whether a path belongs to the list.
pub(super) fn is_users_path(path: &str) -> bool {
    [PATH, STYLE_PATH].contains(&path)
}

impl Selection {
    /// Reads the parameters; a page that is no number is the first. PostgreSQL has no text with a zero byte.
    fn parse(query: &str) -> Self {
        let value = |name: &str| {
            let found = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
            found.map(|(_, value)| value.replace('\0', "")).unwrap_or_default()
        };
        let page = value("page").parse::<u32>().unwrap_or(1).max(1);
        Self { filter: value("filter").trim().to_owned(), page: page.into() }
    }

    /// Returns the link to another page of what was found.
    fn to_query(&self, page: u64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("filter", &self.filter).append_pair("page", &page.to_string());
        escape_html(&format!("?{}", query.finish()))
    }
}

fn format_page(selection: &Selection, found: &FoundUsers, header: &str) -> String {
    let FoundUsers { users, total, now } = found;
    let items: String = users.iter().map(|user| format_user(user, *now)).collect();
    let heading = match (total, selection.filter.as_str()) {
        (0, "") => "No accounts yet: the first sign-up makes one.".to_owned(),
        (0, filter) => format!("No account has “{}” in its address or name.", escape_html(filter)),
        (1, _) => "1 account".to_owned(),
        (total, _) => format!("{total} accounts"),
    };
    let last = total.div_ceil(PAGE_SIZE);
    let mut pages = String::new();
    if selection.page > 1 {
        let _ = writeln!(pages, "<a href=\"{}\">Newer</a>", selection.to_query((selection.page - 1).min(last.max(1))));
    }
    if selection.page < last {
        let _ = writeln!(pages, "<a href=\"{}\">Older</a>", selection.to_query(selection.page + 1));
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Users</title>\n\
         <link rel=\"stylesheet\" href=\"users/page.css\">\n</head>\n<body>\n{header}<header>\n\
         <h1>Users</h1>\n<p>The accounts of the auth API, newest first. <code>basalt users</code> adds, changes, bans and deletes them.</p>\n\
         </header>\n<main>\n<form role=\"search\">\n<div><label for=\"filter\">Address or name</label>\n\
         <input id=\"filter\" name=\"filter\" type=\"search\" value=\"{}\"></div>\n<button class=\"main\">Search</button>\n</form>\n\
         <p>{heading}</p>\n<ul class=\"users\">\n{items}</ul>\n<nav class=\"pages\" aria-label=\"Pages\">\n{pages}</nav>\n\
         </main>\n</body>\n</html>\n",
        escape_html(&selection.filter),
    )
}

fn format_user(user: &User, now: Time) -> String {
    let contacts = [user.email.clone(), user.phone.as_ref().map(|phone| format!("+{phone}"))];
    let contacts: Vec<String> = contacts.into_iter().flatten().collect();
    let name = if contacts.is_empty() { "Without an address".to_owned() } else { contacts.join(", ") };
    let states = [
        (user.is_anonymous, "anonymous"),
        (!user.is_anonymous && user.confirmed_at.is_none(), "not confirmed"),
        (user.is_banned(now), "banned"),
        (user.deleted_at.is_some(), "deleted"),
    ];
    let states = states.into_iter().filter_map(|(is, state)| is.then_some(state));
    let states: Vec<String> = states.map(|state| format!(" <span class=\"state\">{state}</span>")).collect();
    let states = states.concat();
    let providers = user.app_metadata.get("providers").and_then(Value::as_array);
    let providers: Vec<&str> = providers.into_iter().flatten().filter_map(Value::as_str).collect();
    let facts = [
        (!providers.is_empty()).then(|| providers.join(", ")),
        Some(format!("created {}", format_minutes(user.created_at))),
        Some(
            user.last_sign_in_at.map_or("never signed in".to_owned(), |at| format!("signed in {}", format_minutes(at))),
        ),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    format!(
        "<li><strong>{}</strong>{states}\n<p>{}</p>\n<p><code>{}</code></p></li>\n",
        escape_html(&name),
        escape_html(&facts.join(" · ")),
        user.id
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_choose_the_page() {
        let parse = |query: &str| {
            let Selection { filter, page } = Selection::parse(query);
            (filter, page)
        };
        assert_eq!(parse("filter=+ada%40example.com&page=3"), ("ada@example.com".to_owned(), 3));
        assert_eq!(parse("filter=%00&page=0"), (String::new(), 1));
        assert_eq!(parse("page=-1"), (String::new(), 1));
        assert_eq!(Selection::parse("filter=a%26b").to_query(2), "?filter=a%26b&amp;page=2");
    }

    #[test]
    fn pages_lead_to_each_other() {
        let found = FoundUsers { users: Vec::new(), total: 101, now: Time::UNIX_EPOCH };
        for (page, links) in [(1, ["", "page=2"]), (2, ["page=1", "page=3"]), (3, ["page=2", ""]), (9, ["page=3", ""])]
        {
            let html = format_page(&Selection { filter: "<b>".to_owned(), page }, &found, "");
            let hrefs: Vec<&str> = html.split("href=\"?").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            let expected: Vec<&str> = links.into_iter().filter(|link| !link.is_empty()).collect();
            assert_eq!(hrefs.len(), expected.len(), "{page}: {hrefs:?}");
            assert!(hrefs.iter().zip(&expected).all(|(href, link)| href.ends_with(link)), "{page}: {hrefs:?}");
            assert!(html.contains("value=\"&lt;b&gt;\"") && !html.contains("<b>"), "{html}");
        }
    }
}
