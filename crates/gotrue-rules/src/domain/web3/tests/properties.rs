//! Property tests of sign-in messages: changed messages, changed signatures and arbitrary text.

use proptest::prelude::*;

use super::*;

fn any_message() -> impl Strategy<Value = (Chain, String)> {
    let domain = r"(localhost|([a-z0-9]{1,8}\.){1,3}[a-z]{2,6})(:[0-9]{1,5})?";
    let statement = proptest::option::of("[ -~]{1,60}");
    let resources = proptest::collection::vec("https://[a-z]{1,9}\\.example/[a-z]{0,9}", 0..3);
    (prop::sample::select(BOTH.to_vec()), domain, statement, -500i64..500, resources).prop_map(
        |(chain, domain, statement, issued, resources)| {
            let uri = "https://shop.example.com/";
            let mut text = message(chain, &domain, &[("URI", uri), ("Issued At", &at(issued))]);
            if let Some(statement) = statement {
                text = text.replace("\nHello\n", &format!("\n{statement}\n"));
            }
            if !resources.is_empty() {
                text += "\nResources:";
            }
            (chain, resources.iter().fold(text, |text, resource| format!("{text}\n- {resource}")))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_round_trip(domain in "([a-z0-9]{1,8}\\.){1,3}[a-z]{2,6}", issued in -500i64..500, statement in "[!-~][ -~]{0,60}") {
        for chain in BOTH {
            let text = message(chain, &domain, &[("Issued At", &at(issued))]).replace("Hello", &statement);
            let read = SignInMessage::parse(chain, &text).unwrap();
            prop_assert_eq!(read.statement.as_deref(), Some(statement.as_str()));
            prop_assert_eq!(read.uri.to_text(), format!("https://{domain}/"));
            prop_assert_eq!((read.domain, read.address), (domain.clone(), key(chain)));
            prop_assert_eq!(read.issued_at, now() + TimeDelta::seconds(issued));
            prop_assert_eq!(read.text, text);
        }
    }

    #[test]
    fn changed_message_is_rejected((chain, text) in any_message(), place in any::<prop::sample::Index>(), bit in 0u8..7) {
        let signature = sign(chain, &text);
        prop_assert!(verify_request(&request(chain, &text, &signature), &policy()).is_ok(), "{}", text);
        let mut bytes = text.into_bytes();
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let changed = String::from_utf8(bytes).unwrap();
        // An Ethereum address is case-insensitive, but the signed text is not.
        prop_assert!(verify_request(&request(chain, &changed, &signature), &policy()).is_err(), "{}", changed);
    }

    #[test]
    fn changed_signature_is_rejected(chain in prop::sample::select(BOTH.to_vec()), place in 0usize..64, bit in 0u8..8) {
        let text = message(chain, "shop.example.com", &[]);
        let message = SignInMessage::parse(chain, &text).unwrap();
        let mut signature = chain.decode_signature(&sign(chain, &text)).unwrap();
        prop_assert!(message.is_signed_by_address(&signature));
        signature[place] ^= 1 << bit;
        prop_assert!(!message.is_signed_by_address(&signature));
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in r"[ -~\n:]{0,200}", lines in proptest::collection::vec("\\PC{0,30}", 0..12), signature in proptest::collection::vec(any::<u8>(), 0..70)) {
        for chain in BOTH {
            let start = message(chain, "shop.example.com", &[]);
            for text in [text.clone(), lines.join("\n"), format!("{start}\n{text}"), format!("{start}\n{}", lines.join("\n"))] {
                if let Ok(message) = SignInMessage::parse(chain, &text) {
                    prop_assert!(!message.is_signed_by_address(&signature));
                    let _ = validate(&message, &policy());
                }
            }
        }
    }

    #[test]
    fn arbitrary_signatures_do_not_panic(text in "(0x)?[0-9a-fA-F]{128,132}|[A-Za-z0-9+/_=-]{84,90}|\\PC{0,140}") {
        for chain in BOTH {
            let _ = chain.decode_signature(&text);
        }
    }
}
