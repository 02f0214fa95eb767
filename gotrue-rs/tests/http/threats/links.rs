//! A: links, redirects, and what a user's words become in a mail.

use std::time::Duration;

use foundation::limits::Quota;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::one_time_token::TokenHash;
use gotrue_rules::domain::policy::MailKind;
use http::Method;
use serde_json::json;

use crate::ports::pages::Pages;

const ANN: &str = "ann@example.com";
const FORGED: [&[(&str, &str)]; 6] = [
    &[("x-forwarded-host", "evil.example.net")],
    &[("x-forwarded-host", "evil.example.net"), ("x-forwarded-proto", "http")],
    &[("host", "evil.example.net")],
    &[("forwarded", "host=evil.example.net;proto=http")],
    &[("x-forwarded-host", "auth.example.com@evil.example.net"), ("x-forwarded-port", "8080")],
    &[("x-original-host", "evil.example.net"), ("x-forwarded-server", "evil.example.net")],
];

/// Sends everything that is mailed on request, with these headers.
async fn mailed(headers: &[(&str, &str)]) -> World {
    let world = World::with(|policy| policy.mail.notifications = MailKind::ALL.into()).await;
    let body = json!({"email": ANN, "password": PASSWORD});
    world.request(Method::POST, "/signup", headers, Some(body)).await.expect(200);
    let verify = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    let session = world.post("/verify", verify).await.expect(200);
    let bearer = format!("Bearer {}", session.str("access_token"));
    let mut signed_in = headers.to_vec();
    signed_in.push(("authorization", &bearer));
    world.request(Method::GET, "/reauthenticate", &signed_in, None).await.expect(200);
    world.advance(chrono::TimeDelta::seconds(1));
    let change = json!({"email": "ann@example.org", "password": "another password"});
    world.request(Method::PUT, "/user", &signed_in, Some(change)).await.expect(200);
    for path in ["/recover", "/otp", "/magiclink"] {
        world.request(Method::POST, path, headers, Some(json!({"email": ANN}))).await.expect(200);
        world.advance(chrono::TimeDelta::seconds(1));
    }
    let again = json!({"type": "email_change", "email": ANN});
    world.request(Method::POST, "/resend", headers, Some(again)).await.expect(200);
    world
}

#[tokio::test]
async fn a1_request_headers_do_not_affect_mailed_links() {
    for headers in FORGED {
        let world = mailed(headers).await;
        let mails = world.mailbox.all();
        let purposes: Vec<&str> = mails.iter().map(|mail| &*mail.purpose).collect();
        for purpose in ["confirmation", "reauthenticate", "email_change", "recovery", "magic_link"] {
            assert!(purposes.contains(&purpose), "{purpose} was not mailed: {purposes:?}");
        }
        for mail in mails {
            let all = format!("{} {:?} {}", mail.subject, mail.link, mail.html);
            assert!(!all.contains("evil"), "{:?}: {} {all}", headers, mail.purpose);
            let leads_home = |link: &str| link.starts_with("http://auth.example.com/verify?");
            assert!(mail.link.as_deref().is_none_or(leads_home), "{:?}", mail.link);
        }
    }
}

#[tokio::test]
async fn a1_mailed_links_use_only_listed_hosts_over_https() {
    let world = World::with(|policy| policy.site.mailer_external_hosts = vec!["id.example.com".to_owned()]).await;
    let headers = [("x-forwarded-host", "id.example.com"), ("x-forwarded-proto", "http")];
    let body = json!({"email": ANN, "password": PASSWORD});
    world.request(Method::POST, "/signup", &headers, Some(body)).await.expect(200);
    let link = world.mailbox.latest(ANN).link.unwrap_or_default();
    assert!(link.starts_with("https://id.example.com/verify?"), "{link}");
}

/// Places that look like the shop's, or like nothing.
const ELSEWHERE: [&str; 16] = [
    "https://evil.example.net/",
    "//evil.example.net/",
    "http://shop.example.com@evil.example.net/",
    "http://shop.example.com:80@evil.example.net/",
    "http://shop.example.com.evil.example.net/",
    "http://evil.example.net/http://shop.example.com/",
    "http://evil.example.net#http://shop.example.com/",
    "http://evil.example.net?http://shop.example.com/",
    "http://evil.example.net\\@shop.example.com/",
    "http:/\\evil.example.net/",
    "javascript:alert(1)//http://shop.example.com/",
    "data:text/html,<script>alert(1)</script>",
    "https://shop.example.com\u{2024}evil.example.net/",
    "http://3232235777/",
    "http://169.254.169.254/",
    "ftp://shop.example.com/",
];

#[tokio::test]
async fn a2_mailed_links_redirect_only_to_the_site() {
    for path in ["/signup", "/otp", "/magiclink", "/recover", "/resend"] {
        let many = Quota::Window { events: 1000.0, per: Duration::from_hours(1) };
        let world = World::with(|policy| policy.limits.email_sent = many).await;
        if path != "/signup" {
            let body = json!({"email": ANN, "password": PASSWORD});
            world.post("/signup", body).await.expect(200);
        }
        for place in ELSEWHERE {
            let body = json!({"email": ANN, "password": PASSWORD, "type": "signup", "redirect_to": place,
                              "options": {"redirectTo": place, "emailRedirectTo": place}});
            let query: String = url::form_urlencoded::byte_serialize(place.as_bytes()).collect();
            let by_query = format!("{path}?redirect_to={query}");
            let in_header = http::HeaderValue::from_str(place).map_or("//evil.example.net", |_| place);
            for (path, headers) in [
                (&*by_query, vec![]),
                (path, vec![("redirect_to", in_header)]),
                (path, vec![("referer", in_header)]),
                (&*by_query, vec![("referer", in_header), ("origin", in_header)]),
            ] {
                world.advance(chrono::TimeDelta::seconds(1));
                world.request(Method::POST, path, &headers, Some(body.clone())).await.expect(200);
                let mail = world.mailbox.latest(ANN);
                let link = url::Url::parse(&mail.link.unwrap_or_default()).expect("a link");
                let target = link.query_pairs().find(|(name, _)| name == "redirect_to").map(|(_, to)| to.into_owned());
                assert_eq!(target.as_deref(), Some("http://shop.example.com"), "{path} {headers:?} {place}");
                assert!(!mail.html.contains("evil") && !mail.html.contains("169.254"), "{}", mail.html);
            }
        }
    }
}

#[tokio::test]
async fn a5_redirect_target_is_escaped_in_mails() {
    let page = "<a title=\"{{ .RedirectTo }}\" href=\"{{ .ConfirmationURL }}\">go</a> {{ .RedirectTo }} {{ .SiteURL }}";
    let pages = Pages::serve(&[("/mail.html", page)]).await;
    let theirs = format!("{}/mail.html", pages.base);
    for template in [None, Some(theirs)] {
        let world = World::with(|policy| {
            policy.mail.templates.extend(template.map(|theirs| (MailKind::Confirmation, theirs)));
        })
        .await;
        for (n, tail) in
            ["\"><img src=x onerror=alert(1)>", "'><script>alert(1)</script>", "</a><a href=https://evil.example.net>"]
                .into_iter()
                .enumerate()
        {
            let email = format!("ann{n}@example.com");
            let place = format!("http://shop.example.com/{tail}");
            let query: String = url::form_urlencoded::byte_serialize(place.as_bytes()).collect();
            let body = json!({"email": email, "password": PASSWORD});
            world.post(&format!("/signup?redirect_to={query}"), body).await.expect(200);
            let mail = world.mailbox.latest(&email);
            for markup in ["<img src=x", "<script", "<a href=https://evil"] {
                assert!(!mail.html.contains(markup), "{}", mail.html);
            }
        }
    }
}

#[tokio::test]
async fn a3_duplicate_parameters_are_resolved_consistently() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let link = world.link(ANN);
    for (path, where_to) in [
        (format!("{link}&redirect_to=https://evil.example.net/"), "http://shop.example.com#"),
        (
            format!("/verify?redirect_to=https://evil.example.net/&{}", &link["/verify?".len()..]),
            "http://shop.example.com#",
        ),
    ] {
        let answer = world.get(&path).await.expect(303);
        assert!(answer.header("location").starts_with(where_to), "{}", answer.header("location"));
    }
    let first = world
        .post("/token?grant_type=refresh_token&grant_type=password", json!({"email": ANN, "password": PASSWORD}))
        .await;
    assert_eq!(first.refusal(), (400, "validation_failed"), "the first grant counts");
}

#[tokio::test]
async fn a3_duplicate_type_does_not_change_the_verification_type() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let link = world.link(ANN).replace("type=signup", "type=recovery&type=signup");
    let answer = world.get(&link).await.expect(303);
    assert!(answer.header("location").contains("error_code=otp_expired"), "{}", answer.header("location"));
}

#[tokio::test]
async fn a5_user_input_is_escaped_in_mails() {
    let page = "<h1>Hello {{ .Data.name }}</h1><a title=\"{{ .Data.name }}\" href=\"{{ .ConfirmationURL }}\">go</a>";
    let pages = Pages::serve(&[("/mail.html", page)]).await;
    let world = World::with(|policy| {
        policy.mail.templates.insert(MailKind::Confirmation, format!("{}/mail.html", pages.base));
        policy.mail.subjects.insert(MailKind::Confirmation, "For {{ .Data.name }}".to_owned());
    })
    .await;
    for (n, name) in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</h1><a href='https://evil.example.net'>Click</a>",
        "Ann\r\nBcc: others@example.com",
        "{{ .Token }}",
    ]
    .into_iter()
    .enumerate()
    {
        let email = format!("ann{n}@example.com");
        let body = json!({"email": email, "password": PASSWORD, "data": {"name": name}});
        world.post("/signup", body).await.expect(200);
        let mail = world.mailbox.latest(&email);
        for markup in ["<script", "<img", "<a href='https://evil"] {
            assert!(!mail.html.contains(markup), "{}", mail.html);
        }
        assert_eq!(mail.html.matches("<a ").count(), 1, "{}", mail.html);
        assert!(!mail.html.contains(mail.code.as_deref().unwrap_or("?")), "a name is no template: {}", mail.html);
        assert!(!mail.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("bcc")));
    }
}

#[tokio::test]
async fn a5_email_with_special_characters_is_escaped_in_mails() {
    let world = World::new().await;
    let email = "o'neill&sons={x}@example.com";
    world.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
    let mail = world.mailbox.latest(email);
    assert!(!mail.html.contains("o'neill&sons="), "{}", mail.html);
}

#[tokio::test]
async fn a6_tokens_are_returned_in_the_fragment_never_in_the_query() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let answer = world.get(&world.link(ANN)).await.expect(303);
    let (before, after) = answer.header("location").split_once('#').expect("a fragment");
    assert!(!before.contains("token") && after.contains("access_token="), "{before}");
    assert!(!answer.text.contains("access_token"), "the page shows no token: {}", answer.text);
}

/// A world as `basalt serve` serves it, or with derived links as in GoTrue.
async fn world_with_links(are_unguessable: bool) -> World {
    let builder = World::builder().as_served();
    if are_unguessable {
        return builder.build().await;
    }
    builder.policy(|policy| policy.mail.are_links_unguessable = false).build().await
}

fn token_of(link: &str) -> String {
    let (_, rest) = link.split_once("token=").expect("a link has a token");
    rest.split('&').next().unwrap_or_default().to_owned()
}

/// Mails a link of this type to `to` and returns its `type`.
async fn send_link(world: &World, path: &str, to: &str) -> &'static str {
    match path {
        "/signup" => {
            world.post(path, json!({"email": to, "password": PASSWORD})).await.expect(200);
            "signup"
        }
        "/invite" => {
            world.post_as(&world.service_token(), path, json!({"email": to})).await.expect(200);
            "invite"
        }
        "/user" => {
            let eve = world.create_user("eve@example.com").await;
            world.advance(chrono::TimeDelta::seconds(1));
            world.put_as(&eve.access_token, path, json!({"email": to})).await.expect(200);
            "email_change"
        }
        _ => {
            world.create_user(to).await;
            world.advance(chrono::TimeDelta::seconds(1));
            world.post(path, json!({"email": to})).await.expect(200);
            if path == "/recover" { "recovery" } else { "magiclink" }
        }
    }
}

#[tokio::test]
async fn d1_link_does_not_follow_from_address_and_code() {
    for path in ["/signup", "/invite", "/recover", "/otp", "/magiclink", "/user"] {
        for are_unguessable in [true, false] {
            let world = world_with_links(are_unguessable).await;
            let kind = send_link(&world, path, ANN).await;
            let (code, link) = (world.code(ANN), world.link(ANN));
            let derived = TokenHash::new(ANN, &code).as_str().to_owned();
            assert!(token_of(&link).starts_with(&derived), "{path}");
            assert_eq!(token_of(&link) == derived, !are_unguessable, "{path}");
            let other_row = format!("{derived}5c1f8b398a3e8b3c9a556b1f4c3d2e10");
            let guesses =
                if are_unguessable { vec![derived, other_row, token_of(&link).to_uppercase()] } else { vec![] };
            for guess in guesses {
                let body = json!({"type": kind, "token_hash": guess});
                assert_eq!(world.post("/verify", body).await.refusal(), (403, "otp_expired"), "{path}");
                let followed = world.get(&format!("/verify?type={kind}&token={guess}")).await.expect(303);
                assert!(followed.header("location").contains("error_code=otp_expired"), "{path}");
            }
            let body = json!({"type": kind, "token_hash": token_of(&link)});
            world.post("/verify", body).await.expect(200);
        }
    }
}

#[tokio::test]
async fn d1_code_of_mail_with_unguessable_link_is_accepted() {
    let world = world_with_links(true).await;
    world.create_user(ANN).await;
    world.advance(chrono::TimeDelta::seconds(1));
    world.post("/otp", json!({"email": ANN})).await.expect(200);
    let (code, link) = (world.code(ANN), world.link(ANN));
    world.post("/verify", json!({"type": "email", "email": ANN, "token": code})).await.expect(200);
    let used = world.get(&link).await.expect(303);
    assert!(used.header("location").contains("error_code=otp_expired"));
}

#[tokio::test]
async fn d1_pkce_link_keeps_its_flow() {
    let world = world_with_links(true).await;
    world.create_user(ANN).await;
    world.advance(chrono::TimeDelta::seconds(1));
    let verifier = "v".repeat(43);
    let body = json!({"email": ANN, "code_challenge": verifier, "code_challenge_method": "plain"});
    world.post("/recover", body).await.expect(200);
    let link = world.link(ANN);
    assert!(token_of(&link).starts_with("pkce_"));
    let followed = world.get(&link).await.expect(303);
    let (_, code) = followed.header("location").split_once("code=").expect("a code");
    let grant = json!({"auth_code": code, "code_verifier": verifier});
    world.post("/token?grant_type=pkce", grant).await.expect(200);
}

#[tokio::test]
async fn d1_generated_links_and_invitations_are_unguessable() {
    let world = world_with_links(true).await;
    world.create_user(ANN).await;
    for kind in ["recovery", "magiclink", "email_change_current"] {
        let body = json!({"type": kind, "email": ANN, "new_email": "new@example.com"});
        let made = world.post_as(&world.service_token(), "/admin/generate_link", body).await.expect(200);
        let (token, code) = (made.str("hashed_token"), made.str("email_otp"));
        assert_eq!(token, token_of(made.str("action_link")), "{kind}");
        let verified = if kind == "email_change_current" { "email_change" } else { kind };
        let derived = json!({"type": verified, "token_hash": TokenHash::new(ANN, code).as_str()});
        assert_eq!(world.post("/verify", derived).await.refusal(), (403, "otp_expired"), "{kind}");
        world.post("/verify", json!({"type": verified, "token_hash": token})).await.expect(200);
    }
}
