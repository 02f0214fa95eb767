//! Text in HTML.

/// Names of character references that occur in mails, without ampersand and semicolon.
const NAMED_REFERENCES: [(&str, &str); 35] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("times", "×"),
    ("euro", "€"),
    ("pound", "£"),
    ("larr", "←"),
    ("rarr", "→"),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("Auml", "Ä"),
    ("Ouml", "Ö"),
    ("Uuml", "Ü"),
    ("szlig", "ß"),
    ("shy", ""),
    ("zwnj", ""),
    ("zwj", ""),
];
/// The maximum length of a reference in bytes.
const MAX_REFERENCE_BYTES: usize = 12;

/// Escapes text for the content of an element and for a quoted attribute, of HTML and XML.
pub fn escape_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

/// Decodes character references of HTML, such as `&amp;` and `&#39;`; unknown ones stay as they are.
pub fn decode_references(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = after.bytes().take(MAX_REFERENCE_BYTES).position(|byte| byte == b';');
        if let Some((character, end)) =
            end.and_then(|end| decode_character(&after[..end]).map(|character| (character, end)))
        {
            decoded.push_str(&character);
            rest = &after[end + 1..];
        } else {
            decoded.push('&');
            rest = after;
        }
    }
    decoded.push_str(rest);
    decoded
}

fn decode_character(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return NAMED_REFERENCES.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|c| *c != '\0').map(String::from)
}

#[cfg(test)]
mod tests {
    use super::{decode_references, escape_html};

    #[test]
    fn markup_and_quotation_marks_are_escaped() {
        assert_eq!(escape_html(r#"<a b="c" d='e'>&f</a>"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;f&lt;/a&gt;");
        assert_eq!(escape_html("ä b"), "ä b");
    }

    #[test]
    fn known_references_are_decoded_and_others_stay() {
        for (html, text) in [
            ("?a=1&amp;b=2", "?a=1&b=2"),
            ("&lt;&#39;&#x27;&quot;&apos;&gt;", "<''\"'>"),
            ("&auml;&shy;&euro;", "ä€"),
            ("&amp;lt;", "&lt;"),
            ("&unknown; &#0; &#x110000; &#; &", "&unknown; &#0; &#x110000; &#; &"),
            ("?a=1&b=2", "?a=1&b=2"),
        ] {
            assert_eq!(decode_references(html), text);
        }
    }

    #[test]
    fn escaped_text_is_decoded_to_itself() {
        let text = r#"<a b="c" d='e'>&f &amp;</a>"#;
        assert_eq!(decode_references(&escape_html(text)), text);
    }
}
