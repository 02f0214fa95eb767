//! Writes the type of the settings for `@basalt/test` from the table of keys, and checks that it is current.

use std::fmt::Write as _;

use super::{Kind, all_keys, allowed_names};

/// The file of the type.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/js/src/settings.ts");
const INTRODUCTION: &str = "\
// Generated from the table of keys. After a change there: UPDATE_DOCS=1 cargo test -p basalt settings_type

";
/// The width of a line, as in `packages/biome.json`.
const LINE_WIDTH: usize = 100;
/// The tables with a closed list of names, and the types of these names.
const NAME_TYPES: [(&str, &str, &str); 6] = [
    ("auth.email.template", "EmailTemplate", "A template of `[auth.email.template.<name>]`."),
    ("auth.email.notification", "EmailNotification", "A notification of `[auth.email.notification.<name>]`."),
    ("auth.external", "ExternalProvider", "A provider of `[auth.external.<name>]`."),
    ("auth.hook", "HookName", "A hook of `[auth.hook.<name>]`."),
    ("auth.web3", "Web3Chain", "A chain of `[auth.web3.<name>]`."),
    ("basalt.upstreams", "UpstreamSetting", "A setting of `[basalt.upstreams]`."),
];

/// A table with its members in the order of the keys, or a value.
#[derive(Default)]
struct Node {
    members: Vec<(&'static str, Self)>,
    kind: Option<Kind>,
}

impl Node {
    fn insert(&mut self, path: &[&'static str], kind: Kind) {
        let Some((first, rest)) = path.split_first() else {
            self.kind = Some(kind);
            return;
        };
        let index = self.members.iter().position(|(name, _)| name == first).unwrap_or_else(|| {
            self.members.push((first, Self::default()));
            self.members.len() - 1
        });
        self.members[index].1.insert(rest, kind);
    }

    /// Writes the type of this node, which follows `before` on its line.
    fn write(&self, text: &mut String, before: &str, path: &str, depth: usize) {
        let indent = "  ".repeat(depth);
        let Some(kind) = self.kind.filter(|_| self.members.is_empty()) else {
            let _ = writeln!(text, "{indent}{before} {{");
            for (name, node) in &self.members {
                let below = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
                let member = match (*name, NAME_TYPES.iter().find(|(table, ..)| *table == path)) {
                    ("*", Some((_, name_type, _))) => format!("[Name in {name_type}]?:"),
                    ("*", None) => "[name: string]:".to_owned(),
                    (name, _) => format!("{name}?:"),
                };
                node.write(text, &member, &below, depth + 1);
            }
            let end = if depth == 0 { "" } else { ";" };
            let _ = writeln!(text, "{indent}}}{end}");
            return;
        };
        match kind {
            Kind::Choice(words) => text.push_str(&format_union(&format!("{indent}{before}"), words)),
            kind => {
                let _ = writeln!(text, "{indent}{before} {};", name_of(kind));
            }
        }
    }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "boolean",
        Kind::Count => "number",
        Kind::Duration => "SettingDuration",
        Kind::List => "string[]",
        Kind::Text | Kind::Choice(_) => "string",
        Kind::Any => "unknown",
    }
}

/// Formats a union of texts after the beginning of its line, on several lines if it is long.
fn format_union(before: &str, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let line = format!("{before} {};", words.join(" | "));
    if line.len() <= LINE_WIDTH {
        return line + "\n";
    }
    let indent = " ".repeat(before.len() - before.trim_start().len() + 2);
    let lines: Vec<String> = words.iter().map(|word| format!("{indent}| {word}")).collect();
    format!("{before}\n{};\n", lines.join("\n"))
}

/// Writes the file.
fn render() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("/** A length of time in Go's notation, such as `90s` or `1h30m`. */\nexport type SettingDuration = string;\n\n");
    for (table, name, description) in NAME_TYPES {
        let words = allowed_names(table).expect("the table has a closed list");
        let _ = writeln!(text, "/** {description} */");
        text.push_str(&format_union(&format!("export type {name} ="), words));
        text.push('\n');
    }
    let mut root = Node::default();
    for key in all_keys() {
        root.insert(&key.path.split('.').collect::<Vec<_>>(), key.kind);
    }
    text.push_str("/** Settings in the shape of `config.toml`. */\n");
    root.write(&mut text, "export interface Settings", "", 0);
    text
}

#[test]
fn settings_type_of_the_test_package_is_current() {
    let text = render();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(FILE, &text).expect("the file is ours");
    }
    let kept = std::fs::read_to_string(FILE).expect("the file is in the repository");
    assert!(kept == text, "{FILE} is stale; run: UPDATE_DOCS=1 cargo test -p basalt settings_type");
}

#[test]
fn every_closed_list_of_names_has_a_type() {
    let tables = all_keys().filter_map(|key| key.path.split_once(".*").map(|(table, _)| table));
    for table in tables.filter(|table| allowed_names(table).is_some()) {
        assert!(NAME_TYPES.iter().any(|(known, ..)| *known == table), "{table}");
    }
}
