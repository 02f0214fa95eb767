//! Checks URLs supplied by an administrator before they are stored or requested.
//!
//! Later requests are checked again by the HTTP client, which resolves anew and connects to the address that it
//! checked.

use foundation::error::{Error, Result};
use gotrue_rules::domain::custom_provider::url_check::{
    UrlHost, address_not_public, hostname_unresolved, validate_ip, validate_url,
};
use platform::http_client::guard::is_public;
use platform::journal::Step;
use reqwest::Url;

use crate::request_context::RequestContext;

/// Requires every URL to be public and to use https (400).
///
/// Behind a proxy, names are resolved by the proxy.
pub async fn require_public_urls(cx: &RequestContext, addresses: &[String]) -> Result<()> {
    for address in addresses {
        require_public_url(cx, address).await?;
    }
    Ok(())
}

async fn require_public_url(cx: &RequestContext, address: &str) -> Result<()> {
    let name = match validate_url(address)? {
        UrlHost::Ip(ip) if is_public(ip) => return Ok(()),
        UrlHost::Ip(_) => return Err(address_not_public()),
        UrlHost::Name(name) => name,
    };
    let url = Url::parse(address).map_err(|error| Error::invalid("Invalid URL format").with_cause(error))?;
    if cx.app.http.uses_proxy(&url).map_err(Error::other)? {
        return Ok(());
    }
    cx.journal.record(Step::Call("resolve"));
    let found =
        tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|error| hostname_unresolved().with_cause(error))?;
    let mut is_known = false;
    for ip in found.map(|address| address.ip()) {
        is_known = true;
        validate_ip(ip)?;
        if !is_public(ip) {
            return Err(address_not_public());
        }
    }
    if is_known { Ok(()) } else { Err(hostname_unresolved()) }
}
