//! Tests of the shop's responses.

use super::*;

const ENTRIES: [(&str, &str); 9] = [
    ("index.html", "<link href=\"__ORIGIN__/\"><script id=\"basalt-config\" type=\"application/json\">{}</script>"),
    ("routes.json", "{\"paths\":[\"/\",\"/template/1\"]}"),
    ("robots.txt", "Sitemap: __ORIGIN__/sitemap.xml"),
    ("assets/app-1a2b.js", "console.log('a long enough script')"),
    ("assets/app-1a2b.js.br", "brotli"),
    ("assets/app-1a2b.js.gz", "gzipped"),
    ("favicon.svg", "<svg/>"),
    ("favicon.svg.br", "longer than the file itself"),
    ("lonely.br", "no variant"),
];

fn shop() -> Shop {
    let site = SiteConfig { url: "", key: "sb_publishable_</script>", site_url: "https://shop.example/?a=1&b=2" };
    let names: Vec<String> = ENTRIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    Shop::from_files(&site, &names, &|name| {
        ENTRIES.iter().find(|(known, _)| *known == name).map(|(_, body)| Bytes::from_static(body.as_bytes()))
    })
}

fn get(path: &str, headers: &[(HeaderName, &'static str)]) -> Response {
    let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
    shop().answer(&Method::GET, path, &headers)
}

fn header<'r>(response: &'r Response, name: &HeaderName) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

async fn body(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[tokio::test]
async fn filled_in_values_are_escaped() {
    let page = body(get("/", &[])).await;
    assert!(page.contains("href=\"https://shop.example/?a=1&amp;b=2/\""), "{page}");
    assert!(page.contains(r#"{"url":"","key":"sb_publishable_\u003c/script>","siteUrl":"#), "{page}");
    let robots = body(get("/robots.txt", &[])).await;
    assert_eq!(robots, "Sitemap: https://shop.example/?a=1&amp;b=2/sitemap.xml");
}

#[test]
fn unknown_path_is_page_with_404() {
    let cases = [
        ("/", 200),
        ("/template/1", 200),
        ("/assets/app-1a2b.js", 200),
        ("/lonely.br", 200),
        ("/template/2", 404),
        ("/template/1/", 404),
        ("/index.html", 404),
        ("/routes.json", 404),
        ("/assets/app-1a2b.js.br", 404),
        ("/assets/", 404),
        ("//assets/app-1a2b.js", 404),
        ("/assets/../robots.txt", 404),
        ("/assets/%2e%2e/robots.txt", 404),
        ("/%72obots.txt", 404),
        ("/robots.txt%00", 404),
        ("", 404),
    ];
    for (path, status) in cases {
        let response = get(path, &[]);
        assert_eq!(response.status(), status, "{path}");
        if status == 404 {
            assert_eq!(header(&response, &CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
            assert_eq!(header(&response, &CACHE_CONTROL), "no-store", "{path}");
        }
    }
}

#[tokio::test]
async fn smallest_accepted_coding_is_sent() {
    let cases = [
        ("gzip, br", "br", "brotli"),
        ("gzip, br;q=0", "gzip", "gzipped"),
        ("*", "br", "brotli"),
        ("identity", "", "console.log('a long enough script')"),
        ("gzip;q=0", "", "console.log('a long enough script')"),
    ];
    for (accepted, coding, expected) in cases {
        let response = get("/assets/app-1a2b.js", &[(ACCEPT_ENCODING, accepted)]);
        assert_eq!(header(&response, &CONTENT_ENCODING), coding, "{accepted}");
        assert_eq!(header(&response, &VARY), "Accept-Encoding");
        assert_eq!(body(response).await, expected, "{accepted}");
    }
    assert_eq!(header(&get("/favicon.svg", &[(ACCEPT_ENCODING, "br")]), &CONTENT_ENCODING), "", "larger is no gain");
    assert_eq!(header(&get("/", &[(ACCEPT_ENCODING, "gzip, br")]), &CONTENT_ENCODING), "gzip");
}

#[test]
fn hashed_files_are_immutable_and_pages_are_revalidated() {
    let script = get("/assets/app-1a2b.js", &[]);
    assert_eq!(header(&script, &CACHE_CONTROL), "public, max-age=31536000, immutable");
    let page = get("/", &[]);
    assert_eq!(header(&page, &CACHE_CONTROL), "no-cache");
    let tag = header(&page, &ETAG).to_owned();
    assert!(tag.starts_with('"') && tag.len() == 18, "{tag}");
    for (tags, status) in [(tag.clone(), 304), (format!("\"x\", W/{tag}"), 304), ("\"x\"".to_owned(), 200)] {
        let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::try_from(tags).expect("a header"))]);
        assert_eq!(shop().answer(&Method::GET, "/", &headers).status(), status);
    }
    let compressed = get("/assets/app-1a2b.js", &[(ACCEPT_ENCODING, "br")]);
    assert_ne!(header(&compressed, &ETAG), header(&script, &ETAG), "each form has a tag of its own");
}

#[test]
fn responses_carry_security_headers() {
    for path in ["/", "/nothing", "/assets/app-1a2b.js"] {
        let response = get(path, &[]);
        let policy = header(&response, &CONTENT_SECURITY_POLICY);
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&response, &X_CONTENT_TYPE_OPTIONS), "nosniff");
    }
}

#[test]
fn methods_other_than_get_and_head_are_rejected() {
    assert_eq!(shop().answer(&Method::HEAD, "/", &HeaderMap::new()).status(), 200);
    let refused = shop().answer(&Method::POST, "/", &HeaderMap::new());
    assert_eq!((refused.status().as_u16(), header(&refused, &ALLOW)), (405, "GET, HEAD"));
}

#[tokio::test]
async fn compressed_only_file_is_decompressed_for_identity() {
    let script = "console.log('hello');".repeat(100);
    let gzip = Bytes::from(content::gzip(script.as_bytes()).expect("compressed"));
    let names = ["assets/app.js", "assets/app.js.br", "assets/app.js.gz"].map(str::to_owned);
    let site = SiteConfig { url: "", key: "", site_url: "" };
    let shop = Shop::from_files(&site, &names, &|name| match name {
        "assets/app.js.br" => Some(Bytes::from_static(b"brotli")),
        "assets/app.js.gz" => Some(gzip.clone()),
        _ => None,
    });
    let ask = |accepted: &'static str| {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
        shop.answer(&Method::GET, "/assets/app.js", &headers)
    };
    let plain = ask("identity");
    assert_eq!(header(&plain, &CONTENT_TYPE), "text/javascript; charset=utf-8");
    assert_eq!(header(&plain, &CONTENT_LENGTH), script.len().to_string());
    assert_eq!((header(&plain, &CONTENT_ENCODING), header(&plain, &VARY)), ("", "Accept-Encoding"));
    assert_eq!(body(plain).await, script);
    assert_eq!(body(ask("br")).await, "brotli");
    let compressed = ask("gzip");
    assert_eq!(header(&compressed, &CONTENT_ENCODING), "gzip");
    assert_eq!(axum::body::to_bytes(compressed.into_body(), usize::MAX).await.expect("a body"), gzip);
}

#[test]
fn embedded_files_are_sorted() {
    assert!(FILES.is_sorted_by_key(|(name, _)| *name));
    assert!(Shop::load(&SiteConfig { url: "", key: "", site_url: "" }).files.len() + 2 <= FILES.len());
}
