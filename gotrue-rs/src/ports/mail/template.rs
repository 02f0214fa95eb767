//! Renders subject and body of mails from configured or built-in Go html/template texts.
//!
//! A configured body is fetched for the first mail of its kind and cached. If it cannot be fetched or parsed, the last
//! valid pair of subject and body is used, else the built-in pair, and the failure is logged.
//!
//! With a brand ([`MailPolicy::brand`]) the built-in texts are those of [`super::branded`], in the reader's language.

mod builtin;
pub mod check;
pub(in crate::ports) mod limits;
mod pair;
mod rendering;
mod source;
pub mod syntax;
mod values;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::TimeDelta;
use foundation::language::Language;
use foundation::mail_brand::MailBrand;
use foundation::time::Time;
use futures::future::join_all;
use gotmpl::html::Template;
use gotrue_rules::domain::policy::{MailKind, MailPolicy, SitePolicy, TemplateFetch};
use platform::http_client::HttpClient;
use tokio::sync::Mutex;

pub use self::builtin::subject as builtin_subject;
use self::pair::TemplatePair;
use self::source::TemplateSource;
pub use self::values::{TemplateVariables, list_variables};
use super::branded::{self, MailFrame};

/// A rendered subject and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMail {
    /// The subject; HTML-escaped, like in the reference.
    pub subject: String,
    /// The body.
    pub html: String,
}

/// A template failed during execution (such as an index out of range). For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {part} of the {} mail cannot be filled in: {reason}", kind.as_str())]
pub struct MailTemplateError {
    kind: MailKind,
    part: &'static str,
    reason: String,
}

/// All templates. They persist across reloads of the configuration.
#[derive(Debug)]
pub struct MailTemplates {
    site_url: String,
    kinds: Vec<Arc<KindTemplates>>,
}

/// The templates of one kind.
#[derive(Debug)]
struct KindTemplates {
    kind: MailKind,
    /// The look of the built-in body; `None` without a brand.
    brand: Option<Arc<MailBrand>>,
    /// How long links and codes are valid.
    lifetime: Duration,
    /// The valid configured subject of the built-in body, for all languages.
    subject: Option<String>,
    /// The built-in pairs by language, each parsed on first use. Without a brand only the first is used.
    fallback: [OnceLock<Arc<TemplatePair>>; Language::ALL.len()],
    custom: Option<CustomTemplate>,
}

/// A configured body.
#[derive(Debug)]
struct CustomTemplate {
    source: TemplateSource,
    /// The configured subject, else the built-in one.
    ///
    /// It belongs to the body, even if the subject is what fails.
    subject: String,
    fetch: TemplateFetch,
    http: Arc<HttpClient>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    good: Option<FetchedTemplate>,
    /// The time of the next fetch; `None` for now.
    next: Option<Time>,
    /// The time of the last mail of this kind.
    used: Option<Time>,
}

/// The last valid text.
#[derive(Debug, Clone)]
struct FetchedTemplate {
    text: String,
    pair: Arc<TemplatePair>,
}

impl MailTemplates {
    /// Parses the configured subjects. Nothing is fetched yet.
    pub fn new(policy: &MailPolicy, site: &SitePolicy, http: &Arc<HttpClient>) -> Self {
        let brand = policy.brand.clone().map(Arc::new);
        let slot = |kind| {
            let subject = policy.subject(kind);
            let custom = policy.template(kind).map(|place| CustomTemplate {
                source: TemplateSource::parse(place, &site.site_url),
                subject: subject.unwrap_or(builtin::subject(kind)).to_owned(),
                fetch: policy.template_fetch.clone(),
                http: Arc::clone(http),
                state: Mutex::default(),
            });
            let subject = subject.filter(|subject| custom.is_none() && is_valid_subject(kind, subject));
            let (subject, brand) = (subject.map(str::to_owned), brand.clone());
            let lifetime = policy.otp_exp;
            Arc::new(KindTemplates { kind, brand, lifetime, subject, fallback: Default::default(), custom })
        };
        Self { site_url: site.site_url.clone(), kinds: MailKind::ALL.into_iter().map(slot).collect() }
    }

    /// Keeps the texts that `before` fetched from an unchanged source.
    #[must_use]
    pub fn reuse_fetched(mut self, before: &Self) -> Self {
        for slot in &mut self.kinds {
            let same = |known: &&Arc<KindTemplates>| known.kind == slot.kind && known.has_same_source(slot);
            if let Some(known) = before.kinds.iter().find(same) {
                *slot = Arc::clone(known);
            }
        }
        self
    }

    /// Fetches every remote text concurrently; returns lines about those that fail or are invalid.
    pub async fn check_remote(&self, now: Time) -> Vec<String> {
        join_all(self.kinds.iter().map(|slot| slot.try_out(now))).await.concat()
    }

    /// Renders subject and body of a mail of this kind.
    pub async fn render(
        &self,
        kind: MailKind,
        variables: &TemplateVariables<'_>,
        now: Time,
    ) -> Result<RenderedMail, MailTemplateError> {
        let slot = self.kinds.iter().find(|slot| slot.kind == kind).expect("every kind has a slot");
        let pair = slot.current_pair(variables.language, now).await;
        // A brand has a name, and an address of digits or this machine is none.
        let site_name = if slot.brand.is_some() && slot.custom.is_none() {
            values::find_name(&self.site_url)
        } else {
            values::find_host(&self.site_url)
        };
        let values = values::to_value(variables, &self.site_url, site_name.as_deref());
        let rendered = if slot.is_configured() {
            rendering::render_on_blocking_thread(Arc::clone(&pair), values).await
        } else {
            rendering::render(&pair, &values)
        };
        let (subject, body) = rendered.map_err(|(part, reason)| MailTemplateError { kind, part, reason })?;
        let html = match &pair.frame {
            Some(frame) => frame.wrap(&body, &values::find_name(&self.site_url).unwrap_or_default()),
            None => body,
        };
        Ok(RenderedMail { subject, html })
    }
}

impl KindTemplates {
    /// Whether both fetch the same body in the same way, and have the same brand without it.
    fn has_same_source(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.custom, &other.custom) else { return false };
        self.brand == other.brand
            && one.source == two.source
            && one.subject == two.subject
            && one.fetch == two.fetch
            && Arc::ptr_eq(&one.http, &two.http)
    }

    /// Whether the operator wrote any of its texts.
    fn is_configured(&self) -> bool {
        self.custom.is_some() || self.subject.is_some()
    }

    async fn current_pair(self: &Arc<Self>, language: Language, now: Time) -> Arc<TemplatePair> {
        let Some(custom) = &self.custom else { return self.fallback_pair(language) };
        let mut state = custom.state.lock().await;
        if state.next.is_none_or(|next| now >= next) {
            if custom.should_refresh_in_background(&state, now) {
                // The mail that triggers a background refresh does not wait for it.
                state.next = Some(add_duration(now, custom.fetch.retry_interval));
                let slot = Arc::clone(self);
                http_edge::spawn_task(async move { slot.refresh_in_background(now).await });
            } else {
                let fetched = custom.fetch_pair(self.kind, state.good.as_ref()).await;
                self.accept(custom, &mut state, fetched, now);
            }
        }
        state.used = Some(now);
        state.good.as_ref().map_or_else(|| self.fallback_pair(language), |good| Arc::clone(&good.pair))
    }

    fn fallback_pair(&self, language: Language) -> Arc<TemplatePair> {
        let language = if self.brand.is_some() { language } else { Language::default() };
        let parse = || Arc::new(self.parse_fallback(language).expect("built-in templates parse, a test renders each"));
        Arc::clone(self.fallback[language as usize].get_or_init(parse))
    }

    /// Parses the built-in body with the configured subject, if there is one.
    fn parse_fallback(&self, language: Language) -> Result<TemplatePair, String> {
        let Some(brand) = &self.brand else {
            let subject = self.subject.as_deref().unwrap_or(builtin::subject(self.kind));
            return TemplatePair::parse(self.kind, subject, None);
        };
        let subject = self.subject.as_deref().unwrap_or(branded::subject(self.kind, language));
        let subject = Template::new("subject").parse(subject).map_err(|error| format!("the subject: {error}"))?;
        let body = branded::content(self.kind, language, brand, self.lifetime);
        let body = body.map_err(|error| format!("the built-in body: {error}"))?;
        let frame = Some(MailFrame { kind: self.kind, language, brand: Arc::clone(brand) });
        Ok(TemplatePair { subject, body, frame })
    }

    async fn refresh_in_background(&self, now: Time) {
        let Some(custom) = &self.custom else { return };
        let known = custom.state.lock().await.good.clone();
        let fetched = custom.fetch_pair(self.kind, known.as_ref()).await;
        self.accept(custom, &mut *custom.state.lock().await, fetched, now);
    }

    fn accept(&self, custom: &CustomTemplate, state: &mut State, fetched: Result<FetchedTemplate, String>, now: Time) {
        match fetched {
            Ok(good) => {
                state.good = Some(good);
                state.next = Some(add_duration(now, custom.cache_duration()));
            }
            Err(reason) => {
                let used = if state.good.is_some() { "the last good one" } else { "the built-in one" };
                tracing::warn!(mail.kind = self.kind.as_str(), %reason, used, "mail template unusable");
                state.next = Some(add_duration(now, custom.fetch.retry_interval));
            }
        }
    }

    /// Fetches the remote text and returns its problems.
    async fn try_out(&self, now: Time) -> Vec<String> {
        let Some(custom) = self.custom.as_ref().filter(|custom| custom.source.is_remote()) else {
            return Vec::new();
        };
        let kind = self.kind.as_str();
        let mut state = custom.state.lock().await;
        match custom.fetch_pair(self.kind, None).await {
            Err(reason) => {
                vec![format!("the {kind} mail: {reason}; until its text can be had, the built-in one is used")]
            }
            Ok(good) => {
                let lines = check::find_problems(self.kind, &good.text);
                self.accept(custom, &mut state, Ok(good), now);
                let lines =
                    lines.into_iter().map(|problem| format!("{}:{}: {}", custom.source, problem.line, problem.text));
                lines.collect()
            }
        }
    }
}

impl CustomTemplate {
    /// Whether the next version is fetched in the background: if enabled and the kind was used recently.
    fn should_refresh_in_background(&self, state: &State, now: Time) -> bool {
        let lately = state.used.is_some_and(|used| now < add_duration(used, self.fetch.reloading_max_idle));
        self.fetch.reloading_enabled && state.good.is_some() && lately && self.source.is_remote()
    }

    /// How long a text is cached. A file is read for each mail, so that changes apply at once.
    fn cache_duration(&self) -> Duration {
        if self.source.is_remote() { self.fetch.max_age } else { Duration::ZERO }
    }

    async fn fetch_pair(&self, kind: MailKind, known: Option<&FetchedTemplate>) -> Result<FetchedTemplate, String> {
        let text = self.source.read(&self.http, self.fetch.max_size).await?;
        match known {
            Some(known) if known.text == text => Ok(known.clone()),
            _ => self.parse_on_blocking_thread(kind, text).await,
        }
    }

    /// Parses and checks a text on a thread that answers no requests.
    async fn parse_on_blocking_thread(&self, kind: MailKind, text: String) -> Result<FetchedTemplate, String> {
        let (subject, should_refuse_mistakes) = (self.subject.clone(), self.fetch.should_refuse_mistakes);
        let parsing = tokio::task::spawn_blocking(move || {
            let mistakes = if should_refuse_mistakes { check::find_problems(kind, &text) } else { Vec::new() };
            if let Some(mistake) = mistakes.iter().find(|finding| finding.is_error) {
                return Err(format!("the body: line {}: {}", mistake.line, mistake.text));
            }
            Ok(FetchedTemplate { pair: Arc::new(TemplatePair::parse(kind, &subject, Some(&text))?), text })
        });
        parsing.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// Whether a configured subject of the built-in body parses; logs why not.
fn is_valid_subject(kind: MailKind, subject: &str) -> bool {
    let parsed = TemplatePair::parse(kind, subject, None);
    if let Err(reason) = &parsed {
        tracing::warn!(mail.kind = kind.as_str(), %reason, "mail subject does not parse, using the built-in one");
    }
    parsed.is_ok()
}

fn add_duration(now: Time, by: Duration) -> Time {
    TimeDelta::from_std(by).ok().and_then(|by| now.checked_add_signed(by)).unwrap_or(Time::MAX_UTC)
}
