//! Views of pages by two replicas, and the figures of the desk.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::desk_client::{EMAIL, PASSWORD, Shop, code_of, send};
use crate::support::{Basalt, TempFolder};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const SETTINGS: &str = "[auth]\nexternal_url = \"http://127.0.0.1:9\"\njwt_secret = \"a secret for the replicas of a test, long enough\"\n\
    publishable_key = \"sb_publishable_0123456789abcdefghijkl\"\nsecret_key = \"sb_secret_0123456789abcdefghijkl\"\n\
    [basalt]\ndevelopment_pages = false\n[basalt.shop]\nowner = \"owner@shop.example\"\n\
    [basalt.shop.payment]\nallow_placeholder_links = true\n";

async fn view((server, port): &(Basalt, String), path: &str, headers: &[(&str, &str)]) -> u16 {
    let request = server.client.get(format!("http://127.0.0.1:{port}{path}"));
    let has_agent = headers.iter().any(|(name, _)| *name == "user-agent");
    let request = if has_agent { request } else { request.header("user-agent", FIREFOX) };
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn views_of_two_replicas_add_up() {
    let database = Basalt::serve(&["--ephemeral"]);
    let folder = TempFolder::new();
    let config = folder.write("config.toml", SETTINGS);
    let url = database.text("database_url");
    let start = |number: u16| {
        let (data, port) = (folder.path(&format!("data{number}")), crate::support::free_port().to_string());
        (Basalt::serve(&["--config", &config, "--data", &data, "--port", &port, "--database-url", &url]), port)
    };
    let replicas = [start(1), start(2)];
    assert!(replicas[1].0.announcement.get("desk_setup_url").is_none(), "one link for all replicas");
    for replica in &replicas {
        for path in ["/", "/?category=Business", "/template/9", "/template/9", "/submit"] {
            assert_eq!(view(replica, path, &[]).await, 200, "{path}");
        }
        for (path, headers) in [
            ("/template/9", &[("user-agent", "Googlebot/2.1")][..]),
            ("/template/9", &[("sec-purpose", "prefetch")]),
            ("/template/99", &[]),
            ("/nothing", &[]),
            ("/robots.txt", &[]),
            ("/_desk/", &[]),
        ] {
            view(replica, path, headers).await;
        }
    }
    let owner = set_up(&replicas[0]).await;
    for (server, _) in replicas {
        server.signal(Signal::TERM);
        assert!(tokio::task::block_in_place(|| server.wait_for_exit()));
    }

    let (server, port) = start(3);
    let request = server.client.get(format!("http://127.0.0.1:{port}/_desk/api/figures")).header("cookie", owner);
    let figures = send(request).await;
    assert_eq!(figures.status, 200, "{}", figures.body);
    assert_eq!(figures.body["days"].as_array().map(Vec::len), Some(30));
    assert_eq!(figures.body["totals"]["views"], 10);
    assert_eq!(figures.body["days"][29]["views"], 10);
    let shown = figures.body["templates"].as_array().expect("templates");
    let views: Vec<&Value> = shown.iter().filter(|entry| entry["views"] != 0).collect();
    assert_eq!((views.len(), &views[0]["id"], &views[0]["views"]), (1, &json!(9), &json!(4)));
    assert_eq!(shown.len(), 12, "templates without a view are shown");
}

/// Makes the owner at a replica; returns the cookie.
async fn set_up((server, listening): &(Basalt, String)) -> String {
    let link = server.text("desk_setup_url");
    let token = link.split_once("#setup=").expect("a link").1;
    let post = |path: &str, body: Value| {
        let own = format!("http://127.0.0.1:{listening}");
        send(server.client.post(format!("{own}/_desk/api{path}")).header("origin", own).json(&body))
    };
    let made = post("/setup", json!({"token": token, "email": EMAIL, "password": PASSWORD})).await;
    let secret = made.body["totp"]["secret"].as_str().expect("a secret");
    let session = post("/setup/totp", json!({"ticket": made.text("ticket"), "code": code_of(secret, 0)})).await;
    assert_eq!(session.status, 200, "{}", session.body);
    session.cookie()
}

#[tokio::test]
async fn submissions_and_sales_are_counted_by_day_and_template() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    shop.execute(
        "INSERT INTO basalt.submissions (id, description, created_at, peer, template)
         VALUES (gen_random_uuid(), 'a', '2026-01-01T23:59:59Z', '192.0.2.1/32', 3),
                (gen_random_uuid(), 'b', '2026-01-02T00:00:00Z', '192.0.2.1/32', NULL),
                (gen_random_uuid(), 'c', '2026-01-03T00:00:00Z', '192.0.2.1/32', 3)",
    )
    .await;
    shop.execute(
        "INSERT INTO basalt.orders (id, provider, provider_reference, template, template_title, buyer_email, amount_minor,
                                    currency, state, is_test, locale, paid_at, refunded_at, downloads_left, download_expires_at)
         SELECT gen_random_uuid(), 'stripe', o.reference, o.template, 'Sold', 'a@b.example', 2800, o.currency, o.state,
                o.is_test, 'en', '2026-01-02T12:00:00Z', o.refunded_at, 5, '2026-02-01T00:00:00Z'
         FROM (VALUES ('1', 3, 'USD', 'paid', false, NULL::timestamptz),
                      ('2', 3, 'USD', 'delivered', false, NULL),
                      ('3', 77, 'EUR', 'paid', false, NULL),
                      ('4', 3, 'USD', 'paid', true, NULL),
                      ('5', 3, 'USD', 'refunded', false, '2026-01-03T00:00:00Z')) AS o (reference, template, currency, state, is_test, refunded_at)",
    )
    .await;
    let figures = shop.get("/figures?from=2026-01-01&to=2026-01-02", Some(&owner.cookie)).await;
    assert_eq!(figures.status, 200, "{}", figures.body);
    assert_eq!(
        figures.body["days"],
        json!([{"date": "2026-01-01", "views": 0, "requests": 1, "purchases": 0},
               {"date": "2026-01-02", "views": 0, "requests": 1, "purchases": 3}])
    );
    let revenue = json!([{"amount_minor": 2800, "currency": "EUR"}, {"amount_minor": 5600, "currency": "USD"}]);
    assert_eq!(figures.body["totals"], json!({"views": 0, "requests": 2, "purchases": 3, "revenue": revenue}));
    assert_eq!(figures.body["tests"], json!({"views": 0, "purchases": 1}));
    let with = shop.get("/figures?from=2026-01-01&to=2026-01-02&tests=included", Some(&owner.cookie)).await;
    assert_eq!((&with.body["totals"]["purchases"], &with.body["tests"]["purchases"]), (&json!(4), &json!(1)));
    assert_eq!(shop.get("/figures?tests=some", Some(&owner.cookie)).await.status, 400);
    let templates = figures.body["templates"].as_array().expect("templates");
    let sold = templates.iter().find(|template| template["id"] == 77).expect("a template that is no more on sale");
    assert_eq!((&sold["title"], &sold["purchases"]), (&json!("Sold"), &json!(1)));

    for query in [
        "from=2026-01-02&to=2026-01-01",
        "from=2020-01-01&to=2026-01-01",
        "from=x",
        "to=%00",
        "to=%2B262142-12-31",
        "from=0000-01-01&to=0000-01-02",
    ] {
        let answer = shop.get(&format!("/figures?{query}"), Some(&owner.cookie)).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{query}");
    }
    let posted = shop.change(Method::POST, "/figures", &owner, json!({})).await;
    assert_eq!(posted.status, 404);
}
