//! Tests of the shop's responses.

use http::HeaderName;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, ETAG, IF_NONE_MATCH, VARY,
    X_CONTENT_TYPE_OPTIONS,
};

use super::*;

const ENTRIES: [(&str, &str); 25] = [
    ("index.html", "the shell"),
    (
        "pages/catalogue.html",
        "<link href=\"{{origin}}/\"><script>{{&config}}</script>{{#categories}}{{name}}{{#chosen}}!{{/chosen}};{{/categories}}{{#cards}}[{{id}} {{title}}{{#first}} first{{/first}}{{#bare}} bare{{/bare}}]{{/cards}}",
    ),
    (
        "pages/category.html",
        "{{#categories}}{{name}}{{#chosen}}!{{/chosen}};{{/categories}}{{#cards}}[{{id}}{{#first}} first{{/first}}]{{/cards}}",
    ),
    (
        "pages/template.html",
        "{{title}} {{price}} {{link}} {{tagline}} {{alt}} {{card_width}} {{shared_picture}} {{&structured_data}}",
    ),
    (
        "pages/template-custom.html",
        "{{title}} to order{{#mails}}, {{mail_name}}: {{mail_number}} {{mail_alt}} {{mail_src}} {{mail_width}}{{/mails}}",
    ),
    (
        "pages/template-own.html",
        "{{title}} {{alt}} {{card_type}} {{card_avif}} {{detail_src}} {{shared_picture}} {{shared_width}}",
    ),
    ("pages/template-own-custom.html", "{{title}} with an own picture to order"),
    ("pages/template-bare.html", "{{title}} without pictures {{shared_picture}}"),
    ("pages/template-bare-custom.html", "{{title}} without pictures to order"),
    ("pages/template-not-found.html", "no such template"),
    ("pages/submission.html", "<textarea>{{details}}</textarea>{{&submission}}"),
    ("pages/submission-refused.html", "<textarea>{{details}}</textarea>{{refusal}}{{&submission}}"),
    ("pages/submission-received.html", "received {{&submission}}"),
    ("pages/not-found.html", "no such page"),
    (
        "pages/pictures.json",
        "[{\"id\":1,\"alt\":\"A <picture>\",\"card\":{\"width\":1080},\"detail\":{}},{\"id\":12,\"alt\":\"B\",\"card\":{},\"detail\":{},\"mails\":[{\"name\":\"Layout 2\",\"mail\":2,\"alt\":\"<C>\",\"src\":\"/c.avif\",\"width\":720},{\"name\":\"Layout 3\",\"mail\":3,\"alt\":\"D\",\"src\":\"/d.avif\",\"width\":720}]}]",
    ),
    ("mails/1-1.html", "<!doctype html><p>Hello"),
    ("robots.txt", "Sitemap: __ORIGIN__/sitemap.xml"),
    ("shared/01.jpg", "a picture"),
    ("assets/app-1a2b.js", "console.log('a long enough script')"),
    ("assets/app-1a2b.js.br", "brotli"),
    ("assets/app-1a2b.js.gz", "gzipped"),
    ("favicon.svg", "<svg/>"),
    ("favicon.svg.br", "longer than the file itself"),
    ("lonely.br", "no variant"),
    ("notes.txt", "no placeholder"),
];

fn shop() -> Shop {
    let site = SiteConfig { url: "", key: "sb_publishable_</script>", site_url: "https://shop.example/?a=1&b=2" };
    let names: Vec<String> = ENTRIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let get = |name: &str| {
        ENTRIES.iter().find(|(known, _)| *known == name).map(|(_, body)| Bytes::from_static(body.as_bytes()))
    };
    Shop::from_files(&site, (Arc::new(Catalogue::built_in()), None), &Files { names: &names, get: &get })
}

fn uri(path: &str) -> Uri {
    let parts = http::uri::PathAndQuery::try_from(if path.is_empty() { "*" } else { path }).expect("a path");
    Uri::from(parts)
}

fn get(path: &str, headers: &[(HeaderName, &'static str)]) -> Response {
    let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
    shop().answer(&Method::GET, &uri(path), &headers)
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
        ("/template/12", 200),
        ("/submit", 200),
        ("/submit?template=9", 200),
        ("/sitemap.xml", 200),
        ("/template/13", 404),
        ("/template/01", 404),
        ("/template/", 404),
        ("/template/1/2", 404),
        ("/pages/catalogue.html", 404),
        ("/pages/pictures.json", 404),
        ("/index.html", 404),
        ("/assets/app-1a2b.js.br", 404),
        ("/assets/", 404),
        ("//assets/app-1a2b.js", 404),
        ("/assets/../robots.txt", 404),
        ("/assets/%2e%2e/robots.txt", 404),
        ("/%72obots.txt", 404),
        ("/robots.txt%00", 404),
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
    for (accepted, coding) in [("gzip, br", "br"), ("gzip", "gzip"), ("identity", "")] {
        assert_eq!(header(&get("/", &[(ACCEPT_ENCODING, accepted)]), &CONTENT_ENCODING), coding, "a filled page");
    }
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
        assert_eq!(shop().answer(&Method::GET, &uri("/"), &headers).status(), status);
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
    assert_eq!(shop().answer(&Method::HEAD, &uri("/"), &HeaderMap::new()).status(), 200);
    let refused = shop().answer(&Method::POST, &uri("/"), &HeaderMap::new());
    assert_eq!((refused.status().as_u16(), header(&refused, &ALLOW)), (405, "GET, HEAD"));
}

#[tokio::test]
async fn compressed_only_file_is_decompressed_for_identity() {
    let script = "console.log('hello');".repeat(100);
    let gzip = Bytes::from(content::gzip(script.as_bytes()).expect("compressed"));
    let names = ["assets/app.js", "assets/app.js.br", "assets/app.js.gz"].map(str::to_owned);
    let site = SiteConfig { url: "", key: "", site_url: "" };
    let get = |name: &str| match name {
        "assets/app.js.br" => Some(Bytes::from_static(b"brotli")),
        "assets/app.js.gz" => Some(gzip.clone()),
        _ => None,
    };
    let shop = Shop::from_files(&site, (Arc::new(Catalogue::built_in()), None), &Files { names: &names, get: &get });
    let ask = |accepted: &'static str| {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
        shop.answer(&Method::GET, &uri("/assets/app.js"), &headers)
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
    let shop = Shop::load(&SiteConfig { url: "", key: "", site_url: "" }, Arc::new(Catalogue::built_in()), None);
    assert!(shop.files.len() < FILES.len());
}

#[tokio::test]
async fn templates_and_categories_have_pages_of_their_own() {
    let newsletter = body(get("/template/1", &[])).await;
    assert!(
        newsletter.starts_with(
            "Professional Newsletter $28 https://payments.example/placeholder/professional-newsletter \
             Worth opening every time A &lt;picture&gt; 1080 /shared/01.jpg {"
        ),
        "{newsletter}"
    );
    let data: serde_json::Value =
        serde_json::from_str(&newsletter[newsletter.find('{').expect("JSON-LD")..]).expect("JSON");
    assert_eq!(data["offers"]["price"], "28");
    assert_eq!(data["image"], "https://shop.example/?a=1&b=2/shared/01.jpg");
    assert!(!newsletter.contains("ating"));
    assert_eq!(
        body(get("/template/12", &[])).await,
        "Board Meeting Invitation to order, Layout 2: 2 &lt;C&gt; /c.avif 720, Layout 3: 3 D /d.avif 720"
    );
    assert_eq!(body(get("/template/2", &[])).await, "Product Promotion without pictures /og.png");
    assert_eq!(body(get("/template/9", &[])).await, "Executive Report without pictures to order");
    assert_eq!(body(get("/template/99", &[])).await, "no such template");
    assert_eq!(body(get("/nowhere", &[])).await, "no such page");
    let all = body(get("/", &[])).await;
    assert!(all.contains("Newsletter;Marketing;Onboarding;Corporate;"), "{all}");
    assert!(all.contains("[1 Professional Newsletter first][2 Product Promotion bare]"), "{all}");
    let events = body(get("/?a=b&category=Events", &[])).await;
    assert!(events.contains("Corporate;Events!;E-commerce;") && events.ends_with("[5]"), "{events}");
    assert_eq!(body(get("/?category=Nonsense", &[])).await, all);
}

#[tokio::test]
async fn sitemap_lists_what_is_on_sale() {
    let sitemap = body(get("/sitemap.xml", &[])).await;
    assert_eq!(sitemap.matches("<loc>https://shop.example/?a=1&amp;b=2/").count(), 14);
    assert_eq!(header(&get("/sitemap.xml", &[]), &CONTENT_TYPE), "application/xml");
}

#[test]
fn known_page_with_a_slash_at_its_end_is_redirected() {
    let cases = [
        ("/template/1/", Some("/template/1")),
        ("/submit/", Some("/submit")),
        ("/submit/?template=9", Some("/submit?template=9")),
        ("/template/99/", None),
        ("/nowhere/", None),
        ("//", None),
        ("//template/1/", None),
    ];
    for (path, target) in cases {
        let response = get(path, &[]);
        let expected = if target.is_some() { 301 } else { 404 };
        assert_eq!((response.status().as_u16(), header(&response, &LOCATION)), (expected, target.unwrap_or_default()));
    }
}

#[tokio::test]
async fn form_is_answered_with_its_outcome() {
    let shop = shop();
    let page = |outcome| body(shop.answer_form(StatusCode::OK, outcome));
    assert_eq!(page(FormOutcome::Received).await, "received {\"isReceived\":true}");
    assert_eq!(page(FormOutcome::Failed("<b>")).await, "<textarea>&lt;b&gt;</textarea>{}");
    assert_eq!(page(FormOutcome::Failed("\na")).await, "<textarea>\n\na</textarea>{}", "a parser skips the first");
    let refused = page(FormOutcome::Refused("Details are required", " ")).await;
    assert_eq!(refused, "<textarea> </textarea>Details are required{\"refusal\":\"Details are required\"}");
    let response = shop.answer_form(StatusCode::BAD_REQUEST, FormOutcome::Received);
    assert_eq!((response.status(), header(&response, &CACHE_CONTROL)), (StatusCode::BAD_REQUEST, "no-store"));
    let refused = shop.answer(&Method::PUT, &uri("/submit"), &HeaderMap::new());
    assert_eq!(header(&refused, &ALLOW), "GET, HEAD, POST");
}

#[test]
fn mails_of_the_shop_are_framed_by_its_pages_alone_and_have_no_origin() {
    let mail = get("/mails/1-1.html", &[]);
    assert_eq!((mail.status(), header(&mail, &CONTENT_TYPE)), (StatusCode::OK, "text/html; charset=utf-8"));
    let policy = header(&mail, &CONTENT_SECURITY_POLICY);
    assert!(
        policy.starts_with("default-src 'none';") && policy.ends_with("frame-ancestors 'self'; sandbox"),
        "{policy}"
    );
    assert_eq!(header(&mail, &HeaderName::from_static("x-frame-options")), "SAMEORIGIN");
    assert_eq!(header(&mail, &X_CONTENT_TYPE_OPTIONS), "nosniff");
    let page = get("/", &[]);
    assert!(header(&page, &CONTENT_SECURITY_POLICY).contains("frame-ancestors 'none'"));
    assert_eq!(get("/mails/99-1.html", &[]).status(), StatusCode::NOT_FOUND);
}
