//! `GET /admin/users`: users of the audience in pages; one statement.

use foundation::error::{Error, Result};
use gotrue_rules::wire::page::{CursorPage, Page, SortOrder, UsersJson};
use http::header::LINK;
use platform::store::{Connection, OrInternalError};

use super::{TOTAL_COUNT_HEADER, query_parameter};
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::admin::listing::{self, UserSelection};

const LOOKUP_FAILED: &str = "Database error finding users";

/// Returns a page by its number, or by a cursor where the policy allows it and no number is given.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let query = cx.request.query.iter();
    let order = SortOrder::parse(query.filter(|(name, _)| name == "sort").map(|(_, value)| value.as_str()))?;
    let is_numbered = ["page", "per_page"].iter().any(|name| !query_parameter(&cx, name).is_empty());
    if cx.app.policy.experimental.cursor_pagination_enabled && !is_numbered {
        return list_by_cursor(&cx, order).await;
    }
    let page = Page::parse(query_parameter(&cx, "page"), query_parameter(&cx, "per_page"))?;
    let audience = cx.audience();
    let which = parse_filter(&cx, &audience, order)?;
    let list = |db: Connection| async move { listing::list_page(&mut db.with_long_statements(), which, page).await };
    let (accounts, total) = cx.read_stale(list).await.or_internal_error(LOOKUP_FAILED)?;
    let reply = Reply::json(&UsersJson::new(&accounts, &audience));
    let links = page.link_header(total, &cx.request.path, &cx.request.query);
    Ok(reply.with_header(LINK, &links).with_header(TOTAL_COUNT_HEADER, &total.to_string()))
}

async fn list_by_cursor(cx: &RequestContext, order: SortOrder) -> Result<Reply> {
    let page = CursorPage::parse(query_parameter(cx, "limit"), query_parameter(cx, "cursor"))?;
    let audience = cx.audience();
    let which = parse_filter(cx, &audience, order)?;
    let list = |db: Connection| async move { listing::list_after(&mut db.with_long_statements(), which, page).await };
    let mut accounts = cx.read_stale(list).await.or_internal_error(LOOKUP_FAILED)?;
    let next = page.truncate(&mut accounts);
    let reply = Reply::json(&UsersJson::new(&accounts, &audience).with_next_cursor(next));
    Ok(match next {
        Some(next) => reply.with_header(LINK, &next.link_header(&cx.request.path, &cx.request.query)),
        None => reply,
    })
}

fn parse_filter<'a>(cx: &'a RequestContext, audience: &'a str, order: SortOrder) -> Result<UserSelection<'a>> {
    let filter = query_parameter(cx, "filter");
    if filter.contains('\0') {
        return Err(Error::invalid("Invalid filter: it holds a zero byte, which no account does"));
    }
    Ok(UserSelection { audience, filter, order })
}
