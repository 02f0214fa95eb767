//! Generates query parameters and headers, including malformed ones.

use http::HeaderValue;
use http::header::HeaderName;
use proptest::prelude::*;
use proptest::sample::select;

use super::sent::RequestBody;

const PARAMETERS: &[&str] = &[
    "page",
    "per_page",
    "limit",
    "cursor",
    "sort",
    "filter",
    "query",
    "type",
    "token",
    "token_hash",
    "redirect_to",
    "grant_type",
    "scope",
    "provider",
    "scopes",
    "state",
    "code",
    "error",
    "invite_token",
    "code_challenge",
    "code_challenge_method",
    "response_type",
    "client_id",
    "email",
    "x",
];

const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "2",
    "50",
    "1000",
    "18446744073709551615",
    "9223372036854775807",
    "1e3",
    "created_at%20desc",
    "email",
    "signup",
    "recovery",
    "magiclink",
    "email_change",
    "invite",
    "pkce_abc",
    "%C2%A7",
    "%00",
    "a%00b",
    "%FF%FE",
    "%",
    "%zz",
    "%25",
    "_",
    "*",
    "'%22;--",
    "action:login",
    "author:ann",
    "%0d%0aSet-Cookie:%20a=b",
    "//evil.org",
    "global",
    "http://shop.example.com/",
    "javascript:alert(1)",
    "https://evil.org%5C@shop.example.com",
    "s256",
    "google",
    // Cursors of the first and the last representable time, and of the last time of PostgreSQL.
    "LTgzMzQ2MDE2MjI4ODAwMDAwMC4wMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDA",
    "LTgzMzQ2MDE2MjI4ODAwMDAwMDAuMDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMDAw",
    "ODIxMDI2Njg3Njc5OTk5OTk5LjAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMA",
    "ODIxMDI2Njg3Njc5OTk5OTk5OS4wMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDA",
];

const HEADERS: &[&str] = &[
    "x-jwt-aud",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "sb-forwarded-for",
    "x-supabase-api-version",
    "origin",
    "referer",
    "user-agent",
    "accept",
    "accept-language",
    "cookie",
    "content-encoding",
    "x-client-info",
    "x-request-id",
    "forwarded",
    "sec-purpose",
    "apikey",
    "if-none-match",
    "range",
    "redirect_to",
];

const HEADER_VALUES: &[&str] = &[
    "",
    "authenticated",
    "127.0.0.1",
    "127.0.0.1, 10.0.0.1",
    "::1",
    "fe80::1%eth0",
    "999.1.1.1",
    ",,",
    "localhost",
    "http",
    "2024-01-01",
    "2024-13-45",
    "http://shop.example.com",
    "null",
    "prefetch",
    "gzip",
    "Basic YTpi",
    "Bearer",
    "bytes=0-",
];

/// A request without a body and with arbitrary parameters and headers.
pub(super) fn request_options() -> impl Strategy<Value = RequestBody> {
    let value = prop_oneof![
        5 => select(VALUES).prop_map(str::to_owned),
        2 => "[a-zA-Z0-9%._~!$&'()*+,;=:@/?-]{0,40}",
        1 => (1..6000_usize).prop_map(|length| "x".repeat(length)),
    ];
    let pair = (select(PARAMETERS), value).prop_map(|(name, value)| format!("{name}={value}"));
    let query = prop::collection::vec(pair, 0..5).prop_map(|pairs| pairs.join("&"));
    let of_header = prop_oneof![
        5 => select(HEADER_VALUES).prop_map(|text| text.as_bytes().to_vec()),
        2 => prop::collection::vec(prop_oneof![b' '..=b'~', 0x80..=0xff_u8], 0..60),
        1 => (1..5000_usize).prop_map(|length| vec![b'x'; length]),
    ];
    let header = (select(HEADERS), of_header).prop_map(|(name, value)| {
        let value = HeaderValue::from_bytes(&value).unwrap_or(HeaderValue::from_static("x"));
        (HeaderName::from_static(name), value)
    });
    let headers = prop::collection::vec(header, 0..4);
    let body = select(vec!["", "{}", "null", "{\"email\":\"ann@example.com\"}"]);
    (query, headers, body).prop_map(|(query, headers, body)| RequestBody { query, headers, ..RequestBody::json(body) })
}
