//! `GET /admin/users`: accounts of the audience in pages; one statement.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::wire::page::{CursorPage, Order, Page, UsersJson};
use http::header::LINK;

use super::{TOTAL, asked};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::OrRefuse;
use crate::store::admin::listing::{self, Which};

const FINDING: &str = "Database error finding users";

/// A page by its number, or by a cursor where the operator allows it and no number is given.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let query = cx.request.query.iter();
    let order = Order::parse(query.filter(|(name, _)| name == "sort").map(|(_, value)| value.as_str()))?;
    let is_numbered = ["page", "per_page"].iter().any(|name| !asked(&cx, name).is_empty());
    if cx.app.policy.experimental.cursor_pagination_enabled && !is_numbered {
        return by_cursor(&cx, order).await;
    }
    let page = Page::parse(asked(&cx, "page"), asked(&cx, "per_page"))?;
    let audience = cx.audience();
    let which = which(&cx, &audience, order)?;
    let (accounts, total) = listing::page(&mut cx.db().with_long_statements(), which, page).await.or_refuse(FINDING)?;
    let reply = Reply::json(&UsersJson::new(&accounts, &audience));
    let links = page.links(total, &cx.request.path, &cx.request.query);
    Ok(reply.with_header(LINK, &links).with_header(TOTAL, &total.to_string()))
}

async fn by_cursor(cx: &Cx, order: Order) -> Result<Reply> {
    let page = CursorPage::parse(asked(cx, "limit"), asked(cx, "cursor"))?;
    let audience = cx.audience();
    let which = which(cx, &audience, order)?;
    let mut accounts = listing::after(&mut cx.db().with_long_statements(), which, page).await.or_refuse(FINDING)?;
    let next = page.cut(&mut accounts);
    let reply = Reply::json(&UsersJson::new(&accounts, &audience).continued(next));
    Ok(match next {
        Some(next) => reply.with_header(LINK, &next.link(&cx.request.path, &cx.request.query)),
        None => reply,
    })
}

fn which<'a>(cx: &'a Cx, audience: &'a str, order: Order) -> Result<Which<'a>> {
    let filter = asked(cx, "filter");
    if filter.contains('\0') {
        return Err(Error::invalid("Invalid filter: it holds a zero byte, which no account does"));
    }
    Ok(Which { audience, filter, order })
}
