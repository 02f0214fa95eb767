//! The services around the server of a recording.
//!
//! These are mail, hooks, providers, users' devices, and the database.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::calls::{hook_facts, provider_facts};
use super::http::{Defaults, HttpServer};
use super::mail::MailServer;
use super::message::mail_facts;
use super::stand_in::{StandInFuture, StandIns, StartedStandIns};
use super::tls::load_acceptor;
use super::webauthn::Authenticators;
use super::{computed, database, saml, tokens, wallets, xml};
use crate::FlowError;
use crate::format::Settings;
use crate::sources::{Scope, SourceFuture, Sources};

/// How long a mail or a call of a hook may take.
const WAIT: Duration = Duration::from_secs(10);
/// How long a mail that should not come has to come.
const SETTLE: f64 = 0.5;

/// Starts mailbox, hooks and providers for a server.
#[derive(Debug, Clone)]
pub struct RecordedServices {
    /// The folder of `authority.pem`, `host.pem` and `host.key`, for settings with `"internet": true`.
    pub certificates: PathBuf,
}

impl StandIns for RecordedServices {
    fn start<'a>(&'a self, settings: &'a Settings) -> StandInFuture<'a> {
        Box::pin(async move {
            let failed =
                |error: std::io::Error| FlowError::new(format!("a stand-in cannot listen: {error}"), "try again");
            let is_internet = settings.others.get("internet") == Some(&Value::Bool(true));
            let tls = if is_internet { Some(load_acceptor(&self.certificates)?) } else { None };
            let pages = settings.others.get("static").and_then(Value::as_object).cloned().unwrap_or_default();
            let mail = MailServer::start().await.map_err(failed)?;
            let hooks = Defaults { answer: json!({ "status": 200, "json": {} }), ..Defaults::default() };
            let hooks = HttpServer::start(hooks, None).await.map_err(failed)?;
            let missing = Defaults { answer: json!({ "status": 404, "json": { "error": "not found" } }), pages };
            let provider = HttpServer::start(missing, tls).await.map_err(failed)?;
            let names = json!({
                "smtp_port": mail.port.to_string(),
                "hooks": hooks.address,
                "provider": provider.address,
                "authority": self.certificates.join("authority.pem").display().to_string(),
            });
            let Value::Object(names) = names else { return Err(FlowError::new("no names", "report this")) };
            let services = Services { mail, hooks, provider, authenticators: Mutex::default() };
            Ok(StartedStandIns { names, sources: Arc::new(services) })
        })
    }
}

/// The running services.
struct Services {
    mail: MailServer,
    hooks: HttpServer,
    provider: HttpServer,
    authenticators: Mutex<Authenticators>,
}

impl Sources for Services {
    fn call<'a>(&'a self, name: &'a str, arguments: &'a Value, scope: &'a Scope) -> SourceFuture<'a> {
        Box::pin(async move {
            if let Some(value) = self.compute(name, arguments, scope)? {
                return Ok(Some(value));
            }
            match name {
                "clear" => {
                    self.clear();
                    Ok(Some(Value::Null))
                }
                "mail" => self.take_mail(arguments).await.map(Some),
                "mail_count" => {
                    tokio::time::sleep(Duration::from_secs_f64(arguments["settle"].as_f64().unwrap_or(SETTLE))).await;
                    Ok(Some(self.mail.count(arguments["to"].as_str()).into()))
                }
                "hook_wait" => self.take_hook(arguments.as_str().unwrap_or_default()).await.map(Some),
                "hook_take" => {
                    let call = self.take_hook(arguments["path"].as_str().unwrap_or_default()).await?;
                    let name = format!("GOTRUE_HOOK_{}_SECRETS", arguments["name"].as_str().unwrap_or_default());
                    let secrets = scope.target.env.get(&name).and_then(Value::as_str).unwrap_or_default();
                    Ok(Some(hook_facts(&call, secrets)))
                }
                "sql" => run_sql(arguments, scope).await.map(|rows| Some(rows.into())),
                "sql_error" => Ok(Some(match run_sql(arguments, scope).await {
                    Ok(_) => Value::Null,
                    Err(error) => error.problem.into(),
                })),
                "parallel" => crate::runner::send_all(arguments, scope).await.map(Some),
                _ => Ok(None),
            }
        })
    }
}

impl Services {
    /// Answers calls that need no waiting.
    fn compute(&self, name: &str, arguments: &Value, scope: &Scope) -> Result<Option<Value>, FlowError> {
        if let Some(value) = computed::call(name, arguments)? {
            return Ok(Some(value));
        }
        if let Some(value) = tokens::call(name, arguments, scope.now())? {
            return Ok(Some(value));
        }
        if let Some(value) = wallets::call(name, arguments)? {
            return Ok(Some(value));
        }
        if let Some(value) = xml::call(name, arguments)? {
            return Ok(Some(value));
        }
        if let Some(value) = saml::call(name, arguments, &scope.target.base, scope.now())? {
            return Ok(Some(value));
        }
        let mut authenticators = self.authenticators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = authenticators.call(name, arguments)? {
            return Ok(Some(value));
        }
        self.call_servers(name, arguments, scope)
    }

    /// Sets answers of services, and tells what they were asked.
    fn call_servers(&self, name: &str, arguments: &Value, scope: &Scope) -> Result<Option<Value>, FlowError> {
        let of = Arguments::new(name, arguments);
        Ok(Some(match name {
            "hook_answers" | "provider_answers" => {
                let server = if name == "hook_answers" { &self.hooks } else { &self.provider };
                let form = "{\"path\": text, \"answers\": [{\"status\": 200, \"json\": {…}}]}";
                let (path, answers) = (arguments["path"].as_str(), arguments["answers"].as_array());
                let (Some(path), Some(answers)) = (path, answers) else { return Err(of.wanted(form)) };
                server.set_answers(path, answers, scope.variables());
                Value::Null
            }
            "hook_calls" => {
                let path = arguments.as_str().ok_or_else(|| of.wanted("path"))?;
                self.hooks.calls().iter().filter(|call| call["path"] == path).count().into()
            }
            "hooks_calls_seen" => self.hooks.calls().into(),
            "hooks_clear" => self.hooks.take_calls().len().into(),
            "provider_calls_seen" => self.provider.calls().into(),
            "provider_clear" => self.provider.take_calls().len().into(),
            "provider_requests" => self.provider.take_calls().iter().map(provider_facts).collect(),
            "mail_facts" => mail_facts(of.any(0)?),
            "sql_error_text" => {
                let text = of.text(0)?.split("ERROR:").nth(1).unwrap_or_default();
                text.lines().next().unwrap_or_default().trim().into()
            }
            _ => return Ok(None),
        }))
    }

    /// Removes what an earlier flow left.
    fn clear(&self) {
        self.mail.clear();
        self.hooks.clear();
        self.provider.clear();
        self.authenticators.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    async fn take_mail(&self, arguments: &Value) -> Result<Value, FlowError> {
        let to = arguments.as_str().unwrap_or_default();
        let mail = self.mail.take(to, WAIT).await;
        mail.ok_or_else(|| {
            FlowError::new(format!("no mail to {to} in {} s", WAIT.as_secs()), "check the requests before this step")
        })
    }

    async fn take_hook(&self, path: &str) -> Result<Value, FlowError> {
        let call = self.hooks.take(path, WAIT).await;
        call.ok_or_else(|| {
            FlowError::new(
                format!("no call of the hook {path} in {} s", WAIT.as_secs()),
                "check the requests before this step",
            )
        })
    }
}

async fn run_sql(arguments: &Value, scope: &Scope) -> Result<String, FlowError> {
    let of = Arguments::new("sql", arguments);
    let sql = arguments.as_str().ok_or_else(|| of.wanted("a statement"))?;
    let url = scope.target.database_url.as_deref();
    database::query(
        url.ok_or_else(|| FlowError::new("the database of this server is unknown", "use a server of the tool"))?,
        sql,
    )
    .await
}
