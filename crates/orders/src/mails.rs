//! The mails of orders: the download link for the buyer, and events that need the owner.

use foundation::html::escape_html;
use foundation::language::Language;
use foundation::time::Time;
use platform::mail::EmailMessage;
use platform::mail::layout::{MailPage, format_button, format_page, format_paragraph, format_quiet_paragraph};
use uuid::Uuid;

use crate::amount::format_amount;
use crate::paths::ORDERS;
use crate::receipt::Receipt;
use crate::shop_facts::ShopFacts;

/// What all mails have in common.
#[derive(Debug, Clone, Copy)]
pub struct MailContext<'a> {
    /// The time of writing.
    pub now: Time,
    pub facts: &'a ShopFacts,
}

/// The mail with a download link.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryMail<'a> {
    pub order: Uuid,
    /// The number of the link.
    pub generation: i32,
    /// The buyer's address.
    pub to: &'a str,
    /// The template's title.
    pub title: &'a str,
    /// The link.
    pub url: &'a str,
    /// Its end.
    pub expires_at: Time,
    /// The downloads that it allows.
    pub downloads: u16,
    pub receipt: Receipt<'a>,
    /// The page with the receipt alone.
    pub receipt_url: &'a str,
}

/// The texts of a delivery; `{title}`, `{days}`, `{downloads}` and `{shop}` are replaced.
struct DeliveryTexts {
    subject: &'static str,
    lead: &'static str,
    label: &'static str,
    validity: &'static str,
    renewal: &'static str,
}

fn delivery_texts(language: Language) -> DeliveryTexts {
    match language {
        Language::English => DeliveryTexts {
            subject: "Your template: {title}",
            lead: "Thank you for your purchase from {shop}. Your template, {title}, is ready: a ZIP file with the HTML, its pictures, a \
                   plain-text version and a guide.",
            label: "Download the template",
            validity: "The link is valid until {until} and for {downloads} downloads. It is for you alone.",
            renewal: "Lost the link later, or it no longer works? Open {orders} and we send a new one: every ten minutes at most, and four mails within 24 hours, this one included. Or reply to this mail.",
        },
        Language::German => DeliveryTexts {
            subject: "Ihre Vorlage: {title}",
            lead: "Danke für Ihren Einkauf bei {shop}. Ihre Vorlage {title} liegt bereit: eine ZIP-Datei mit dem HTML, den Bildern, einer \
                   reinen Textfassung und einer Anleitung.",
            label: "Vorlage herunterladen",
            validity: "Der Link gilt bis {until} und für {downloads} Downloads. Er ist nur für Sie bestimmt.",
            renewal: "Den Link später verloren, oder er funktioniert nicht mehr? Öffnen Sie {orders}, und wir senden einen neuen: höchstens alle zehn Minuten und vier E-Mails in 24 Stunden, diese mitgezählt. Oder antworten Sie auf diese Nachricht.",
        },
        Language::French => DeliveryTexts {
            subject: "Votre modèle : {title}",
            lead: "Merci de votre achat chez {shop}. Votre modèle {title} est prêt : un fichier ZIP avec le HTML, ses images, une version \
                   en texte brut et un guide.",
            label: "Télécharger le modèle",
            validity: "Le lien est valable jusqu’au {until} et pour {downloads} téléchargements. Il n’est destiné qu’à vous.",
            renewal: "Lien perdu plus tard, ou qui ne fonctionne plus ? Ouvrez {orders} et nous en envoyons un nouveau : toutes les dix minutes au plus, et quatre e-mails en 24 heures, celui-ci compris. Ou répondez à ce message.",
        },
        Language::Spanish => DeliveryTexts {
            subject: "Tu plantilla: {title}",
            lead: "Gracias por tu compra en {shop}. Tu plantilla {title} está lista: un archivo ZIP con el HTML, sus imágenes, una versión \
                   en texto plano y una guía.",
            label: "Descargar la plantilla",
            validity: "El enlace es válido hasta el {until} y para {downloads} descargas. Es solo para ti.",
            renewal: "¿Pierdes el enlace más tarde o ya no funciona? Abre {orders} y enviamos uno nuevo: cada diez minutos como máximo, y cuatro correos en 24 horas, este incluido. O responde a este mensaje.",
        },
    }
}

/// Makes an address in HTML a link.
fn link_address(html: &str, address: &str) -> String {
    html.replace(address, &format!("<a href=\"{address}\" style=\"color:inherit;\">{address}</a>"))
}

/// Formats the date of a time in UTC.
fn format_date(time: Time, language: Language) -> String {
    let format = match language {
        Language::English => "%Y-%m-%d, %H:%M UTC",
        Language::German => "%d.%m.%Y, %H:%M UTC",
        Language::French | Language::Spanish => "%d/%m/%Y, %H:%M UTC",
    };
    time.format(format).to_string()
}

/// Builds the mail to the buyer.
pub fn build_delivery(context: MailContext<'_>, language: Language, mail: DeliveryMail<'_>) -> EmailMessage {
    let texts = delivery_texts(language);
    let (until, downloads) = (format_date(mail.expires_at, language), mail.downloads.to_string());
    let facts = context.facts;
    let fill = |text: &str, title: &str, shop: &str| {
        text.replace("{until}", &until)
            .replace("{downloads}", &downloads)
            .replace("{shop}", shop)
            .replace("{title}", title)
    };
    let plain = |text: &str| fill(text, mail.title, &facts.name);
    let (title, shop) = (escape_html(mail.title), escape_html(&facts.name));
    let html = |text: &str| fill(text, &format!("<strong>{title}</strong>"), &shop);
    let orders = format!("{}{ORDERS}", facts.url);
    let renewal = texts.renewal.replace("{orders}", &orders);
    let paragraphs = [
        format_paragraph(&html(texts.lead)),
        format_button(&facts.brand, &escape_html(mail.url), texts.label),
        format_paragraph(&html(texts.validity)),
        format_quiet_paragraph(&link_address(&escape_html(&renewal), &escape_html(&orders))),
        mail.receipt.to_html(language, facts),
        format_quiet_paragraph(&format!(
            "<a href=\"{}\" style=\"color:inherit;\">{}</a>",
            escape_html(mail.receipt_url),
            Receipt::print_label(language)
        )),
    ];
    let receipt = mail.receipt.to_text(language, facts);
    let printing = format!("{}: {}", Receipt::print_label(language), mail.receipt_url);
    let text = [plain(texts.lead), mail.url.to_owned(), plain(texts.validity), renewal, receipt, printing];
    let subject = plain(texts.subject);
    let page = MailPage {
        language,
        title: &escape_html(&subject),
        preview: &shop,
        default_name: &shop,
        content: &paragraphs.concat(),
    };
    let reply_to = facts.contact().map(|address| ("Reply-To".to_owned(), address.to_owned()));
    EmailMessage {
        purpose: "order_delivery".into(),
        to: mail.to.to_owned(),
        html: format_page(&facts.brand, page),
        text: Some(text.join("\n\n") + "\n"),
        message_id: format!("order_delivery.{}.{}@{}", mail.order.simple(), mail.generation, facts.mail_host),
        date: context.now,
        headers: reply_to.into_iter().collect(),
        code: None,
        link: Some(mail.url.to_owned()),
        subject,
    }
}

/// The mail about a refund.
#[derive(Debug, Clone, Copy)]
pub struct RefundMail<'a> {
    pub order: Uuid,
    /// The buyer's address.
    pub to: &'a str,
    /// The receipt of the payment.
    pub receipt: Receipt<'a>,
}

/// Builds the mail to the buyer of a refunded order.
pub fn build_refund(context: MailContext<'_>, language: Language, mail: RefundMail<'_>) -> EmailMessage {
    let (facts, receipt) = (context.facts, mail.receipt);
    let amount = format_amount(receipt.amount_minor, receipt.currency, language);
    let (subject, text) = match language {
        Language::English => (
            format!("Refund of {}", receipt.title),
            format!(
                "{} has refunded {amount} for {}. {} returns it the way you paid; that can take a few days. The download link has ended.",
                facts.name,
                receipt.title,
                receipt.provider.title()
            ),
        ),
        Language::German => (
            format!("Erstattung: {}", receipt.title),
            format!(
                "{} hat Ihnen {amount} für {} erstattet. {} zahlt den Betrag auf dem Weg zurück, auf dem Sie bezahlt haben; das kann einige Tage dauern. Der Download-Link gilt nicht mehr.",
                facts.name,
                receipt.title,
                receipt.provider.title()
            ),
        ),
        Language::French => (
            format!("Remboursement : {}", receipt.title),
            format!(
                "{} vous a remboursé {amount} pour {}. {} verse la somme par le moyen de paiement utilisé ; cela peut prendre quelques jours. Le lien de téléchargement n’est plus valable.",
                facts.name,
                receipt.title,
                receipt.provider.title()
            ),
        ),
        Language::Spanish => (
            format!("Reembolso: {}", receipt.title),
            format!(
                "{} te ha reembolsado {amount} por {}. {} lo devuelve por el medio con el que pagaste; puede tardar unos días. El enlace de descarga ya no es válido.",
                facts.name,
                receipt.title,
                receipt.provider.title()
            ),
        ),
    };
    let id = format!("order_refund.{}@{}", mail.order.simple(), facts.mail_host);
    format_refund(context, language, mail, RefundText { id, subject, text })
}

/// How much of a payment has come back, in the smallest unit of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefundPart {
    /// All that was returned until now.
    pub returned_minor: i64,
    /// All that was returned before.
    pub before_minor: i64,
}

/// Builds the mail to the buyer of an order of which a part was refunded.
pub fn build_partial_refund(
    context: MailContext<'_>,
    language: Language,
    mail: RefundMail<'_>,
    part: RefundPart,
) -> EmailMessage {
    let receipt = mail.receipt;
    let amount = |minor: i64| format_amount(minor, receipt.currency, language);
    let RefundPart { returned_minor, before_minor } = part;
    let (back, rest) = (amount(returned_minor - before_minor), amount(receipt.amount_minor - returned_minor));
    let (shop, title, paid) = (&context.facts.name, receipt.title, amount(receipt.amount_minor));
    let provider = receipt.provider.title();
    let (subject, text) = match language {
        Language::English => (
            format!("Partial refund of {title}"),
            format!(
                "{shop} has refunded {back} of the {paid} that you paid for {title}. {provider} returns it the way you paid; that can take a few days. {rest} remain paid, and your download link stays valid."
            ),
        ),
        Language::German => (
            format!("Teilweise Erstattung: {title}"),
            format!(
                "{shop} hat Ihnen {back} von {paid} für {title} erstattet. {provider} zahlt den Betrag auf dem Weg zurück, auf dem Sie bezahlt haben; das kann einige Tage dauern. {rest} bleiben bezahlt, und der Download-Link gilt weiter."
            ),
        ),
        Language::French => (
            format!("Remboursement partiel : {title}"),
            format!(
                "{shop} vous a remboursé {back} sur {paid} pour {title}. {provider} verse la somme par le moyen de paiement utilisé ; cela peut prendre quelques jours. {rest} restent payés et le lien de téléchargement reste valable."
            ),
        ),
        Language::Spanish => (
            format!("Reembolso parcial: {title}"),
            format!(
                "{shop} te ha reembolsado {back} de {paid} por {title}. {provider} lo devuelve por el medio con el que pagaste; puede tardar unos días. {rest} siguen pagados y el enlace de descarga sigue siendo válido."
            ),
        ),
    };
    let id = format!("order_refund.{}.{returned_minor}@{}", mail.order.simple(), context.facts.mail_host);
    format_refund(context, language, mail, RefundText { id, subject, text })
}

/// What is particular to a mail about a refund.
struct RefundText {
    /// Its `Message-ID`.
    id: String,
    subject: String,
    text: String,
}

/// Formats a mail about a refund with the receipt of the payment.
fn format_refund(
    context: MailContext<'_>,
    language: Language,
    mail: RefundMail<'_>,
    words: RefundText,
) -> EmailMessage {
    let (facts, receipt) = (context.facts, mail.receipt);
    let RefundText { id, subject, text } = words;
    let shop = escape_html(&facts.name);
    let body = format_paragraph(&escape_html(&text)) + &receipt.to_html(language, facts);
    let page =
        MailPage { language, title: &escape_html(&subject), preview: &shop, default_name: &shop, content: &body };
    let reply_to = facts.contact().map(|address| ("Reply-To".to_owned(), address.to_owned()));
    EmailMessage {
        purpose: "order_refund".into(),
        to: mail.to.to_owned(),
        html: format_page(&facts.brand, page),
        text: Some(format!("{text}\n\n{}\n", receipt.to_text(language, facts))),
        message_id: id,
        date: context.now,
        headers: reply_to.into_iter().collect(),
        code: None,
        link: None,
        subject,
    }
}

/// An event that needs the owner.
#[derive(Debug, Clone, Copy)]
pub struct OwnerNotice<'a> {
    /// What makes the mail unique: the id of the event.
    pub id: Uuid,
    /// The heading.
    pub title: &'a str,
    /// What happened, and what to do: a sentence per line.
    pub lines: &'a [String],
}

/// Builds the mail to the owner.
pub fn build_notice(context: MailContext<'_>, owner: &str, notice: &OwnerNotice<'_>) -> EmailMessage {
    let facts = context.facts;
    let shop = escape_html(&facts.name);
    let paragraphs: String = notice.lines.iter().map(|line| format_paragraph(&escape_html(line))).collect();
    let page = MailPage {
        language: Language::English,
        title: notice.title,
        preview: &shop,
        default_name: &shop,
        content: &paragraphs,
    };
    EmailMessage {
        purpose: "order_notice".into(),
        to: owner.to_owned(),
        subject: format!("{} ({})", notice.title, facts.name),
        html: format_page(&facts.brand, page),
        text: Some(notice.lines.join("\n\n") + "\n"),
        message_id: format!("order_notice.{}@{}", notice.id.simple(), facts.mail_host),
        date: context.now,
        headers: vec![("Auto-Submitted".to_owned(), "auto-generated".to_owned())],
        code: None,
        link: None,
    }
}

#[cfg(test)]
mod tests {
    use foundation::mail_brand::{BrandColor, MailBrand};
    use proptest::prelude::*;

    use super::*;
    use crate::shop_facts::{SellerIdentity, ShopFonts};

    fn facts() -> ShopFacts {
        ShopFacts {
            name: "Paper & Post".to_owned(),
            brand: MailBrand { name: None, color: BrandColor::DEFAULT, logo_url: None, address: None },
            owner: Some("owner@example.com".to_owned()),
            seller: SellerIdentity {
                name: "Paper & Post".to_owned(),
                address: None,
                email: None,
                documents: Vec::new(),
            },
            mail_host: "shop.example".to_owned(),
            url: "https://shop.example".to_owned(),
            fonts: ShopFonts::default(),
        }
    }

    fn deliver(language: Language, title: &str) -> EmailMessage {
        deliver_for(&facts(), language, title)
    }

    fn deliver_for(facts: &ShopFacts, language: Language, title: &str) -> EmailMessage {
        let now = "2026-11-21T12:00:00Z".parse().expect("a time");
        let mail = DeliveryMail {
            order: Uuid::from_u128(7),
            generation: 2,
            to: "ada@example.com",
            title,
            url: "https://shop.example/shop/download/abc",
            expires_at: "2026-11-28T12:00:00Z".parse().expect("a time"),
            downloads: 10,
            receipt: Receipt {
                number: "12",
                paid_at: now,
                buyer: "ada@example.com",
                provider: crate::order::Provider::Stripe,
                title,
                amount_minor: 3_332,
                tax_minor: Some(532),
                discount_minor: Some(0),
                quantity: Some(3),
                unit_minor: Some(2_800),
                returned_minor: 0,
                currency: "USD",
                is_test: false,
            },
            receipt_url: "https://shop.example/shop/receipt/abc",
        };
        build_delivery(MailContext { now, facts }, language, mail)
    }

    #[test]
    fn receipt_names_the_seller_of_the_pages() {
        let address = Some("1 Mill Lane, Bath".to_owned());
        let email = Some("help@example.com".to_owned());
        let seller = SellerIdentity { name: "Ada Mills Ltd".to_owned(), address, email, documents: Vec::new() };
        let mail = deliver_for(&ShopFacts { seller, ..facts() }, Language::English, "Welcome Series");
        let text = mail.text.expect("a plain part");
        assert!(text.contains("\nBuyer: ada@example.com\n"), "{text}");
        for line in ["Seller: Ada Mills Ltd, 1 Mill Lane, Bath\n", "help@example.com"] {
            assert!(
                text.contains(line) && mail.html.contains(line.trim_start_matches("Seller: ").trim_end()),
                "{text}"
            );
        }
        assert!(!text.contains("owner@example.com") && !mail.html.contains("owner@example.com"), "{text}");
        assert_eq!(mail.headers, [("Reply-To".to_owned(), "help@example.com".to_owned())]);
    }

    #[test]
    fn delivery_has_link_end_and_order_in_each_language() {
        for (language, subject, until, amounts) in [
            (
                Language::English,
                "Your template: Welcome Series",
                "2026-11-28, 12:00 UTC",
                ["$33.32", "$5.32", "3 × $28.00"],
            ),
            (
                Language::German,
                "Ihre Vorlage: Welcome Series",
                "28.11.2026, 12:00 UTC",
                ["33,32\u{a0}$", "5,32\u{a0}$", "3 × 28,00\u{a0}$"],
            ),
            (
                Language::French,
                "Votre modèle : Welcome Series",
                "28/11/2026, 12:00 UTC",
                ["33,32\u{a0}$", "5,32\u{a0}$", "3 × 28,00\u{a0}$"],
            ),
            (
                Language::Spanish,
                "Tu plantilla: Welcome Series",
                "28/11/2026, 12:00 UTC",
                ["33,32\u{a0}$", "5,32\u{a0}$", "3 × 28,00\u{a0}$"],
            ),
        ] {
            let mail = deliver(language, "Welcome Series");
            let text = mail.text.expect("a plain part");
            assert_eq!(mail.subject, subject);
            let [total, tax, copies] = amounts;
            for value in [
                until,
                "https://shop.example/shop/receipt/abc",
                Receipt::print_label(language),
                "https://shop.example/shop/download/abc",
                "https://shop.example/orders",
                "#12",
                total,
                tax,
                copies,
            ] {
                assert!(text.contains(value) && mail.html.contains(value), "{value}: {text}");
            }
            assert!(
                text.contains("Paper & Post") && mail.html.contains("Paper &amp; Post") && !text.contains('{'),
                "{text}"
            );
            assert_eq!(mail.message_id, "order_delivery.00000000000000000000000000000007.2@shop.example");
            assert_eq!(mail.headers, [("Reply-To".to_owned(), "owner@example.com".to_owned())]);
        }
    }

    proptest! {
        #[test]
        fn title_adds_no_markup(title in "\\PC{1,80}") {
            let (mail, plain) = (deliver(Language::English, &title), deliver(Language::English, "x"));
            prop_assert_eq!(mail.html.matches('<').count(), plain.html.matches('<').count());
            prop_assert_eq!(mail.html.matches('"').count(), plain.html.matches('"').count());
        }
    }
}
