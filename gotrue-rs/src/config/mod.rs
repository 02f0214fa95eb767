//! Settings: at start, variables become a validated [`Config`], or all problems are reported at once.
//!
//! Every setting is a row of the table in [`settings`], from which `docs/configuration.md` is generated. Nothing here
//! waits or connects.

mod check;
mod configuration;
mod docs;
pub mod dotenv;
mod draft;
mod problem;
mod secret_files;
mod setting;
pub mod settings;
mod telemetry;
mod telemetry_settings;
pub mod values;
mod vars;

pub use self::check::{check_webhook_url, is_webhook_secret};
pub use self::configuration::{
    Config, DatabaseSettings, JwtKeys, ListenAddress, LogFormat, LogLevel, LogSettings, OutboundSettings,
    ReloadSettings, SmtpSettings,
};
pub use self::docs::generate_reference as reference_document;
use self::draft::Draft;
pub use self::draft::hook_key;
pub use self::problem::{Notice, NoticeLevel, Problem};
pub use self::secret_files::SecretFileError;
pub use self::setting::{Family, Setter, Setting, UnusedForm, ValueType};
pub use self::telemetry_settings::{OtlpExport, TelemetrySettings};
pub use self::vars::{Vars, VarsFileError};
use platform::nearest::find_nearest;

/// Reads and validates all settings.
///
/// # Errors
/// All problems, not only the first.
pub fn load(vars: &Vars) -> Result<Config, Vec<Problem>> {
    let mut draft = Draft::default();
    for section in settings::SECTIONS {
        for setting in section.rows {
            for member in setting.family.members() {
                setting.read(vars, member, &mut draft);
            }
        }
    }
    draft.config.notices.extend(vars.notices().iter().cloned());
    warn_unknown(vars, &mut draft);
    check::build_config(draft)
}

/// Reads only the settings of the export of traces and metrics, for `basalt serve`.
///
/// An endpoint enables it. The notices are to be logged.
///
/// # Errors
/// All problems, not only the first.
pub fn load_telemetry(vars: &Vars) -> Result<(Option<TelemetrySettings>, Vec<Notice>), Vec<Problem>> {
    let mut draft = Draft::default();
    let is_read = |name: &&str| name.starts_with("OTEL_") || *name == secret_files::CREDENTIALS_DIRECTORY;
    let names: Vec<&str> = vars.names().filter(is_read).collect();
    let own = Vars::from_map(
        names.into_iter().filter_map(|name| Some((name.to_owned(), vars.get(name)?.to_owned()))).collect(),
    );
    for setting in settings::telemetry_rows() {
        setting.read(&own, "", &mut draft);
    }
    draft.telemetry.enable_by_endpoint();
    telemetry::check(&mut draft);
    let Draft { config, problems, .. } = draft;
    if problems.is_empty() { Ok((config.telemetry, config.notices)) } else { Err(problems) }
}

/// Ignores unknown variables like the reference, and suggests a similar name.
fn warn_unknown(vars: &Vars, draft: &mut Draft) {
    let known = settings::names();
    let ours = |name: &&str| name.starts_with("GOTRUE_") || name.starts_with("BASALT_");
    let names_secret_file = |name: &str| {
        secret_files::find_secret_name(name).and_then(|name| known.get(name)).is_some_and(|setting| setting.hidden)
    };
    let is_known = |name: &&str| known.contains_key(*name) || names_secret_file(name);
    for name in vars.names().filter(ours).filter(|name| !is_known(name)) {
        let limit = (name.chars().count() / 4).clamp(1, 6);
        let notice = match find_nearest(name, known.keys().map(String::as_str), limit) {
            Some(meant) => Notice::warning(name, format!("is not known and has no effect. Did you mean {meant}?")),
            None => Notice::debug(name, "is not known and has no effect"),
        };
        draft.config.notices.push(notice);
    }
}
