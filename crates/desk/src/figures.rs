//! `GET /figures`: views, submissions and purchases by day and by template.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use chrono::{Days, NaiveDate};
use serde_json::{Value, json};
use utoipa_axum::routes;

use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::query::{Query, has_plain_year};
use crate::http::respond;
use crate::schemas;
use crate::section::{OwnerCall, OwnerRoutes, Section, unknown_path};
use crate::store::figures::{self as store, FigureRow};

/// The days before today that are shown if none are requested.
const DEFAULT_DAYS: u64 = 29;
/// The most days of a request.
const MOST_DAYS: i64 = 400;

/// Returns ids and titles of the templates on sale.
pub type ListTemplates = Arc<dyn Fn() -> Vec<(u16, String)> + Send + Sync>;

/// Answers `GET /figures`.
pub struct Figures(ListTemplates);

impl Figures {
    /// Creates the section of a shop with these templates.
    pub fn new(list_templates: ListTemplates) -> Self {
        Self(list_templates)
    }
}

impl Section for Figures {
    const NAME: &'static str = "figures";

    fn routes() -> OwnerRoutes<Self> {
        OwnerRoutes::new(unknown_path).calls(routes!(show_figures))
    }
}

/// Returns views, submissions and purchases by day and by template.
#[utoipa::path(
    get, path = "/", tag = "figures", params(schemas::FigureParameters),
    responses((status = 200, description = "The figures", body = Object), Refusal)
)]
async fn show_figures(State(figures): State<Arc<Figures>>, call: OwnerCall) -> Result<Response, DeskError> {
    let period = Period::read(&call.query, call.now().date_naive())?;
    let tests = match call.query.get("tests") {
        None => TestFigures::LeftOut,
        Some("included") => TestFigures::Included,
        Some(_) => return Err(DeskError::invalid("tests must be included, or absent.")),
    };
    let rows = store::list(&mut call.db().with_long_statements(), period.from, period.to).await?;
    Ok(respond::ok(&build(period, &rows, tests, &(figures.0)())))
}

/// The days of a request, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    from: NaiveDate,
    to: NaiveDate,
}

impl Period {
    fn read(query: &Query, today: NaiveDate) -> Result<Self, DeskError> {
        let to = query.day("to")?.unwrap_or(today);
        let before = to.checked_sub_days(Days::new(DEFAULT_DAYS)).filter(|day| has_plain_year(*day));
        let from = query.day("from")?.or(before).unwrap_or(to);
        let days = (to - from).num_days() + 1;
        if !(1..=MOST_DAYS).contains(&days) {
            let text = format!("The period from {from} to {to} must have from 1 to {MOST_DAYS} days.");
            return Err(DeskError::invalid(text));
        }
        Ok(Self { from, to })
    }
}

/// Whether test orders, and views of a shop in development, are part of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestFigures {
    LeftOut,
    Included,
}

/// The numbers of a day, of a template, or of all.
#[derive(Debug, Default)]
struct Sums {
    views: i64,
    requests: i64,
    purchases: i64,
    revenue: BTreeMap<String, i64>,
}

impl Sums {
    fn add(&mut self, row: &FigureRow) {
        match row.kind.as_str() {
            "views" | "test_views" => self.views += row.count,
            "requests" => self.requests += row.count,
            _ => {
                self.purchases += row.count;
                *self.revenue.entry(row.currency.clone().unwrap_or_default()).or_default() += row.amount;
            }
        }
    }

    fn to_json(&self) -> Value {
        let revenue: Vec<Value> = (self.revenue.iter())
            .map(|(currency, amount)| json!({ "amount_minor": amount, "currency": currency }))
            .collect();
        json!({ "views": self.views, "requests": self.requests, "purchases": self.purchases, "revenue": revenue })
    }
}

/// Sums the rows up; every day and every template on sale is shown, also without numbers.
///
/// The numbers of tests are part of the answer in both cases.
fn build(period: Period, rows: &[FigureRow], tests: TestFigures, on_sale: &[(u16, String)]) -> Value {
    let Period { from, to } = period;
    let days = from.iter_days().take_while(|day| *day <= to).map(|day| (day.to_string(), Sums::default()));
    let mut days: BTreeMap<String, Sums> = days.collect();
    let on_sale = on_sale.iter().map(|(id, title)| (i32::from(*id), (title.clone(), Sums::default())));
    let mut templates: BTreeMap<i32, (String, Sums)> = on_sale.collect();
    let (mut totals, mut in_tests) = (Sums::default(), Sums::default());
    for row in rows {
        if row.kind.starts_with("test_") {
            in_tests.add(row);
            if tests == TestFigures::LeftOut {
                continue;
            }
        }
        totals.add(row);
        days.entry(row.day.clone()).or_default().add(row);
        if row.template != 0 {
            let title = || row.title.clone().unwrap_or_else(|| format!("Template {}", row.template));
            templates.entry(row.template).or_insert_with(|| (title(), Sums::default())).1.add(row);
        }
    }
    let days: Vec<Value> = (days.iter())
        .map(|(date, sums)| {
            json!({ "date": date, "views": sums.views, "requests": sums.requests, "purchases": sums.purchases })
        })
        .collect();
    let templates: Vec<Value> = (templates.iter())
        .map(|(id, (title, sums))| {
            let mut shown = json!({ "id": id, "title": title });
            if let (Some(shown), Value::Object(sums)) = (shown.as_object_mut(), sums.to_json()) {
                shown.extend(sums);
            }
            shown
        })
        .collect();
    let in_tests = json!({ "views": in_tests.views, "purchases": in_tests.purchases });
    json!({
        "from": from,
        "to": to,
        "days": days,
        "templates": templates,
        "totals": totals.to_json(),
        "tests": in_tests,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().expect("a day")
    }

    fn read(query: &str) -> Option<Period> {
        Period::read(&Query::parse(Some(query)).expect("a query"), day("2026-03-01")).ok()
    }

    fn row(kind: &str, day: &str, template: i32, count: i64) -> FigureRow {
        let sold = kind.ends_with("purchases");
        FigureRow {
            kind: kind.into(),
            day: day.into(),
            template,
            title: sold.then(|| "Sold".into()),
            count,
            currency: sold.then(|| "EUR".into()),
            amount: if sold { 100 * count } else { 0 },
        }
    }

    #[test]
    fn period_is_limited() {
        assert_eq!(read(""), Some(Period { from: day("2026-01-31"), to: day("2026-03-01") }));
        assert_eq!(
            read("from=2026-02-28&to=2026-02-28"),
            Some(Period { from: day("2026-02-28"), to: day("2026-02-28") })
        );
        assert_eq!(read("to=0001-01-05"), Some(Period { from: day("0001-01-05"), to: day("0001-01-05") }));
        assert!(read("from=9999-12-31&to=9999-12-31").is_some());
        for wrong in [
            "from=2026-03-02",
            "from=2024-01-01",
            "to=2026-02-30",
            "to=%2B262142-12-31",
            "from=-0001-01-01&to=-0001-01-02",
            "from=0000-01-01&to=0000-01-02",
            "from=1.2.2026",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn days_and_templates_without_numbers_are_shown() {
        let period = Period { from: day("2026-02-28"), to: day("2026-03-02") };
        let rows = [
            row("views", "2026-02-28", 0, 5),
            row("views", "2026-02-28", 2, 3),
            row("requests", "2026-03-02", 0, 1),
            row("purchases", "2026-03-02", 9, 2),
        ];
        let built = build(period, &rows, TestFigures::LeftOut, &[(1, "One".into()), (2, "Two".into())]);
        assert_eq!(
            built["days"],
            json!([
                {"date": "2026-02-28", "views": 8, "requests": 0, "purchases": 0},
                {"date": "2026-03-01", "views": 0, "requests": 0, "purchases": 0},
                {"date": "2026-03-02", "views": 0, "requests": 1, "purchases": 2},
            ])
        );
        let revenue = json!([{"amount_minor": 200, "currency": "EUR"}]);
        assert_eq!(
            built["templates"],
            json!([
                {"id": 1, "title": "One", "views": 0, "requests": 0, "purchases": 0, "revenue": []},
                {"id": 2, "title": "Two", "views": 3, "requests": 0, "purchases": 0, "revenue": []},
                {"id": 9, "title": "Sold", "views": 0, "requests": 0, "purchases": 2, "revenue": revenue},
            ])
        );
        assert_eq!(built["totals"], json!({"views": 8, "requests": 1, "purchases": 2, "revenue": revenue}));
        assert_eq!((built["from"].as_str(), built["to"].as_str()), (Some("2026-02-28"), Some("2026-03-02")));
    }

    #[test]
    fn tests_are_counted_on_request() {
        let period = Period { from: day("2026-02-28"), to: day("2026-02-28") };
        let rows = [
            row("views", "2026-02-28", 1, 5),
            row("test_views", "2026-02-28", 1, 40),
            row("test_purchases", "2026-02-28", 1, 13),
        ];
        let on_sale = [(1, "One".into())];
        let without = build(period, &rows, TestFigures::LeftOut, &on_sale);
        assert_eq!(without["totals"], json!({"views": 5, "requests": 0, "purchases": 0, "revenue": []}));
        assert_eq!(without["tests"], json!({"views": 40, "purchases": 13}));
        let with = build(period, &rows, TestFigures::Included, &on_sale);
        let revenue = json!([{"amount_minor": 1300, "currency": "EUR"}]);
        assert_eq!(with["totals"], json!({"views": 45, "requests": 0, "purchases": 13, "revenue": revenue}));
        assert_eq!((&with["days"][0]["views"], &with["tests"]), (&json!(45), &without["tests"]));
    }

    proptest! {
        #[test]
        fn arbitrary_days_do_not_panic(from in "\\PC{0,12}", to in "[-+0-9]{0,12}") {
            let mut pairs = url::form_urlencoded::Serializer::new(String::new());
            let text = pairs.append_pair("from", &from).append_pair("to", &to).finish();
            if let Ok(query) = Query::parse(Some(&text)) {
                let _ = Period::read(&query, day("2026-03-01"));
            }
        }
    }
}
