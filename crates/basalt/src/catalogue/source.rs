//! The text of the catalogue, from which it is built with the changes of the desk.

use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use desk::{CatalogueTemplate, TemplateChange};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::entries::{self, Entries, TemplateEntry};
use super::merge::{self, Pictures};
use super::offer::Catalogue;
use super::pictures::{FilePictures, UploadedPictures, load_pictures};
use crate::problem::Problem;

/// The file that changes the catalogue, in the folder of the configuration.
pub(crate) const CATALOGUE_FILE: &str = "catalogue.toml";

/// The built-in catalogue, which the frontend's tests and development server read, too.
const BUILT_IN: &str = include_str!("../../../../frontend/catalogue.toml");

/// The largest file, in bytes.
const MAX_BYTES: u64 = 256 * 1024;
/// The keys of the desk that name uploaded files, and are none of `catalogue.toml`.
const FILE_KEYS: [&str; 2] = ["picture", "product_file"];

/// The text of `catalogue.toml`, and its pictures, which are read once: catalogues are built without the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogueSource {
    text: String,
    pictures: FilePictures,
}

impl CatalogueSource {
    /// Reads `catalogue.toml` in `folder`, if it is there.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self, Vec<Problem>> {
        let path = folder.join(CATALOGUE_FILE);
        let problem = |text: String| vec![Problem { line: None, text: format!("{CATALOGUE_FILE}: {text}") }];
        let text = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Ok(meta) if meta.len() > MAX_BYTES => {
                Err(problem(format!("has more than {MAX_BYTES} bytes: is it a catalogue?")))
            }
            _ => fs::read_to_string(&path).map_err(|error| problem(format!("cannot be read: {error}"))),
        };
        Ok(Self::new(folder, &text?))
    }

    /// Returns the source of the built-in catalogue with the changes of `text`, whose pictures are in `folder`.
    pub(crate) fn new(folder: &Path, text: &str) -> Self {
        // What is wrong with the text is reported when the catalogue is built.
        let entries = entries::read(text).unwrap_or_default();
        let paths = entries.templates.iter().filter_map(|entry| entry.picture.as_ref());
        let paths = paths.map(|(_, path)| path.as_str()).filter(|path| !path.is_empty());
        Self { text: text.to_owned(), pictures: load_pictures(folder, paths) }
    }

    /// Returns the built-in catalogue with the changes of the file.
    ///
    /// # Errors
    /// The file holds values that cannot be used; each problem names file, line and key.
    pub(crate) fn build(&self) -> Result<Catalogue, Vec<Problem>> {
        let built_in = entries::read(BUILT_IN)?;
        let changes = entries::read(&self.text);
        let uploaded = UploadedPictures::new();
        let pictures = Pictures { files: &self.pictures, uploaded: &uploaded };
        let merged = changes.and_then(|changes| merge::merge(built_in, changes, pictures));
        merged.map_err(|problems| problems.iter().map(name_file).collect())
    }

    /// Returns the catalogue of the file with changes of the desk. A template that is no more in the files has none, unless
    /// the desk has added it; one whose uploaded picture is not loaded has no picture.
    ///
    /// # Errors
    /// The changes do not fit; the lines are none of a file.
    pub(crate) fn build_with(
        &self,
        changes: &[TemplateChange],
        uploaded: &UploadedPictures,
    ) -> Result<Catalogue, Vec<Problem>> {
        let built_in = entries::read(BUILT_IN)?;
        let mut of_file = entries::read(&self.text)?;
        let mut of_desk = entries::read(&format_changes(changes))?.templates;
        for entry in &mut of_desk {
            let change = changes.iter().find(|change| change.template == entry.id);
            entry.uploaded_picture = change.and_then(find_uploaded_picture);
        }
        let added = changes.iter().filter(|change| change.is_complete()).map(|change| change.template);
        merge::add_changes(&mut of_file, of_desk, &built_in, &added.collect::<Vec<_>>());
        merge::merge(built_in, of_file, Pictures { files: &self.pictures, uploaded })
    }

    /// Returns the catalogue of the file with those changes of the desk that fit, and the templates whose changes do not.
    ///
    /// A change fits when it is stored; the file can change after that.
    pub(crate) fn build_fitting(
        &self,
        changes: &[TemplateChange],
        uploaded: &UploadedPictures,
        of_file: &Catalogue,
    ) -> (Catalogue, Vec<u16>) {
        if let Ok(catalogue) = self.build_with(changes, uploaded) {
            return (catalogue, Vec::new());
        }
        let (mut fitting, mut left_out, mut catalogue) = (Vec::new(), Vec::new(), of_file.clone());
        for change in changes {
            fitting.push(change.clone());
            if let Ok(built) = self.build_with(&fitting, uploaded) {
                catalogue = built;
            } else {
                fitting.pop();
                left_out.push(change.template);
            }
        }
        (catalogue, left_out)
    }

    /// Lists the templates of the file, hidden ones included, with the values that the desk can change.
    pub(crate) fn list(&self) -> Vec<CatalogueTemplate> {
        let read = || {
            let mut problems = Vec::new();
            let of_file = entries::read(&self.text)?;
            Ok::<_, Vec<Problem>>(merge::combine(entries::read(BUILT_IN)?.templates, of_file, &mut problems))
        };
        let to_template =
            |entry: TemplateEntry| CatalogueTemplate { id: entry.id, is_added: false, values: to_values(entry) };
        read().unwrap_or_default().into_iter().map(to_template).collect()
    }
}

impl Catalogue {
    /// Returns the built-in catalogue.
    pub(crate) fn built_in() -> Self {
        let source = CatalogueSource::new(Path::new("."), "");
        source.build().unwrap_or(Self { templates: Vec::new(), categories: Vec::new() })
    }

    /// Returns the built-in catalogue with these changes, whose pictures are in the current folder.
    #[cfg(test)]
    pub(super) fn parse(changes: &str) -> Result<Self, Vec<Problem>> {
        CatalogueSource::new(Path::new("."), changes).build()
    }
}

/// Returns a problem as the owner of the desk reads it: it names no template and no line.
pub(crate) fn format_for_desk(problem: Problem) -> String {
    let text = problem.text;
    let named = text.strip_prefix("template ").and_then(|rest| rest.split_once(": "));
    let text = match named {
        Some((id, rest)) if id.bytes().all(|byte| byte.is_ascii_digit()) => rest.to_owned(),
        _ => text,
    };
    text.replace(" in quotes", "")
}

fn name_file(problem: &Problem) -> Problem {
    let place = problem.line.map_or_else(String::new, |line| format!(":{line}"));
    Problem { line: None, text: format!("{CATALOGUE_FILE}{place}: {}", problem.text) }
}

/// Formats changes as the text of a catalogue: a text of JSON is one of TOML, too.
fn format_changes(changes: &[TemplateChange]) -> String {
    let mut text = String::new();
    for TemplateChange { template, values, .. } in changes {
        let _ = writeln!(text, "[[template]]\nid = {template}");
        for (key, value) in values.iter().filter(|(key, _)| !FILE_KEYS.contains(&key.as_str())) {
            // TOML forbids this control character where JSON allows it: as an escape, the rule of the value refuses it.
            let value = value.to_string().replace('\u{7f}', "\\u007f");
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

/// Returns the id of the picture that a change names.
pub(crate) fn find_uploaded_picture(change: &TemplateChange) -> Option<Uuid> {
    change.values.get("picture").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok())
}

/// Returns the values of a complete entry that the desk can change.
fn to_values(entry: TemplateEntry) -> Map<String, Value> {
    let values = json!({
        "title": entry.title.unwrap_or_default(),
        "category": entry.category.unwrap_or_default(),
        "price": entry.price.unwrap_or_default(),
        "summary": entry.summary.unwrap_or_default(),
        "description": entry.description.unwrap_or_default(),
        "features": entry.features.unwrap_or_default(),
        "link": entry.link.unwrap_or_default(),
        "payment_reference": entry.payment_references.unwrap_or_default(),
        "visible": entry.visible != Some(false),
        "picture": "",
        "picture_alt": "",
        "product_file": "",
    });
    values.as_object().cloned().unwrap_or_default()
}

impl Entries {
    /// Returns whether there is a template of this id.
    pub(super) fn has(&self, id: u16) -> bool {
        self.templates.iter().any(|entry| entry.id == id)
    }
}
