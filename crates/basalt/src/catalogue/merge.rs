//! Applies the entries of `catalogue.toml` to the built-in ones.

use super::entries::{CategoryEntry, Entries, TemplateEntry};
use super::offer::{Catalogue, Category, Template};
use super::pictures::{FilePictures, OwnPicture, UploadedPictures};
use crate::problem::Problem;

/// The largest number of templates; the shop animates their cards one after another.
const MAX_TEMPLATES: usize = 60;

/// The pictures that entries name.
#[derive(Clone, Copy)]
pub(super) struct Pictures<'a> {
    /// Those of files.
    pub files: &'a FilePictures,
    /// Those of the desk.
    pub uploaded: &'a UploadedPictures,
}

/// Returns the catalogue of the built-in entries with the changes.
///
/// A value that is not given stays; a new id needs the values that every template has.
pub(super) fn merge(built_in: Entries, changes: Entries, pictures: Pictures<'_>) -> Result<Catalogue, Vec<Problem>> {
    let mut problems = Vec::new();
    let of_categories = changes.categories.clone();
    let entries = combine(built_in.templates, changes, &mut problems);
    let mut templates: Vec<Template> = Vec::new();
    for entry in entries.into_iter().filter(|entry| entry.visible != Some(false)) {
        let picture = find_picture(&entry, pictures, &mut problems);
        templates.extend(into_template(entry, picture));
    }
    if templates.len() > MAX_TEMPLATES {
        problems.push(Problem { line: None, text: format!("more than {MAX_TEMPLATES} templates are visible") });
    }
    if templates.is_empty() && problems.is_empty() {
        problems.push(Problem { line: None, text: "no template is visible: leave one without visible = false".into() });
    }
    problems.extend(find_repeated_references(&templates));
    if !problems.is_empty() {
        return Err(problems);
    }
    let categories = list_categories(&templates, &built_in.categories, &of_categories);
    Ok(Catalogue { templates, categories })
}

/// Returns the built-in templates with the changes, in the order of the cards; hidden ones are included.
pub(super) fn combine(
    built_in: Vec<TemplateEntry>,
    changes: Entries,
    problems: &mut Vec<Problem>,
) -> Vec<TemplateEntry> {
    problems.extend(find_repeated(&changes));
    problems.extend(changes.templates.iter().filter_map(find_lone_text));
    let mut entries = built_in;
    for change in changes.templates {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.id == change.id) {
            apply(entry, change);
        } else {
            problems.extend(find_missing(&change));
            entries.push(change);
        }
    }
    for id in &changes.order {
        if !entries.iter().any(|entry| entry.id == *id) {
            problems.push(at(changes.order_line, format!("order names template {id}, which does not exist")));
        }
    }
    let position = |entry: &TemplateEntry| changes.order.iter().position(|id| *id == entry.id).unwrap_or(usize::MAX);
    entries.sort_by_key(position);
    entries
}

/// Adds changes of the desk to those of the file.
///
/// Of the templates that are in neither, those that the desk has `added` are hidden until the owner shows them; changes of
/// others are left out.
pub(super) fn add_changes(of_file: &mut Entries, of_desk: Vec<TemplateEntry>, built_in: &Entries, added: &[u16]) {
    for mut change in of_desk {
        if let Some(entry) = of_file.templates.iter_mut().find(|entry| entry.id == change.id) {
            apply(entry, change);
        } else if built_in.has(change.id) {
            of_file.templates.push(change);
        } else if added.contains(&change.id) {
            change.visible.get_or_insert(false);
            of_file.templates.push(change);
        }
    }
}

fn at(line: usize, text: String) -> Problem {
    Problem { line: Some(line), text }
}

/// Returns a problem for each id or name that occurs twice.
fn find_repeated(entries: &Entries) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at_index, entry) in entries.templates.iter().enumerate() {
        if entries.templates[..at_index].iter().any(|earlier| earlier.id == entry.id) {
            problems.push(at(entry.line, format!("template {} is given twice: remove one", entry.id)));
        }
    }
    for (at_index, entry) in entries.categories.iter().enumerate() {
        if entries.categories[..at_index].iter().any(|earlier| earlier.name == entry.name) {
            let name = entry.name.as_deref().unwrap_or("other_categories");
            problems.push(at(entry.line, format!("category {name:?} is given twice: remove one")));
        }
    }
    for (at_index, id) in entries.order.iter().enumerate() {
        if entries.order[..at_index].contains(id) {
            problems.push(at(entries.order_line, format!("order names template {id} twice: remove one")));
        }
    }
    problems
}

/// Returns a problem for each id at payment providers that two templates have.
fn find_repeated_references(templates: &[Template]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, template) in templates.iter().enumerate() {
        for reference in &template.payment_references {
            if let Some(earlier) =
                templates[..index].iter().find(|earlier| earlier.payment_references.contains(reference))
            {
                let text = format!(
                    "templates {} and {} have the same payment_reference {reference:?}: a payment must belong to one",
                    earlier.id, template.id
                );
                problems.push(Problem { line: None, text });
            }
        }
    }
    problems
}

/// Returns the problem of a new template without all its values.
fn find_missing(entry: &TemplateEntry) -> Option<Problem> {
    let values = [
        ("title", entry.title.is_none()),
        ("category", entry.category.is_none()),
        ("price", entry.price.is_none()),
        ("summary", entry.summary.is_none()),
        ("description", entry.description.is_none()),
        ("features", entry.features.is_none()),
    ];
    let missing: Vec<&str> = values.iter().filter(|(_, is_missing)| *is_missing).map(|(key, _)| *key).collect();
    let id = entry.id;
    (!missing.is_empty())
        .then(|| at(entry.line, format!("template {id} is new and needs {} as well", missing.join(", "))))
}

/// Returns the problem of an alternative text without a picture.
fn find_lone_text(entry: &TemplateEntry) -> Option<Problem> {
    let has_picture = entry.picture.is_some() || entry.uploaded_picture.is_some();
    let is_lone = !has_picture && entry.picture_alt.is_some();
    let id = entry.id;
    is_lone.then(|| at(entry.line, format!("template {id}: picture_alt describes a picture: give picture as well")))
}

/// Replaces the values that the change gives.
fn apply(entry: &mut TemplateEntry, change: TemplateEntry) {
    let TemplateEntry {
        title,
        category,
        price,
        summary,
        description,
        features,
        link,
        payment_references,
        picture,
        uploaded_picture,
        picture_alt,
        visible,
        ..
    } = change;
    entry.title = title.or(entry.title.take());
    entry.category = category.or(entry.category.take());
    entry.price = price.or(entry.price.take());
    entry.summary = summary.or(entry.summary.take());
    entry.description = description.or(entry.description.take());
    entry.features = features.or(entry.features.take());
    entry.link = link.or(entry.link.take());
    entry.payment_references = payment_references.or(entry.payment_references.take());
    entry.picture = picture.or(entry.picture.take());
    entry.uploaded_picture = uploaded_picture.or(entry.uploaded_picture);
    entry.picture_alt = picture_alt.or(entry.picture_alt.take());
    entry.visible = visible.or(entry.visible);
}

/// Returns the picture that the owner gives; without an alternative text, that is the title.
fn find_picture(entry: &TemplateEntry, pictures: Pictures<'_>, problems: &mut Vec<Problem>) -> Option<OwnPicture> {
    let alt = entry.picture_alt.as_ref().or(entry.title.as_ref())?;
    if let Some(id) = entry.uploaded_picture {
        return Some(pictures.uploaded.get(&id)?.with_alt(alt.clone()));
    }
    let (line, path) = entry.picture.as_ref().filter(|(_, path)| !path.is_empty())?;
    match pictures.files.get(path)? {
        Ok(picture) => Some(picture.with_alt(alt.clone())),
        Err(text) => {
            problems.push(at(*line, format!("template {}: picture {path:?} {text}", entry.id)));
            None
        }
    }
}

/// Returns the template, if it is complete.
fn into_template(entry: TemplateEntry, picture: Option<OwnPicture>) -> Option<Template> {
    Some(Template {
        id: entry.id,
        title: entry.title?,
        category: entry.category?,
        price: entry.price?,
        summary: entry.summary?,
        description: entry.description?,
        features: entry.features?,
        link: entry.link.filter(|link| !link.is_empty()),
        picture,
        payment_references: entry.payment_references.unwrap_or_default(),
    })
}

/// Returns the categories of the templates with their texts, else with those of all others.
fn list_categories(templates: &[Template], built_in: &[CategoryEntry], changes: &[CategoryEntry]) -> Vec<Category> {
    let find = |name: Option<&str>| {
        let entry = changes.iter().chain(built_in).find(|entry| entry.name.as_deref() == name)?;
        entry.tagline.clone().zip(entry.benefits.clone())
    };
    let mut categories: Vec<Category> = Vec::new();
    for template in templates {
        if categories.iter().any(|known| known.name == template.category) {
            continue;
        }
        let texts = find(Some(&template.category)).or_else(|| find(None));
        let (tagline, benefits) = texts.unwrap_or_default();
        categories.push(Category { name: template.category.clone(), tagline, benefits });
    }
    categories
}
