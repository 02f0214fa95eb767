//! Pages of links in mails, in `basalt serve`: what a link has led to where the site has no page for it, what follows a
//! refused link, and a button that keeps programs from using a link up.
//!
//! A link is used by the auth API alone; its redirect to the built-in site becomes a page. Redirects to applications stay as
//! they are (`docs/compatibility.md`).

mod links;
mod outcome;
mod page;
mod requests;
mod second_step;
mod texts;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use foundation::email::Email;
use foundation::error::ErrorCode;
use foundation::mail_brand::MailBrand;
use gotrue_rs::app::App;
use gotrue_rs::config::Config;
use gotrue_rs::services::mailed_links::{find_recipient, replace_by_code, send_again};
use gotrue_rules::domain::password::MAX_BYTES;
use gotrue_rules::domain::redirect::{RedirectRequest, is_loopback_url};
use http::header::{ACCEPT, LOCATION};
use http::{Method, StatusCode};
use http_edge::request::{is_prefetch, is_same_origin, is_without_user};
use serde_json::json;
use tokio::sync::watch;
use url::{Position, Url, form_urlencoded};

pub(crate) use self::links::MailedLinks;
use self::outcome::{LinkOutcome, leads_to};
use self::page::{Form, LinkBrand, LinkPage, format_address_field, format_password_field};
use self::requests::{Answer, DEFAULT_WAIT, Sender, read_form};
use self::second_step::{EnteredCode, PasswordChange};
use crate::config_file::mailed_links::{LinkButton, MailedLinkSettings};

/// The path of links below the auth API, and that of the forms.
const LINK_PATH: &str = "/verify";
const LINK_FORM_PATH: &str = "/verify/link";
/// The beginning of the token of a link of the PKCE flow.
const PKCE_PREFIX: &str = "pkce_";
/// The code of a link that is wrong, expired or used.
const EXPIRED: &str = ErrorCode::OtpExpired.as_str();

/// What the pages know about their project.
pub(crate) struct LinkFacts {
    pub name: String,
    /// Its look.
    pub brand: MailBrand,
    /// Whether the site at its address is the built-in one.
    pub is_built_in: bool,
    pub settings: MailedLinkSettings,
}

/// A link as a request presents it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Link {
    kind: String,
    token: String,
    redirect_to: String,
}

impl Link {
    fn from_query(query: &str) -> Self {
        let mut link = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let member = match &*name {
                "type" => &mut link.kind,
                "token" => &mut link.token,
                "redirect_to" => &mut link.redirect_to,
                _ => continue,
            };
            if member.is_empty() {
                *member = value.into_owned();
            }
        }
        link
    }

    fn to_query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("token", &self.token).append_pair("type", &self.kind);
        query.append_pair("redirect_to", &self.redirect_to).finish()
    }

    /// The members of a form that carry the link.
    fn to_hidden(&self, action: &'static str) -> [(&'static str, &str); 4] {
        [("action", action), ("token", &self.token), ("type", &self.kind), ("redirect_to", &self.redirect_to)]
    }
}

impl MailedLinks {
    /// Creates the pages of a server at `url`.
    pub(crate) fn new(facts: LinkFacts, config: &Config, url: &str, app: watch::Receiver<Arc<App>>) -> Self {
        let LinkFacts { name, brand, is_built_in, settings } = facts;
        let site_url = config.policy.site.site_url.clone();
        let site = Url::parse(&site_url).ok();
        let own_site = site.clone().filter(|_| is_built_in && leads_to_origin(&site_url, url));
        let button = match settings.button {
            LinkButton::Automatic if is_loopback_url(&config.policy.site.external_url) => LinkButton::Never,
            LinkButton::Automatic => LinkButton::Programs,
            chosen => chosen,
        };
        let is_named = site.as_ref().is_some_and(|url| url.domain().is_some()) && !is_loopback_url(&site_url);
        let host = site.filter(|_| is_named).map(|url| url[Position::BeforeHost..Position::AfterPort].to_owned());
        let address = host.unwrap_or_else(|| name.clone());
        let project = LinkBrand { name, brand, site_url, address };
        Self { app, project, own_site, are_refusals_shown: settings.are_refusals_shown, button }
    }

    /// Returns whether a request, whose path is below the auth API, is for the pages.
    pub(crate) fn is_of(&self, request: &Request) -> bool {
        match (request.method(), request.uri().path()) {
            (&Method::POST, LINK_FORM_PATH) => true,
            (&Method::GET, LINK_PATH) => !is_prefetch(request.headers()) || self.needs_button(request),
            (&Method::HEAD, LINK_PATH) => self.needs_button(request),
            _ => false,
        }
    }

    /// Returns whether a request gets the button in place of what the link does.
    fn needs_button(&self, request: &Request) -> bool {
        let is_program = || {
            let headers = request.headers();
            request.method() == Method::HEAD || is_prefetch(headers) || is_without_user(headers)
        };
        let is_shown = match self.button {
            LinkButton::Always => true,
            LinkButton::Programs => is_program(),
            LinkButton::Automatic | LinkButton::Never => false,
        };
        is_shown && !Link::from_query(request.uri().query().unwrap_or_default()).token.is_empty()
    }

    /// Returns whether a request with this path is judged by the origin of the page that sends it.
    pub(crate) fn is_form_path(path: &str) -> bool {
        path == LINK_FORM_PATH
    }

    /// Answers a request for which [`MailedLinks::is_of`] holds.
    pub(crate) async fn answer(&self, auth: &Router, request: Request) -> Response {
        if request.method() == Method::POST {
            return self.answer_form(auth, request).await;
        }
        let link = Link::from_query(request.uri().query().unwrap_or_default());
        let sender = Sender::of(&request);
        if self.needs_button(&request) {
            return self.ask_for_click(&sender, &link);
        }
        let is_page = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
        if !is_page.is_some_and(|accept| accept.contains("text/html")) {
            return requests::forward(auth, request).await;
        }
        self.follow(auth, &sender, &link, request).await
    }

    /// Answers with the button.
    fn ask_for_click(&self, sender: &Sender, link: &Link) -> Response {
        let page = self.page(sender, |texts| texts.open);
        let label = page.texts.open_label;
        let form = Form { hidden: &link.to_hidden("open"), field: String::new(), label, is_other_way: false };
        page.with_form(&form).respond()
    }

    /// Uses a link; what leads to the built-in site becomes a page.
    async fn follow(&self, auth: &Router, sender: &Sender, link: &Link, request: Request) -> Response {
        if self.is_pkce_of_own_site(sender, link)
            && let Some(response) = self.show_code(sender, link).await
        {
            return response;
        }
        let response = requests::forward(auth, request).await;
        let status = response.status();
        let is_failure = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        if is_failure && (self.are_refusals_shown || self.is_of_own_site(sender, link)) {
            return self.show_failure(sender, status, requests::read_retry_after(response.headers()));
        }
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_own = self.own_site.as_ref().is_some_and(|site| leads_to(location, site));
        match LinkOutcome::read(location) {
            Some(LinkOutcome::Refused(code)) if is_own || self.are_refusals_shown => {
                self.show_refusal(sender, link, &code).await
            }
            Some(outcome) if is_own => {
                let location = location.to_owned();
                self.show_outcome(auth, sender, link, outcome, &location).await
            }
            _ => response,
        }
    }

    /// Shows what a link has led to; a session goes on to the site in the link of the page.
    async fn show_outcome(
        &self,
        auth: &Router,
        sender: &Sender,
        link: &Link,
        outcome: LinkOutcome,
        location: &str,
    ) -> Response {
        match outcome {
            LinkOutcome::Session { access_token, kind } => match kind.as_str() {
                "recovery" | "invite" => {
                    let change = PasswordChange { kind: &kind, session: &access_token };
                    self.begin_password(auth, sender, change).await
                }
                "magiclink" => self.page(sender, |texts| texts.signed_in).with_way_on(Some(location)).respond(),
                "email_change" => {
                    self.page(sender, |texts| texts.address_changed).with_way_on(Some(location)).respond()
                }
                _ => self.page(sender, |texts| texts.confirmed).with_way_on(Some(location)).respond(),
            },
            LinkOutcome::FirstConfirmation => {
                self.page(sender, |texts| texts.first_confirmation).with_way_on(None).respond()
            }
            LinkOutcome::Code if link.kind == "email_change" => {
                self.page(sender, |texts| texts.address_changed).with_way_on(None).respond()
            }
            LinkOutcome::Code | LinkOutcome::Refused(_) => {
                self.page(sender, |texts| texts.confirmed).with_way_on(None).respond()
            }
        }
    }

    /// Answers with what a new password needs: the second step of the account, if it has one, else the password.
    async fn begin_password(&self, auth: &Router, sender: &Sender, change: PasswordChange<'_>) -> Response {
        let account = match self.load_account(auth, sender, change.session).await {
            Ok(account) => account,
            Err(answer) => return self.refuse_session(sender, change, &answer).await,
        };
        match account {
            None => self.ask_for_password(sender, change, None),
            Some(ways) => self.ask_for_second_step(sender, change, &ways),
        }
    }

    /// Answers with the form of a new password, with what was wrong before.
    fn ask_for_password(
        &self,
        sender: &Sender,
        change: PasswordChange<'_>,
        problem: Option<(StatusCode, &str)>,
    ) -> Response {
        let is_invitation = change.kind == "invite";
        let page = self.page(sender, |texts| if is_invitation { texts.invitation } else { texts.new_password });
        let texts = page.texts;
        let page = match problem {
            Some((status, text)) => page.with_status(status).with_alert(text),
            None => page,
        };
        let is_invalid = problem.is_some_and(|(status, _)| status == StatusCode::UNPROCESSABLE_ENTITY);
        let form = Form {
            hidden: &[("action", "password"), ("type", change.kind), ("session", change.session)],
            field: format_password_field(texts, &self.app.borrow().policy.password, is_invalid),
            label: texts.save_label,
            is_other_way: false,
        };
        page.with_form(&form).respond()
    }

    /// Answers that an account cannot be opened.
    fn show_blocked(&self, sender: &Sender) -> Response {
        let page = self.page(sender, |texts| texts.blocked).with_status(StatusCode::FORBIDDEN);
        page.with_way_on(None).respond()
    }

    /// Answers that the session of a link has ended, or asks again where the API is busy or fails.
    async fn refuse_session(&self, sender: &Sender, change: PasswordChange<'_>, answer: &Answer) -> Response {
        match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let link = Link { kind: change.kind.to_owned(), ..Link::default() };
                self.show_refusal(sender, &link, EXPIRED).await
            }
            _ => {
                let (status, problem) = answer.describe_failure(texts::find_texts(sender.language));
                self.ask_for_password(sender, change, Some((status, &problem)))
            }
        }
    }

    /// Answers a refused link with a way to a new one.
    async fn show_refusal(&self, sender: &Sender, link: &Link, code: &str) -> Response {
        if code != EXPIRED {
            return self.show_blocked(sender);
        }
        let is_known = self.is_known(sender, link).await;
        if !is_known && self.app.borrow().captcha.is_some() {
            return self.show_elsewhere(sender);
        }
        let page = self.page(sender, |texts| texts.expired).with_status(StatusCode::GONE);
        let field = if is_known { String::new() } else { format_address_field(page.texts, false) };
        let label = page.texts.resend_label;
        page.with_form(&Form { hidden: &link.to_hidden("resend"), field, label, is_other_way: false }).respond()
    }

    /// Answers that a new link is to be asked for where the old one was: an address that anybody can enter needs a captcha, or the
    /// operator sends no such mails.
    fn show_elsewhere(&self, sender: &Sender) -> Response {
        let page = self.page(sender, |texts| texts.expired_elsewhere).with_status(StatusCode::GONE);
        page.with_way_on(None).respond()
    }

    /// Whether a link is stored with an address.
    async fn is_known(&self, sender: &Sender, link: &Link) -> bool {
        let cx = sender.to_context(&self.app, "");
        let found = find_recipient(&cx, &link.kind, &link.token).await.ok().flatten();
        found.is_some_and(|address| !address.is_empty())
    }

    /// Whether a link belongs to the PKCE flow of another browser and leads to the built-in site.
    fn is_pkce_of_own_site(&self, sender: &Sender, link: &Link) -> bool {
        link.token.starts_with(PKCE_PREFIX) && link.kind != "email_change" && self.is_of_own_site(sender, link)
    }

    /// Whether a link leads to the built-in site.
    fn is_of_own_site(&self, sender: &Sender, link: &Link) -> bool {
        let (header, referer) = sender.redirect_headers();
        let candidates = RedirectRequest { header, parameter: &link.redirect_to, referer };
        let target = self.app.borrow().redirect_allow_list.select_target(candidates);
        self.own_site.as_ref().is_some_and(|site| leads_to(&target, site))
    }

    /// Answers with a code for the browser in which the flow began; `None` if the link is refused.
    async fn show_code(&self, sender: &Sender, link: &Link) -> Option<Response> {
        let code = replace_by_code(&sender.to_context(&self.app, ""), &link.kind, &link.token).await.ok()?;
        Some(self.page(sender, |texts| texts.code).with_code(&code).respond())
    }

    /// Answers a form of a page.
    async fn answer_form(&self, auth: &Router, request: Request) -> Response {
        let sender = Sender::of(&request);
        // A page of another site would have its visitors send mails, each from a network of its own.
        if !is_same_origin(request.headers()) {
            return self.page(&sender, |texts| texts.failed).with_status(StatusCode::FORBIDDEN).respond();
        }
        let Some(form) = read_form(request).await else {
            return self.page(&sender, |texts| texts.failed).with_status(StatusCode::BAD_REQUEST).respond();
        };
        let link = Link::from_query(&form);
        let find = |name: &str| {
            let mut pairs = form_urlencoded::parse(form.as_bytes()).filter(|(key, _)| key == name);
            pairs.next().map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        match find("action").as_str() {
            "open" => {
                let request = sender.build(Method::GET, &format!("{LINK_PATH}?{}", link.to_query()), None, None);
                self.follow(auth, &sender, &link, request).await
            }
            "password" => {
                let session = find("session");
                let change = PasswordChange { kind: &link.kind, session: &session };
                self.save_password(auth, &sender, change, &find("password")).await
            }
            "code" => {
                let (session, way, challenge, code) = (find("session"), find("way"), find("challenge"), find("code"));
                let change = PasswordChange { kind: &link.kind, session: &session };
                let entered = EnteredCode { way: &way, challenge: &challenge, code: &code };
                self.verify_code(auth, &sender, change, entered).await
            }
            "way" => {
                let session = find("session");
                let change = PasswordChange { kind: &link.kind, session: &session };
                self.choose_way(auth, &sender, change, &find("way")).await
            }
            "resend" => self.resend(auth, &sender, &link, find("email").trim()).await,
            _ => self.page(&sender, |texts| texts.failed).with_status(StatusCode::BAD_REQUEST).respond(),
        }
    }

    /// Sets the password of the session's user, and ends the session, which has no other use.
    async fn save_password(
        &self,
        auth: &Router,
        sender: &Sender,
        change: PasswordChange<'_>,
        password: &str,
    ) -> Response {
        let PasswordChange { kind, session } = change;
        let body = json!({ "password": password });
        let answer = sender.call(auth, Method::PUT, "/user", Some(session), Some(&body)).await;
        match answer.status {
            StatusCode::OK => {
                // The session ends by itself later, if this fails.
                sender.call(auth, Method::POST, "/logout?scope=local", Some(session), None).await;
                let is_invitation = kind == "invite";
                let find = |texts: &texts::LinkTexts| {
                    if is_invitation { texts.invitation_accepted } else { texts.password_saved }
                };
                self.page(sender, find).with_way_on(None).respond()
            }
            StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST if !answer.is(ErrorCode::BadJson) => {
                let problem = self.describe_password_problem(sender, &answer, password);
                self.ask_for_password(sender, change, Some((StatusCode::UNPROCESSABLE_ENTITY, &problem)))
            }
            _ if answer.is(ErrorCode::InsufficientAal) => self.begin_password(auth, sender, change).await,
            _ => self.refuse_session(sender, change, &answer).await,
        }
    }

    fn describe_password_problem(&self, sender: &Sender, answer: &Answer, password: &str) -> String {
        let texts = texts::find_texts(sender.language);
        let reasons = answer.body[ErrorCode::WeakPassword.as_str()]["reasons"].as_array().cloned().unwrap_or_default();
        let has = |reason: &str| reasons.iter().any(|given| given == reason);
        let min_length = self.app.borrow().policy.password.min_length.to_string();
        if answer.is(ErrorCode::SamePassword) {
            return texts.same_password.to_owned();
        }
        if password.len() > MAX_BYTES {
            return texts.too_long.to_owned();
        }
        if has("length") {
            return texts.too_short.replace("{number}", &min_length);
        }
        let text = if has("characters") { texts.needs_characters } else { texts.refused_password };
        if has("pwned") { texts.leaked } else { text }.to_owned()
    }

    /// Sends a new link within the limits of the API; the answer does not tell whether there is an account.
    async fn resend(&self, auth: &Router, sender: &Sender, link: &Link, entered: &str) -> Response {
        if entered.is_empty() {
            let cx = sender.to_context(&self.app, &link.redirect_to);
            match send_again(&cx, &link.kind, &link.token).await {
                Ok(true) => return self.page(sender, |texts| texts.resent).respond(),
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(status = error.status(), code = error.code().as_str(), "no new link was sent");
                    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    return self.refuse_new_link(sender, status, error.retry_after);
                }
            }
        }
        if self.app.borrow().captcha.is_some() {
            return self.show_elsewhere(sender);
        }
        let Ok(email) = Email::parse(entered) else {
            let page = self.page(sender, |texts| texts.expired).with_status(StatusCode::UNPROCESSABLE_ENTITY);
            let texts = page.texts;
            let field = format_address_field(texts, true);
            let form =
                Form { hidden: &link.to_hidden("resend"), field, label: texts.resend_label, is_other_way: false };
            return page.with_alert(texts.wrong_address).with_form(&form).respond();
        };
        let address = email.as_str();
        let (path, body) = match link.kind.as_str() {
            "magiclink" | "email" => ("/otp", json!({ "email": address, "create_user": false })),
            "signup" => ("/resend", json!({ "type": "signup", "email": address })),
            "email_change" => ("/resend", json!({ "type": "email_change", "email": address })),
            _ => ("/recover", json!({ "email": address })),
        };
        let target = form_urlencoded::byte_serialize(link.redirect_to.as_bytes()).collect::<String>();
        let path = if target.is_empty() { path.to_owned() } else { format!("{path}?redirect_to={target}") };
        let answer = sender.call(auth, Method::POST, &path, None, Some(&body)).await;
        // These refuse every address; other refusals would tell whether there is an account.
        let is_refused =
            [ErrorCode::CaptchaFailed, ErrorCode::EmailProviderDisabled].iter().any(|code| answer.is(*code));
        if is_refused || answer.status == StatusCode::TOO_MANY_REQUESTS || answer.status.is_server_error() {
            return self.refuse_new_link(sender, answer.status, answer.retry_after);
        }
        if !answer.status.is_success() {
            tracing::debug!(status = answer.status.as_u16(), code = answer.code(), "no new link was sent");
        }
        self.page(sender, |texts| texts.resent).respond()
    }

    /// Answers that no new link was sent.
    fn refuse_new_link(&self, sender: &Sender, status: StatusCode, retry_after: Option<u64>) -> Response {
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return self.show_failure(sender, status, retry_after);
        }
        self.show_elsewhere(sender)
    }

    /// Answers that the API is busy or fails.
    fn show_failure(&self, sender: &Sender, status: StatusCode, retry_after: Option<u64>) -> Response {
        if status == StatusCode::TOO_MANY_REQUESTS {
            let page = self.page(sender, |texts| texts.too_many).with_number(retry_after.unwrap_or(DEFAULT_WAIT));
            return page.with_status(StatusCode::TOO_MANY_REQUESTS).respond();
        }
        self.page(sender, |texts| texts.failed).with_status(StatusCode::SERVICE_UNAVAILABLE).respond()
    }

    fn page(&self, sender: &Sender, find: impl Fn(&texts::LinkTexts) -> texts::PageText) -> LinkPage<'_> {
        LinkPage::new(&self.project, sender.language, find)
    }
}

/// Whether two URLs have the same origin; the names of this machine count as one.
fn leads_to_origin(one: &str, other: &str) -> bool {
    let origin = |text: &str| Url::parse(text).ok()?.join("/").ok();
    match (origin(one), origin(other)) {
        (Some(one), Some(other)) => leads_to(one.as_str(), &other),
        _ => false,
    }
}
