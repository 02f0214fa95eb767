//! Bytes in hexadecimal digits.

/// Encodes bytes in lower-case digits.
pub fn encode_hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Decodes digits in either case; `None` for another character or an odd number of digits.
pub fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(value(high)? << 4 | value(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(encode_hex(&[0, 0x0f, 0xa0, 0xff]), "000fa0ff");
        assert_eq!(decode_hex(&encode_hex(&bytes)).as_ref(), Some(&bytes));
        assert_eq!(decode_hex(&encode_hex(&bytes).to_uppercase()), Some(bytes));
        for wrong in ["0", "0g", "+1", "ä"] {
            assert_eq!(decode_hex(wrong), None, "{wrong}");
        }
    }
}
