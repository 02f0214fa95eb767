use platform::mail::plain::to_plain_text;
use proptest::prelude::*;

#[test]
fn html_is_converted_to_readable_text() {
    for (html, text) in [
        ("<p>Hello <b>Ann</b>!</p><p>How are   you?\n</p>", "Hello Ann!\n\nHow are you?"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<h1>Title</h1><div>a</div><div>b</div>", "Title\n\na\nb"),
        ("<ul><li>one<li>two</ul>after", "- one\n- two\n\nafter"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("<pre>  a\n   b\n</pre>c", "  a\n   b\n\nc"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("a&amp;b &lt;c&gt; &#233;&#xE9; &nbsp; d &unknown; &#0; & e&", "a&b <c> éé d &unknown; &#0; & e&"),
        ("<img alt='Our shop' src=x><img src=y>", "Our shop"),
        ("a < b and c > d, 1<2", "a < b and c > d, 1<2"),
        ("<!-- no -->yes<!doctype html><?php x ?>", "yes"),
        ("Your code: <strong>123456</strong>.", "Your code: 123456."),
    ] {
        assert_eq!(to_plain_text(html), text, "{html}");
    }
}

#[test]
fn links_keep_their_urls() {
    for (html, text) in [
        ("<a href=\"https://a.example/?x=1&amp;y=2\">Confirm</a>.", "Confirm: https://a.example/?x=1&y=2."),
        ("<a href=https://a.example/>https://a.example/</a>", "https://a.example/"),
        ("<a href='mailto:help@a.example'>help@a.example</a>", "help@a.example"),
        ("<a href='mailto:help@a.example'>write to us</a>", "write to us: help@a.example"),
        ("<a href='https://a.example/'><img src=x></a>", "https://a.example/"),
        ("<a name=here>x</a> <a href='#top'>up</a> <a href='javascript:alert(1)'>y</a>", "x up y"),
        (
            "<a href='https://a.example/'>one<a href='https://b.example/'>two",
            "one: https://a.example/two: https://b.example/",
        ),
        ("<a href='https://a.example/\r\nBcc: x'>z</a>", "z: https://a.example/Bcc: x"),
    ] {
        assert_eq!(to_plain_text(html), text, "{html}");
    }
}

#[test]
fn invisible_elements_are_omitted() {
    for html in [
        "<head><title>no</title></head>",
        "<style>p { color: red }</style>",
        "<script>if (1 < 2) { '</p>' }</script>",
        "<div style='DISPLAY : none'>no <div>no</div> no</div>",
        "<span hidden>no</span>",
        "<i aria-hidden=true>no</i>",
        "\u{200c}\u{200c}&zwnj;\u{feff}",
        "<p unfinished",
    ] {
        assert_eq!(to_plain_text(html), "", "{html}");
        assert_eq!(to_plain_text(&format!("yes {html}")), "yes", "{html}");
    }
    assert_eq!(to_plain_text("<title>no</title>yes<style></style>, <b>yes</b>"), "yes, yes");
}

proptest! {
    #[test]
    fn arbitrary_html_yields_bounded_text(parts in proptest::collection::vec(part(), 0..40)) {
        let html = parts.concat();
        let text = to_plain_text(&html);
        prop_assert!(text.len() <= html.len() * 3 + 8, "{} of {}", text.len(), html.len());
        prop_assert!(!text.contains("\n\n\n") && !text.starts_with('\n') && !text.ends_with(' '));
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn escaped_words_are_unescaped(words in "[a-zA-Z0-9<>&\"' ]{0,40}") {
        let escaped = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;");
        prop_assert_eq!(to_plain_text(&escaped), words.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

fn part() -> impl Strategy<Value = String> {
    let tag = "(p|div|a|b|br|li|ul|td|pre|script|style|title|head|svg|h1|table|x-y)";
    prop_oneof![
        "\\PC{0,8}",
        tag.prop_map(|name: String| format!("<{name}>")),
        tag.prop_map(|name: String| format!("</{name}>")),
        tag.prop_map(|name: String| format!("<{name} style=\"display:none\" href='http://x/")),
        "<a href=\"[a-z:/&;]{0,12}\">",
        "&[a-z#x0-9]{0,6};",
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        Just(" \n ".to_owned()),
        Just("<".to_owned()),
        Just("\"".to_owned()),
        Just("\u{0}\u{202e}ß".to_owned()),
    ]
}

/// What takes a time that grows with the square of the length would take hours here.
#[test]
fn conversion_takes_linear_time() {
    for hostile in [
        "<",
        "<a",
        "<a \"",
        "&",
        "<!--",
        "<script>",
        "</",
        "<a href=",
        "<div style='display:none'>",
        "<li>",
        "<a href='http://x'>",
    ] {
        let html = hostile.repeat(1_000_000 / hostile.len());
        assert!(to_plain_text(&html).len() <= html.len() * 3);
    }
}
