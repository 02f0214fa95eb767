//! The shop is built by npm before the binary. Where it was not, the binary still builds, with a page that says what to do.
//! Its files become part of the binary; of a script that is there in compressed form, only that form does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>The shop is not built</title>\n\
                    <script id=\"basalt-config\" type=\"application/json\">{}</script>\n\
                    <h1>The shop is not built</h1>\n<p>Run <code>make build</code> and start again. \
                    The API below <code>/auth/v1</code> and <code>/functions/v1</code> works all the same.</p>\n";

fn main() -> io::Result<()> {
    shrink_release();
    let dist = Path::new("../frontend/dist");
    let index = dist.join("index.html");
    if fs::read_to_string(&index).map_or(true, |page| page == PAGE) {
        fs::create_dir_all(dist)?;
        fs::write(&index, PAGE)?;
        fs::write(dist.join("routes.json"), "{\"paths\":[\"/\"]}\n")?;
        // Older than any source, so that make takes it for what it is.
        File::options()
            .write(true)
            .open(&index)?
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(262_968))?;
    }
    println!("cargo:rerun-if-changed=../frontend/dist");
    let mut files = BTreeMap::new();
    collect(&dist.canonicalize()?, "", &mut files)?;
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("shop.rs"), table(&files))
}

/// Has the linker leave out symbols (`Cargo.toml` says why Cargo does not), and pack relocations, which saves half a megabyte
/// of the file and of memory. Packed ones need glibc 2.36 or newer, so they are packed where the build machine has that.
fn shrink_release() {
    let of_target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if std::env::var("PROFILE").as_deref() != Ok("release") || of_target("OS") != "linux" {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    let is_host = std::env::var("HOST") == std::env::var("TARGET");
    if is_host && of_target("ENV") == "gnu" && glibc_version().is_some_and(|version| version >= (2, 36)) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library.
fn glibc_version() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The files below a folder by their path there, with `/` between its parts.
fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// An expression: names with contents; none where the compressed form stands for it.
fn table(files: &BTreeMap<String, PathBuf>) -> String {
    let is_script = |name: &str| [".js", ".css"].iter().any(|ending| name.ends_with(ending));
    let mut table = "&[\n".to_owned();
    for (name, path) in files {
        let content = if is_script(name) && files.contains_key(&format!("{name}.gz")) {
            "None".to_owned()
        } else {
            format!("Some(include_bytes!({:?}).as_slice())", path.display().to_string())
        };
        let _ = writeln!(table, "    ({name:?}, {content}),");
    }
    table + "]\n"
}
