//! Generates `docs/configuration.md` from the settings table.

use std::fmt::Write as _;

use super::setting::{Setting, UnusedForm, ValueType};
use super::settings::{SECTIONS, Section};

const INTRODUCTION: &str = "\
# Configuration by variables

<!-- Generated from the settings table. After a change there: UPDATE_DOCS=1 cargo test -p gotrue-rs config -->

`basalt gotrue` is configured only by these variables. They are read from the environment; then from the file given by
`--config`, else from `.env` in the working folder, whose values do not override the environment; then from the `*.env`
and `*.json` files of the folder given by `--config-dir`, ordered by name. Later values override earlier ones. A `.json`
file is one object of strings.

- The default applies if the variable is not set. A variable that is set and empty means an empty text or list; an
  empty switch, number or duration is an error.
- A switch is `true`, `t`, `1`, `false`, `f` or `0`. A number may also be written `0x…`, `0b…` or `0…` (octal). A
  duration is a number with a unit, or several: `1h30m`, `500ms`. Lists are comma-separated, and so are the
  `name:value` pairs of maps. Nothing is trimmed.
- All errors are reported at once, each with the variable's name, the expected value and an example. Unknown variables
  have no effect; for one that resembles a known one a warning is logged.
- A secret may be in a file (those are listed [at the end](#secrets-in-files)): `GOTRUE_JWT_SECRET_FILE` names the file
  whose content is the value of `GOTRUE_JWT_SECRET`. So may a systemd credential, a file `GOTRUE_JWT_SECRET` or
  `basalt_GOTRUE_JWT_SECRET` in `$CREDENTIALS_DIRECTORY`. One line ending at the end is removed. A file that does not exist,
  cannot be read, is empty or has more than 65,536 bytes is an error, and so is a value given in two of these ways.
";

/// Returns the document.
pub fn generate_reference() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in SECTIONS {
        write_section(&mut text, section);
    }
    text.push_str("\n## Accepted without effect\n\n| variable | why |\n|---|---|\n");
    for setting in SECTIONS.iter().flat_map(|section| section.rows) {
        if let ValueType::Unused(_, why) = setting.value_type {
            write_row(&mut text, &[&names(setting), &cell(why)]);
        }
    }
    write_secrets(&mut text);
    text
}

/// Lists the variables whose value may be in a file.
fn write_secrets(text: &mut String) {
    text.push_str("\n## Secrets in files\n\n| variable | names the file |\n|---|---|\n");
    let is_secret = |setting: &&Setting| setting.hidden && !matches!(setting.value_type, ValueType::Unused(..));
    for setting in SECTIONS.iter().flat_map(|section| section.rows).filter(is_secret) {
        let file_name = |name: &str| code(&format!("{}_FILE", name.replace('*', setting.family.placeholder())));
        let files: Vec<String> = [Some(setting.name), setting.alias].into_iter().flatten().map(file_name).collect();
        write_row(text, &[&names(setting), &files.join(" or ")]);
    }
}

fn write_section(text: &mut String, section: &Section) {
    let _ = write!(text, "\n## {}\n", section.title);
    if !section.intro.is_empty() {
        let _ = write!(text, "\n{}\n", section.intro);
    }
    text.push_str("\n| variable | value | default | what it does | example |\n|---|---|---|---|---|\n");
    for setting in section.rows.iter().filter(|setting| !matches!(setting.value_type, ValueType::Unused(..))) {
        let default = match (setting.required, setting.default) {
            (true, _) => "**required**".to_owned(),
            (false, "") => "–".to_owned(),
            (false, default) => code(default),
        };
        write_row(text, &[&names(setting), &value(setting), &default, &cell(setting.doc), &code(setting.example)]);
    }
}

fn write_row(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn names(setting: &Setting) -> String {
    let names = [Some(setting.name), setting.alias];
    let shown = names.into_iter().flatten().map(|name| code(&name.replace('*', setting.family.placeholder())));
    shown.collect::<Vec<_>>().join(" or ")
}

fn value(setting: &Setting) -> String {
    let of = |kind: &str| if setting.unit.is_empty() { kind.to_owned() } else { setting.unit.to_owned() };
    match setting.value_type {
        ValueType::Text(_) | ValueType::Unused(UnusedForm::Text, _) => "text".to_owned(),
        ValueType::Secret(_) => "secret".to_owned(),
        ValueType::Bool(_) | ValueType::Unused(UnusedForm::Bool, _) => "switch".to_owned(),
        ValueType::Int(..) | ValueType::Natural(_) | ValueType::Unused(UnusedForm::Int, _) => of("whole number"),
        ValueType::Number(_) => of("number"),
        ValueType::Span(_) | ValueType::PositiveSpan(_) | ValueType::Unused(UnusedForm::Span, _) => {
            "duration".to_owned()
        }
        ValueType::List(_) => "list".to_owned(),
        ValueType::Map(_) | ValueType::Unused(UnusedForm::Map, _) => "map".to_owned(),
        ValueType::Quota(_) => "quota".to_owned(),
        ValueType::Custom(form, _) => cell(form),
    }
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// Escapes `|`, which would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
