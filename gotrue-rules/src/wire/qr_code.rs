//! A text as a QR code in SVG. Clients put it behind `data:image/svg+xml;utf-8,` as it is, so it holds neither `#` nor
//! `%`.

use std::fmt::Write;

use qrcode::types::Color;
use qrcode::{EcLevel, QrCode};

/// Modules of white around the code, as readers want them.
const QUIET: usize = 4;
/// Points to a module.
const SCALE: usize = 3;

/// The picture; none if the text is too long for a code of the highest error correction (1,273 bytes).
pub fn svg(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::H).ok()?;
    let side = code.width();
    let modules = code.into_colors();
    let whole = side + 2 * QUIET;
    let points = whole * SCALE;
    let mut svg = format!(
        "<?xml version=\"1.0\"?>\n<!-- QR code -->\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{points}\" \
         height=\"{points}\" viewBox=\"0 0 {whole} {whole}\" shape-rendering=\"crispEdges\">\n\
         <rect width=\"{whole}\" height=\"{whole}\" fill=\"white\"/>\n<path fill=\"black\" d=\""
    );
    for (y, row) in modules.chunks(side).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|one, other| one == other) {
            let length = run.len();
            if run.first() == Some(&Color::Dark) {
                let _ = write!(svg, "M{} {}h{length}v1h-{length}z", x + QUIET, y + QUIET);
            }
            x += length;
        }
    }
    svg.push_str("\"/>\n</svg>\n");
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_can_stand_in_a_data_url() {
        let picture = svg("otpauth://totp/shop.example.com:ann@example.com?secret=ABC").unwrap();
        assert!(picture.starts_with("<?xml version=\"1.0\"?>\n<!"));
        assert!(!picture.contains(['#', '%']));
    }

    #[test]
    fn the_finder_pattern_stands_in_the_corner() {
        let picture = svg("ABC").unwrap();
        assert!(picture.contains("M4 4h7v1h-7z") && picture.contains("M4 5h1v1h-1z"), "{picture}");
    }

    #[test]
    fn a_text_that_is_too_long_has_no_code() {
        assert!(svg(&"a".repeat(1273)).is_some());
        assert!(svg(&"a".repeat(1274)).is_none());
    }
}
