//! Format and dimensions of a picture, read from its first bytes.

/// A format of pictures that browsers show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Png,
    Jpeg,
    WebP,
    Avif,
}

/// What the first bytes of a picture say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PictureHeader {
    pub format: Format,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

impl Format {
    /// Returns the ending of file names, and the media type.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Png => ("png", "image/png"),
            Self::Jpeg => ("jpg", "image/jpeg"),
            Self::WebP => ("webp", "image/webp"),
            Self::Avif => ("avif", "image/avif"),
        }
    }
}

/// Reads format and dimensions of a PNG, JPEG, WebP or AVIF file.
/// Returns `None` if it is none of them or ends too early.
pub(super) fn read_header(file: &[u8]) -> Option<PictureHeader> {
    let (format, (width, height)) = if file.starts_with(b"\x89PNG\r\n\x1a\n") {
        (Format::Png, read_png(file)?)
    } else if file.starts_with(b"\xff\xd8\xff") {
        (Format::Jpeg, read_jpeg(file)?)
    } else if file.starts_with(b"RIFF") && file.get(8..12)? == b"WEBP" {
        (Format::WebP, read_webp(file)?)
    } else if is_avif(file) {
        (Format::Avif, read_avif(file)?)
    } else {
        return None;
    };
    Some(PictureHeader { format, width, height })
}

/// Dimensions from the chunk IHDR (PNG §11.2.1).
fn read_png(file: &[u8]) -> Option<(u32, u32)> {
    (file.get(12..16)? == b"IHDR").then_some(())?;
    Some((big_endian(file.get(16..20)?), big_endian(file.get(20..24)?)))
}

/// Dimensions from the first frame header (ITU-T T.81 §B.2.2).
fn read_jpeg(file: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        (*file.get(at)? == 0xff).then_some(())?;
        let marker = *file.get(at + 1)?;
        match marker {
            // A byte that fills, and markers without a segment.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            // Start of frame; in this range are also tables of Huffman codes and arithmetic conditioning.
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) => {
                return Some((big_endian(file.get(at + 7..at + 9)?), big_endian(file.get(at + 5..at + 7)?)));
            }
            // Image data or the end, before any frame.
            0xda | 0xd9 => return None,
            _ => at += 2 + usize::try_from(big_endian(file.get(at + 2..at + 4)?)).ok().filter(|size| *size >= 2)?,
        }
    }
}

/// Dimensions from the first chunk (RFC 9649 §2.5 to §2.7).
fn read_webp(file: &[u8]) -> Option<(u32, u32)> {
    match file.get(12..16)? {
        b"VP8X" => Some((little_endian(file.get(24..27)?) + 1, little_endian(file.get(27..30)?) + 1)),
        b"VP8L" if *file.get(20)? == 0x2f => {
            let bits = little_endian(file.get(21..25)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " if file.get(23..26)? == b"\x9d\x01\x2a" => {
            Some((little_endian(file.get(26..28)?) & 0x3fff, little_endian(file.get(28..30)?) & 0x3fff))
        }
        _ => None,
    }
}

/// Returns whether the file is of a brand of AVIF (AV1 Image File Format §6).
fn is_avif(file: &[u8]) -> bool {
    let is_brand = |brand: &[u8]| brand == b"avif" || brand == b"avis";
    find_box(file, b"ftyp").is_some_and(|brands| {
        file.get(4..8) == Some(b"ftyp")
            && (brands.get(..4).is_some_and(is_brand) || brands.chunks(4).skip(2).any(is_brand))
    })
}

/// The largest dimensions of the items: those of the parts and of the transparency are not larger.
fn read_avif(file: &[u8]) -> Option<(u32, u32)> {
    // `meta` has a version and flags before its boxes, `ispe` before its values.
    let properties = find_box(find_box(find_box(file, b"meta")?.get(4..)?, b"iprp")?, b"ipco")?;
    let extents = list_boxes(properties).filter(|(name, _)| *name == b"ispe");
    let sizes = extents.filter_map(|(_, it)| Some((big_endian(it.get(4..8)?), big_endian(it.get(8..12)?))));
    sizes.max_by_key(|(width, height)| u64::from(*width) * u64::from(*height))
}

fn find_box<'a>(boxes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    list_boxes(boxes).find(|(known, _)| *known == name).map(|(_, content)| content)
}

/// Lists name and content of the boxes (ISO/IEC 14496-12 §4.2). Ends at a box without a usual size.
fn list_boxes(boxes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = boxes;
    std::iter::from_fn(move || {
        let size = usize::try_from(big_endian(rest.get(..4)?)).ok()?;
        let (name, content) = (rest.get(4..8)?, rest.get(8..size)?);
        rest = rest.get(size..)?;
        Some((name, content))
    })
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pictures of the shop's build, of which the file names and the sources tell the size.
    const AVIF: &[u8] = include_bytes!("../../../../frontend/src/previews/01-card-360.avif");
    const WEBP: &[u8] = include_bytes!("../../../../frontend/src/previews/01-card-480.webp");
    const PNG: &[u8] = include_bytes!("../../../../frontend/public/icon-192.png");
    const JPEG: &[u8] = include_bytes!("../../../../frontend/public/shared/01.jpg");

    fn header(format: Format, width: u32, height: u32) -> PictureHeader {
        PictureHeader { format, width, height }
    }

    #[test]
    fn dimensions_are_those_of_the_picture() {
        assert_eq!(read_header(AVIF), Some(header(Format::Avif, 360, 450)));
        assert_eq!(read_header(WEBP), Some(header(Format::WebP, 480, 600)));
        assert_eq!(read_header(PNG), Some(header(Format::Png, 192, 192)));
        assert_eq!(read_header(JPEG), Some(header(Format::Jpeg, 800, 420)));
        let extended = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xaf\x04\x00\x0f\x27\x00";
        assert_eq!(read_header(extended), Some(header(Format::WebP, 1200, 10_000)));
        let lossless = b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\xaf\xc4\x95\x00";
        assert_eq!(read_header(lossless), Some(header(Format::WebP, 1200, 600)));
    }

    #[test]
    fn other_files_are_no_pictures() {
        for file in [
            &b""[..],
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            b"GIF89a\x01\x00\x01\x00",
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff\xd9",
            b"\xff\xd8\xff\xe0\x00\x00\xff\xc0",
            b"RIFF\x00\x00\x00\x00WAVEfmt ",
            b"\x00\x00\x00\x14ftypheic\x00\x00\x00\x00mif1",
            b"\x00\x00\x00\x14ftypavif\x00\x00\x00\x00mif1",
        ] {
            assert_eq!(read_header(file), None, "{file:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_and_damaged_files_do_not_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            at in 0_usize..400,
            which in 0_usize..4,
        ) {
            let _ = read_header(&bytes);
            let mut file = [AVIF, WEBP, PNG, JPEG][which].to_vec();
            file.truncate(2000);
            for (position, byte) in bytes.iter().enumerate() {
                let end = file.len();
                file[(at + position) % end] = *byte;
            }
            let _ = read_header(&file);
            file.truncate(at);
            let _ = read_header(&file);
        }
    }
}
