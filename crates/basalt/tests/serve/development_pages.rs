//! The pages below `/_dev` are for clients on this machine and not for requests through a proxy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};

use serde_json::json;

use super::support::{Basalt, TempFolder, free_port};

/// One path of every kind of page; each answers 200 when it is served.
const PAGES: [&str; 9] = [
    "/_dev/inbox",
    "/_dev/inbox.json",
    "/_dev/inbox.css",
    "/_dev/outbox.json",
    "/_dev/mails",
    "/_dev/mails/body",
    "/_dev/users",
    "/_dev/users/page.css",
    "/_dev/provider/.well-known/openid-configuration",
];
const PROVIDER: &str = "[basalt.provider]\nstands_in_for = [\"google\"]\n";

struct TestServer {
    server: Basalt,
    address: SocketAddr,
    _scratch: TempFolder,
}

impl TestServer {
    fn start(config: &str) -> Self {
        let (scratch, port) = (TempFolder::new(), free_port());
        let file = scratch.write("config.toml", config);
        let server = Basalt::serve(&["--ephemeral", "--port", &port.to_string(), "--config", &file]);
        Self { server, address: SocketAddr::from(([127, 0, 0, 1], port)), _scratch: scratch }
    }

    /// Returns the status of a request with this head, which lacks only its final empty line.
    fn status(&self, head: &str) -> u16 {
        status_of(&exchange(self.address, head))
    }

    /// Returns the status of a page, requested by a name of this machine with additional header lines.
    fn page(&self, path: &str, headers: &str) -> u16 {
        self.status(&format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}", self.address))
    }

    fn statuses_of_all(&self, headers: &str) -> Vec<u16> {
        PAGES.iter().map(|path| self.page(path, headers)).collect()
    }
}

/// Sends a head and reads the response to its end.
fn exchange(to: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(to).expect("connected");
    write!(stream, "{head}\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}

fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// Starts a local reverse proxy with its own request line, `Host` and headers, as nginx and Apache do.
fn proxy(upstream: SocketAddr, version: &'static str, added: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut out = stream.try_clone().expect("the same stream");
            let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let kept: Vec<String> = lines
                .take_while(|line| !line.is_empty())
                .filter(|line| !["host:", "connection:"].iter().any(|name| line.to_ascii_lowercase().starts_with(name)))
                .map(|line| line + "\r\n")
                .collect();
            let kept = kept.concat();
            let head = format!("GET {target} {version}\r\nHost: {upstream}\r\nConnection: close\r\n{kept}{added}");
            let _ = out.write_all(exchange(upstream, &head).as_bytes());
        }
    });
    address
}

#[test]
fn forwarding_header_denies_every_page() {
    let site = TestServer::start(PROVIDER);
    assert_eq!(site.statuses_of_all(""), [200; 9]);
    for header in [
        "x-forwarded-for: 192.0.2.1",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-for:",
        "X-Forwarded-Host: shop.example.com",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Server: shop",
        "X-Forwarded-Anything: 1",
        "Forwarded: for=192.0.2.1",
        "X-Real-IP: 192.0.2.1",
        "Via: 1.1 shop",
        "CF-Connecting-IP: 192.0.2.1",
    ] {
        assert_eq!(site.statuses_of_all(&format!("{header}\r\n")), [403; 9], "{header}");
    }
}

#[test]
fn foreign_host_or_target_denies_every_page() {
    let site = TestServer::start(PROVIDER);
    let (port, address) = (site.address.port(), site.address);
    for path in PAGES {
        let get = |target: &str, host: &str| {
            site.status(&format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n"))
        };
        assert_eq!(get(path, &format!("localhost:{port}")), 200, "{path}");
        assert_eq!(get(&format!("http://{address}{path}"), &address.to_string()), 200, "{path}");
        for host in ["shop.example.com", "127.0.0.1.nip.io", "localhost.evil.example", "evil.example@x.localhost"] {
            assert_ne!(get(path, &format!("{host}:{port}")), 200, "{path} {host}");
        }
        for target in ["http://shop.example.com", "https://localhost.evil.example", "http://localhost:1"] {
            assert_eq!(get(&format!("{target}{path}"), &address.to_string()), 403, "{target}{path}");
        }
        assert_ne!(get(&format!("http://shop.example.com{path}"), "shop.example.com"), 200, "{path}");
    }
}

#[test]
fn local_proxy_with_rewritten_host_is_denied() {
    let site = TestServer::start(PROVIDER);
    let public = "GET {path} HTTP/1.1\r\nHost: shop.example.com\r\nConnection: close\r\nsec-fetch-site: none\r\n";
    for (version, added) in [
        // nginx: proxy_pass alone.
        ("HTTP/1.0", ""),
        // nginx with what its manual suggests, and Apache's mod_proxy.
        ("HTTP/1.1", "X-Real-IP: 192.0.2.1\r\n"),
        ("HTTP/1.1", "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: shop.example.com\r\n"),
        ("HTTP/1.1", "Via: 1.1 shop.example.com\r\n"),
    ] {
        let proxy = proxy(site.address, version, added);
        let settings = exchange(proxy, &public.replace("{path}", "/auth/v1/health"));
        assert_eq!(status_of(&settings), 200, "the proxy works: {settings}");
        for path in PAGES {
            assert_eq!(status_of(&exchange(proxy, &public.replace("{path}", path))), 403, "{version} {added} {path}");
        }
    }
}

#[test]
fn public_address_or_mail_server_disables_pages_by_default() {
    let smtp = "[auth.email.smtp]\nhost = \"127.0.0.1\"\nport = 9\nuser = \"\"\npass = \"\"\nadmin_email = \"a@example.com\"\n\
                sender_name = \"Shop\"\n";
    for config in [
        "[auth]\nsite_url = \"https://shop.example.com\"\n",
        "[auth]\nexternal_url = \"https://shop.example.com/auth/v1\"\n",
        "[api]\nexternal_url = \"http://192.168.1.5:54321\"\n",
        smtp,
        "[basalt]\ndevelopment_pages = false\n",
    ] {
        let site = TestServer::start(config);
        assert_eq!(site.page("/_dev/outbox.json", ""), 403, "{config}");
        // A proxy without forwarding headers does not change the result.
        let proxy = proxy(site.address, "HTTP/1.1", "");
        let request = "GET /_dev/inbox.json HTTP/1.1\r\nhost: shop.example.com\r\nconnection: close\r\n";
        assert_eq!(status_of(&exchange(proxy, request)), 403, "{config}");
    }
    let on = "[auth]\nsite_url = \"https://shop.example.com\"\n[basalt]\ndevelopment_pages = true\n";
    assert_eq!(TestServer::start(&format!("{on}{PROVIDER}")).statuses_of_all(""), [200; 9]);
}

#[test]
fn inbox_token_is_required_for_remote_access() {
    let token = "[auth]\nsite_url = \"https://shop.example.com\"\n[basalt.inbox]\ntoken = \"a-long-inbox-token\"\n";
    let site = TestServer::start(token);
    let proxied = "x-forwarded-for: 192.0.2.1\r\n";
    assert_eq!(site.page("/_dev/inbox.json", ""), 403);
    assert_eq!(site.page("/_dev/inbox.json?token=a-long-inbox-token", proxied), 200);
    assert_eq!(site.page("/_dev/inbox.json?token=a-long-inbox-toke", proxied), 403);
    assert_eq!(site.page("/_dev/inbox.json", &format!("{proxied}authorization: Bearer a-long-inbox-token\r\n")), 200);
}

#[test]
fn consent_page_through_proxy_requires_own_host() {
    let config = "[api]\nexternal_url = \"https://shop.example.com\"\n[auth.oauth_server]\nenabled = true\n";
    let site = TestServer::start(config);
    let get = |host: &str| {
        site.status(&format!(
            "GET /_dev/consent HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-forwarded-for: 192.0.2.1\r\nvia: 1.1 x\r\n\
             sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n"
        ))
    };
    assert_eq!(get("shop.example.com"), 200);
    assert_eq!(get("evil.example"), 403);
    assert_eq!(site.page("/_dev/inbox.json", ""), 403, "only the consent page is public");
}

#[test]
fn non_loopback_peer_is_denied() {
    let Some(ip) = outward_address() else { return };
    let site = TestServer::start("[basalt]\nhost = \"0.0.0.0\"\n");
    let address = SocketAddr::new(ip, site.address.port());
    let head = |host: &str| format!("GET /_dev/inbox.json HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    assert_eq!(status_of(&exchange(site.address, &head("localhost"))), 200);
    assert_eq!(status_of(&exchange(address, &head("localhost"))), 403);
    assert_eq!(site.server.text("url"), format!("http://{}", site.address));
}

/// Returns a non-loopback address of this machine; `None` without a network.
fn outward_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

#[test]
fn unreachable_development_provider_prevents_start() {
    let scratch = TempFolder::new();
    let config = format!("[auth]\nsite_url = \"https://shop.example.com\"\n{PROVIDER}");
    let config = scratch.write("config.toml", &config);
    let output = super::support::run(&["serve", "--ephemeral", "--port", "0", "--config", &config]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("development_pages = true"), "{text}");
}

/// The id of the user that runs a client in these tests.
const OTHER_USER: u32 = 65_534;

/// Sends the head of a request from a process of this user; returns the response.
fn exchange_as(user: u32, to: SocketAddr, head: &str) -> String {
    use std::os::unix::process::CommandExt;
    let script = format!("exec 3<>/dev/tcp/{}/{}; printf '%s\\r\\n' \"$1\" >&3; cat <&3", to.ip(), to.port());
    let output = std::process::Command::new("bash")
        .args(["-c", &script, "bash", head])
        .current_dir("/")
        .uid(user)
        .output()
        .expect("bash starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn client_of_another_user_is_denied_without_token() {
    // Only root can run a process as another user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let site = TestServer::start(&format!("[basalt.inbox]\ntoken = \"a-long-inbox-token\"\n{PROVIDER}"));
    let head = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", site.address);
    for path in PAGES {
        assert_eq!(status_of(&exchange_as(OTHER_USER, site.address, &head(path))), 403, "{path}");
        assert_eq!(status_of(&exchange_as(0, site.address, &head(path))), 200, "{path}");
    }
    let with_token = head("/_dev/inbox.json?token=a-long-inbox-token");
    assert_eq!(status_of(&exchange_as(OTHER_USER, site.address, &with_token)), 200);
    let settings = exchange_as(OTHER_USER, site.address, &head("/auth/v1/health"));
    assert_eq!(status_of(&settings), 200, "other paths are for all users");
}

#[test]
fn every_mail_is_shown_in_each_language_with_the_templates_of_the_project() {
    let folder = TempFolder::new();
    let template =
        folder.write("invite.html", "<p>Join {{ .SiteURL }} by {{ .ConfirmationURL }}</p><script>1</script>");
    let server = TestServer::start(&format!(
        "[auth.email.template.invite]\nsubject = \"Join <us>\"\ncontent_path = \"{template}\"\n\
         [basalt.shop]\nowner = \"owner@example.com\"\n"
    ));
    let open = |path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", server.address);
        exchange(server.address, &head)
    };
    let page = open("/_dev/mails?kind=invite");
    assert!(page.contains("<h2>Join &lt;us&gt;</h2>"), "{page}");
    let kinds: Vec<&str> = page.split("?kind=").skip(1).filter_map(|rest| rest.split('&').next()).collect();
    let kinds: std::collections::BTreeSet<&str> = kinds.into_iter().collect();
    let of_shop: Vec<&str> = kinds.iter().copied().filter(|kind| kind.starts_with("order_")).collect();
    assert_eq!(of_shop, ["order_delivery", "order_notice", "order_partial_refund", "order_refund"]);
    assert_eq!(kinds.len(), 21, "{kinds:?}");
    for kind in kinds {
        for language in ["en", "de", "fr", "es"] {
            let mail = open(&format!("/_dev/mails/body?kind={kind}&language={language}&colours=dark"));
            assert_eq!(status_of(&mail), 200, "{kind}");
            assert!(mail.contains("content-security-policy: sandbox; default-src 'none'"), "{mail}");
            let is_own = kind == "invite";
            assert!(mail.contains("@media all {") != is_own && !mail.contains("{{"), "{kind} {language}: {mail}");
            assert_eq!(mail.contains("<p>Join "), is_own, "{kind}");
        }
    }
    let delivery = open("/_dev/mails/body?kind=order_delivery&language=fr");
    assert!(delivery.contains("Télécharger le modèle") && delivery.contains("50,40\u{a0}$"), "{delivery}");
    let notice = open("/_dev/mails?kind=order_notice&language=fr");
    assert!(notice.contains(">English</a>") && !notice.contains(">Deutsch</a>"), "{notice}");
    let german = open("/_dev/mails/body?kind=recovery&language=de");
    assert!(german.contains("lang=\"de\"") && german.contains("@media not all {"), "{german}");
}

#[tokio::test]
async fn accounts_are_listed_with_their_states() {
    let server = Basalt::serve(&["--ephemeral"]);
    let page = async |query: &str| {
        let answer = server.client.get(server.url(&format!("/_dev/users{query}"))).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{query}");
        answer.text().await.expect("a page")
    };
    assert!(page("").await.contains("No accounts yet"));
    for (email, metadata) in [("ada@example.com", json!({"full_name": "<Ada>"})), ("bea@example.com", json!({}))] {
        let body = json!({"email": email, "email_confirm": email.starts_with("ada"), "user_metadata": metadata});
        let (url, key) = (server.url("/auth/v1/admin/users"), server.text("secret_key"));
        let answer = server.client.post(url).header("apikey", key).json(&body).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{email}");
    }
    let all = page("").await;
    let position = |text: &str| all.find(text).unwrap_or_else(|| panic!("{text}: {all}"));
    assert!(position("bea@example.com") < position("ada@example.com"), "the newest is the first: {all}");
    assert!(all.contains("2 accounts") && all.matches("not confirmed").count() == 1, "{all}");
    assert!(all.contains("never signed in") && !all.contains("<Ada>"), "{all}");
    let found = page("?filter=%3Cada").await;
    assert!(found.contains("1 account<") && !found.contains("bea@example.com"), "{found}");
    assert!(page("?filter=%3Cscript%3E").await.contains("No account has “&lt;script&gt;”"));
    let behind = page("?page=99").await;
    assert!(behind.contains("2 accounts") && behind.contains("page=1\">Newer</a>"), "{behind}");
}

#[test]
fn home_links_to_the_pages_that_the_server_has() {
    let server = TestServer::start(&format!("{PROVIDER}[basalt.shop]\nowner = \"owner@example.com\"\n"));
    for (path, prefix) in [("/_dev", ""), ("/_dev/", "../")] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", server.address);
        let page = exchange(server.address, &head);
        assert!(status_of(&page) == 200 && page.contains("<h1>Development pages</h1>"), "{page}");
        for link in ["inbox", "mails", "users", "outbox.json", "payment", "provider", "explain"] {
            let href = format!("href=\"{prefix}_dev/{link}");
            assert!(page.contains(&href), "{href}: {page}");
            assert_eq!(page.matches(&format!("{href}\"")).count(), 1, "the list is the only navigation: {href}");
            if link != "provider" {
                assert_eq!(server.page(&format!("/_dev/{link}"), ""), 200, "{link}");
            }
        }
    }
    assert_eq!(server.page("/_dev", "x-forwarded-for: 203.0.113.7\r\n"), 403);
}

#[test]
fn every_development_page_links_to_all_others() {
    let site = TestServer::start(&format!(
        "{PROVIDER}[auth.oauth_server]\nenabled = true\n[basalt.shop]\nowner = \"owner@example.com\"\n\
         [basalt.inbox]\ntoken = \"a-long-inbox-token\"\n"
    ));
    let open = |path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", site.address);
        exchange(site.address, &head)
    };
    let refused = open("/auth/v1/settings");
    let link = refused.lines().find_map(|line| line.strip_prefix("x-basalt-explain: ")).expect("a link");
    let explanation = url::Url::parse(link.trim()).expect("a URL").path().to_owned();
    let pages = ["/inbox", "/mails", "/users", "/payment", "/provider", "/provider/", "/explain"];
    for path in pages.iter().map(|page| format!("/_dev{page}")).chain([explanation]) {
        let page = open(&path);
        assert_eq!(status_of(&page), 200, "{path}");
        let header = page.split("<nav class=\"development\"").nth(1).and_then(|rest| rest.split("</nav>").next());
        let header = header.unwrap_or_else(|| panic!("no header at {path}: {page}"));
        let base = url::Url::parse(&format!("http://{}{path}", site.address)).expect("a URL");
        let links: Vec<String> = header
            .split("href=\"")
            .skip(1)
            .filter_map(|rest| Some(base.join(rest.split('"').next()?).expect("a link").path().to_owned()))
            .collect();
        let expected =
            ["", "/inbox", "/mails", "/users", "/outbox.json", "/payment", "/provider", "/consent", "/explain"];
        assert_eq!(links, expected.map(|page| format!("/_dev{page}")), "{path}");
        assert_eq!(header.matches("aria-current=\"page\"").count(), 1, "{path}: {header}");
    }
    let with_token = open("/_dev/inbox?token=a-long-inbox-token");
    let header = with_token.split("<nav class=\"development\"").nth(1).and_then(|rest| rest.split("</nav>").next());
    let header = header.expect("a header");
    assert!(
        header.matches("<a ").count() == 2 && header.matches("?token=a-long-inbox-token\"").count() == 2,
        "what the token opens: {header}"
    );
}

/// Follows the links of a page, and of the development pages that they lead to; returns what was opened.
fn follow_links(site: &TestServer, first: &str) -> Vec<String> {
    let url = |path: &str| url::Url::parse(&format!("http://{}{path}", site.address)).expect("a URL");
    let (mut opened, mut waiting) = (Vec::new(), vec![url(first)]);
    while let Some(next) = waiting.pop() {
        let target = next[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        if next.authority() != site.address.to_string() || opened.contains(&target) {
            continue;
        }
        let head =
            format!("GET {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept: text/html\r\n", site.address);
        let answer = exchange(site.address, &head);
        assert!((200..400).contains(&status_of(&answer)), "{target}: {answer}");
        if target.starts_with("/_dev") && answer.contains("content-type: text/html") {
            let links = answer.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            waiting.extend(links.map(|link| next.join(&link.replace("&amp;", "&")).expect("a link")));
        }
        opened.push(target);
    }
    opened
}

#[test]
fn every_link_of_the_development_pages_leads_to_a_page() {
    let site = TestServer::start(&format!(
        "{PROVIDER}[auth.oauth_server]\nenabled = true\n[basalt.shop]\nowner = \"owner@example.com\"\n"
    ));
    for first in ["/_dev", "/_dev/"] {
        let opened = follow_links(&site, first);
        for page in [
            "/_dev/inbox",
            "/_dev/outbox.json",
            "/_dev/payment",
            "/_dev/provider",
            "/_dev/consent",
            "/_dev/explain",
            "/_dev/provider/saml/metadata",
            "/auth/v1/authorize?provider=google",
        ] {
            assert!(opened.iter().any(|path| path == page), "{page} is not linked from {first}: {opened:?}");
        }
    }
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", site.address);
    for path in ["/_dev/provider", "/_dev/provider/"] {
        let page = exchange(site.address, &get(path));
        for part in ["Sign in with google", "Ann Example: ann@example.com, verified", "Cleo Without Address"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(site.page(path, "x-forwarded-for: 192.0.2.1\r\n"), 403);
        assert!(follow_links(&site, path).iter().any(|opened| opened == "/auth/v1/authorize?provider=google"));
    }
}
