//! `basalt keys`: definitions of the commands for signing keys and API keys.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use foundation::secret::Secret;
use gotrue_rs::config::{Vars, load};
use gotrue_rs::ports::keys::{KeyRing, KeySettings};
use platform::entropy::Entropy;
use serde_json::{Value, json};

use super::process::build_runtime;
use crate::key_commands::{ProjectKeys, Retirement};
use crate::keys::{
    JwkList, KeyKind, KeyState, ManagedKey, SigningAlgorithm, check_private_part, describe, generate_signing_key,
    print_keys,
};
use crate::logging;
use crate::users::DatabaseArguments;

/// The largest file of keys, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

const EXAMPLES: &str = "Example of a rotation, which has four steps; sessions continue, because each key is accepted before and after it is used:

  basalt keys add signing         the new key is published and verifies (standby)
  basalt keys rotate signing      ten minutes later: it signs, the old one verifies (previous)
  basalt keys retire ID           when access tokens of the old key have expired: it is no longer accepted
  basalt keys list

Running servers take up each step within seconds: `rotate` first waits until all of them accept the key, and `retire` ends when
all of them refuse it. API keys (publishable, secret) rotate in the same way. For `basalt gotrue` each step prints the next value
of GOTRUE_JWT_KEYS, to be set on all servers:

  basalt keys --gotrue add signing > keys.json
  GOTRUE_JWT_KEYS_FILE=keys.json basalt keys --gotrue rotate signing";

/// The arguments of `basalt keys`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct KeysArguments {
    #[command(flatten)]
    database: DatabaseArguments,
    /// Change the value of `GOTRUE_JWT_KEYS` and print it, instead of the keys of a project
    #[arg(long, global = true)]
    gotrue: bool,
    /// Change a list of JSON Web Keys in this file and print it, such as that of `auth.signing_keys_path`
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "gotrue")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: KeysAction,
}

#[derive(Debug, Clone, Subcommand)]
enum KeysAction {
    /// List keys with their states
    List,
    /// Add a key that is accepted and not used yet
    Add {
        /// What the key is for
        #[arg(value_enum, value_name = "TYPE")]
        kind: KindArgument,
        /// The algorithm of a signing key
        #[arg(long, value_enum, default_value = "es256")]
        algorithm: SigningAlgorithm,
    },
    /// Put the key on standby in use; the one before stays accepted
    Rotate {
        /// What the key is for
        #[arg(value_enum, value_name = "TYPE")]
        kind: KindArgument,
        /// Another key than the only one on standby, such as the previous one
        #[arg(long, value_name = "ID")]
        key: Option<String>,
        /// Do not wait until verifiers have loaded the published keys again
        #[arg(long)]
        now: bool,
    },
    /// End the acceptance of a key that is not in use
    Retire {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
        /// Refuse tokens that the key has signed before they expire
        #[arg(long)]
        now: bool,
    },
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KindArgument {
    /// Signs access tokens
    Signing,
    /// An API key for browsers
    Publishable,
    /// An API key for servers
    Secret,
}

impl From<KindArgument> for KeyKind {
    fn from(kind: KindArgument) -> Self {
        match kind {
            KindArgument::Signing => Self::Signing,
            KindArgument::Publishable => Self::Publishable,
            KindArgument::Secret => Self::Secret,
        }
    }
}

/// Runs a command for keys.
pub(super) fn run(arguments: &KeysArguments) -> anyhow::Result<()> {
    if arguments.gotrue || arguments.file.is_some() {
        return change_list(arguments);
    }
    logging::start("warn", crate::config_file::LogFormat::Text, None)?;
    build_runtime()?.block_on(async {
        let mut keys = Box::pin(ProjectKeys::open(&arguments.database)).await?;
        let outcome = change_project(&mut keys, &arguments.action, arguments.json).await;
        keys.close().await?;
        outcome
    })
}

/// Changes the keys of a project.
async fn change_project(keys: &mut ProjectKeys, action: &KeysAction, is_json: bool) -> anyhow::Result<()> {
    match action {
        KeysAction::List => print_keys(&keys.list(), is_json),
        KeysAction::Add { kind, algorithm } => {
            let key = keys.add((*kind).into(), *algorithm).await?;
            let text = key.value.as_str().map_or_else(String::new, |text| format!("\n{text}"));
            let next =
                format!("{} is on standby: `basalt keys rotate {}` puts it in use{text}", key.id, key.kind.name());
            report(is_json, &json!({ "key": describe(&key, true) }), &next)
        }
        KeysAction::Rotate { kind, key, now } => {
            let rotation = keys.rotate((*kind).into(), key.as_deref(), *now).await?;
            let (current, previous) = (&rotation.current, &rotation.previous);
            let text =
                format!("{current} is in use, {previous} stays accepted: `basalt keys retire {previous}` ends that");
            report(is_json, &json!({ "current": current, "previous": previous }), &text)
        }
        KeysAction::Retire { id, now } => {
            let Retirement { warning, is_refused } = keys.retire(id, *now).await?;
            if let Some(warning) = &warning {
                eprintln!("basalt: {warning}");
            }
            let text = if is_refused {
                format!("{id} is no longer accepted")
            } else {
                format!("{id} is retired, but a running server has not confirmed that it refuses the key: see its log")
            };
            report(is_json, &json!({ "retired": id, "warning": warning, "is_refused": is_refused }), &text)
        }
    }
}

fn report(is_json: bool, value: &Value, text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if is_json {
        writeln!(out, "{value}")?;
    } else {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// The list of keys that a command changes, and what verifies beside it.
struct ListSource {
    list: JwkList,
    secret: Secret,
    key_id: String,
    /// The lifetime of access tokens in seconds, if it is known.
    token_lifetime: Option<i64>,
    /// Whether HS256 is accepted whatever the list has.
    accepts_secret: bool,
}

impl ListSource {
    fn read(file: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = file {
            let list = JwkList::parse(&read_file(path)?).with_context(|| format!("reading {}", path.display()))?;
            let (secret, key_id) = (Secret::default(), String::new());
            return Ok(Self { list, secret, key_id, token_lifetime: None, accepts_secret: false });
        }
        let vars = Vars::from_process(None, None)?;
        let list = JwkList::parse(&vars.find_secret("GOTRUE_JWT_KEYS")?.unwrap_or_default())?;
        let secret = Secret::from(vars.find_secret("GOTRUE_JWT_SECRET")?.unwrap_or_default().as_str());
        let key_id = vars.get("GOTRUE_JWT_KEY_ID").unwrap_or_default().to_owned();
        // The other settings may be those of another machine.
        let config = load(&vars).ok();
        let methods = vars.get("GOTRUE_JWT_VALID_METHODS").unwrap_or_default();
        Ok(Self {
            list,
            secret,
            key_id,
            token_lifetime: config.map(|config| config.policy.jwt.exp),
            accepts_secret: methods.split(',').any(|method| method == "HS256"),
        })
    }

    /// Returns the changed list, which a server can use.
    fn to_json(&self) -> anyhow::Result<String> {
        let text = self.list.to_json();
        let jwks: Vec<serde_json::Map<String, Value>> = serde_json::from_str(&text).context("writing the list")?;
        let settings = KeySettings { jwks: &jwks, secret: &self.secret, key_id: &self.key_id, valid_methods: None };
        KeyRing::build(settings).context("the changed list cannot be used")?;
        Ok(text)
    }
}

/// Changes a list of JSON Web Keys and prints the next one; notes go to standard error.
fn change_list(arguments: &KeysArguments) -> anyhow::Result<()> {
    let mut source = ListSource::read(arguments.file.as_deref())?;
    source.list.add_secret(source.secret.reveal(), &source.key_id);
    let keys = &mut source.list.keys;
    let note = match &arguments.action {
        KeysAction::List => return print_keys(keys, arguments.json),
        KeysAction::Add { kind: KindArgument::Signing, algorithm } => {
            let jwk = generate_signing_key(*algorithm, &Entropy::from_system())?;
            let id = jwk["kid"].as_str().unwrap_or_default().to_owned();
            let (kind, state) = (KeyKind::Signing, KeyState::Standby);
            keys.add(ManagedKey { id: id.clone(), kind, state, since: 0, value: Value::Object(jwk) })?;
            if keys.find_current(KeyKind::Signing).is_none() {
                keys.rotate(&id, 0)?;
            }
            format!("{id} is added; once all servers have the list and verifiers have loaded it (10 minutes), rotate")
        }
        KeysAction::Rotate { kind: KindArgument::Signing, key, .. } => {
            let next = keys.find_next(KeyKind::Signing, key.as_deref())?.clone();
            check_private_part(&next)?;
            let rotation = keys.rotate(&next.id, 0)?;
            let lifetime = source.token_lifetime.map_or_else(String::new, |seconds| format!(" ({seconds} s)"));
            format!(
                "{} signs once the servers have the list; retire {} when its access tokens have expired{lifetime}",
                rotation.current, rotation.previous
            )
        }
        KeysAction::Retire { id, .. } => {
            keys.retire(id, &Value::Null, 0)?;
            let is_secret = id == KeyKind::Signing.configured_id() || *id == source.key_id;
            if is_secret && source.accepts_secret {
                "remove HS256 from GOTRUE_JWT_VALID_METHODS, otherwise tokens of GOTRUE_JWT_SECRET are still accepted"
                    .to_owned()
            } else {
                format!("tokens of {id} are refused once the servers have the list")
            }
        }
        KeysAction::Add { .. } | KeysAction::Rotate { .. } => {
            bail!("a list has signing keys only; API keys are those of `basalt serve`")
        }
    };
    let text = source.to_json()?;
    eprintln!("basalt: {note}");
    let name = if arguments.gotrue { "GOTRUE_JWT_KEYS" } else { "keys" };
    report(arguments.json, &json!({ name: text, "note": note }), &text)
}

/// Reads a file; a missing one is empty.
fn read_file(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("reading {}", path.display()));
        }
        _ => {}
    }
    ensure!(text.len() as u64 <= MAX_FILE_BYTES, "{} has more than {MAX_FILE_BYTES} bytes", path.display());
    Ok(text)
}
