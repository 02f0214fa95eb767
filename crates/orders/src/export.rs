//! Orders as lines of CSV.

use foundation::csv::format_csv_cell;
use foundation::time::{Time, format_milliseconds};

use crate::amount::format_decimal;
use crate::order::Order;

/// The names of the columns.
pub const CSV_HEADER: &str = "number,id,paid_at,state,template,title,buyer_email,amount,currency,provider,provider_reference,\
                              is_test,delivered_at,refunded_at,downloads,tax,discount,quantity,unit_price";

/// Formats an order as a line of CSV (RFC 4180), without its end.
pub fn to_csv(order: &Order) -> String {
    let time = |time: Option<Time>| time.map(format_milliseconds).unwrap_or_default();
    let amount = |minor: i64| format_decimal(minor, &order.currency);
    let fields = [
        order.number.to_string(),
        order.id.to_string(),
        time(Some(order.paid_at)),
        order.state.name().to_owned(),
        order.template.to_string(),
        order.template_title.clone(),
        order.buyer_email.clone(),
        amount(order.amount_minor),
        order.currency.clone(),
        order.provider.name().to_owned(),
        order.provider_reference.clone(),
        order.is_test.to_string(),
        time(order.delivered_at),
        time(order.refunded_at),
        order.downloads.to_string(),
        order.tax_minor.map(amount).unwrap_or_default(),
        order.discount_minor.map(amount).unwrap_or_default(),
        order.quantity.map(|quantity| quantity.to_string()).unwrap_or_default(),
        order.unit_minor.map(amount).unwrap_or_default(),
    ];
    fields.map(|field| format_csv_cell(&field)).join(",")
}
