use platform::mail::quoted_printable::encode;
use proptest::prelude::*;

fn encoded(text: &str) -> String {
    String::from_utf8(encode(text)).expect("ASCII")
}

#[test]
fn text_is_encoded_by_line() {
    let long = "a".repeat(80);
    let full = "a".repeat(76);
    for (text, expected) in [
        ("", ""),
        ("Hello = Ann", "Hello =3D Ann"),
        ("one\ntwo\r\nthree\n", "one\r\ntwo\r\nthree\r\n"),
        ("é\r\rx\t\n", "=C3=A9=0D=0Dx=09\r\n"),
        ("a \n b", "a=20\r\n b"),
        (".\n", ".\r\n"),
        (&long, &format!("{}=\r\naaaaa", "a".repeat(75))),
        (&full, &full),
    ] {
        assert_eq!(encoded(text), expected, "{text:?}");
    }
}

/// Parts of lines, many of which end near the longest length.
fn part() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{60,90}", "[ \t=é\r\nx.]{0,20}", "x{70,80}[ \t=é]{0,3}", "x{140,400}"]
}

proptest! {
    #[test]
    fn text_is_encoded_as_by_the_library(parts in prop::collection::vec(part(), 0..8)) {
        let text = parts.concat();
        let with_crlf = text.replace("\r\n", "\n").replace('\n', "\r\n");
        prop_assert_eq!(encode(&text), quoted_printable::encode(with_crlf));
    }
}
