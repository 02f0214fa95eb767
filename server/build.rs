//! The shop is built by npm before the binary. Where it was not, the binary still builds, with a page that says what to do.

use std::path::Path;
use std::{fs, io};

const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>The shop is not built</title>\n\
                    <script id=\"basalt-config\" type=\"application/json\">{}</script>\n\
                    <h1>The shop is not built</h1>\n<p>Run <code>make build</code> and start again. \
                    The API below <code>/auth/v1</code> and <code>/functions/v1</code> works all the same.</p>\n";

fn main() -> io::Result<()> {
    let dist = Path::new("../frontend/dist");
    let index = dist.join("index.html");
    if !index.exists() {
        fs::create_dir_all(dist)?;
        fs::write(&index, PAGE)?;
        fs::write(dist.join("routes.json"), "{\"paths\":[\"/\"]}\n")?;
    }
    println!("cargo:rerun-if-changed=../frontend/dist");
    Ok(())
}
