//! Text in HTML.

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

#[cfg(test)]
mod tests {
    use super::escape_html;

    #[test]
    fn markup_and_quotation_marks_are_escaped() {
        assert_eq!(escape_html(r#"<a b="c" d='e'>&f</a>"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;f&lt;/a&gt;");
        assert_eq!(escape_html("ä b"), "ä b");
    }
}
