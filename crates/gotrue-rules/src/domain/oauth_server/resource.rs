//! The target resource of a token (RFC 8707).

use crate::domain::redirect::go_url::Url;

/// Validates `resource`; the error describes the problem, empty means absent.
pub fn validate_resource(resource: &str) -> Result<(), &'static str> {
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
    fn resource_must_be_absolute_uri_without_fragment() {
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
            assert_eq!(validate_resource(resource).err().unwrap_or_default(), complaint, "{resource}");
        }
    }
}
