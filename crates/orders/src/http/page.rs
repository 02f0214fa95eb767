//! Pages of one message, in the look of the shop and in four languages.

use std::fmt::Write as _;

use axum::response::{IntoResponse, Response};
use foundation::html::escape_html;
use foundation::language::Language;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, VARY};

use super::extract::Visit;
use crate::paths::{ORDERS, STYLE_SHEET};
use crate::receipt::Receipt;
use crate::shop_facts::{SellerDocument, SellerIdentity, ShopFacts, ShopFonts};

/// The style sheet without the shop's fonts.
const STYLE: &str = include_str!("page.css");

/// The texts of a page.
#[derive(Debug, Clone, Copy)]
pub struct MessagePage {
    /// The heading.
    pub title: &'static str,
    /// What follows it; an empty one is left out.
    pub paragraphs: [&'static str; 2],
    /// The label of the link to the shop.
    pub back: &'static str,
}

/// Returns the texts of the page after a payment.
pub(super) fn thank_you(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "Thank you",
            paragraphs: [
                "Your template is on its way: an email with the download link goes to the address that you gave when you paid.",
                "It usually arrives within a few minutes. If it does not, look into your spam folder.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Vielen Dank",
            paragraphs: [
                "Ihre Vorlage ist unterwegs: Eine E-Mail mit dem Download-Link geht an die Adresse, die Sie beim Bezahlen angegeben haben.",
                "Sie kommt meist innerhalb weniger Minuten an. Falls nicht, sehen Sie bitte im Spam-Ordner nach.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Merci",
            paragraphs: [
                "Votre modèle est en route : un e-mail avec le lien de téléchargement part à l’adresse indiquée lors du paiement.",
                "Il arrive en général en quelques minutes. Sinon, regardez dans le dossier des courriers indésirables.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Gracias",
            paragraphs: [
                "Tu plantilla está en camino: un correo con el enlace de descarga va a la dirección que indicaste al pagar.",
                "Suele llegar en unos minutos. Si no es así, mira en la carpeta de correo no deseado.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the texts of the page after a payment at PayPal that PayPal has not confirmed yet.
pub(super) fn waiting_for_paypal(language: Language) -> MessagePage {
    let paragraphs = match language {
        Language::English => [
            "We are waiting for PayPal to confirm your payment. Then an email with the download link goes to the address of your \
             PayPal account, usually within a few minutes.",
            "If it does not arrive, look into your spam folder.",
        ],
        Language::German => [
            "Wir warten auf die Bestätigung Ihrer Zahlung durch PayPal. Dann geht eine E-Mail mit dem Download-Link an die Adresse \
             Ihres PayPal-Kontos, meist innerhalb weniger Minuten.",
            "Falls sie nicht ankommt, sehen Sie bitte im Spam-Ordner nach.",
        ],
        Language::French => [
            "Nous attendons que PayPal confirme votre paiement. Un e-mail avec le lien de téléchargement part ensuite à l’adresse \
             de votre compte PayPal, en général en quelques minutes.",
            "S’il n’arrive pas, regardez dans le dossier des courriers indésirables.",
        ],
        Language::Spanish => [
            "Esperamos a que PayPal confirme tu pago. Después, un correo con el enlace de descarga va a la dirección de tu cuenta \
             de PayPal, normalmente en unos minutos.",
            "Si no llega, mira en la carpeta de correo no deseado.",
        ],
    };
    MessagePage { paragraphs, ..thank_you(language) }
}

/// Returns the texts of the page after a payment whose order is known.
pub(super) fn order_ready(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "Thank you",
            paragraphs: [
                "Your payment has arrived, and your template is ready.",
                "The same link is on its way to you by email, with this receipt.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Vielen Dank",
            paragraphs: [
                "Ihre Zahlung ist eingegangen, und Ihre Vorlage liegt bereit.",
                "Derselbe Link ist mit diesem Beleg per E-Mail zu Ihnen unterwegs.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Merci",
            paragraphs: [
                "Votre paiement est arrivé et votre modèle est prêt.",
                "Le même lien part vers vous par e-mail, avec ce reçu.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Gracias",
            paragraphs: [
                "Tu pago ha llegado y tu plantilla está lista.",
                "El mismo enlace va hacia ti por correo, con este recibo.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Formats the link to the page where buyers ask for their links.
pub(super) fn format_orders_link(language: Language) -> String {
    let (question, label) = match language {
        Language::English => ("Lost the link later?", "Ask for it again"),
        Language::German => ("Den Link später verloren?", "Noch einmal anfordern"),
        Language::French => ("Lien perdu plus tard ?", "Le redemander"),
        Language::Spanish => ("¿Pierdes el enlace más tarde?", "Pídelo otra vez"),
    };
    format!("<p>{question} <a class=\"quiet\" href=\"{ORDERS}\">{label}</a></p>\n")
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OrderPaths<'a> {
    /// Where the file is.
    pub download: &'a str,
    /// Where the receipt is.
    pub receipt: &'a str,
}

/// Formats the download button and the receipt of an order.
pub(super) fn format_order(
    language: Language,
    paths: OrderPaths<'_>,
    lines: &[(&str, String)],
    contact: Option<&str>,
) -> String {
    let button = match language {
        Language::English => "Download the template",
        Language::German => "Vorlage herunterladen",
        Language::French => "Télécharger le modèle",
        Language::Spanish => "Descargar la plantilla",
    };
    format!(
        "<p><a class=\"button\" href=\"{}\">{button}</a></p>\n<section aria-labelledby=\"receipt\">\n\
         <h2 id=\"receipt\">{}</h2>\n{}</section>\n<p><a class=\"quiet\" href=\"{}\">{}</a></p>\n{}",
        escape_html(paths.download),
        Receipt::heading(language),
        format_lines(lines, contact),
        escape_html(paths.receipt),
        Receipt::print_label(language),
        format_orders_link(language)
    )
}

/// Formats the lines of a receipt; the last one, with the address that buyers write to, is a link.
fn format_lines(lines: &[(&str, String)], contact: Option<&str>) -> String {
    let mut rows = String::new();
    for (index, (name, value)) in lines.iter().enumerate() {
        let (is_last, value_html) = (index + 1 == lines.len(), escape_html(value));
        let value = match contact {
            Some(address) if is_last && address == value => format_mail_link(address),
            _ => value_html,
        };
        let _ = writeln!(rows, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    format!("<dl>\n{rows}</dl>\n")
}

/// Formats a link that writes to an address.
fn format_mail_link(address: &str) -> String {
    let address = escape_html(address);
    format!("<a class=\"quiet\" href=\"mailto:{address}\">{address}</a>")
}

/// Returns the texts of the page of a receipt.
pub(super) fn receipt(language: Language) -> MessagePage {
    let printing = match language {
        Language::English => {
            "Print this page with your browser, or save it as a PDF<span class=\"keys\">: Ctrl + P, or ⌘ P on a Mac</span>."
        }
        Language::German => {
            "Drucken Sie diese Seite mit Ihrem Browser oder speichern Sie sie als PDF<span class=\"keys\">: Strg + P, am Mac ⌘ P</span>."
        }
        Language::French => {
            "Imprimez cette page avec votre navigateur ou enregistrez-la en PDF<span class=\"keys\"> : Ctrl + P, ou ⌘ P sur un Mac</span>."
        }
        Language::Spanish => {
            "Imprime esta página con tu navegador o guárdala como PDF<span class=\"keys\">: Ctrl + P, o ⌘ P en un Mac</span>."
        }
    };
    MessagePage { title: Receipt::heading(language), paragraphs: [printing, ""], ..thank_you(language) }
}

/// Formats the lines of a receipt, and whether the order was refunded.
pub(super) fn format_receipt(
    language: Language,
    is_refunded: bool,
    lines: &[(&str, String)],
    contact: Option<&str>,
) -> String {
    let refunded = match language {
        Language::English => "The amount was refunded.",
        Language::German => "Der Betrag wurde erstattet.",
        Language::French => "Le montant a été remboursé.",
        Language::Spanish => "El importe fue reembolsado.",
    };
    let refunded = if is_refunded { format!("<p><strong>{refunded}</strong></p>\n") } else { String::new() };
    format!("<section class=\"receipt\">\n{refunded}{}</section>\n", format_lines(lines, contact))
}

/// The field of the form for the addressee of a receipt.
pub(super) const ADDRESSEE_FIELD: &str = "addressee";

/// The words of that form, and of the line of the receipt.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddresseeTexts {
    pub line: &'static str,
    open: &'static str,
    field: &'static str,
    hint: &'static str,
    button: &'static str,
}

pub(super) fn addressee_texts(language: Language) -> AddresseeTexts {
    match language {
        Language::English => AddresseeTexts {
            line: "Billed to",
            open: "Add your company to this receipt",
            field: "Company, address, VAT number",
            hint: "It is shown on this page until you close it, and not stored.",
            button: "Add to the receipt",
        },
        Language::German => AddresseeTexts {
            line: "Ausgestellt für",
            open: "Ihre Firma auf diesen Beleg setzen",
            field: "Firma, Anschrift, USt-IdNr.",
            hint: "Die Angaben stehen auf dieser Seite, bis Sie sie schließen, und werden nicht gespeichert.",
            button: "Auf den Beleg setzen",
        },
        Language::French => AddresseeTexts {
            line: "Établi pour",
            open: "Ajouter votre société à ce reçu",
            field: "Société, adresse, n° de TVA",
            hint: "Ces lignes restent sur cette page jusqu’à sa fermeture et ne sont pas enregistrées.",
            button: "Ajouter au reçu",
        },
        Language::Spanish => AddresseeTexts {
            line: "Emitido para",
            open: "Añadir tu empresa a este recibo",
            field: "Empresa, dirección, NIF",
            hint: "Estas líneas quedan en esta página hasta que la cierres y no se guardan.",
            button: "Añadir al recibo",
        },
    }
}

/// Formats the form for the addressee of a receipt, filled in with what was entered before.
pub(super) fn format_addressee_form(language: Language, path: &str, entered: &str) -> String {
    let AddresseeTexts { open, field, hint, button, .. } = addressee_texts(language);
    format!(
        "<details>\n<summary>{open}</summary>\n<form method=\"post\" action=\"{}\">\n<label for=\"addressee\">{field}</label>\n\
         <textarea id=\"addressee\" name=\"{ADDRESSEE_FIELD}\" rows=\"4\" required maxlength=\"960\" \
         autocomplete=\"street-address\" aria-describedby=\"hint\">{}</textarea>\n<p class=\"hint\" id=\"hint\">{hint}</p>\n\
         <button class=\"plain\" type=\"submit\">{button}</button>\n</form>\n</details>\n",
        escape_html(path),
        escape_html(entered)
    )
}

/// Returns the texts of the page of a receipt that cannot be read for now.
pub(super) fn receipt_unavailable(language: Language) -> MessagePage {
    let text = match language {
        Language::English => "The receipt cannot be shown at the moment.",
        Language::German => "Der Beleg kann gerade nicht angezeigt werden.",
        Language::French => "Le reçu ne peut pas être affiché pour le moment.",
        Language::Spanish => "El recibo no se puede mostrar en este momento.",
    };
    MessagePage { paragraphs: [text, ""], ..unavailable(language) }
}

/// Returns the texts of the page of an order that was refunded.
pub(super) fn refunded(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "This order was refunded",
            paragraphs: [
                "The amount was returned the way it was paid, and the download link has ended.",
                "If you do not see it yet: how long it takes depends on the payment provider, usually a few days.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Diese Bestellung wurde erstattet",
            paragraphs: [
                "Der Betrag wurde auf dem Weg der Zahlung zurückgegeben, und der Download-Link gilt nicht mehr.",
                "Wenn Sie ihn noch nicht sehen: Wie lange es dauert, hängt vom Zahlungsanbieter ab, meist einige Tage.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Cette commande a été remboursée",
            paragraphs: [
                "Le montant a été rendu par le moyen de paiement utilisé, et le lien de téléchargement n’est plus valable.",
                "S’il n’apparaît pas encore : le délai dépend du prestataire de paiement, quelques jours en général.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Este pedido fue reembolsado",
            paragraphs: [
                "El importe se devolvió por el medio con el que se pagó y el enlace de descarga ya no es válido.",
                "Si todavía no lo ves: el plazo depende del proveedor de pagos, unos días por lo general.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the texts of the page of a link that has ended.
pub(super) fn ended(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "This link has ended",
            paragraphs: [
                "It was valid for a limited time and number of downloads, was replaced by a newer one, or its order was refunded.",
                "Is there a newer email with a link? If not, we send a new one to the address of the order.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Dieser Link gilt nicht mehr",
            paragraphs: [
                "Er galt für begrenzte Zeit und eine begrenzte Zahl von Downloads, wurde durch einen neueren ersetzt, oder die Bestellung wurde erstattet.",
                "Gibt es eine neuere E-Mail mit einem Link? Sonst senden wir einen neuen an die Adresse der Bestellung.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Ce lien n’est plus valable",
            paragraphs: [
                "Il était valable pour une durée et un nombre de téléchargements limités, a été remplacé par un plus récent, ou la commande a été remboursée.",
                "Y a-t-il un e-mail plus récent avec un lien ? Sinon, nous en envoyons un nouveau à l’adresse de la commande.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Este enlace ya no es válido",
            paragraphs: [
                "Valía durante un tiempo y un número de descargas limitados, fue sustituido por otro más reciente, o el pedido fue reembolsado.",
                "¿Hay un correo más reciente con un enlace? Si no, enviamos uno nuevo a la dirección del pedido.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the texts of the page of an unknown link.
pub(super) fn unknown(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "This link is not complete",
            paragraphs: [
                "No download belongs to this address.",
                "Open the link by the button in the email, or copy the whole address.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Dieser Link ist nicht vollständig",
            paragraphs: [
                "Zu dieser Adresse gehört kein Download.",
                "Öffnen Sie den Link über den Knopf in der E-Mail oder kopieren Sie die ganze Adresse.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Ce lien est incomplet",
            paragraphs: [
                "Aucun téléchargement ne correspond à cette adresse.",
                "Ouvrez le lien avec le bouton de l’e-mail ou copiez l’adresse entière.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Este enlace no está completo",
            paragraphs: [
                "A esta dirección no le corresponde ninguna descarga.",
                "Abre el enlace con el botón del correo o copia la dirección entera.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the texts of the page of a download that fails for now.
pub(super) fn unavailable(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "Please try again later",
            paragraphs: [
                "The file cannot be sent at the moment.",
                "Your link stays valid, and this attempt does not count.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Bitte später noch einmal versuchen",
            paragraphs: [
                "Die Datei kann gerade nicht gesendet werden.",
                "Ihr Link bleibt gültig, und dieser Versuch zählt nicht.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Veuillez réessayer plus tard",
            paragraphs: [
                "Le fichier ne peut pas être envoyé pour le moment.",
                "Votre lien reste valable et cet essai ne compte pas.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Inténtalo más tarde",
            paragraphs: [
                "El archivo no se puede enviar en este momento.",
                "Tu enlace sigue siendo válido y este intento no cuenta.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the style sheet of the pages, with the fonts that there are.
pub(super) fn format_style_sheet(fonts: &ShopFonts) -> String {
    let face = |family: &str, weights: &str, path: &Option<String>| {
        path.as_ref().map_or_else(String::new, |path| {
            format!(
                "@font-face {{\n  font-family: \"{family}\";\n  font-weight: {weights};\n  font-display: swap;\n  \
                 src: url(\"{path}\") format(\"woff2\");\n}}\n"
            )
        })
    };
    let (besley, libre_franklin) =
        (face("Besley", "400 500", &fonts.besley), face("Libre Franklin", "400 600", &fonts.libre_franklin));
    format!("{besley}{libre_franklin}{STYLE}")
}

/// Returns the texts of the page where buyers ask for their links.
fn lost_links(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "Your downloads",
            paragraphs: [
                "Enter the email address that you gave when you paid, and we send you the links of your orders again.",
                "Every template that you bought stays yours, with all its updates.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Ihre Downloads",
            paragraphs: [
                "Geben Sie die E-Mail-Adresse ein, die Sie beim Bezahlen angegeben haben. Wir senden Ihnen die Links Ihrer Bestellungen noch einmal.",
                "Jede gekaufte Vorlage bleibt Ihre, mit allen Aktualisierungen.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Vos téléchargements",
            paragraphs: [
                "Saisissez l’adresse e-mail indiquée lors du paiement : nous vous renvoyons les liens de vos commandes.",
                "Chaque modèle acheté reste le vôtre, avec toutes ses mises à jour.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Tus descargas",
            paragraphs: [
                "Escribe el correo que indicaste al pagar y te enviamos otra vez los enlaces de tus pedidos.",
                "Cada plantilla que compraste sigue siendo tuya, con todas sus actualizaciones.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the texts of the page after that.
pub(super) fn links_sent(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "Look into your mailbox",
            paragraphs: [
                "If there are orders of this address, an email with a new link is on its way for each of them.",
                "We send one every ten minutes at most, and four for an order within 24 hours. If none arrives, look into your spam folder, or try the address of your payment account.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Sehen Sie in Ihr Postfach",
            paragraphs: [
                "Wenn es Bestellungen dieser Adresse gibt, ist für jede eine E-Mail mit einem neuen Link unterwegs.",
                "Wir senden höchstens alle zehn Minuten eine und für eine Bestellung vier in 24 Stunden. Falls keine ankommt, sehen Sie im Spam-Ordner nach oder versuchen Sie die Adresse Ihres Zahlungskontos.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Consultez votre boîte de réception",
            paragraphs: [
                "S’il existe des commandes de cette adresse, un e-mail avec un nouveau lien est en route pour chacune.",
                "Nous en envoyons un toutes les dix minutes au plus, et quatre par commande en 24 heures. S’il n’arrive pas, regardez dans les courriers indésirables ou essayez l’adresse de votre compte de paiement.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Mira tu buzón",
            paragraphs: [
                "Si hay pedidos de esta dirección, un correo con un enlace nuevo está en camino para cada uno.",
                "Enviamos uno cada diez minutos como máximo, y cuatro por pedido en 24 horas. Si no llega, mira en el correo no deseado o prueba la dirección de tu cuenta de pago.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Returns the texts of the page for a network that has asked for links too often.
pub(super) fn too_many_requests(language: Language) -> MessagePage {
    match language {
        Language::English => MessagePage {
            title: "Please try again in ten minutes",
            paragraphs: [
                "Links were asked for many times from your network.",
                "An email that was asked for before may be on its way: look into your mailbox and your spam folder.",
            ],
            back: "Back to Templates",
        },
        Language::German => MessagePage {
            title: "Bitte in zehn Minuten noch einmal versuchen",
            paragraphs: [
                "Aus Ihrem Netz wurden sehr oft Links angefordert.",
                "Eine vorher angeforderte E-Mail ist vielleicht unterwegs: Sehen Sie in Ihr Postfach und in den Spam-Ordner.",
            ],
            back: "Zurück zu den Vorlagen",
        },
        Language::French => MessagePage {
            title: "Veuillez réessayer dans dix minutes",
            paragraphs: [
                "Des liens ont été demandés de nombreuses fois depuis votre réseau.",
                "Un e-mail déjà demandé est peut-être en route : consultez votre boîte et les courriers indésirables.",
            ],
            back: "Retour aux modèles",
        },
        Language::Spanish => MessagePage {
            title: "Inténtalo de nuevo en diez minutos",
            paragraphs: [
                "Desde tu red se han pedido enlaces muchas veces.",
                "Puede que un correo pedido antes esté en camino: mira tu buzón y el correo no deseado.",
            ],
            back: "Volver a las plantillas",
        },
    }
}

/// Formats the form for the address of a buyer.
fn format_address_form(language: Language) -> String {
    let (field, button) = match language {
        Language::English => ("Email address", "Send my links"),
        Language::German => ("E-Mail-Adresse", "Links senden"),
        Language::French => ("Adresse e-mail", "Envoyer mes liens"),
        Language::Spanish => ("Correo electrónico", "Enviar mis enlaces"),
    };
    format!(
        "<form method=\"post\" action=\"{ORDERS}\">\n<label for=\"email\">{field}</label>\n\
         <input id=\"email\" name=\"email\" type=\"email\" required maxlength=\"255\" autocomplete=\"email\">\n\
         <button class=\"button\" type=\"submit\">{button}</button>\n</form>\n"
    )
}

/// Formats the form that asks for a new link in place of one that has ended.
pub(super) fn format_renewal_form(language: Language, token: &str) -> String {
    let button = match language {
        Language::English => "Send me a new link",
        Language::German => "Neuen Link senden",
        Language::French => "Envoyez-moi un nouveau lien",
        Language::Spanish => "Envíame un enlace nuevo",
    };
    format!(
        "<form method=\"post\" action=\"{ORDERS}\">\n<input type=\"hidden\" name=\"token\" value=\"{}\">\n\
         <button class=\"button\" type=\"submit\">{button}</button>\n</form>\n",
        escape_html(token)
    )
}

/// Returns a page as HTML.
pub fn format_message_page(language: Language, page: MessagePage, facts: &ShopFacts) -> String {
    format_page_with(language, page, "", facts, UNLISTED)
}

/// Keeps a page out of search engines.
const UNLISTED: &str = "<meta name=\"robots\" content=\"noindex\">";

/// Returns a page with further content, such as a form, as HTML; `meta` is for search engines.
fn format_page_with(language: Language, page: MessagePage, form: &str, facts: &ShopFacts, meta: &str) -> String {
    // A form, or a download, has the button that matters; a receipt is read.
    let is_quiet = ["class=\"button\"", "class=\"receipt\""].iter().any(|mark| form.contains(mark));
    let class = if is_quiet { "quiet" } else { "button" };
    let MessagePage { title, paragraphs, back } = page;
    let paragraphs = paragraphs.iter().filter(|text| !text.is_empty());
    let paragraphs = paragraphs.map(|text| format!("<p>{text}</p>\n")).collect::<Vec<_>>().concat();
    let footer = format_footer(language, facts);
    let (language, shop) = (language.tag(), escape_html(&facts.name));
    format!(
        "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{meta}\n\
         <title>{title} – {shop}</title>\n<link rel=\"icon\" href=\"/favicon.svg\">\n<link rel=\"stylesheet\" href=\"{STYLE_SHEET}\">\n\
         </head>\n<body>\n<header><a href=\"/\">{shop}</a></header>\n<main>\n<h1>{title}</h1>\n{paragraphs}{form}<p><a class=\"{class}\" href=\"/\">{back}</a></p>\n</main>\n{footer}</body>\n</html>\n"
    )
}

/// Formats who sells below a page, and the links to the seller's texts, if the operator says more of the seller than the name.
fn format_footer(language: Language, facts: &ShopFacts) -> String {
    let SellerIdentity { name, address, email, documents } = &facts.seller;
    let mut links: Vec<String> = email.iter().map(|email| format_mail_link(email)).collect();
    for document in documents {
        let (path, title) = (document.path(), document_title(language, *document));
        links.push(format!("<a class=\"quiet\" href=\"{path}\">{title}</a>"));
    }
    if address.is_none() && links.is_empty() {
        return String::new();
    }
    let address = address.as_deref().map(|address| format!(", {}", escape_html(address))).unwrap_or_default();
    let items: String = links.iter().map(|link| format!("<li>{link}</li>\n")).collect::<Vec<_>>().concat();
    let list = if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") };
    format!("<footer>\n<p>{}{address}</p>\n{list}</footer>\n", escape_html(name))
}

fn document_title(language: Language, document: SellerDocument) -> &'static str {
    match (language, document) {
        (Language::English, SellerDocument::Terms) => "Terms",
        (Language::English, SellerDocument::Privacy) => "Privacy",
        (Language::English, SellerDocument::Refunds) => "Refunds",
        (Language::German, SellerDocument::Terms) => "AGB",
        (Language::German, SellerDocument::Privacy) => "Datenschutz",
        (Language::German, SellerDocument::Refunds) => "Erstattungen",
        (Language::French, SellerDocument::Terms) => "Conditions",
        (Language::French, SellerDocument::Privacy) => "Confidentialité",
        (Language::French, SellerDocument::Refunds) => "Remboursements",
        (Language::Spanish, SellerDocument::Terms) => "Condiciones",
        (Language::Spanish, SellerDocument::Privacy) => "Privacidad",
        (Language::Spanish, SellerDocument::Refunds) => "Reembolsos",
    }
}

impl Visit {
    /// Answers with a page and further content, such as a form.
    pub(super) fn respond(&self, status: StatusCode, page: fn(Language) -> MessagePage, form: &str) -> Response {
        let html = format_page_with(self.language, page(self.language), form, &self.service.facts, UNLISTED);
        (status, [("x-robots-tag", "noindex")], respond(self.language, html)).into_response()
    }
}

/// Answers with the page where buyers ask for their links, which search engines may list.
pub(super) async fn show_lost_links(Visit { service, language, .. }: Visit) -> Response {
    let page = lost_links(language);
    let meta = format!("<meta name=\"description\" content=\"{}\">", page.paragraphs[0]);
    respond(language, format_page_with(language, page, &format_address_form(language), &service.facts, &meta))
}

fn respond(language: Language, html: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_LANGUAGE, language.tag()),
        (VARY, "accept-language"),
    ];
    (headers, html).into_response()
}
