//! Amounts of money as text.

/// Formats an amount to be read: `28.00 USD`.
pub fn format_amount(amount_minor: i64, currency: &str) -> String {
    let sign = if amount_minor < 0 { "-" } else { "" };
    let amount = amount_minor.unsigned_abs();
    format!("{sign}{}.{:02} {currency}", amount / 100, amount % 100)
}
