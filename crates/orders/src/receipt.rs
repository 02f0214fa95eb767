//! The receipt in the mails of orders: number, date, seller, amounts, licence.

use std::fmt::Write as _;

use foundation::html::escape_html;
use foundation::language::Language;
use foundation::time::Time;

use crate::amount::format_amount;
use crate::order::{Order, Provider};
use crate::shop_facts::ShopFacts;

/// What a receipt says about an order.
#[derive(Debug, Clone, Copy)]
pub struct Receipt<'a> {
    /// The number of the order, or a placeholder.
    pub number: &'a str,
    /// The time of the payment.
    pub paid_at: Time,
    /// The buyer's address.
    pub buyer: &'a str,
    /// The provider of the payment.
    pub provider: Provider,
    /// What was bought.
    pub title: &'a str,
    /// The paid amount in the smallest unit of the currency, with taxes.
    pub amount_minor: i64,
    /// The taxes in it, if the provider says them.
    pub tax_minor: Option<i64>,
    pub discount_minor: Option<i64>,
    /// How many copies were bought, if it is known.
    pub quantity: Option<i32>,
    /// The list price of a copy, if it is known.
    pub unit_minor: Option<i64>,
    /// How much of the paid amount came back.
    pub returned_minor: i64,
    pub currency: &'a str,
    /// Whether no money was moved.
    pub is_test: bool,
}

/// The words of a receipt.
struct ReceiptTexts {
    heading: &'static str,
    number: &'static str,
    date: &'static str,
    seller: &'static str,
    buyer: &'static str,
    item: &'static str,
    quantity: &'static str,
    discount: &'static str,
    tax: &'static str,
    total: &'static str,
    returned: &'static str,
    rest: &'static str,
    paid_by: &'static str,
    test: &'static str,
    licence: &'static str,
    licence_text: &'static str,
    contact: &'static str,
}

fn receipt_texts(language: Language) -> &'static ReceiptTexts {
    match language {
        Language::English => &ReceiptTexts {
            heading: "Receipt",
            number: "Order",
            date: "Date",
            seller: "Seller",
            buyer: "Buyer",
            item: "Item",
            quantity: "Quantity",
            discount: "Discount",
            tax: "Tax included",
            total: "Total paid",
            returned: "Refunded",
            rest: "Remains paid",
            paid_by: "Paid with",
            test: "Test: no money was moved.",
            licence: "Licence",
            licence_text: "Use and change the template for yourself and your clients, as often as you like. Do not sell or give \
                           away the template itself.",
            contact: "Questions",
        },
        Language::German => &ReceiptTexts {
            heading: "Beleg",
            number: "Bestellung",
            date: "Datum",
            seller: "Verkäufer",
            buyer: "Käufer",
            item: "Artikel",
            quantity: "Anzahl",
            discount: "Rabatt",
            tax: "Enthaltene Steuer",
            total: "Bezahlt",
            returned: "Erstattet",
            rest: "Verbleibt bezahlt",
            paid_by: "Bezahlt mit",
            test: "Test: Es ist kein Geld geflossen.",
            licence: "Lizenz",
            licence_text: "Sie dürfen die Vorlage für sich und Ihre Kunden verwenden und ändern, so oft Sie möchten. Die Vorlage \
                           selbst dürfen Sie nicht verkaufen oder weitergeben.",
            contact: "Fragen",
        },
        Language::French => &ReceiptTexts {
            heading: "Reçu",
            number: "Commande",
            date: "Date",
            seller: "Vendeur",
            buyer: "Acheteur",
            item: "Article",
            quantity: "Quantité",
            discount: "Remise",
            tax: "Taxe comprise",
            total: "Total payé",
            returned: "Remboursé",
            rest: "Reste payé",
            paid_by: "Payé avec",
            test: "Test : aucun argent n’a été transféré.",
            licence: "Licence",
            licence_text: "Utilisez et modifiez le modèle pour vous et vos clients, autant que vous le souhaitez. Ne vendez et ne \
                           donnez pas le modèle lui-même.",
            contact: "Questions",
        },
        Language::Spanish => &ReceiptTexts {
            heading: "Recibo",
            number: "Pedido",
            date: "Fecha",
            seller: "Vendedor",
            buyer: "Comprador",
            item: "Artículo",
            quantity: "Cantidad",
            discount: "Descuento",
            tax: "Impuesto incluido",
            total: "Total pagado",
            returned: "Reembolsado",
            rest: "Queda pagado",
            paid_by: "Pagado con",
            test: "Prueba: no se movió dinero.",
            licence: "Licencia",
            licence_text: "Usa y cambia la plantilla para ti y tus clientes, tantas veces como quieras. No vendas ni regales la \
                           plantilla en sí.",
            contact: "Preguntas",
        },
    }
}

/// Formats the date of a time in UTC.
pub(crate) fn format_day(time: Time, language: Language) -> String {
    let format = match language {
        Language::English => "%Y-%m-%d",
        Language::German => "%d.%m.%Y",
        Language::French | Language::Spanish => "%d/%m/%Y",
    };
    time.format(format).to_string()
}

impl Order {
    /// Returns what a receipt says; `number` is that of the order as text.
    pub(crate) fn receipt<'a>(&'a self, number: &'a str) -> Receipt<'a> {
        Receipt {
            number,
            paid_at: self.paid_at,
            buyer: &self.buyer_email,
            provider: self.provider,
            title: &self.template_title,
            amount_minor: self.amount_minor,
            tax_minor: self.tax_minor,
            discount_minor: self.discount_minor,
            quantity: self.quantity,
            unit_minor: self.unit_minor,
            returned_minor: self.returned_minor,
            currency: &self.currency,
            is_test: self.is_test,
        }
    }
}

/// The lines of a receipt before that of the item: number, date, seller.
pub(crate) const LINES_BEFORE_ITEM: usize = 3;

impl Receipt<'_> {
    /// Returns the heading in a language.
    pub(crate) fn heading(language: Language) -> &'static str {
        receipt_texts(language).heading
    }

    /// Returns the label of the link to the page for printing.
    pub(crate) fn print_label(language: Language) -> &'static str {
        match language {
            Language::English => "Print this receipt or save it as a PDF",
            Language::German => "Diesen Beleg drucken oder als PDF speichern",
            Language::French => "Imprimer ce reçu ou l’enregistrer en PDF",
            Language::Spanish => "Imprimir este recibo o guardarlo como PDF",
        }
    }

    /// Returns names and values, in the order of the lines.
    pub(crate) fn list_lines(&self, language: Language, facts: &ShopFacts) -> Vec<(&'static str, String)> {
        let texts = receipt_texts(language);
        let name = &facts.seller.name;
        let seller = match facts.seller.address.as_deref() {
            None => name.clone(),
            Some(address) if address.starts_with(name) => address.to_owned(),
            Some(address) => format!("{name}, {address}"),
        };
        let amount = |minor: i64| format_amount(minor, self.currency, language);
        let more = |name, minor: Option<i64>| minor.filter(|minor| *minor > 0).map(|minor| (name, amount(minor)));
        let mut lines = vec![
            (texts.number, format!("#{}", self.number)),
            (texts.date, format_day(self.paid_at, language)),
            (texts.seller, seller),
            (texts.item, self.title.to_owned()),
        ];
        lines.extend(self.quantity.filter(|quantity| *quantity > 1).map(|quantity| {
            let each = self.unit_minor.map(|minor| format!(" × {}", amount(minor))).unwrap_or_default();
            (texts.quantity, format!("{quantity}{each}"))
        }));
        lines.extend(more(texts.discount, self.discount_minor));
        lines.extend(more(texts.tax, self.tax_minor));
        lines.push((texts.total, amount(self.amount_minor)));
        if self.returned_minor > 0 {
            lines.push((texts.returned, amount(self.returned_minor)));
            lines.push((texts.rest, amount(self.amount_minor - self.returned_minor)));
        }
        let test = if self.is_test { format!(" ({})", texts.test) } else { String::new() };
        lines.push((texts.paid_by, format!("{}{test}", self.provider.title())));
        lines.push((texts.licence, texts.licence_text.to_owned()));
        lines.extend(facts.contact().map(|address| (texts.contact, address.to_owned())));
        lines
    }

    /// Returns the lines of a mail. Pages do not have the buyer's address, as their addresses stay in histories.
    fn list_mail_lines(&self, language: Language, facts: &ShopFacts) -> Vec<(&'static str, String)> {
        let mut lines = self.list_lines(language, facts);
        lines.insert(LINES_BEFORE_ITEM, (receipt_texts(language).buyer, self.buyer.to_owned()));
        lines
    }

    /// Formats the receipt for the HTML of a mail.
    pub(crate) fn to_html(self, language: Language, facts: &ShopFacts) -> String {
        let cell = "padding:6px 12px 6px 0;border-top:1px solid #d9d9de;font-size:14px;line-height:20px;text-align:left;vertical-align:top;";
        let mut rows = String::new();
        for (name, value) in self.list_mail_lines(language, facts) {
            let value = escape_html(&value);
            let _ = writeln!(
                rows,
                "<tr><td class=\"quiet line\" width=\"30%\" style=\"{cell}color:#5c5c66;\">{name}</td>\n\
                 <td class=\"text line\" style=\"{cell}color:#3a3a42;overflow-wrap:anywhere;\">{value}</td></tr>"
            );
        }
        format!(
            "<h2 class=\"text\" style=\"margin:28px 0 8px;font-size:18px;line-height:24px;color:#1a1a1f;\">{}</h2>\n\
             <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\">\n{rows}</table>\n",
            Self::heading(language)
        )
    }

    /// Formats the receipt for the plain text of a mail.
    pub(crate) fn to_text(self, language: Language, facts: &ShopFacts) -> String {
        let lines = self.list_mail_lines(language, facts);
        let lines: Vec<String> = lines.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!("{}\n\n{}", Self::heading(language), lines.join("\n"))
    }
}
