//! Embeds the built shop and the built files of the development pages into the binary.
//! npm builds them before the binary. Without that build, the binary contains placeholders. Of a script with a
//! compressed variant, only the variants are embedded, and of a page only a compressed one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;

const PLACEHOLDER_PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>The shop is not built</title>\n\
                    <script id=\"basalt-config\" type=\"application/json\">{}</script>\n\
                    <h1>The shop is not built</h1>\n<p>Run <code>make build</code> and start again. \
                    The API below <code>/auth/v1</code> and <code>/functions/v1</code> works all the same.</p>\n";

const PLACEHOLDER_SCRIPT: &str = "document.querySelector(\"main\").textContent =\n  \
                                  \"The script of this page is not built. Run make build and start again.\";\n";

/// The folder of the build with files of the development pages, which are no files of the shop.
const DEVELOPMENT_FOLDER: &str = "development";
/// The files in that folder that the crate includes, and what replaces them without a build.
const DEVELOPMENT_FILES: [(&str, &str); 3] = [
    ("consent/page.js", PLACEHOLDER_SCRIPT),
    ("inbox/page.js", PLACEHOLDER_SCRIPT),
    (
        "provider/page.html",
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>This page is not built</title>\n\
         <h1>This page is not built</h1>\n<p>Run <code>make build</code> and start again.</p>\n",
    ),
];

fn main() -> io::Result<()> {
    let dist = Path::new("../../frontend/dist");
    let index = dist.join("index.html");
    if fs::read_to_string(&index).map_or(true, |page| page == PLACEHOLDER_PAGE) {
        fs::create_dir_all(dist)?;
        fs::write(&index, PLACEHOLDER_PAGE)?;
        // The placeholder is older than any source, so that make rebuilds it.
        File::options()
            .write(true)
            .open(&index)?
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(262_968))?;
    }
    println!("cargo:rustc-check-cfg=cfg(frontend_built)");
    if complete_development_files(&dist.join(DEVELOPMENT_FOLDER))? {
        println!("cargo:rustc-cfg=frontend_built");
    }
    println!("cargo:rerun-if-changed=../../frontend/dist");
    let mut files = BTreeMap::new();
    collect_files(&dist.canonicalize()?, "", &mut files)?;
    files.retain(|name, _| !name.starts_with(&format!("{DEVELOPMENT_FOLDER}/")));
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    compress_pages(&mut files, &Path::new(&out).join("pages"))?;
    fs::write(Path::new(&out).join("shop.rs"), format_table(&files))
}

/// Adds a compressed variant of each page, in this folder.
/// The server fills pages at its start, and decompresses them first.
fn compress_pages(files: &mut BTreeMap<String, PathBuf>, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let is_page = |name: &&String| Path::new(name).parent() == Some(Path::new("pages")) && has_extension(name, "html");
    let pages: Vec<String> = files.keys().filter(is_page).cloned().collect();
    for name in pages {
        let path = folder.join(format!("{}.gz", name.replace('/', "-")));
        let mut encoder = GzEncoder::new(File::create(&path)?, Compression::best());
        encoder.write_all(&fs::read(&files[&name])?)?;
        encoder.finish()?;
        files.insert(format!("{name}.gz"), path);
    }
    Ok(())
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

/// Writes placeholders for missing files; returns whether all files are built.
fn complete_development_files(folder: &Path) -> io::Result<bool> {
    let mut all_built = true;
    for (name, placeholder) in DEVELOPMENT_FILES {
        let path = folder.join(name);
        let existing = fs::read_to_string(&path).ok();
        all_built &= existing.as_ref().is_some_and(|content| content != placeholder);
        if existing.is_none() {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, placeholder)?;
        }
    }
    Ok(all_built)
}

/// Collects the files below a folder by relative path, with `/` as separator.
fn collect_files(folder: &Path, prefix: &str, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// Formats a Rust expression with names and contents.
/// The content is `None` if only the compressed variant is embedded.
fn format_table(files: &BTreeMap<String, PathBuf>) -> String {
    let is_text = |name: &str| ["js", "css", "html"].iter().any(|extension| has_extension(name, extension));
    let mut table = "&[\n".to_owned();
    for (name, path) in files {
        let content = if is_text(name) && files.contains_key(&format!("{name}.gz")) {
            "None".to_owned()
        } else {
            format!("Some(include_bytes!({:?}).as_slice())", path.display().to_string())
        };
        let _ = writeln!(table, "    ({name:?}, {content}),");
    }
    table + "]\n"
}
