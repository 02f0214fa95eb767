//! Responses whose content is not this server's own: uploaded files, and answers of services of the operator.
//!
//! They have the origin of the desk, the shop and the APIs. A browser that opens one as a document must not run its scripts
//! there.

use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, X_CONTENT_TYPE_OPTIONS};

/// A document has an origin of its own, no script, form, plug-in or request. Its own styles stay, and the pictures and
/// media of which a browser makes a document when they are opened directly.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; font-src data:; \
     form-action 'none'; base-uri 'none'",
);

/// As [`SANDBOX`], without the sandbox, in which not every browser shows a PDF. Scripts of a PDF run in the browser's viewer,
/// which has another origin.
const PDF: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; form-action 'none'; base-uri 'none'",
);

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Keeps foreign content from running in this server's origin, whatever its type: a policy is added, and type sniffing is
/// off.
///
/// Policies of the response itself stay in force beside the added one. `fetch`, `<img>`, `<video>` and downloads are not
/// affected: browsers apply the policy to documents alone.
pub fn isolate_foreign_content(headers: &mut HeaderMap) {
    let policy = if is_pdf(headers) { PDF } else { SANDBOX };
    headers.append(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
}

/// Whether the only type of a response is that of a PDF.
fn is_pdf(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else { return false };
    // With a comma a browser may read another type.
    let text = only.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default();
    !text.contains(',') && essence.trim().eq_ignore_ascii_case("application/pdf")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies(types: &[&'static str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("script-src 'self'"));
        for text in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(text));
        }
        isolate_foreign_content(&mut headers);
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        let policies = headers.get_all(CONTENT_SECURITY_POLICY).iter();
        policies.map(|policy| policy.to_str().expect("text").to_owned()).collect()
    }

    #[test]
    fn everything_but_a_pdf_is_sandboxed() {
        let sandboxed: [&[&str]; 9] = [
            &[],
            &["image/svg+xml"],
            &["text/html; charset=utf-8"],
            &["application/xhtml+xml"],
            &["text/xml"],
            &["image/png"],
            &["application/pdf, text/html"],
            &["application/pdf", "text/html"],
            &["application/pdfx"],
        ];
        for types in sandboxed {
            let found = policies(types);
            assert_eq!(found.len(), 2, "{types:?}");
            assert!(found[1].starts_with("sandbox; default-src 'none';"), "{types:?}");
        }
        for types in [["application/pdf"], ["Application/PDF; version=1.7"]] {
            assert!(policies(&types)[1].starts_with("default-src 'none';"), "{types:?}");
        }
    }
}
