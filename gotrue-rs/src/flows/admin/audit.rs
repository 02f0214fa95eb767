//! `GET /admin/audit`: the log in pages, newest first; one statement.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::audit::{AuditEntryJson, Search};
use gotrue_rules::wire::page::Page;
use http::header::LINK;

use super::{TOTAL, asked};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::{OrRefuse, audit};

/// A page of what was searched for.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let page = Page::parse(asked(&cx, "page"), asked(&cx, "per_page"))?;
    let search = Search::parse(asked(&cx, "query"))?;
    let found = audit::page(&mut cx.db().with_long_statements(), search, page).await;
    let (entries, total): (Vec<AuditEntryJson>, u64) = found.or_refuse("Error searching for audit logs")?;
    let links = page.links(total, &cx.request.path, &cx.request.query);
    Ok(Reply::json(&entries).with_header(LINK, &links).with_header(TOTAL, &total.to_string()))
}
