//! Redirect validation of the hardened policy at every route with a redirect target.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::{Bucket, Quota};
use gotrue_rs::testing::identity_provider::{SamlAssertion, acs_form_request};
use gotrue_rs::testing::{FakeProvider, PASSWORD, World, WorldBuilder};
use gotrue_rules::domain::policy::Policy;
use http::Method;
use serde_json::json;

use crate::saml::company::{AcsResponse, Company, with_saml};

const ANN: &str = "ann@example.com";
const SITE: &str = "http://shop.example.com";

/// Places that `serve` allows with a public site.
const ALLOWED: [&str; 5] = [
    "http://shop.example.com/welcome?a=b",
    "http://shop.example.com:80/",
    "https://app.example.com/done",
    "myapp://login",
    "https://a-team.example.net/done",
];
/// Places that the reference allows or that look like an allowed one.
const REFUSED: [&str; 15] = [
    "http://ann@shop.example.com/",
    "http://ann:secret@shop.example.com/",
    "http://@shop.example.com/",
    "https://ann@app.example.com/",
    "http://127.0.0.1:3000/",
    "https://127.9.9.9/",
    "http://[::1]:3000/",
    "http://localhost:3000/",
    "javascript://127.0.0.1/%0aalert(1)",
    "evilapp://127.0.0.1/",
    "evilapp://shop.example.com/",
    "http://shop.example.com:8080/",
    "https://shop.example.com/",
    "https://0x08080808?-team.example.net/",
    "https://evil?-team.example.net/",
];

fn open(policy: &mut Policy) {
    policy.site.redirect_allow_list =
        ["https://app.example.com/**", "myapp://**", "https://*-team.example.net/**"].map(str::to_owned).to_vec();
    policy.limits.email_sent = Quota::Window { events: 1000.0, per: Duration::from_hours(1) };
    policy.limits.targets.messages = None;
    for bucket in
        [&mut policy.limits.otp, &mut policy.limits.verify, &mut policy.limits.sso, &mut policy.limits.saml_assertion]
    {
        *bucket = Bucket::per_hour(1000.0);
    }
}

fn served() -> WorldBuilder {
    World::builder().as_served().policy(open)
}

fn written(place: &str) -> String {
    url::form_urlencoded::byte_serialize(place.as_bytes()).collect()
}

/// Where the link of the latest mail to an address leads in the end.
fn mailed(world: &World, to: &str) -> String {
    let link = url::Url::parse(&world.mailbox.latest(to).link.unwrap_or_default()).expect("a link");
    link.query_pairs().find(|(name, _)| name == "redirect_to").map(|(_, place)| place.into_owned()).unwrap_or_default()
}

/// Asserts that an entry takes the allowed places and the site in the place of the others.
async fn judge(entry: &str, mut target: impl AsyncFnMut(usize, &str) -> String) {
    let allowed = ALLOWED.iter().map(|place| (*place, *place));
    let refused = REFUSED.iter().map(|place| (*place, SITE));
    for (n, (place, expected)) in allowed.chain(refused).enumerate() {
        assert_eq!(target(n, place).await, expected, "{entry}: {place}");
    }
}

#[tokio::test]
async fn a2_publicly_requested_mails_redirect_only_to_allowed_targets() {
    for path in ["/signup", "/otp", "/magiclink", "/recover", "/resend"] {
        let world = served().build().await;
        if path != "/resend" {
            world.create_user(ANN).await;
        }
        let waiting = json!({"email": "ben@example.com", "password": PASSWORD});
        world.post("/signup", waiting).await.expect(200);
        judge(path, async |n, place| {
            world.advance(TimeDelta::seconds(1));
            let email = match path {
                "/signup" => format!("new{n}@example.com"),
                "/resend" => "ben@example.com".to_owned(),
                _ => ANN.to_owned(),
            };
            let body = json!({"email": email, "password": PASSWORD, "type": "signup"});
            world.post(&format!("{path}?redirect_to={}", written(place)), body).await.expect(200);
            mailed(&world, &email)
        })
        .await;
    }
}

#[tokio::test]
async fn a2_redirect_header_and_referer_are_checked_against_the_allow_list() {
    let world = served().build().await;
    world.create_user(ANN).await;
    for name in ["redirect_to", "referer"] {
        judge(name, async |_, place| {
            world.advance(TimeDelta::seconds(1));
            let headers = [(name, place)];
            world.request(Method::POST, "/otp", &headers, Some(json!({"email": ANN}))).await.expect(200);
            mailed(&world, ANN)
        })
        .await;
    }
}

#[tokio::test]
async fn a2_admin_and_user_requests_redirect_only_to_allowed_targets() {
    let world = served().build().await;
    let (service, ann) = (world.service_token(), world.create_user(ANN).await);
    judge("/invite", async |n, place| {
        let email = format!("guest{n}@example.com");
        let path = format!("/invite?redirect_to={}", written(place));
        world.post_as(&service, &path, json!({"email": email})).await.expect(200);
        mailed(&world, &email)
    })
    .await;
    judge("/admin/generate_link", async |_, place| {
        let body = json!({"type": "magiclink", "email": ANN, "redirect_to": place});
        let made = world.post_as(&service, "/admin/generate_link", body).await.expect(200);
        made.str("redirect_to").to_owned()
    })
    .await;
    judge("PUT /user", async |n, place| {
        world.advance(TimeDelta::seconds(1));
        let (email, path) = (format!("ann{n}@example.org"), format!("/user?redirect_to={}", written(place)));
        world.put_as(&ann.access_token, &path, json!({"email": email})).await.expect(200);
        mailed(&world, &email)
    })
    .await;
}

#[tokio::test]
async fn a2_verify_link_redirects_only_to_allowed_targets() {
    let world = served().build().await;
    judge("GET /verify", async |n, place| {
        let email = format!("new{n}@example.com");
        world.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
        let link = world.link(&email);
        let (rest, _) = link.split_once("&redirect_to=").expect("a place to go to");
        let answer = world.get(&format!("{rest}&redirect_to={}", written(place))).await.expect(303);
        let (base, fragment) = answer.header("location").split_once('#').expect("a session");
        assert!(fragment.contains("access_token="), "{fragment}");
        base.to_owned()
    })
    .await;
}

#[tokio::test]
async fn a2_social_sign_in_redirects_only_to_allowed_targets() {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let world = served().policy(|policy| provider.enable_provider(policy, "github")).build().await;
    judge("/authorize", async |_, place| {
        let state = world.start_provider_sign_in(&format!("github&redirect_to={}", written(place))).await;
        let callback = world.get(&format!("/callback?state={state}&code=c0de-from-upstream")).await.expect(302);
        let (base, fragment) = callback.header("location").split_once('#').expect("a session");
        assert!(fragment.contains("access_token="), "{fragment}");
        base.to_owned()
    })
    .await;
}

#[tokio::test]
async fn a2_sso_redirects_only_to_allowed_targets() {
    let world = World::builder().policy(with_saml).as_served().policy(open).build().await;
    let company = Company::in_world(world).await;
    judge("/sso", async |n, place| {
        let requested = company.start(json!({"redirect_to": place})).await;
        let response = company
            .idp
            .signed_response(&SamlAssertion { id: format!("asked{n}"), ..company.assertion_for_request(&requested) });
        landed(&company.post_response(&requested, &response).await)
    })
    .await;
    judge("RelayState", async |n, place| {
        let response = company.idp.signed_response(&SamlAssertion { id: format!("unasked{n}"), ..company.assertion() });
        landed(&AcsResponse(company.world.send(acs_form_request(&response, Some(place))).await))
    })
    .await;
}

/// Where a session is taken to.
fn landed(arrived: &AcsResponse) -> String {
    assert!(!arrived.token().is_empty());
    arrived.0.header("location").split('#').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a2_localhost_site_allows_other_localhost_ports() {
    let world = served().policy(|policy| "http://localhost:3000".clone_into(&mut policy.site.site_url)).build().await;
    world.create_user(ANN).await;
    for (place, expected) in [
        ("http://localhost:5173/x", "http://localhost:5173/x"),
        ("http://127.0.0.1:3000/", "http://127.0.0.1:3000/"),
        ("http://[::1]:9/", "http://[::1]:9/"),
        ("http://ann@127.0.0.1:3000/", "http://localhost:3000"),
        ("javascript://127.0.0.1/%0aalert(1)", "http://localhost:3000"),
        ("evilapp://127.0.0.1/", "http://localhost:3000"),
    ] {
        world.advance(TimeDelta::seconds(1));
        world.post(&format!("/otp?redirect_to={}", written(place)), json!({"email": ANN})).await.expect(200);
        assert_eq!(mailed(&world, ANN), expected, "{place}");
    }
}

#[tokio::test]
async fn a2_gotrue_mode_allows_the_recorded_targets() {
    let world = World::builder().policy(open).build().await;
    world.create_user(ANN).await;
    for place in ["http://ann@shop.example.com/", "http://127.0.0.1:3000/", "evilapp://127.0.0.1/"] {
        world.advance(TimeDelta::seconds(1));
        world.post(&format!("/otp?redirect_to={}", written(place)), json!({"email": ANN})).await.expect(200);
        assert_eq!(mailed(&world, ANN), place);
    }
}
