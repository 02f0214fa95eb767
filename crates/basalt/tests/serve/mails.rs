//! The built-in mails of a running server: brand, language, own texts, recipients.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::faults::FakeMailServer;
use super::support::{Basalt, TempFolder, eventually};

const SHOP: &str = "[auth.email]\nenable_confirmations = true\n\n[basalt.shop]\nowner = \"owner@example.com\"\n\
                    name = \"Paper & Post\"\naccent_color = \"#b5341f\"\naddress = \"1 Mill Lane, Bath\"\n\n\
                    [functions.send-submission]\nverify_jwt = false\n";

fn serve(config: &str) -> (Basalt, TempFolder) {
    let scratch = TempFolder::new();
    let file = scratch.write("config.toml", config);
    (Basalt::serve(&["--test", "--config", &file]), scratch)
}

/// Sends JSON with a preferred language.
async fn post(server: &Basalt, path: &str, languages: &str, body: Value) {
    let request = server.client.post(server.url(path)).header("apikey", server.text("publishable_key"));
    let answer = request.header("accept-language", languages).json(&body).send().await.expect("an answer");
    let (status, text) = (answer.status(), answer.text().await.expect("a text"));
    assert!(status.is_success(), "{path}: {status} {text}");
}

/// Returns the only message to an address.
async fn message_to(server: &Basalt, to: &str) -> Value {
    let url = server.url(&format!("/_dev/messages?to={to}&wait=20"));
    let found: Value = server.client.get(url).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(found["messages"].as_array().map(Vec::len), Some(1), "{to}: {found}");
    found["messages"][0].clone()
}

fn member<'a>(message: &'a Value, name: &str) -> &'a str {
    message[name].as_str().unwrap_or_else(|| panic!("{name} of {message}"))
}

#[tokio::test]
async fn account_mails_have_the_brand_and_the_language_of_the_user() {
    let (server, _scratch) = serve(SHOP);
    let sign_up = async |email: &str, languages: &str, data: Value| {
        let body = json!({"email": email, "password": "correct horse", "data": data});
        post(&server, "/auth/v1/signup", languages, body).await;
        message_to(&server, email).await
    };
    let german = sign_up("ann@example.com", "ja, de-CH;q=0.9, fr;q=0.5", json!({})).await;
    assert_eq!(member(&german, "subject"), "Bestätigen Sie Ihre E-Mail-Adresse");
    let html = member(&german, "html");
    for part in
        ["lang=\"de\"", "Paper &amp; Post", "#b5341f", "1 Mill Lane, Bath", "<!--[if mso]>", "prefers-color-scheme"]
    {
        assert!(html.contains(part), "{part}: {html}");
    }
    let text = member(&german, "text");
    assert!(text.contains("Danke für Ihre Registrierung") && text.contains(member(&german, "link")), "{text}");
    let spanish = sign_up("bob@example.com", "de", json!({"locale": "es-MX"})).await;
    assert_eq!(member(&spanish, "subject"), "Confirma tu dirección de correo");
    let other = sign_up("cat@example.com", "ja", json!({})).await;
    assert_eq!(member(&other, "subject"), "Confirm your email address");
}

#[tokio::test]
async fn configured_template_replaces_the_built_in_mail() {
    let template = "\n[auth.email.template.confirmation]\nsubject = \"Hello\"\ncontent_path = \"./hello.html\"\n";
    let scratch = TempFolder::new();
    scratch.write("hello.html", "<p>Welcome: {{ .ConfirmationURL }}</p>");
    let file = scratch.write("config.toml", &format!("{SHOP}{template}"));
    let server = Basalt::serve(&["--test", "--config", &file]);
    post(&server, "/auth/v1/signup", "de", json!({"email": "ann@example.com", "password": "correct horse"})).await;
    let message = message_to(&server, "ann@example.com").await;
    assert_eq!(member(&message, "subject"), "Hello");
    assert!(member(&message, "html").starts_with("<p>Welcome: http"), "{message}");
}

#[tokio::test]
async fn submission_is_confirmed_in_the_language_of_the_visitor() {
    let (server, _scratch) = serve(SHOP);
    let body = json!({"description": "Please write to ann@example.com"});
    post(&server, "/functions/v1/send-submission", "fr-CA, en;q=0.5", body).await;
    let confirmation = message_to(&server, "ann@example.com").await;
    assert_eq!(member(&confirmation, "subject"), "Nous avons reçu votre demande");
    for (part, text) in
        [("html", "Paper &amp; Post"), ("text", "Merci de votre message à Paper & Post"), ("html", "lang=\"fr\"")]
    {
        assert!(member(&confirmation, part).contains(text), "{confirmation}");
    }
    let notice = message_to(&server, "owner@example.com").await;
    assert_eq!(member(&notice, "subject"), "New submission for Paper & Post");
}

#[tokio::test]
async fn several_addresses_are_reported_to_the_owner_only() {
    let (server, _scratch) = serve(SHOP);
    let body = json!({"description": "ann@example.com, or bob@example.com"});
    post(&server, "/functions/v1/send-submission", "en", body).await;
    let notice = message_to(&server, "owner@example.com").await;
    let expected =
        "The details name several addresses, so it is not known which is the sender’s: nobody was sent a confirmation.";
    assert!(member(&notice, "text").contains(expected) && member(&notice, "html").contains(expected), "{notice}");
    let all: Value =
        server.client.get(server.url("/_dev/messages")).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(all["messages"].as_array().map(Vec::len), Some(1), "{all}");
}

#[tokio::test]
async fn no_route_serves_the_products() {
    let (server, _scratch) = serve(SHOP);
    for path in [
        "/products/products.json",
        "/products/01-professional-newsletter.zip",
        "/assets/01-professional-newsletter.zip",
    ] {
        let answer = server.client.get(server.url(path)).send().await.expect("an answer");
        assert_eq!(answer.status(), 404, "{path}");
        assert!(!answer.bytes().await.expect("a body").starts_with(b"PK"), "{path}");
    }
}

#[tokio::test]
async fn form_of_a_link_page_is_refused_from_pages_of_other_sites() {
    let (server, _scratch) = serve(SHOP);
    post(&server, "/auth/v1/signup", "en", json!({"email": "ann@example.com", "password": "correct horse"})).await;
    message_to(&server, "ann@example.com").await;
    let ask = async |header: Option<(&str, &str)>| {
        let form = [("action", "resend"), ("type", "recovery"), ("email", "ann@example.com")];
        let request = server.client.post(server.url("/auth/v1/verify/link")).form(&form);
        let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        request.send().await.expect("an answer").status().as_u16()
    };
    assert_eq!(ask(Some(("sec-fetch-site", "cross-site"))).await, 403);
    assert_eq!(ask(Some(("sec-fetch-site", "same-site"))).await, 403);
    // Browsers name only the origin of the page to a server without HTTPS on another machine.
    assert_eq!(ask(Some(("origin", "http://evil.example"))).await, 403);
    assert_eq!(ask(Some(("origin", "null"))).await, 403);
    message_to(&server, "ann@example.com").await;
    assert_eq!(ask(Some(("sec-fetch-site", "same-origin"))).await, 200);
    assert_eq!(ask(Some(("origin", &server.text("url")))).await, 200);
    assert_eq!(ask(None).await, 200, "older browsers do not name the site");
}

#[tokio::test]
async fn mail_server_without_a_name_of_the_sender_gets_that_of_the_project() {
    for (settings, name) in [
        ("project_id = \"stationery\"\n", "stationery"),
        ("[basalt.shop]\nname = \"Paper-Post\"\n[basalt.shop.payment]\nallow_placeholder_links = true\n", "Paper-Post"),
        ("project_id = \"stationery\"\n[auth.email.smtp]\nsender_name = \"Chosen\"\n", "Chosen"),
    ] {
        let (mails, listener) = (FakeMailServer::default(), TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let port = listener.local_addr().expect("an address").port();
        mails.listen(listener);
        let values = format!(
            "host = \"127.0.0.1\"\nport = {port}\nuser = \"\"\npass = \"\"\nadmin_email = \"a@shop.example\"\n"
        );
        let table = "[auth.email.smtp]\n";
        let config = match settings.split_once(table) {
            Some((before, after)) => format!("{before}{table}{values}{after}"),
            None => format!("{settings}{table}{values}"),
        };
        let scratch = TempFolder::new();
        let file = scratch.write("config.toml", &format!("{config}[auth.email]\nenable_confirmations = true\n"));
        let server = Basalt::serve(&["--ephemeral", "--config", &file]);
        post(&server, "/auth/v1/signup", "en", json!({"email": "ann@example.com", "password": "correct horse"})).await;
        eventually("a mail", || !mails.list_headers("From").is_empty());
        let from = mails.list_headers("From");
        assert!(from[0].contains(name) && from[0].contains("<a@shop.example>"), "{from:?}");
    }
}
