//! Tests of the catalogue and of the messages about it.

use std::fs;
use std::path::Path;

use data_folder::testing::TestFolder;
use desk::TemplateChange;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::problem::Problem;

fn problems(changes: &str) -> Vec<String> {
    Catalogue::parse(changes).expect_err("a problem").into_iter().map(|problem| problem.to_string()).collect()
}

fn load(folder: &Path) -> Result<Catalogue, Vec<Problem>> {
    CatalogueSource::read(folder)?.build()
}

fn change(template: u16, values: serde_json::Value) -> TemplateChange {
    let serde_json::Value::Object(values) = values else { panic!("{values} is no object") };
    TemplateChange { template, revision: 1, values, product: None }
}

#[test]
fn changes_of_the_desk_replace_those_of_the_file() {
    let source =
        CatalogueSource::new(Path::new("."), "[[template]]\nid = 4\ntitle = \"Of the file\"\nprice = \"$5\"\n");
    let changes = [
        change(4, json!({ "title": "A \"quoted\" \u{e9}\\title", "link": "" })),
        change(2, json!({ "visible": false })),
        change(99, json!({ "title": "Not in the file any more" })),
    ];
    let catalogue = source.build_with(&changes, &UploadedPictures::new()).expect("a catalogue");
    let template = catalogue.find(4).expect("a template");
    assert_eq!((template.title.as_str(), template.price.as_str()), ("A \"quoted\" \u{e9}\\title", "$5"));
    assert_eq!((template.link.as_deref(), catalogue.templates.len()), (None, 11));
    assert!(catalogue.find(2).is_none() && catalogue.find(99).is_none());
    assert_eq!(source.list().len(), 12, "hidden ones are listed");
    let file = "[[template]]\nid = 1\npayment_reference = [\"plink_1\", \"plink_2\"]\n";
    let without = [change(1, json!({ "payment_reference": [] }))];
    let without =
        CatalogueSource::new(Path::new("."), file).build_with(&without, &UploadedPictures::new()).expect("a catalogue");
    assert_eq!(without.find(1).map(|template| template.payment_references.len()), Some(0));
    for (values, words) in [
        (json!({ "price": "28" }), "price must be a dollar sign and an amount, such as"),
        (json!({ "link": "javascript:alert(1)" }), "link must be an https URL"),
        (json!({ "title": "a\nb" }), "title must be a text of one line, 1 to 80 characters"),
        (json!({ "title": "a\u{7f}b" }), "title must be a text of one line, 1 to 80 characters"),
        (json!({ "features": ["a", "b"] }), "features must be 5 different texts"),
    ] {
        let problems = source.build_with(&[change(4, values)], &UploadedPictures::new()).expect_err("a problem");
        let text = format_for_desk(problems.into_iter().next().expect("one"));
        assert!(text.starts_with(words), "{text}");
    }
}

#[test]
fn changes_that_no_longer_fit_leave_the_others() {
    let source = CatalogueSource::new(Path::new("."), "[[template]]\nid = 3\npayment_reference = \"plink_1\"\n");
    let changes =
        [change(1, json!({ "payment_reference": ["plink_1"] })), change(2, json!({ "title": "Still changed" }))];
    let of_file = source.build().expect("a catalogue");
    let (catalogue, left_out) = source.build_fitting(&changes, &UploadedPictures::new(), &of_file);
    assert_eq!(left_out, [1]);
    assert_eq!(catalogue.find(2).expect("a template").title, "Still changed");
    assert!(catalogue.find(1).expect("a template").payment_references.is_empty());
}

#[test]
fn built_in_catalogue_is_the_specified_one() {
    let catalogue = Catalogue::built_in();
    let range: Vec<(u16, &str, &str, bool)> = catalogue
        .templates
        .iter()
        .map(|template| (template.id, template.category.as_str(), template.price.as_str(), template.link.is_some()))
        .collect();
    let expected = [
        (1, "Newsletter", "$28", true),
        (2, "Marketing", "$64", true),
        (3, "Onboarding", "$113", true),
        (4, "Corporate", "$700", true),
        (5, "Events", "$1000", true),
        (6, "E-commerce", "$1250", true),
        (7, "Research", "$1600", true),
        (8, "Seasonal", "$2300", true),
        (9, "Corporate", "$17", false),
        (10, "Corporate", "$79", false),
        (11, "Corporate", "$465", false),
        (12, "Corporate", "$910", false),
    ];
    assert_eq!(range, expected);
    let names: Vec<&str> = catalogue.categories.iter().map(|category| category.name.as_str()).collect();
    let expected =
        ["Newsletter", "Marketing", "Onboarding", "Corporate", "Events", "E-commerce", "Research", "Seasonal"];
    assert_eq!(names, expected);
    assert_eq!(catalogue.categories[6].tagline, catalogue.categories[7].tagline, "the general texts");
}

#[test]
fn given_values_replace_built_in_ones() {
    let changes = "order = [12, 3]\n\
                   [[template]]\nid = 3\nprice = \"$120.50\"\nlink = \"\"\n\
                   [[template]]\nid = 8\nvisible = false\n\
                   [[category]]\nname = \"Onboarding\"\ntagline = \"Hello\"\nbenefits = [\"a\", \"b\", \"c\"]\n";
    let catalogue = Catalogue::parse(changes).expect("no problem");
    let ids: Vec<u16> = catalogue.templates.iter().map(|template| template.id).collect();
    assert_eq!(ids, [12, 3, 1, 2, 4, 5, 6, 7, 9, 10, 11]);
    let welcome = catalogue.find(3).expect("template 3");
    assert_eq!((welcome.amount(), &welcome.link, welcome.title.as_str()), ("120.50", &None, "Welcome Series"));
    let names: Vec<&str> = catalogue.categories.iter().map(|category| category.name.as_str()).collect();
    assert_eq!(names[..2], ["Corporate", "Onboarding"], "in the order of the cards");
    assert!(!names.contains(&"Seasonal"), "no category without a visible template");
    assert_eq!(catalogue.categories[1].tagline, "Hello");
}

#[test]
fn new_template_has_all_values_and_the_general_texts_of_its_category() {
    let entry = "[[template]]\nid = 13\ntitle = \"Menu\"\ncategory = \"Food\"\nprice = \"$5\"\nsummary = \"A menu.\"\n\
                 description = \"A menu for the week.\"\nfeatures = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n";
    let catalogue = Catalogue::parse(entry).expect("no problem");
    assert_eq!(catalogue.templates.last().map(|template| template.title.as_str()), Some("Menu"));
    let food = catalogue.categories.last().expect("a category");
    assert_eq!((food.name.as_str(), food.benefits.len()), ("Food", 3));
}

#[test]
fn problems_name_line_key_and_remedy() {
    let cases = [
        ("[[template]]\nid = 4\nprice = 700\n", "catalogue.toml:3: template 4: price must be a dollar sign"),
        ("[[template]]\nid = 4\nprice = \"$07\"\n", "catalogue.toml:3: template 4: price must be"),
        (
            "[[template]]\nid = 4\nprise = \"$7\"\n",
            "catalogue.toml:3: template 4: prise is not known; did you mean price?",
        ),
        ("[[template]]\nid = 4\nlink = \"http://pay.example\"\n", "template 4: link must be an https URL"),
        ("[[template]]\nid = 4\nlink = \"javascript:alert(1)\"\n", "template 4: link must be an https URL"),
        ("[[template]]\nid = 4\ntitle = \" \"\n", "template 4: title must be a text in quotes of one line, 1 to 80"),
        ("[[template]]\nid = 4\ntitle = \"a\\nb\"\n", "template 4: title must be a text"),
        ("[[template]]\nid = 4\nfeatures = [\"a\"]\n", "template 4: features must be 5 different texts"),
        ("[[template]]\nid = 4\nvisible = \"no\"\n", "template 4: visible must be true or false"),
        ("[[template]]\nprice = \"$7\"\n", "a template: id is missing"),
        ("[[template]]\nid = 0\n", "a template: id must hold whole numbers from 1 to 9999"),
        ("[[template]]\nid = 13\nprice = \"$7\"\n", "template 13 is new and needs title, category, summary"),
        ("[[template]]\nid = 4\n[[template]]\nid = 4\n", "catalogue.toml:3: template 4 is given twice"),
        ("[template]\nid = 4\n", "template must be written as [[template]]"),
        ("order = [1, 99]\n", "catalogue.toml:1: order names template 99, which does not exist"),
        ("order = [1, 1]\n", "order names template 1 twice"),
        ("order = \"1\"\n", "order must be a list of ids"),
        ("[[category]]\ntagline = \"a\"\n", "a category: name is missing"),
        ("[[templates]]\nid = 4\n", "templates is not known; did you mean template?"),
        ("[[template]\n", "catalogue.toml:1: this is not TOML"),
    ];
    for (changes, expected) in cases {
        let found = problems(changes);
        assert!(found.iter().any(|problem| problem.contains(expected)), "{changes}: {found:?}");
    }
    let hidden: Vec<String> = (1..=12).map(|id| format!("[[template]]\nid = {id}\nvisible = false\n")).collect();
    let hidden = hidden.concat();
    assert!(problems(&hidden)[0].contains("no template is visible"));
}

#[test]
fn missing_file_means_built_in_catalogue() {
    let folder = TestFolder::new("catalogue");
    assert_eq!(load(&folder), Ok(Catalogue::built_in()));
    fs::write(folder.join(CATALOGUE_FILE), b"a = \xff").expect("a file");
    assert!(load(&folder).expect_err("a problem")[0].text.contains("cannot be read"));
    fs::write(folder.join(CATALOGUE_FILE), "#".repeat(300_000)).expect("a file");
    assert!(load(&folder).expect_err("a problem")[0].text.contains("has more than"));
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in "(\\[\\[template\\]\\]\n(id|price|order|link) = [-0-9\"$a-z\\[\\]]{0,8}\n?|.{0,20}\n?){0,4}") {
        let _ = Catalogue::parse(&text);
    }

    #[test]
    fn accepted_prices_are_numbers(price in "\\$[0-9.]{1,9}") {
        if let Ok(catalogue) = Catalogue::parse(&format!("[[template]]\nid = 1\nprice = \"{price}\"\n")) {
            prop_assert!(catalogue.find(1).is_some_and(|template| template.amount().parse::<f64>().is_ok()));
        }
    }
}
