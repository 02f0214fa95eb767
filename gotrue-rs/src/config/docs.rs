//! `docs/configuration.md`, made from the settings table.

use std::fmt::Write as _;

use super::setting::{Form, Put, Setting};
use super::settings::{SECTIONS, Section};

const INTRODUCTION: &str = "\
# Configuration by variables

<!-- Made from the settings table. After a change there: UPDATE_DOCS=1 cargo test -p gotrue-rs config -->

`basalt gotrue` is configured by these variables alone. They come from the environment; then from the file given by
`--config`, else from `.env` in the working folder, whose values give way to the environment's; then from the `*.env`
and `*.json` files of the folder given by `--config-dir`, by name. What comes later wins. A `.json` file is one object
of texts.

- A default holds where the variable is not set. A variable that is set and empty means an empty text or list; an
  empty switch, number or duration is a mistake.
- A switch is `true`, `t`, `1`, `false`, `f` or `0`. A number may also be written `0x…`, `0b…` or `0…` (octal). A
  duration is a number with a unit, or several: `1h30m`, `500ms`. Parts of a list stand between commas, those of a map
  are `name:value`. Nothing is trimmed.
- Every mistake is told at once, with the variable's name, what the value must be, and an example. Unknown variables
  have no effect; one that looks like a known one is named in the log.
";

/// The document.
pub fn reference() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in SECTIONS {
        section_text(&mut text, section);
    }
    text.push_str("\n## Accepted without effect\n\n| variable | why |\n|---|---|\n");
    for setting in SECTIONS.iter().flat_map(|section| section.rows) {
        if let Put::Unused(_, why) = setting.put {
            line(&mut text, &[&names(setting), &cell(why)]);
        }
    }
    text
}

fn section_text(text: &mut String, section: &Section) {
    let _ = write!(text, "\n## {}\n", section.title);
    if !section.intro.is_empty() {
        let _ = write!(text, "\n{}\n", section.intro);
    }
    text.push_str("\n| variable | value | default | what it does | example |\n|---|---|---|---|---|\n");
    for setting in section.rows.iter().filter(|setting| !matches!(setting.put, Put::Unused(..))) {
        let default = match (setting.required, setting.default) {
            (true, _) => "**required**".to_owned(),
            (false, "") => "–".to_owned(),
            (false, default) => code(default),
        };
        line(text, &[&names(setting), &value(setting), &default, &cell(setting.doc), &code(setting.example)]);
    }
}

fn line(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn names(setting: &Setting) -> String {
    let names = [Some(setting.name), setting.alias];
    let shown = names.into_iter().flatten().map(|name| code(&name.replace('*', setting.family.placeholder())));
    shown.collect::<Vec<_>>().join(" or ")
}

fn value(setting: &Setting) -> String {
    let of = |kind: &str| if setting.unit.is_empty() { kind.to_owned() } else { setting.unit.to_owned() };
    match setting.put {
        Put::Text(_) | Put::Unused(Form::Text, _) => "text".to_owned(),
        Put::Secret(_) => "secret".to_owned(),
        Put::Bool(_) | Put::Unused(Form::Bool, _) => "switch".to_owned(),
        Put::Int(..) | Put::Natural(_) | Put::Unused(Form::Int, _) => of("whole number"),
        Put::Number(_) => of("number"),
        Put::Span(_) | Put::PositiveSpan(_) | Put::Unused(Form::Span, _) => "duration".to_owned(),
        Put::List(_) => "list".to_owned(),
        Put::Map(_) | Put::Unused(Form::Map, _) => "map".to_owned(),
        Put::Quota(_) => "quota".to_owned(),
        Put::Own(form, _) => cell(form),
    }
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
