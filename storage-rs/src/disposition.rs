//! The header `Content-Disposition` of downloads.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What `encodeURIComponent` leaves as it is.
const NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The header for the parameter `download`: empty for the name of the object, otherwise the name of the file.
pub fn attachment(file_name: &str) -> String {
    if file_name.is_empty() {
        return "attachment;".to_owned();
    }
    let encoded = utf8_percent_encode(file_name, NAME);
    format!("attachment; filename={encoded}; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded() {
        assert_eq!(attachment(""), "attachment;");
        assert_eq!(attachment("me.png"), "attachment; filename=me.png; filename*=UTF-8''me.png");
        assert_eq!(
            attachment("log büch\r\n\".txt"),
            "attachment; filename=log%20b%C3%BCch%0D%0A%22.txt; filename*=UTF-8''log%20b%C3%BCch%0D%0A%22.txt"
        );
    }
}
