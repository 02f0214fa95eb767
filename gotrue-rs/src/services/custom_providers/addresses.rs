//! Addresses that an administrator gives, before anything is stored or called. What is called later goes through the
//! guarded door again, which resolves anew and connects to what it has checked.

use gotrue_rules::domain::custom_provider::address::{Place, check_ip, not_public, place, unresolved};
use gotrue_rules::domain::error::{Error, Result};
use reqwest::Url;

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::http_client::guard::is_public;

/// 400 unless every address leads outside by https. Behind a proxy names are not resolved: the proxy does it.
pub async fn check(cx: &Cx, addresses: &[String]) -> Result<()> {
    for address in addresses {
        check_one(cx, address).await?;
    }
    Ok(())
}

async fn check_one(cx: &Cx, address: &str) -> Result<()> {
    let name = match place(address)? {
        Place::Ip(ip) if is_public(ip) => return Ok(()),
        Place::Ip(_) => return Err(not_public()),
        Place::Name(name) => name,
    };
    let url = Url::parse(address).map_err(|error| Error::invalid("Invalid URL format").because(error))?;
    if cx.app.http.takes_proxy(&url).map_err(Error::other)? {
        return Ok(());
    }
    cx.journal.note(Step::Call("resolve"));
    let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|error| unresolved().because(error))?;
    let mut is_known = false;
    for ip in found.map(|address| address.ip()) {
        is_known = true;
        check_ip(ip)?;
        if !is_public(ip) {
            return Err(not_public());
        }
    }
    if is_known { Ok(()) } else { Err(unresolved()) }
}
