//! Chunks of PNG images (ISO/IEC 15948 §5.3): checksums, which libvips and browsers do not insist on, and colour profiles in
//! icons.

use std::borrow::Cow;

use crc::{CRC_32_ISO_HDLC, Crc};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
/// The bytes of a chunk besides its data: length, type and checksum.
const FRAME: usize = 12;
/// The beginning of an icon.
const ICON: &[u8] = &[0, 0, 1, 0];
/// The bytes of the head of an icon, and of the description of each of its images.
const ICON_HEAD: usize = 6;
const ICON_ENTRY: usize = 16;
/// The type of a chunk with a colour profile, and one that no decoder knows and each may skip.
const PROFILE: &[u8] = b"iCCP";
const SKIPPED: &[u8] = b"icCP";

/// The same image with the checksums that its chunks should have. Other images stay as they are.
pub(super) fn with_right_checksums(source: &[u8]) -> Cow<'_, [u8]> {
    let mut image = Cow::Borrowed(source);
    if !source.starts_with(SIGNATURE) {
        return image;
    }
    let mut start = SIGNATURE.len();
    while let Some(length) = source.get(start..start + 4) {
        let length = length.iter().fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
        let Some(end) = start.checked_add(length).and_then(|end| end.checked_add(FRAME)) else { break };
        let Some(covered) = source.get(start + 4..end - 4) else { break };
        let Some(checksum) = source.get(end - 4..end) else { break };
        let expected = CHECKSUM.checksum(covered).to_be_bytes();
        if checksum != expected {
            image.to_mut()[end - 4..end].copy_from_slice(&expected);
        }
        start = end;
    }
    image
}

/// The same icon without the colour profiles of the PNG images in it, which the decoder of icons unpacks whatever their size. Other
/// files stay as they are. `None` for an icon whose images overlap.
pub(super) fn without_profiles_of_icons(source: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut icon = Cow::Borrowed(source);
    if !source.starts_with(ICON) {
        return Some(icon);
    }
    let entries = source.get(ICON_HEAD..).unwrap_or_default().chunks_exact(ICON_ENTRY);
    let number = source.get(4..ICON_HEAD).map_or(0, |number| usize::from(number[0]) | usize::from(number[1]) << 8);
    // Images that do not overlap have no more chunks together.
    let mut left = source.len() / FRAME;
    for entry in entries.take(number) {
        let start = entry[12..].iter().rev().fold(0_usize, |start, byte| (start << 8) | usize::from(*byte));
        if !source.get(start..).is_some_and(|image| image.starts_with(SIGNATURE)) {
            continue;
        }
        let mut start = start + SIGNATURE.len();
        while let Some(head) = source.get(start..start + 8) {
            left = left.checked_sub(1)?;
            if &head[4..] == PROFILE {
                icon.to_mut()[start + 4..start + 8].copy_from_slice(SKIPPED);
            }
            let length = head[..4].iter().fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
            let Some(next) = start.checked_add(length).and_then(|end| end.checked_add(FRAME)) else { break };
            start = next;
        }
    }
    Some(icon)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An icon with this number of images, all of which are one.
    fn icon(image: &[u8], number: u16) -> Vec<u8> {
        let mut icon = [ICON, &number.to_le_bytes()].concat();
        let start = u32::try_from(ICON_HEAD + ICON_ENTRY * usize::from(number)).unwrap();
        for _ in 0..number {
            icon.extend_from_slice(&[1, 1, 0, 0, 1, 0, 32, 0]);
            icon.extend_from_slice(&u32::try_from(image.len()).unwrap().to_le_bytes());
            icon.extend_from_slice(&start.to_le_bytes());
        }
        icon.extend_from_slice(image);
        icon
    }

    #[test]
    fn icons_have_no_profile_and_can_be_read() {
        use image::ImageEncoder;
        let mut image = Vec::new();
        let mut encoder = image::codecs::png::PngEncoder::new(&mut image);
        encoder.set_icc_profile(vec![7; 1000]).unwrap();
        encoder.write_image(&[9; 4], 1, 1, image::ExtendedColorType::Rgba8).unwrap();
        let source = icon(&image, 1);
        let plain = without_profiles_of_icons(&source).unwrap();
        assert!(memchr::memmem::find(&source, PROFILE).is_some() && memchr::memmem::find(&plain, PROFILE).is_none());
        let read = image::load_from_memory_with_format(&plain, image::ImageFormat::Ico).unwrap();
        assert_eq!(read.into_rgba8().into_raw(), [9; 4]);
        assert_eq!(without_profiles_of_icons(&image).unwrap(), image, "no icon");
        assert_eq!(without_profiles_of_icons(&icon(&image, 1000)), None, "images that overlap");
    }

    /// A picture of one pixel.
    fn picture() -> Vec<u8> {
        let mut file = std::io::Cursor::new(Vec::new());
        let pixel = image::DynamicImage::new_rgb8(1, 1);
        pixel.write_to(&mut file, image::ImageFormat::Png).unwrap();
        file.into_inner()
    }

    #[test]
    fn wrong_checksums_are_replaced() {
        let right = picture();
        assert!(matches!(with_right_checksums(&right), Cow::Borrowed(_)));
        let mut wrong = right.clone();
        // The checksum of the header.
        wrong[29] ^= 1;
        assert_eq!(*with_right_checksums(&wrong), right);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_taken(mut bytes in proptest::collection::vec(0_u8.., 0..80)) {
            bytes.splice(0..0, SIGNATURE.iter().copied());
            proptest::prop_assert_eq!(with_right_checksums(&bytes).len(), bytes.len());
        }

        #[test]
        fn any_icon_is_taken(number in 0_u8..3, offset in 0_u8..60, bytes in proptest::collection::vec(0_u8.., 0..80)) {
            let head = [ICON, &[number, 0], &[0; 12], &[offset, 0, 0, 0], SIGNATURE, &bytes].concat();
            if let Some(plain) = without_profiles_of_icons(&head) {
                proptest::prop_assert_eq!(plain.len(), head.len());
            }
        }
    }
}
