//! The checksums of PNG chunks (ISO/IEC 15948 §5.3), which libvips and browsers do not insist on.

use std::borrow::Cow;

use crc::{CRC_32_ISO_HDLC, Crc};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
/// The bytes of a chunk besides its data: length, type and checksum.
const FRAME: usize = 12;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
