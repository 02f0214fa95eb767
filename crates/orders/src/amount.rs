//! Amounts of money as text.

use foundation::language::Language;

/// The currencies whose smallest unit is the whole one, as payment providers count them.
///
/// <https://docs.stripe.com/currencies#zero-decimal>, where `ISK` and `UGX` have two decimals, unlike in ISO 4217.
const WITHOUT_DECIMALS: [&str; 15] =
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];
/// The currencies of thousandths.
const THREE_DECIMALS: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
/// The currencies whose symbol no other one has where the shop's languages are spoken; the others are named by their code.
const SYMBOLS: [(&str, &str); 4] = [("USD", "$"), ("EUR", "€"), ("GBP", "£"), ("JPY", "¥")];

/// Returns the decimals of a currency.
pub fn count_decimals(currency: &str) -> usize {
    match currency {
        code if WITHOUT_DECIMALS.contains(&code) => 0,
        code if THREE_DECIMALS.contains(&code) => 3,
        _ => 2,
    }
}

/// Formats an amount as it is read in a language: `$1,250.00`, `1.250,00 $`.
///
/// The desk formats amounts by the same rules, in `frontend/desk/shell/format/format.ts`.
pub fn format_amount(amount_minor: i64, currency: &str, language: Language) -> String {
    // The separators of the CLDR; Spanish separates the thousands from five digits.
    let (thousands, decimals, ungrouped) = match language {
        Language::English => (",", ".", 3),
        Language::German => (".", ",", 3),
        Language::French => ("\u{202f}", ",", 3),
        Language::Spanish => (".", ",", 4),
    };
    let plain = format_decimal(amount_minor, currency);
    let (sign, plain) = plain.strip_prefix('-').map_or(("", plain.as_str()), |plain| ("-", plain));
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let mut number = String::new();
    for (position, digit) in whole.chars().enumerate() {
        let left = whole.len() - position;
        if position > 0 && left % 3 == 0 && whole.len() > ungrouped {
            number.push_str(thousands);
        }
        number.push(digit);
    }
    if !fraction.is_empty() {
        number = format!("{number}{decimals}{fraction}");
    }
    let symbol = SYMBOLS.iter().find(|(code, _)| *code == currency).map(|(_, symbol)| *symbol);
    match (language, symbol) {
        (Language::English, Some(symbol)) => format!("{sign}{symbol}{number}"),
        (Language::English, None) => format!("{sign}{currency}\u{a0}{number}"),
        (_, symbol) => format!("{sign}{number}\u{a0}{}", symbol.unwrap_or(currency)),
    }
}

/// Formats an amount for machines and terminals, without its currency: `1250.00`.
pub fn format_decimal(amount_minor: i64, currency: &str) -> String {
    let sign = if amount_minor < 0 { "-" } else { "" };
    let decimals = count_decimals(currency);
    let (amount, unit) = (amount_minor.unsigned_abs(), std::iter::repeat_n(10_u64, decimals).product::<u64>());
    if decimals == 0 {
        return format!("{sign}{amount}");
    }
    format!("{sign}{}.{:0width$}", amount / unit, amount % unit, width = decimals)
}

/// Formats an amount for terminals: `1250.00 USD`.
pub fn format_coded(amount_minor: i64, currency: &str) -> String {
    format!("{} {currency}", format_decimal(amount_minor, currency))
}

/// Returns a decimal number in the smallest unit of its currency; further decimals must be zeros.
pub fn parse_decimal(amount: &str, currency: &str) -> Option<i64> {
    let decimals = count_decimals(currency);
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(decimals).collect();
    let rest = fraction.get(decimals..).unwrap_or_default();
    if rest.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let kept: i64 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    whole.parse::<i64>().ok()?.checked_mul(std::iter::repeat_n(10_i64, decimals).product())?.checked_add(kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_written_as_the_language_does() {
        use Language::{English, French, German, Spanish};
        for (minor, currency, language, expected) in [
            (125_000, "USD", English, "$1,250.00"),
            (125_000, "USD", German, "1.250,00\u{a0}$"),
            (125_000, "USD", French, "1\u{202f}250,00\u{a0}$"),
            (125_000, "USD", Spanish, "1250,00\u{a0}$"),
            (1_250_000, "USD", Spanish, "12.500,00\u{a0}$"),
            (123_456_789, "EUR", English, "€1,234,567.89"),
            (123_456_789, "EUR", German, "1.234.567,89\u{a0}€"),
            (2_800, "JPY", English, "¥2,800"),
            (2_800, "JPY", German, "2.800\u{a0}¥"),
            (1_234_500, "KWD", English, "KWD\u{a0}1,234.500"),
            (1_234_500, "KWD", French, "1\u{202f}234,500\u{a0}KWD"),
            (-2_805, "USD", English, "-$28.05"),
            (-2_805, "CHF", German, "-28,05\u{a0}CHF"),
            (0, "USD", Spanish, "0,00\u{a0}$"),
        ] {
            assert_eq!(format_amount(minor, currency, language), expected);
        }
    }

    #[test]
    fn decimals_are_those_of_the_currency() {
        for (text, currency, minor) in [
            ("28", "USD", Some(2_800)),
            ("28.5", "USD", Some(2_850)),
            ("28.505", "USD", None),
            ("2800", "JPY", Some(2_800)),
            ("2800.00", "JPY", Some(2_800)),
            ("2800.50", "JPY", None),
            ("1.5", "KWD", Some(1_500)),
            ("-1", "USD", None),
            ("", "USD", None),
        ] {
            assert_eq!(parse_decimal(text, currency), minor, "{text} {currency}");
        }
    }

    proptest! {
        #[test]
        fn decimals_are_read_as_they_are_written(minor in 0_i64..1_000_000_000_000, currency in "(USD|JPY|KWD|XXX)") {
            prop_assert_eq!(parse_decimal(&format_decimal(minor, &currency), &currency), Some(minor));
        }

        #[test]
        fn arbitrary_amounts_do_not_panic(minor in any::<i64>(), text in "\\PC{0,20}", currency in "\\PC{0,4}") {
            let _ = (parse_decimal(&text, &currency), format_amount(minor, &currency, Language::French));
        }
    }
}
