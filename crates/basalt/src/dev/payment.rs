//! The payment simulator below `/_dev/payment`: a checkout that signs the events of the providers.
//!
//! All endpoints are for this machine only.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use foundation::html::escape_html;
use foundation::language::Language;
use http::header::{LOCATION, REFERRER_POLICY};
use http::{HeaderValue, Method, StatusCode};
use http_edge::request::{BODY_DEADLINE, read_body};
use orders::admin::{self, OrderFilter};
use orders::amount::format_amount;
use orders::decision::Product;
use orders::event::CATALOGUE_CURRENCY;
use orders::http::THANK_YOU;
use orders::service::ListProducts;
use orders::simulator::{Answer, DeliveryMode, Purchase, SIMULATOR_PATH as PATH, Simulator};
use orders::webhook::json::parse_address;
use orders::{Order, OrderState, Provider};
use url::form_urlencoded;
use uuid::Uuid;

use super::responses::{DEFAULT_POLICY, response, text};

/// The style sheet.
const STYLE: &str = concat!(
    include_str!("../../../../frontend/development/base.css"),
    include_str!("../../../../frontend/development/payment/page.css")
);
/// The largest form, in bytes.
const MAX_FORM: usize = 8 * 1024;
/// The orders on a page.
const LISTED: i64 = 20;
/// The largest number of copies that are bought at once.
const MAX_COPIES: u16 = 99;

/// The pages of the simulator.
#[derive(Clone)]
pub(crate) struct PaymentPages {
    simulator: Arc<Simulator>,
    /// Returns the templates with a payment link.
    list_for_sale: ListProducts,
}

/// What the page says beside its forms.
#[derive(Clone, Copy)]
struct Said<'a> {
    /// The links to the other pages.
    header: &'a str,
    /// What the last form did.
    message: &'a str,
}

/// A form as its fields.
struct Form(Vec<(String, String)>);

impl Form {
    fn find(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }
}

/// Returns whether the path belongs to the simulator.
pub(super) fn is_payment_path(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl PaymentPages {
    /// Creates the pages of a simulator.
    pub(crate) fn new(simulator: Arc<Simulator>, list_for_sale: ListProducts) -> Self {
        Self { simulator, list_for_sale }
    }

    /// Answers a request below [`PATH`] that passed access control.
    ///
    /// `header` has the links to the other pages.
    pub(super) async fn answer(&self, request: Request, header: &str) -> Response {
        let mut response = self.answer_page(request, header).await;
        // Without a referrer, browsers send a form with the origin `null`, which access control refuses.
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    async fn answer_page(&self, request: Request, header: &str) -> Response {
        let path = request.uri().path().to_owned();
        let below = path.strip_prefix(PATH).unwrap_or_default();
        if let Some(call) = below.strip_prefix("/api/") {
            let (status, body) = self.simulator.answer_api(request.method(), call);
            return response(status, "application/json", DEFAULT_POLICY, body.to_string().into_bytes());
        }
        match (request.method().clone(), below) {
            (Method::GET | Method::HEAD, "") => {
                let query = Form(
                    form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()).into_owned().collect(),
                );
                self.show(StatusCode::OK, &query, Said { header, message: "" }).await
            }
            (Method::GET | Method::HEAD, "/page.css") => {
                response(StatusCode::OK, "text/css; charset=utf-8", DEFAULT_POLICY, STYLE.as_bytes().to_vec())
            }
            (Method::POST, "/pay" | "/refund") => {
                let body = match read_body(request.into_body(), MAX_FORM, BODY_DEADLINE).await {
                    Ok(body) => body,
                    Err(error) => return text(error.status(), "the form was not received in time or is too large\n"),
                };
                let form = Form(form_urlencoded::parse(&body).into_owned().collect());
                if below == "/pay" { self.pay(&form, header).await } else { self.refund(&form, header).await }
            }
            _ => text(StatusCode::NOT_FOUND, "the payment simulator is at /_dev/payment\n"),
        }
    }

    async fn pay(&self, form: &Form, header: &str) -> Response {
        let products = (self.list_for_sale)();
        let product = form
            .find("template")
            .parse()
            .ok()
            .and_then(|id: u16| products.iter().find(|product| product.template == id));
        let provider = Provider::from_name(form.find("provider"))
            .filter(|provider| self.simulator.list_providers().any(|known| known == *provider));
        let (email, mode) = (form.find("email"), DeliveryMode::from_name(form.find("delivery")));
        let (Some(product), Some(provider), Some(mode)) = (product, provider, mode) else {
            let message = "Choose a template, a provider and a delivery.";
            return self.show(StatusCode::BAD_REQUEST, form, Said { header, message }).await;
        };
        if parse_address(email).is_none() {
            let message = "Enter an e-mail address, such as ada@example.com.";
            return self.show(StatusCode::BAD_REQUEST, form, Said { header, message }).await;
        }
        let quantity = if form.find("quantity").is_empty() { Some(1) } else { form.find("quantity").parse().ok() };
        let Some(quantity) = quantity.filter(|quantity| (1..=MAX_COPIES).contains(quantity)) else {
            let message = format!("Enter how many copies are bought: 1 to {MAX_COPIES}.");
            return self.show(StatusCode::BAD_REQUEST, form, Said { header, message: &message }).await;
        };
        let purchase = Purchase { provider, product, quantity, email, locale: form.find("locale") };
        let (answers, query) = self.simulator.pay(purchase, mode).await;
        if mode == DeliveryMode::Once && answers.iter().all(Result::is_ok) {
            let mut response = text(StatusCode::SEE_OTHER, "");
            let location = HeaderValue::try_from(format!("{THANK_YOU}?{query}"));
            response.headers_mut().insert(LOCATION, location.unwrap_or(HeaderValue::from_static(THANK_YOU)));
            return response;
        }
        self.show(StatusCode::OK, form, Said { header, message: &describe(&answers) }).await
    }

    async fn refund(&self, form: &Form, header: &str) -> Response {
        let id: Option<Uuid> = form.find("order").parse().ok();
        let mode = DeliveryMode::from_name(form.find("delivery")).unwrap_or(DeliveryMode::Once);
        let found = match id {
            Some(id) => admin::find(self.simulator.service(), id).await.ok().flatten(),
            None => None,
        };
        let Some(details) = found else {
            return self.show(StatusCode::NOT_FOUND, form, Said { header, message: "There is no such order." }).await;
        };
        let answers = self.simulator.refund(&details.order, mode).await;
        self.show(StatusCode::OK, form, Said { header, message: &describe(&answers) }).await
    }

    /// Answers with the page.
    ///
    /// `given` has the template that is chosen, and `before`: the page of orders below that number.
    async fn show(&self, status: StatusCode, given: &Form, said: Said<'_>) -> Response {
        let before = given.find("before").parse().ok();
        let filter = OrderFilter { limit: LISTED, before, ..OrderFilter::default() };
        let (orders, next) = admin::list_page(self.simulator.service(), &filter).await.unwrap_or_default();
        let html = self.format(given.find("template"), said, &OrdersPage { orders, before, next });
        response(status, "text/html; charset=utf-8", DEFAULT_POLICY, html.into_bytes())
    }

    fn format(&self, template: &str, Said { header, message }: Said<'_>, page: &OrdersPage) -> String {
        let products = (self.list_for_sale)();
        let options: String = products.iter().map(|product| format_option(product, template)).collect();
        let providers: Vec<String> = self
            .simulator
            .list_providers()
            .map(|provider| format!("<option value=\"{}\">{}</option>", provider.name(), provider.title()))
            .collect();
        let providers = providers.concat();
        let message =
            if message.is_empty() { String::new() } else { format!("<p role=\"status\">{}</p>", escape_html(message)) };
        let missing = format_missing(&self.simulator.service().list_missing_files(&products));
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Payment simulator</title>\n\
             <link rel=\"stylesheet\" href=\"{PATH}/page.css\">\n</head>\n<body>\n{header}<main>\n<h1>Payment simulator</h1>\n\
             <p>No money moves here. The shop gets the same signed event as from the provider.</p>\n{missing}{message}\n\
             <form method=\"post\" action=\"{PATH}/pay\">\n\
             <p><label for=\"template\">Template</label><select id=\"template\" name=\"template\">{options}</select></p>\n\
             <p><label for=\"email\">E-mail address of the buyer</label>\
             <input id=\"email\" name=\"email\" type=\"email\" required maxlength=\"200\" autocomplete=\"email\"></p>\n\
             <p><label for=\"quantity\">Copies</label><input id=\"quantity\" name=\"quantity\" type=\"number\" min=\"1\" \
             max=\"{MAX_COPIES}\" value=\"1\" required></p>\n\
             <p><label for=\"provider\">Provider</label><select id=\"provider\" name=\"provider\">{providers}</select></p>\n\
             <p><label for=\"delivery\">Delivery of the event</label><select id=\"delivery\" name=\"delivery\">{MODES}</select></p>\n\
             <p><label for=\"locale\">Language</label><select id=\"locale\" name=\"locale\">{LOCALES}</select></p>\n\
             <p class=\"actions\"><button class=\"main\" type=\"submit\">Pay</button></p>\n</form>\n"
        );
        page.push(&mut html);
        html.push_str("</main>\n</body>\n</html>\n");
        html
    }
}

/// A page of the orders, the newest first.
struct OrdersPage {
    orders: Vec<Order>,
    /// Its orders have a lower number than this; `None` on the first page.
    before: Option<i64>,
    /// The value of `before` on the next page.
    next: Option<i64>,
}

impl OrdersPage {
    fn push(&self, html: &mut String) {
        if self.orders.is_empty() && self.before.is_none() {
            return;
        }
        html.push_str("<h2 id=\"orders\">Orders</h2>\n<ul>\n");
        for order in &self.orders {
            push_order(html, order, self.before);
        }
        html.push_str("</ul>\n");
        if self.before.is_some() {
            let _ = writeln!(html, "<p><a href=\"{PATH}#orders\">Latest orders</a></p>");
        }
        if let Some(next) = self.next {
            let _ = writeln!(html, "<p><a href=\"{PATH}?before={next}#orders\">Older orders</a></p>");
        }
    }
}

const MODES: &str = "<option value=\"once\">Once</option><option value=\"repeated\">Twice</option>\
                     <option value=\"stale\">Signed a week ago</option><option value=\"forged\">With a wrong signature</option>";
const LOCALES: &str = "<option value=\"en\">English</option><option value=\"de\">German</option>\
                       <option value=\"fr\">French</option><option value=\"es\">Spanish</option>";

fn format_option(product: &Product, chosen: &str) -> String {
    let id = product.template.to_string();
    let selected = if id == chosen { " selected" } else { "" };
    let price = format_amount(product.price_minor, CATALOGUE_CURRENCY, Language::English);
    format!("<option value=\"{id}\"{selected}>{} – {price}</option>", escape_html(&product.title))
}

/// Formats a warning about templates whose buyers would get no file.
fn format_missing(missing: &[String]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    format!(
        "<p role=\"alert\">Buyers of these templates would get no file: {}. Build the files with \
         <code>npm --prefix frontend run emails:ship</code> and restart the server.</p>\n",
        escape_html(&missing.join(", "))
    )
}

fn push_order(html: &mut String, order: &Order, before: Option<i64>) {
    let before = before.map(|number| format!("<input type=\"hidden\" name=\"before\" value=\"{number}\">"));
    let (title, email) = (escape_html(&order.template_title), escape_html(&order.buyer_email));
    let (number, state) = (order.number, order.state.name());
    let amount = escape_html(&format_amount(order.amount_minor, &order.currency, Language::English));
    let _ = writeln!(
        html,
        "<li><p><strong>No. {number}: {title}</strong></p>\n<p class=\"quiet\">{email}, {amount}, {state}</p>"
    );
    if order.state != OrderState::Refunded {
        let _ = writeln!(
            html,
            "<form class=\"row\" method=\"post\" action=\"{PATH}/refund\"><input type=\"hidden\" name=\"order\" value=\"{}\">{}\
             <p><label for=\"refund-{number}\">Delivery of the event</label>\
             <select id=\"refund-{number}\" name=\"delivery\">{MODES}</select></p>\
             <button type=\"submit\">Refund No. {number}</button></form>",
            order.id,
            before.unwrap_or_default()
        );
    }
    html.push_str("</li>\n");
}

/// Describes what the shop answered to each delivery.
fn describe(answers: &[Answer]) -> String {
    let line = |answer: &Answer| match answer {
        Ok(outcome) => format!("200 {}", outcome.name()),
        Err(rejection) => format!("{} {}", rejection.status(), rejection.name()),
    };
    let lines: Vec<String> = answers.iter().map(line).collect();
    format!("The shop answered: {}", lines.join(", then "))
}
