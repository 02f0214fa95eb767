//! The transfer encoding of mail bodies: quoted-printable (RFC 2045 §6.7).
//!
//! The encoder that `lettre` uses writes character by character, which takes longer than everything else that is done for
//! a mail. The result is the same, byte for byte.

/// The longest line, without CRLF.
const LINE_LENGTH: usize = 76;
/// Ends a line of the result where the text's line goes on.
const SOFT_BREAK: &[u8] = b"=\r\n";
const SOFT_BREAK_WIDTH: usize = 1;
/// The width of `=3D`.
const ESCAPE_WIDTH: usize = 3;

/// Encodes a text; each of its lines ends with CRLF.
pub fn encode(text: &str) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').map(|content| content.strip_suffix('\r').unwrap_or(content));
        encode_line(content.unwrap_or(line).as_bytes(), &mut encoded);
        if content.is_some() {
            encoded.extend_from_slice(b"\r\n");
        }
    }
    encoded
}

fn encode_line(line: &[u8], encoded: &mut Vec<u8>) {
    let mut rest = line;
    let mut column = 0;
    while let Some(byte) = rest.first() {
        let plain = count_plain(rest);
        let (taken, width) = if plain > 0 { (plain, plain) } else { (1, ESCAPE_WIDTH) };
        // The last column is for the soft break, unless the line ends there.
        let is_end = taken == rest.len() && column + width <= LINE_LENGTH;
        let free = if is_end { width } else { LINE_LENGTH - SOFT_BREAK_WIDTH - column };
        if plain > 0 && free > 0 {
            let (now, later) = rest.split_at(plain.min(free));
            encoded.extend_from_slice(now);
            column += now.len();
            rest = later;
        } else if plain == 0 && width <= free {
            encoded.extend([b'=', hex_digit(byte >> 4), hex_digit(byte & 15)]);
            column += width;
            rest = &rest[1..];
        } else {
            encoded.extend_from_slice(SOFT_BREAK);
            column = 0;
        }
    }
}

/// Whether a byte stands for itself.
static IS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        table[byte as usize] = byte != b'=';
        byte += 1;
    }
    table[b'\t' as usize] = true;
    table
};

/// Counts the leading bytes that stand for themselves, up to one line of the result.
///
/// White space does not stand for itself at the end of a line.
fn count_plain(line: &[u8]) -> usize {
    let start = &line[..line.len().min(LINE_LENGTH + 1)];
    match start.iter().position(|byte| !IS_PLAIN[usize::from(*byte)]) {
        Some(plain) => plain,
        None if start.len() == line.len() && matches!(line, [.., b' ' | b'\t']) => line.len() - 1,
        None => start.len(),
    }
}

fn hex_digit(value: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(value)]
}
