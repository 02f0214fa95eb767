//! The pages on which mailed links of the built-in site end, without a script.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::mfa::totp::generate_code;
use platform::clock::{Clock, SystemClock};
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::support::{Basalt, TempFolder};

const PASSWORD: &str = "correct horse battery";
const NEW_PASSWORD: &str = "a new and longer one";
const ANN: &str = "ann@example.com";
const FACTORS: &str = "[auth.mfa.totp]\nenroll_enabled = true\nverify_enabled = true\n\
                       [auth.mfa.recovery_codes]\nenroll_enabled = true\nverify_enabled = true\n\
                       [auth.mfa.phone]\nenroll_enabled = true\nverify_enabled = true\nmax_frequency = \"1ms\"\n";
const CAPTCHA: &str = "[auth.captcha]\nenabled = true\nprovider = \"hcaptcha\"\nsecret = \"x\"\n";

/// A server whose site is the built-in one.
struct Site {
    server: Basalt,
    client: Client,
    _folder: TempFolder,
}

/// A page as a browser gets it.
#[derive(Debug)]
struct Page {
    status: u16,
    text: String,
}

impl Page {
    fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// The hidden values of the form with this action, that of `way` if one is named.
    fn form(&self, action: &str, way: Option<&str>) -> Vec<(String, String)> {
        let forms = self.text.split("<form ").skip(1).filter_map(|rest| rest.split("</form>").next());
        let mut forms = forms.map(read_hidden).filter(|form| find(form, "action") == action);
        let found = forms.find(|form| way.is_none_or(|way| find(form, "way") == way));
        found.unwrap_or_else(|| panic!("no form {action} {way:?} in {}", self.text))
    }
}

fn read_hidden(form: &str) -> Vec<(String, String)> {
    let inputs = form.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.filter_map(|input| {
        let (name, rest) = input.split_once("\" value=\"")?;
        let value = rest.split('"').next()?;
        Some((name.to_owned(), value.replace("&amp;", "&")))
    });
    pairs.collect()
}

fn find<'a>(form: &'a [(String, String)], name: &str) -> &'a str {
    form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap_or_default()
}

impl Site {
    /// Starts a server; two mails to one address may follow each other at once.
    fn start(settings: &str) -> Self {
        Self::start_with(&format!("[auth.email]\nmax_frequency = \"1ms\"\n{settings}"))
    }

    fn start_with(settings: &str) -> Self {
        let folder = TempFolder::new();
        let config = folder.write("config.toml", settings);
        let server = Basalt::serve(&["--ephemeral", "--config", &config]);
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        Self { server, client, _folder: folder }
    }

    /// Calls the auth API: as an administrator, or with the token of a session.
    async fn call(&self, method: Method, path: &str, session: Option<&str>, body: Value) -> Value {
        let key = self.server.text("secret_key");
        let request = self.client.request(method, self.server.url(&format!("/auth/v1{path}"))).header("apikey", &key);
        let answer = request.bearer_auth(session.unwrap_or(&key)).json(&body).send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("text");
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    async fn post(&self, path: &str, session: Option<&str>, body: Value) -> Value {
        self.call(Method::POST, path, session, body).await
    }

    /// Creates a user and signs in.
    async fn create_user(&self) -> Value {
        self.post("/admin/users", None, json!({"email": ANN, "password": PASSWORD, "email_confirm": true})).await;
        self.post("/token?grant_type=password", None, json!({"email": ANN, "password": PASSWORD})).await
    }

    async fn sign_in(&self, password: &str) -> u16 {
        self.server.auth("/token?grant_type=password", Some(json!({"email": ANN, "password": password}))).await.0
    }

    /// Asks for a new password, and returns the link.
    async fn recover(&self) -> String {
        let count = self.mails("recovery").await.len();
        self.post("/recover", None, json!({"email": ANN})).await;
        self.link("recovery", count + 1).await
    }

    async fn mails(&self, kind: &str) -> Vec<Value> {
        let mails =
            self.client.get(self.server.url(&format!("/_dev/inbox.json?to={ANN}"))).send().await.expect("mails");
        let mails: Value = mails.json().await.expect("JSON");
        let messages = mails["messages"].as_array().cloned().unwrap_or_default();
        messages.into_iter().filter(|mail| mail["kind"] == kind).collect()
    }

    /// Waits until there are so many mails of a kind, and returns the link of the latest.
    async fn link(&self, kind: &str, count: usize) -> String {
        for _ in 0..200 {
            let mails = self.mails(kind).await;
            if mails.len() == count {
                return mails[0]["link"].as_str().expect("a link").to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("there are {} mails of the kind {kind}, not {count}", self.mails(kind).await.len());
    }

    async fn open_in(&self, link: &str, language: &str) -> Page {
        let request = self.client.get(link).header("accept", "text/html").header("accept-language", language);
        let request = request.header("sec-fetch-mode", "navigate").header("user-agent", "Mozilla/5.0 Firefox/140.0");
        read(request.send().await.expect("an answer")).await
    }

    async fn open(&self, link: &str) -> Page {
        self.open_in(link, "en").await
    }

    /// Sends a form with one entry.
    async fn send(&self, mut form: Vec<(String, String)>, name: &str, value: &str) -> Page {
        form.push((name.to_owned(), value.to_owned()));
        let request = self.client.post(self.server.url("/auth/v1/verify/link")).form(&form);
        read(request.header("accept", "text/html").send().await.expect("an answer")).await
    }

    async fn execute(&self, statement: &'static str) {
        let mut database = self.server.connect_after_indexes().await;
        sqlx::raw_sql(statement).execute(&mut database).await.expect("executed");
    }

    /// Lets all links end that were sent before.
    async fn expire_links(&self) {
        self.execute(
            "UPDATE auth.users SET recovery_sent_at = recovery_sent_at - interval '2 days', \
             confirmation_sent_at = confirmation_sent_at - interval '2 days'",
        )
        .await;
    }

    /// Enrolls an authenticator app; returns it with a session that it raised.
    async fn enroll_app(&self, session: &Value) -> (Value, String) {
        let token = session["access_token"].as_str().expect("a token");
        let factor =
            self.post("/factors", Some(token), json!({"factor_type": "totp", "friendly_name": "my <phone>"})).await;
        let id = factor["id"].as_str().expect("an id");
        let challenge = self.post(&format!("/factors/{id}/challenge"), Some(token), json!({})).await;
        let body = json!({"challenge_id": challenge["id"], "code": code_of(&factor, 0)});
        let raised = self.post(&format!("/factors/{id}/verify"), Some(token), body).await;
        (factor, raised["access_token"].as_str().expect("a token").to_owned())
    }

    /// The code of the latest text message.
    async fn texted_code(&self, count: usize) -> String {
        for _ in 0..200 {
            let url = self.server.url("/_dev/messages?channel=sms");
            let found: Value = self.client.get(url).send().await.expect("an answer").json().await.expect("JSON");
            let messages = found["messages"].as_array().cloned().unwrap_or_default();
            if messages.len() == count {
                return messages[count - 1]["code"].as_str().expect("a code").to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no text message was sent");
    }
}

async fn read(answer: reqwest::Response) -> Page {
    Page { status: answer.status().as_u16(), text: answer.text().await.expect("text") }
}

/// The code of an app; each step is one that was not used.
fn code_of(factor: &Value, step: i64) -> String {
    let secret = factor["totp"]["secret"].as_str().expect("a secret");
    generate_code(secret, SystemClock.now() + chrono::TimeDelta::seconds(30 * step)).expect("a code")
}

fn level_of(token: &str) -> String {
    let payload = token.split('.').nth(1).expect("a payload");
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).expect("Base64")).expect("JSON");
    claims["aal"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn new_password_of_an_account_with_an_authenticator_needs_its_code() {
    let site = Site::start(FACTORS);
    let session = site.create_user().await;
    let (factor, _) = site.enroll_app(&session).await;
    let link = site.recover().await;
    let page = site.open(&link).await;
    assert_eq!(page.status, 200);
    assert!(page.has("<h1>Confirm that it is you</h1>") && page.has("Code of the app “my &lt;phone&gt;”"), "{page:?}");
    assert!(!page.has("name=\"password\"") && page.has("autocomplete=\"one-time-code\""), "{page:?}");

    let form = page.form("code", None);
    let refused = site.send(form.clone(), "code", "000000").await;
    assert_eq!(refused.status, 422);
    assert!(refused.has("role=\"alert\"") && refused.has("This code is not right."), "{refused:?}");
    let too_early = vec![
        ("action".to_owned(), "password".to_owned()),
        ("type".to_owned(), "recovery".to_owned()),
        ("session".to_owned(), find(&form, "session").to_owned()),
    ];
    let too_early = site.send(too_early, "password", NEW_PASSWORD).await;
    assert!(too_early.has("<h1>Confirm that it is you</h1>"), "{too_early:?}");
    assert_eq!(site.sign_in(PASSWORD).await, 200);

    let code = code_of(&factor, 1);
    let page = site.send(refused.form("code", None), "code", &format!(" {} {} ", &code[..3], &code[3..])).await;
    assert_eq!(page.status, 200);
    let form = page.form("password", None);
    assert_eq!(level_of(find(&form, "session")), "aal2");
    let weak = site.send(form, "password", "short").await;
    assert_eq!(weak.status, 422);
    let saved = site.send(weak.form("password", None), "password", NEW_PASSWORD).await;
    assert!(saved.has("<h1>Your new password is saved</h1>"), "{saved:?}");
    assert_eq!((site.sign_in(PASSWORD).await, site.sign_in(NEW_PASSWORD).await), (400, 200));
}

#[tokio::test]
async fn second_step_speaks_four_languages() {
    let site = Site::start(FACTORS);
    let session = site.create_user().await;
    site.enroll_app(&session).await;
    for (language, title) in [
        ("de-AT", "Bestätigen Sie, dass Sie es sind"),
        ("fr", "Confirmez que c’est bien vous"),
        ("es-MX", "Confirma que eres tú"),
        ("en", "Confirm that it is you"),
    ] {
        let link = site.recover().await;
        let page = site.open_in(&link, language).await;
        assert!(page.has(&format!("<h1>{title}</h1>")), "{language}: {page:?}");
    }
}

#[tokio::test]
async fn recovery_code_is_a_second_step_too() {
    let site = Site::start(FACTORS);
    let session = site.create_user().await;
    let (_, raised) = site.enroll_app(&session).await;
    let codes = site.post("/factors/recovery-codes", Some(&raised), json!({})).await;
    let link = site.recover().await;
    let page = site.open(&link).await;
    assert!(page.has("Use a recovery code"), "{page:?}");
    let page = site.send(page.form("way", Some("recovery")), "", "").await;
    assert!(page.has(">Recovery code</label>") && page.has("Use the app “my &lt;phone&gt;”"), "{page:?}");
    let refused = site.send(page.form("code", Some("recovery")), "code", "abcd-efgh-ijkl-mnop").await;
    assert_eq!(refused.status, 422);
    let code = codes["codes"][0].as_str().expect("a code");
    let page = site.send(refused.form("code", Some("recovery")), "code", code).await;
    let saved = site.send(page.form("password", None), "password", NEW_PASSWORD).await;
    assert!(saved.has("<h1>Your new password is saved</h1>"), "{saved:?}");
    assert_eq!(site.sign_in(NEW_PASSWORD).await, 200);
}

#[tokio::test]
async fn many_wrong_codes_have_to_wait_on_the_page() {
    let site = Site::start(
        "[auth.mfa.totp]\nenroll_enabled = true\nverify_enabled = true\n\
         [auth.mfa.recovery_codes]\nenroll_enabled = true\nverify_enabled = true\nmax_verify_attempts = 3\n",
    );
    let session = site.create_user().await;
    let (_, raised) = site.enroll_app(&session).await;
    site.post("/factors/recovery-codes", Some(&raised), json!({})).await;
    let link = site.recover().await;
    let page = site.open(&link).await;
    let form = site.send(page.form("way", Some("recovery")), "", "").await.form("code", Some("recovery"));
    let mut last = site.send(form.clone(), "code", "abcdefgh").await;
    for _ in 0..12 {
        if last.status == 429 {
            break;
        }
        last = site.send(form.clone(), "code", "abcdefgh").await;
    }
    assert_eq!(last.status, 429);
    assert!(last.has("role=\"alert\"") && last.has("too many"), "{last:?}");
    last.form("code", Some("recovery"));
}

#[tokio::test]
async fn text_message_is_sent_by_a_click() {
    let site = Site::start(FACTORS);
    let session = site.create_user().await;
    let token = session["access_token"].as_str().expect("a token");
    let body = json!({"factor_type": "phone", "friendly_name": "phone", "phone": "+15550100124"});
    let factor = site.post("/factors", Some(token), body).await;
    let id = factor["id"].as_str().expect("an id");
    let challenge = site.post(&format!("/factors/{id}/challenge"), Some(token), json!({"channel": "sms"})).await;
    let body = json!({"challenge_id": challenge["id"], "code": site.texted_code(1).await});
    site.post(&format!("/factors/{id}/verify"), Some(token), body).await;

    let link = site.recover().await;
    let page = site.open(&link).await;
    assert!(page.has("Send a code to the number ending in 24") && !page.has("name=\"code\""), "{page:?}");
    site.texted_code(1).await;
    let page = site.send(page.form("way", Some(id)), "", "").await;
    assert!(page.has("A code is on its way to the number ending in 24."), "{page:?}");
    let code = site.texted_code(2).await;
    let page = site.send(page.form("code", Some(id)), "code", &code).await;
    let saved = site.send(page.form("password", None), "password", NEW_PASSWORD).await;
    assert!(saved.has("<h1>Your new password is saved</h1>"), "{saved:?}");
}

#[tokio::test]
async fn account_whose_second_step_needs_a_script_is_told_what_to_do() {
    let site = Site::start(FACTORS);
    site.create_user().await;
    site.execute(
        "INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) \
         SELECT gen_random_uuid(), id, 'webauthn', 'verified', now(), now() FROM auth.users",
    )
    .await;
    let link = site.recover().await;
    let page = site.open(&link).await;
    assert_eq!(page.status, 403);
    assert!(page.has("<h1>Your password is not changed yet</h1>") && page.has("class=\"button\""), "{page:?}");
}

#[tokio::test]
async fn expired_link_is_sent_again_without_a_captcha() {
    let site = Site::start(CAPTCHA);
    site.post("/admin/users", None, json!({"email": ANN, "password": PASSWORD, "email_confirm": true})).await;
    let link = site.recover().await;
    site.expire_links().await;
    let page = site.open(&link).await;
    assert_eq!(page.status, 410);
    let sent = site.send(page.form("resend", None), "", "").await;
    assert!(sent.has("<h1>Look into your mailbox</h1>"), "{sent:?}");
    let again = site.link("recovery", 2).await;
    assert_ne!(again, link);
    assert!(site.open(&again).await.has("name=\"password\""));
}

#[tokio::test]
async fn used_link_says_where_to_ask_where_a_captcha_is_needed() {
    let site = Site::start(CAPTCHA);
    site.post("/admin/users", None, json!({"email": ANN, "password": PASSWORD, "email_confirm": true})).await;
    let link = site.recover().await;
    site.open(&link).await;
    let page = site.open(&link).await;
    assert_eq!(page.status, 410);
    assert!(page.has("Ask for a new one where you asked for this one"), "{page:?}");
    assert!(!page.has("<form") && page.has("class=\"button\""), "{page:?}");
    for address in [ANN, "nobody@example.com"] {
        let form = vec![("action".to_owned(), "resend".to_owned()), ("type".to_owned(), "recovery".to_owned())];
        let forged = site.send(form, "email", address).await;
        assert_eq!(forged.status, 410);
        assert!(forged.has("Ask for a new one where you asked for this one"), "{forged:?}");
    }
    assert_eq!(site.mails("recovery").await.len(), 1);
}

#[tokio::test]
async fn mails_that_a_link_sends_again_are_limited() {
    let site = Site::start_with(&format!("[auth.email]\nmax_frequency = \"1h\"\n{CAPTCHA}"));
    site.post("/admin/users", None, json!({"email": ANN, "password": PASSWORD, "email_confirm": true})).await;
    let link = site.recover().await;
    site.expire_links().await;
    let page = site.open(&link).await;
    let refused = site.send(page.form("resend", None), "", "").await;
    assert_eq!(refused.status, 429);
    assert!(refused.has("<h1>Please wait a little</h1>"), "{refused:?}");
    assert_eq!(site.mails("recovery").await.len(), 1);
}

#[tokio::test]
async fn link_that_a_limit_refuses_is_a_page_that_says_when_to_try_again() {
    let site = Site::start("[auth.rate_limit]\ntoken_verifications = 1\n");
    site.post("/admin/users", None, json!({"email": ANN, "password": PASSWORD, "email_confirm": true})).await;
    let link = site.recover().await;
    let mut page = site.open(&link).await;
    for _ in 0..80 {
        if page.status == 429 {
            break;
        }
        page = site.open(&link).await;
    }
    assert_eq!(page.status, 429);
    assert!(page.has("<h1>Please wait a little</h1>") && page.has("seconds."), "{page:?}");
}

#[tokio::test]
async fn expired_links_of_all_kinds_are_sent_again() {
    let site = Site::start("enable_confirmations = true\n");
    let (status, _) = site.server.auth("/signup", Some(json!({"email": ANN, "password": PASSWORD}))).await;
    assert_eq!(status, 200);
    let confirmation = site.link("confirmation", 1).await;
    site.expire_links().await;
    let page = site.open(&confirmation).await;
    let sent = site.send(page.form("resend", None), "", "").await;
    assert!(sent.has("<h1>Look into your mailbox</h1>"), "{sent:?}");
    let page = site.open(&site.link("confirmation", 2).await).await;
    assert!(page.has("<h1>Your email address is confirmed</h1>"), "{page:?}");

    let session = site.post("/token?grant_type=password", None, json!({"email": ANN, "password": PASSWORD})).await;
    site.post("/otp", None, json!({"email": ANN, "create_user": false})).await;
    let link = site.link("magic_link", 1).await;
    site.expire_links().await;
    let page = site.open(&link).await;
    site.send(page.form("resend", None), "", "").await;
    let page = site.open(&site.link("magic_link", 2).await).await;
    assert!(page.has("<h1>You are signed in</h1>"), "{page:?}");

    let token = session["access_token"].as_str().expect("a token");
    site.call(Method::PUT, "/user", Some(token), json!({"email": "new@example.com"})).await;
    let link = site.link("email_change", 1).await;
    site.execute("UPDATE auth.users SET email_change_sent_at = email_change_sent_at - interval '2 days'").await;
    let page = site.open(&link).await;
    assert_eq!(page.status, 410);
    site.send(page.form("resend", None), "", "").await;
    let page = site.open(&site.link("email_change", 2).await).await;
    assert!(page.has("<h1>One confirmation is missing</h1>"), "{page:?}");
}

#[tokio::test]
async fn expired_invitation_is_sent_again_and_welcomes() {
    let site = Site::start("");
    site.post("/invite", None, json!({"email": ANN})).await;
    let link = site.link("invite", 1).await;
    site.expire_links().await;
    let page = site.open(&link).await;
    assert_eq!(page.status, 410);
    site.send(page.form("resend", None), "", "").await;
    let page = site.open(&site.link("invite", 2).await).await;
    assert!(page.has("<h1>Welcome to "), "{page:?}");
    assert_eq!(site.mails("recovery").await.len(), 0);
}

#[tokio::test]
async fn used_invitation_leads_to_a_new_password() {
    let site = Site::start("");
    site.post("/invite", None, json!({"email": ANN})).await;
    let link = site.link("invite", 1).await;
    assert!(site.open(&link).await.has("<h1>Welcome to "));
    let used = site.open(&link).await;
    site.send(used.form("resend", None), "email", ANN).await;
    let page = site.open(&site.link("recovery", 1).await).await;
    assert!(page.has("<h1>Choose a new password</h1>"), "{page:?}");
    site.send(page.form("password", None), "password", NEW_PASSWORD).await;
    assert_eq!(site.sign_in(NEW_PASSWORD).await, 200);
}

#[tokio::test]
async fn page_of_a_new_password_tells_the_whole_rule() {
    let rule = "[auth]\nminimum_password_length = 10\npassword_requirements = \"lower_upper_letters_digits_symbols\"\n";
    let site = Site::start_with(&format!("{rule}[auth.email]\nmax_frequency = \"1ms\"\n"));
    site.post("/admin/users", None, json!({"email": ANN, "password": "Abcdefg1!x", "email_confirm": true})).await;
    for (language, expected) in [
        (
            "en",
            "At least 10 characters. Among them a small letter, a capital letter, a digit and a symbol such as ! ? # %.",
        ),
        ("de", "Darunter ein Kleinbuchstabe, ein Großbuchstabe, eine Ziffer und ein Sonderzeichen wie ! ? # %."),
        ("fr", "Parmi eux une minuscule, une majuscule, un chiffre et un symbole comme ! ? # %."),
        ("es", "Entre ellos una minúscula, una mayúscula, una cifra y un símbolo como ! ? # %."),
    ] {
        let link = site.recover().await;
        let page = site.open_in(&link, language).await;
        assert!(page.has(expected), "{language}: {page:?}");
        let long = site.send(page.form("password", None), "password", &"Ab1!".repeat(20)).await;
        assert_eq!(long.status, 422);
        if language == "en" {
            assert!(long.has("at most 72 characters"), "{long:?}");
        }
    }
}
