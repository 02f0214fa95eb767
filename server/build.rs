//! The shop is built by npm before the binary. Where it was not, the binary still builds, with a page that says what to do.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>The shop is not built</title>\n\
                    <script id=\"basalt-config\" type=\"application/json\">{}</script>\n\
                    <h1>The shop is not built</h1>\n<p>Run <code>make build</code> and start again. \
                    The API below <code>/auth/v1</code> and <code>/functions/v1</code> works all the same.</p>\n";

fn main() -> io::Result<()> {
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
    Ok(())
}
