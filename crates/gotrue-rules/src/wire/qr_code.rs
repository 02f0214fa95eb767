//! QR codes in SVG.
//!
//! Clients put the image behind `data:image/svg+xml;utf-8,` unescaped, so it contains neither `#` nor `%`.

use std::fmt::Write;

use qrcode::types::Color;
use qrcode::{EcLevel, QrCode};

/// Width of the quiet zone, in modules.
const QUIET_ZONE: usize = 4;
/// Width of a module, in points.
const MODULE_SIZE: usize = 3;

/// Renders a text; `None` above the limit of the highest error correction level (1,273 bytes).
pub fn render_svg(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::H).ok()?;
    let side = code.width();
    let modules = code.into_colors();
    let whole = side + 2 * QUIET_ZONE;
    let points = whole * MODULE_SIZE;
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
                let _ = write!(svg, "M{} {}h{length}v1h-{length}z", x + QUIET_ZONE, y + QUIET_ZONE);
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
    fn svg_is_valid_in_data_url() {
        let picture = render_svg("otpauth://totp/shop.example.com:ann@example.com?secret=ABC").unwrap();
        assert!(picture.starts_with("<?xml version=\"1.0\"?>\n<!"));
        assert!(!picture.contains(['#', '%']));
    }

    #[test]
    fn finder_pattern_is_in_corner() {
        let picture = render_svg("ABC").unwrap();
        assert!(picture.contains("M4 4h7v1h-7z") && picture.contains("M4 5h1v1h-1z"), "{picture}");
    }

    #[test]
    fn too_long_text_has_no_code() {
        assert!(render_svg(&"a".repeat(1273)).is_some());
        assert!(render_svg(&"a".repeat(1274)).is_none());
    }
}
