//! Markdown of the owner's as HTML that has no element or link of its own making.

use foundation::html::escape_html;
use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

/// Renders a text (`CommonMark` with tables) with `title` as its heading, if it has none.
///
/// HTML in the text is shown as text. Of pictures the alternative text remains. A wide table scrolls in an element that the
/// keyboard reaches.
///
/// # Errors
/// A link that is neither a web or mail address nor a path of the site; the text says which.
pub(super) fn render_markdown(title: &str, text: &str) -> Result<String, String> {
    let title = escape_html(title);
    let table_start = format!("<div class=\"scroller\" role=\"group\" aria-label=\"{title}\" tabindex=\"0\">\n");
    let (mut events, mut has_heading) = (Vec::new(), false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. })
                if link_type != LinkType::Email && !is_allowed(&dest_url) =>
            {
                return Err(format!(
                    "has a link to {:?}: links begin with https://, http://, mailto:, / for this site, or #",
                    &*dest_url
                ));
            }
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            Event::Start(Tag::HtmlBlock) => events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => events.push(Event::End(TagEnd::Paragraph)),
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => {}
            Event::Start(Tag::Table(_)) => events.extend([Event::Html(table_start.clone().into()), event]),
            Event::End(TagEnd::Table) => events.extend([event, Event::Html("</div>\n".into())]),
            other => {
                has_heading |= matches!(other, Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }));
                events.push(other);
            }
        }
    }
    let mut page = if has_heading { String::new() } else { format!("<h1>{title}</h1>\n") };
    html::push_html(&mut page, events.into_iter());
    Ok(page)
}

/// Whether a link leads where a reader expects: no scripts, and no host without a scheme.
fn is_allowed(target: &str) -> bool {
    let lower = target.to_ascii_lowercase();
    let is_path = target.starts_with('/') && !target[1..].starts_with(['/', '\\']);
    ["https://", "http://", "mailto:", "#"].iter().any(|start| lower.starts_with(start)) || is_path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn html_of_the_text_is_shown_as_text() {
        let text = "# Terms\n\n<script>alert(1)</script>\n\nA <b onclick=\"x()\">bold</b> ![map](https://example.com/a.png) word.";
        let page = render_markdown("Terms", text).expect("a page");
        assert_eq!(page.matches("<h1>").count(), 1, "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(page.contains("A &lt;b onclick=\"x()\"&gt;bold&lt;/b&gt; map word."), "{page}");
        assert!(!page.contains("<script") && !page.contains("<b ") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn text_without_heading_gets_its_title() {
        let page =
            render_markdown("Refunds", "Within **30** days.\n\n| a | b |\n|---|---|\n| 1 | 2 |").expect("a page");
        assert!(page.starts_with("<h1>Refunds</h1>\n<p>Within <strong>30</strong> days.</p>"), "{page}");
        let scroller = "<div class=\"scroller\" role=\"group\" aria-label=\"Refunds\" tabindex=\"0\">\n<table>";
        assert!(page.contains(scroller) && page.ends_with("</table>\n</div>\n"), "{page}");
    }

    #[test]
    fn links_of_scripts_and_without_scheme_are_refused() {
        for target in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "//evil.example",
            "/\\evil.example",
            "data:text/html,x",
            "terms.md",
        ] {
            let refused = render_markdown("Terms", &format!("[a](<{target}>)")).expect_err(target);
            assert!(refused.contains("has a link to"), "{refused}");
        }
        for target in ["https://example.com/a", "mailto:a@example.com", "/refunds", "#refunds", "/"] {
            assert!(render_markdown("Terms", &format!("[a]({target})")).is_ok(), "{target}");
        }
        let page = render_markdown("Privacy", "Write to <help@example.com>.").expect("a page");
        assert!(page.contains("href=\"mailto:help@example.com\""), "{page}");
        assert!(render_markdown("Privacy", "<javascript:alert(1)>").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_has_no_script(text in "(<script|</script>|<img src=x onerror=y>|\\[a\\]\\(|javascript:|\\)|`|\n|    |#|[ -~]){0,30}") {
            if let Ok(page) = render_markdown("Terms", &text) {
                prop_assert!(!page.contains("<script") && !page.contains("<img"), "{}", page);
                prop_assert!(!page.to_ascii_lowercase().contains("href=\"javascript:"), "{}", page);
            }
        }
    }
}
