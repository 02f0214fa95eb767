//! The sources of variables and their precedence.

use std::fs;
use std::path::{Path, PathBuf};

use gotrue_rs::config::Vars;

/// A folder of its own that goes away with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("basalt-config-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        for (file, text) in files {
            fs::write(path.join(file), text).expect("a file can be written");
        }
        Self(path)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn vars(values: &[(&str, &str)]) -> Vars {
    Vars::from_map(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn configured_file_overrides_environment_and_folder_overrides_both() {
    let folder = Folder::new(
        "order",
        &[
            ("a.env", "A=file\nB=file\nC=file"),
            ("b.env", "B=first\nC=first"),
            ("c.env", "C=second"),
            ("notes.txt", "C=never"),
        ],
    );
    let inner = Folder::new("order/watched", &[("b.env", "B=first\nC=first"), ("c.env", "C=second"), ("x", "C=no")]);
    let read =
        vars(&[("A", "environment"), ("D", "environment")]).with_files(Some(&folder.path("a.env")), Some(&inner.0));
    let read = read.unwrap();
    let values = ["A", "B", "C", "D"].map(|name| read.get(name).unwrap());
    assert_eq!(values, ["file", "first", "second", "environment"]);
    assert!(read.notices().is_empty());
}

#[test]
fn environment_overrides_the_dotenv_file_of_the_working_folder() {
    let folder = Folder::new("fallback", &[(".env", "A=file\nB=file")]);
    let read = vars(&[("A", "environment")]).with_defaults_from(&folder.path(".env")).unwrap();
    assert_eq!([read.get("A"), read.get("B")], [Some("environment"), Some("file")]);
    let missing = vars(&[("A", "environment")]).with_defaults_from(&folder.path("none.env")).unwrap();
    assert_eq!(missing.names().collect::<Vec<_>>(), ["A"]);
}

#[test]
fn json_overrides_lines_of_the_same_name() {
    let folder = Folder::new("json", &[("a.env", "A=lines\nB=lines"), ("a.json", "{\"A\":\"json\"}")]);
    let read = Vars::default()
        .with_defaults_from(&folder.path("none"))
        .unwrap()
        .with_files(Some(&folder.path("a.json")), Some(&folder.0));
    let read = read.unwrap();
    assert_eq!([read.get("A"), read.get("B")], [Some("json"), None]);
}

#[test]
fn malformed_file_is_an_error_with_its_cause() {
    let folder = Folder::new("bad", &[("a.env", "A=1\nB\n"), ("a.json", "[]")]);
    let missing = Vars::default().with_files(Some(Path::new("/nowhere/at-all.env")), None).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere/at-all.env: ") && missing.contains("NAME=value"), "{missing}");
    let bad = Vars::default().with_files(Some(&folder.path("a.env")), None).unwrap_err().to_string();
    assert!(bad.contains("a.env: line 2 has no `=`."), "{bad}");
}

#[test]
fn malformed_folder_is_only_a_warning() {
    let read = vars(&[("A", "1")]).with_files(None, Some(Path::new("/nowhere/at-all"))).unwrap();
    assert_eq!(read.get("A"), Some("1"));
    assert!(read.notices()[0].to_string().starts_with("--config-dir: is not read further: /nowhere/at-all: "));
}

#[test]
fn files_before_a_malformed_one_of_the_folder_apply() {
    let folder = Folder::new("partly", &[("a.env", "A=1"), ("b.env", "A=2\nB\n"), ("c.env", "A=3\nC=3")]);
    let read = Vars::default().with_files(Some(&folder.path("a.env")), Some(&folder.0)).unwrap();
    assert_eq!(read.names().collect::<Vec<_>>(), ["A"]);
    assert_eq!(read.get("A"), Some("1"));
    let notice = read.notices()[0].to_string();
    assert!(notice.starts_with("--config-dir: is not read further: ") && notice.contains("b.env: line 2"), "{notice}");
}

#[test]
fn the_environment_is_read() {
    let read = Vars::from_process(None, None).unwrap();
    assert!(read.get("PATH").is_some(), "{read:?}");
}

#[test]
fn debug_output_of_variables_hides_values() {
    assert_eq!(format!("{:?}", vars(&[("GOTRUE_JWT_SECRET", "hidden")])), "{\"GOTRUE_JWT_SECRET\"}");
}

#[test]
fn reloaded_folder_overlays_current_settings_or_changes_nothing() {
    let folder = Folder::new("again", &[("a.env", "A=1\nB=1")]);
    let first = vars(&[("C", "environment")]).with_files(Some(&folder.path("a.env")), Some(&folder.0)).unwrap();
    fs::write(folder.path("a.env"), "B=2").unwrap();
    let second = first.reload(&folder.0).unwrap();
    let all = ["A", "B", "C"].map(|name| second.get(name).unwrap().to_owned());
    assert_eq!(all, ["1", "2", "environment"], "a variable that has gone keeps its value");

    fs::write(folder.path("a.env"), "B=3").unwrap();
    fs::write(folder.path("z.env"), "no sense\n").unwrap();
    assert_eq!(second.reload(&folder.0).unwrap_err().path, folder.path("z.env"));
    assert_eq!(second.get("B"), Some("2"));
}
