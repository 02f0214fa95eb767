//! Composes mails as bytes (RFC 5322).
//!
//! User data cannot add headers: the library encodes it, and line breaks are removed before.

use lettre::address::{Address, Envelope};
use lettre::message::header::{ContentTransferEncoding, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::message::{Body, Mailbox, MultiPart, SinglePart};

use super::{EmailMessage, MailError};

/// The sender and the headers of every mail.
#[derive(Debug, Clone)]
pub struct MailSender {
    mailbox: Mailbox,
    /// Names and values; `$messageType` in a value is replaced by the purpose of the mail.
    headers: Vec<(HeaderName, String)>,
    /// A configured `From` header that replaces the sender, and its address.
    from: Option<(String, Address)>,
}

/// Headers that the mail itself sets: configured ones of these names are ignored.
const RESERVED_HEADERS: [&str; 9] =
    ["to", "subject", "date", "message-id", "mime-version", "content-type", "content-transfer-encoding", "bcc", "cc"];

impl MailSender {
    /// Creates a sender of that name (empty for none) and address.
    ///
    /// Several values of a header are joined with commas, empty ones are skipped. A header `From` replaces name and
    /// address; in another case it is ignored.
    pub fn new(name: &str, address: &str, headers: &[(String, Vec<String>)]) -> Result<Self, MailError> {
        let parsed: Address = address.parse().map_err(|error| {
            MailError::Header(format!("the sender's address {address:?} is no mail address: {error}"))
        })?;
        let name = replace_control_characters(name);
        let mailbox = Mailbox::new((!name.is_empty()).then_some(name), parsed);
        let is_from = |name: &str| name.eq_ignore_ascii_case("from");
        let from = headers.iter().find(|(name, _)| name == "From").map(|(_, values)| parse_from(values)).transpose()?;
        let headers = headers
            .iter()
            .filter(|(name, _)| !is_from(name))
            .map(|(name, values)| Ok((parse_header_name(name)?, join_values(values))))
            .collect::<Result<_, MailError>>()?;
        Ok(Self { mailbox, headers, from })
    }
}

/// Joins the values of a header, skipping empty ones.
fn join_values(values: &[String]) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
    values.join(", ")
}

/// Parses a configured `From` and its address, which becomes the envelope sender.
fn parse_from(values: &[String]) -> Result<(String, Address), MailError> {
    let text = replace_control_characters(&join_values(values));
    let parsed: Result<Mailbox, _> = text.parse();
    let mailbox = parsed.map_err(|error| MailError::Header(format!("From {text:?} is no mail address: {error}")))?;
    Ok((text, mailbox.email))
}

/// Parses a recipient.
///
/// Local parts longer than the limit of RFC 5321 are accepted, because existing users have such addresses; the mail
/// server decides about them.
fn parse_recipient(text: &str) -> Option<Address> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (user, domain) = text.rsplit_once('@')?;
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let is_dotted = user.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom));
    let is_known = is_dotted && Address::new("postmaster", domain).is_ok();
    is_known.then(|| Address::new_dangerous(user, domain))
}

/// Returns the envelope and the encoded mail.
pub fn compose(sender: &MailSender, message: &EmailMessage) -> Result<(Envelope, Vec<u8>), MailError> {
    let to = parse_recipient(&message.to).ok_or(MailError::Address)?;
    let address = sender.from.as_ref().map_or(&sender.mailbox.email, |(_, address)| address);
    let envelope = Envelope::new(Some(address.clone()), vec![to.clone()]).map_err(|_| MailError::Address)?;
    let mut builder = lettre::Message::builder()
        .from(sender.mailbox.clone())
        .to(Mailbox::new(None, to))
        .subject(replace_control_characters(&message.subject))
        .date(message.date.into())
        .message_id(Some(format!("<{}>", replace_control_characters(&message.message_id))))
        .envelope(envelope.clone());
    if let Some((text, _)) = &sender.from {
        builder = builder.raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("From"), text.clone()));
    }
    for (name, value) in &sender.headers {
        let value = replace_control_characters(&value.replace("$messageType", &message.purpose));
        builder = builder.raw_header(HeaderValue::new(name.clone(), value));
    }
    for (name, value) in &message.headers {
        builder = builder.raw_header(HeaderValue::new(parse_header_name(name)?, replace_control_characters(value)));
    }
    let html = encode_body(&message.html);
    let built = match &message.text {
        None => builder.header(MIME_VERSION_1_0).raw_header(content_type("html")).body(html),
        Some(text) => {
            let text = SinglePart::plain(encode_body(text));
            builder.multipart(MultiPart::alternative().singlepart(text).singlepart(SinglePart::html(html)))
        }
    };
    Ok((envelope, built.map_err(|error| MailError::Header(error.to_string()))?.formatted()))
}

/// Encodes a body as the reference does, also where the text is ASCII.
///
/// Its lines end with CRLF before the library gets it, which would insert each into the text and move the rest.
fn encode_body(text: &str) -> Body {
    let text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    Body::new_with_encoding(text, ContentTransferEncoding::QuotedPrintable).expect("it encodes any text")
}

/// `text/html; charset="UTF-8"`, spelled like in the reference.
fn content_type(of: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str("Content-Type"), format!("text/{of}; charset=\"UTF-8\""))
}

fn parse_header_name(name: &str) -> Result<HeaderName, MailError> {
    let printable = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    match HeaderName::new_from_ascii(name.to_owned()) {
        Ok(header) if printable && !RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => Ok(header),
        _ => Err(MailError::Header(format!("{name:?} is no name for a header of one's own"))),
    }
}

/// Replaces control characters, including line breaks, by spaces.
fn replace_control_characters(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}
