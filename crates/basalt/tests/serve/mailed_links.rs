//! Links in mails as programs and applications open them.

use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use super::support::{Basalt, TempFolder};

const BROWSER: [(&str, &str); 4] = [
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ("accept", "text/html,application/xhtml+xml"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

struct Project {
    server: Basalt,
    client: Client,
    _folder: TempFolder,
}

impl Project {
    fn start(links: &str) -> Self {
        let folder = TempFolder::new();
        let config = folder.write(
            "config.toml",
            &format!(
                "[auth]\nsite_url = \"http://127.0.0.1:3000\"\n[auth.email]\nenable_confirmations = true\n\
                 [basalt.mailed_links]\n{links}\n"
            ),
        );
        let server = Basalt::serve(&["--ephemeral", "--config", &config]);
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        Self { server, client, _folder: folder }
    }

    /// Signs up, and returns the link of the mail.
    async fn sign_up(&self, email: &str) -> String {
        let body = json!({"email": email, "password": "correct horse battery"});
        let request = self.client.post(self.server.url("/auth/v1/signup"));
        let answer = request.header("apikey", self.server.text("publishable_key")).json(&body).send().await;
        assert_eq!(answer.expect("an answer").status(), 200);
        let path = format!("/_dev/inbox.json?to={email}&wait=20");
        let mails = self.client.get(self.server.url(&path)).send().await.expect("mails");
        let mails: Value = mails.json().await.expect("JSON");
        mails["messages"][0]["link"].as_str().unwrap_or_else(|| panic!("no link: {mails}")).to_owned()
    }

    async fn open(&self, method: Method, link: &str, headers: &[(&str, &str)]) -> Response {
        let request = self.client.request(method, link);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.expect("an answer")
    }
}

fn location(answer: &Response) -> String {
    answer.headers().get("location").map(|value| value.to_str().expect("text").to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn requests_of_the_head_and_prefetches_get_the_button_and_use_no_link_up() {
    for (button, email) in [("programs", "ann@example.com"), ("always", "bob@example.com")] {
        let project = Project::start(&format!("button = \"{button}\""));
        let link = project.sign_up(email).await;
        for headers in [&[][..], &BROWSER[..], &[("user-agent", "curl/8.0")]] {
            let head = project.open(Method::HEAD, &link, headers).await;
            assert_eq!((head.status().as_u16(), location(&head)), (200, String::new()), "{button} {headers:?}");
            assert_eq!(head.headers()["content-type"], "text/html; charset=utf-8");
            assert_eq!(head.text().await.expect("text"), "");
        }
        let mut prefetch = BROWSER.to_vec();
        prefetch.push(("sec-purpose", "prefetch;prerender"));
        let page = project.open(Method::GET, &link, &prefetch).await;
        assert_eq!(page.status(), 200, "{button}");
        let text = page.text().await.expect("text");
        assert!(text.contains("<form method=\"post\"") && text.contains("value=\"open\""), "{button}: {text}");
        let form = [("action", "open"), ("type", "signup"), ("token", find_token(&link))];
        let opened = project.client.post(project.server.url("/auth/v1/verify/link")).form(&form).send().await;
        let opened = opened.expect("an answer");
        assert!(location(&opened).contains("#access_token="), "{button}: nothing has used the link: {opened:?}");
    }
}

fn find_token(link: &str) -> &str {
    let (_, rest) = link.split_once("token=").expect("a token");
    rest.split('&').next().expect("a value")
}

#[tokio::test]
async fn without_the_button_the_auth_api_answers_as_before() {
    let project = Project::start("button = \"never\"");
    let link = project.sign_up("ann@example.com").await;
    assert_eq!(project.open(Method::HEAD, &link, &BROWSER).await.status(), 405);
    let opened = project.open(Method::GET, &link, &BROWSER).await;
    assert!(location(&opened).contains("#access_token="), "{opened:?}");
}

#[tokio::test]
async fn refused_link_of_an_application_ends_on_the_page_if_the_operator_chooses_so() {
    for (setting, is_page) in [("refused = \"page\"", true), ("refused = \"redirect\"", false), ("", false)] {
        let project = Project::start(setting);
        let link = project.sign_up("ann@example.com").await;
        let first = project.open(Method::GET, &link, &BROWSER).await;
        assert!(location(&first).starts_with("http://127.0.0.1:3000"), "a link that works leads to the application");
        let again = project.open(Method::GET, &link, &BROWSER).await;
        if is_page {
            assert_eq!((again.status().as_u16(), location(&again)), (410, String::new()));
            let text = again.text().await.expect("text");
            assert!(text.contains("This link has expired or was used") && text.contains("value=\"resend\""), "{text}");
        } else {
            assert_eq!(again.status(), 303, "{setting}");
            assert!(location(&again).contains("error_code=otp_expired"), "{setting}: {again:?}");
        }
    }
}
