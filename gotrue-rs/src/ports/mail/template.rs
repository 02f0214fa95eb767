//! What a mail says: Go html/template text for subject and body, the operator's where it can be had, else our own. An
//! operator's body is fetched at the first mail of its kind and kept for a while; when it cannot be fetched or does not
//! parse, the last good pair of subject and body is used, else the built-in pair. Nobody but the log hears of it.

mod builtin;
pub mod check;
mod source;
mod values;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use gotmpl::html::Template;
use gotrue_rules::domain::policy::{MailKind, MailPolicy, SitePolicy, TemplateFetch};
use gotrue_rules::domain::user::Time;
use tokio::sync::Mutex;

pub use self::builtin::subject as builtin_subject;
use self::source::Source;
pub use self::values::{Variables, names};
use crate::ports::http_client::HttpClient;

/// A mail's subject and body, filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The subject; escaped as HTML text, as the reference does.
    pub subject: String,
    /// The body.
    pub html: String,
}

/// A template failed while it ran (an index out of range, say): the mail cannot be written. For the log only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {part} of the {} mail cannot be filled in: {reason}", kind.as_str())]
pub struct TemplateError {
    kind: MailKind,
    part: &'static str,
    reason: String,
}

/// All templates. Kept from one reload of the configuration to the next.
#[derive(Debug)]
pub struct Templates {
    site_url: String,
    kinds: Vec<Arc<Slot>>,
}

/// A subject and the body that goes with it.
struct Pair {
    subject: Template,
    body: Template,
}

/// The templates of one kind.
#[derive(Debug)]
struct Slot {
    kind: MailKind,
    /// What is used while nothing better is there: the operator's subject over the built-in body if only that is set,
    /// else the built-in pair, which is parsed when it is first used.
    fallback: OnceLock<Arc<Pair>>,
    custom: Option<Custom>,
}

/// A body of the operator's.
#[derive(Debug)]
struct Custom {
    source: Source,
    /// The operator's subject, else the built-in one: goes with the body, also when it is the subject that fails.
    subject: String,
    fetch: TemplateFetch,
    http: Arc<HttpClient>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    good: Option<Good>,
    /// When to fetch again; absent: now.
    next: Option<Time>,
    /// When a mail of this kind was last written.
    used: Option<Time>,
}

/// What was fetched last and could be used.
#[derive(Debug, Clone)]
struct Good {
    text: String,
    pair: Arc<Pair>,
}

impl Templates {
    /// Parses the operator's subjects. Nothing is fetched yet.
    pub fn new(policy: &MailPolicy, site: &SitePolicy, http: &Arc<HttpClient>) -> Self {
        let slot = |kind| {
            let subject = policy.subject(kind);
            let custom = policy.template(kind).map(|place| Custom {
                source: Source::of(place, &site.site_url),
                subject: subject.unwrap_or(builtin::subject(kind)).to_owned(),
                fetch: policy.template_fetch.clone(),
                http: Arc::clone(http),
                state: Mutex::default(),
            });
            let fallback = OnceLock::new();
            match subject.filter(|_| custom.is_none()).map(|subject| Pair::parse(kind, subject, None)) {
                Some(Ok(pair)) => drop(fallback.set(Arc::new(pair))),
                Some(Err(reason)) => {
                    tracing::warn!(mail.kind = kind.as_str(), %reason, "this subject does not parse; the built-in one is used");
                }
                None => {}
            }
            Arc::new(Slot { kind, fallback, custom })
        };
        Self { site_url: site.site_url.clone(), kinds: MailKind::ALL.into_iter().map(slot).collect() }
    }

    /// The same, with what `before` has fetched of the bodies that still come from the same place in the same way.
    #[must_use]
    pub fn keeping(mut self, before: &Self) -> Self {
        for slot in &mut self.kinds {
            let same = |known: &&Arc<Slot>| known.kind == slot.kind && known.is_like(slot);
            if let Some(known) = before.kinds.iter().find(same) {
                *slot = Arc::clone(known);
            }
        }
        self
    }

    /// Fetches every text that is somewhere else, side by side: lines about those that cannot be had or are wrong.
    pub async fn try_out(&self, now: Time) -> Vec<String> {
        join_all(self.kinds.iter().map(|slot| slot.try_out(now))).await.concat()
    }

    /// The subject and body of a mail of this kind, filled in with these values.
    pub async fn render(
        &self,
        kind: MailKind,
        variables: &Variables<'_>,
        now: Time,
    ) -> Result<Rendered, TemplateError> {
        let slot = self.kinds.iter().find(|slot| slot.kind == kind).expect("there is a slot for each kind");
        let pair = slot.pair(now).await;
        let values = values::of(variables, &self.site_url);
        let fill = |part, template: &Template| {
            template.execute_to_string(&values).map_err(|error| TemplateError { kind, part, reason: error.to_string() })
        };
        Ok(Rendered { subject: fill("subject", &pair.subject)?, html: fill("body", &pair.body)? })
    }
}

impl Slot {
    /// Whether both fetch the same body in the same way.
    fn is_like(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.custom, &other.custom) else { return false };
        one.source == two.source
            && one.subject == two.subject
            && one.fetch == two.fetch
            && Arc::ptr_eq(&one.http, &two.http)
    }

    async fn pair(self: &Arc<Self>, now: Time) -> Arc<Pair> {
        let Some(custom) = &self.custom else { return self.fallback() };
        let mut state = custom.state.lock().await;
        if state.next.is_none_or(|next| now >= next) {
            if custom.is_fetched_beside(&state, now) {
                // Whoever writes now does not wait for the next version.
                state.next = Some(later(now, custom.fetch.retry_interval));
                let slot = Arc::clone(self);
                tokio::spawn(async move { slot.refresh_beside(now).await });
            } else {
                let fetched = custom.fetch_pair(self.kind, state.good.as_ref()).await;
                self.accept(custom, &mut state, fetched, now);
            }
        }
        state.used = Some(now);
        state.good.as_ref().map_or_else(|| self.fallback(), |good| Arc::clone(&good.pair))
    }

    fn fallback(&self) -> Arc<Pair> {
        let builtin = || {
            let pair = Pair::parse(self.kind, builtin::subject(self.kind), None);
            Arc::new(pair.expect("the built-in templates parse: a test renders each"))
        };
        Arc::clone(self.fallback.get_or_init(builtin))
    }

    async fn refresh_beside(&self, now: Time) {
        let Some(custom) = &self.custom else { return };
        let known = custom.state.lock().await.good.clone();
        let fetched = custom.fetch_pair(self.kind, known.as_ref()).await;
        self.accept(custom, &mut *custom.state.lock().await, fetched, now);
    }

    fn accept(&self, custom: &Custom, state: &mut State, fetched: Result<Good, String>, now: Time) {
        match fetched {
            Ok(good) => {
                state.good = Some(good);
                state.next = Some(later(now, custom.keep_for()));
            }
            Err(reason) => {
                let used = if state.good.is_some() { "the last good one" } else { "the built-in one" };
                tracing::warn!(mail.kind = self.kind.as_str(), %reason, used, "a mail template cannot be used");
                state.next = Some(later(now, custom.fetch.retry_interval));
            }
        }
    }

    /// Fetches the text from elsewhere and says what is wrong with it.
    async fn try_out(&self, now: Time) -> Vec<String> {
        let Some(custom) = self.custom.as_ref().filter(|custom| custom.source.is_elsewhere()) else {
            return Vec::new();
        };
        let kind = self.kind.as_str();
        let mut state = custom.state.lock().await;
        match custom.fetch_pair(self.kind, None).await {
            Err(reason) => {
                vec![format!("the {kind} mail: {reason}; until its text can be had, the built-in one is used")]
            }
            Ok(good) => {
                let told = check::findings(self.kind, &good.text);
                self.accept(custom, &mut state, Ok(good), now);
                let told = told.into_iter().map(|it| format!("{}:{}: {}", custom.source, it.line, it.text));
                told.collect()
            }
        }
    }
}

impl Custom {
    /// Whether the next version is fetched beside the mail: where the operator wants it, and one was written lately.
    fn is_fetched_beside(&self, state: &State, now: Time) -> bool {
        let lately = state.used.is_some_and(|used| now < later(used, self.fetch.reloading_max_idle));
        self.fetch.reloading_enabled && state.good.is_some() && lately && self.source.is_elsewhere()
    }

    /// A file is read for each mail, so that its author sees every change.
    fn keep_for(&self) -> Duration {
        if self.source.is_elsewhere() { self.fetch.max_age } else { Duration::ZERO }
    }

    async fn fetch_pair(&self, kind: MailKind, known: Option<&Good>) -> Result<Good, String> {
        let text = self.source.read(&self.http, self.fetch.max_size).await?;
        match known {
            Some(known) if known.text == text => Ok(known.clone()),
            _ => Ok(Good { pair: Arc::new(Pair::parse(kind, &self.subject, Some(&text))?), text }),
        }
    }
}

impl Pair {
    /// The built-in body where none is given.
    fn parse(kind: MailKind, subject: &str, body: Option<&str>) -> Result<Self, String> {
        if !check::is_balanced(subject) || !body.is_none_or(check::is_balanced) {
            return Err(check::UNBALANCED.to_owned());
        }
        let subject = Template::new("subject").parse(subject).map_err(|error| format!("the subject: {error}"))?;
        let body = match body {
            Some(text) => Template::new("body").parse(text).map_err(|error| format!("the body: {error}"))?,
            None => builtin::body(kind).map_err(|error| format!("the built-in body: {error}"))?,
        };
        Ok(Self { subject, body })
    }
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pair")
    }
}

fn later(now: Time, by: Duration) -> Time {
    TimeDelta::from_std(by).ok().and_then(|by| now.checked_add_signed(by)).unwrap_or(Time::MAX_UTC)
}
