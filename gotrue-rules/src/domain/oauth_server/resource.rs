//! The resource that a token is meant for (RFC 8707).

use crate::domain::redirect::go_url::Url;

/// Whether it may be asked for, else what is wrong with it; empty is none.
pub fn check(resource: &str) -> Result<(), &'static str> {
    if resource.is_empty() {
        return Ok(());
    }
    let url = Url::parse(resource).map_err(|_| "resource must be a valid URI")?;
    if url.scheme().is_empty() {
        return Err("resource must be an absolute URI");
    }
    if url.has_fragment() {
        return Err("resource must not include a fragment component");
    }
    if url.has_query() {
        return Err("resource must not include a query component");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_asked_for() {
        for (resource, complaint) in [
            ("", ""),
            ("https://api.example.com/v1", ""),
            ("urn:example:api", ""),
            ("https://api.example.com/?", ""),
            ("shop", "resource must be an absolute URI"),
            ("//api.example.com", "resource must be an absolute URI"),
            ("https://api.example.com/%", "resource must be a valid URI"),
            ("https://shop.example.com/#x", "resource must not include a fragment component"),
            ("https://shop.example.com/?x", "resource must not include a query component"),
        ] {
            assert_eq!(check(resource).err().unwrap_or_default(), complaint, "{resource}");
        }
    }
}
