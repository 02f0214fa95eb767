//! `GET /admin/audit`: the audit log in pages, newest first; one statement.

use foundation::error::Result;
use gotrue_rules::wire::audit::{AuditEntryJson, AuditSearch};
use gotrue_rules::wire::page::Page;
use http::header::LINK;
use platform::store::OrInternalError;

use super::{TOTAL_COUNT_HEADER, query_parameter};
use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::audit;

/// Returns a page of the matching entries.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let page = Page::parse(query_parameter(&cx, "page"), query_parameter(&cx, "per_page"))?;
    let search = AuditSearch::parse(query_parameter(&cx, "query"))?;
    let found = audit::list_page(&mut cx.db().with_long_statements(), search, page).await;
    let (entries, total): (Vec<AuditEntryJson>, u64) = found.or_internal_error("Error searching for audit logs")?;
    let links = page.link_header(total, &cx.request.path, &cx.request.query);
    Ok(Reply::json(&entries).with_header(LINK, &links).with_header(TOTAL_COUNT_HEADER, &total.to_string()))
}
