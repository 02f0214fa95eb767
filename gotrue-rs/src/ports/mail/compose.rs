//! A mail as bytes (RFC 5322). Nothing that comes from a user can start a header of its own: the library encodes what
//! is not plain text, and line breaks are taken out before.

use lettre::address::{Address, Envelope};
use lettre::message::header::{ContentTransferEncoding, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::message::{Body, Mailbox, MultiPart, SinglePart};

use super::{MailError, Message};

/// Who mails are from, and what every mail carries.
#[derive(Debug, Clone)]
pub struct Sender {
    mailbox: Mailbox,
    /// Names and values; `$messageType` in a value becomes the purpose of the mail.
    headers: Vec<(HeaderName, String)>,
    /// `From`, where a header of the operator's replaces it, and the address in it.
    from: Option<(String, Address)>,
}

/// Headers that the mail itself has: no setting replaces them.
const OUR_OWN: [&str; 9] =
    ["to", "subject", "date", "message-id", "mime-version", "content-type", "content-transfer-encoding", "bcc", "cc"];

impl Sender {
    /// A sender of that name (empty: none) and address. Several values of a header are joined by a comma, empty ones
    /// are left out. A header `From` takes the place of name and address; in other letters it is left out.
    pub fn new(name: &str, address: &str, headers: &[(String, Vec<String>)]) -> Result<Self, MailError> {
        let parsed: Address = address.parse().map_err(|error| {
            MailError::Header(format!("the sender's address {address:?} is no mail address: {error}"))
        })?;
        let name = one_line(name);
        let mailbox = Mailbox::new((!name.is_empty()).then_some(name), parsed);
        let is_from = |name: &str| name.eq_ignore_ascii_case("from");
        let from = headers.iter().find(|(name, _)| name == "From").map(|(_, values)| from(values)).transpose()?;
        let headers = headers
            .iter()
            .filter(|(name, _)| !is_from(name))
            .map(|(name, values)| Ok((header_name(name)?, joined(values))))
            .collect::<Result<_, MailError>>()?;
        Ok(Self { mailbox, headers, from })
    }
}

/// The values of a header as one; empty ones say nothing.
fn joined(values: &[String]) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
    values.join(", ")
}

/// A `From` of the operator's own, and the address that mail servers are told.
fn from(values: &[String]) -> Result<(String, Address), MailError> {
    let text = one_line(&joined(values));
    let parsed: Result<Mailbox, _> = text.parse();
    let mailbox = parsed.map_err(|error| MailError::Header(format!("From {text:?} is no mail address: {error}")))?;
    Ok((text, mailbox.email))
}

/// An address as RFC 5322 writes it without quotes. Longer before the `@` than RFC 5321 asks a server to take is fine:
/// accounts have such addresses, and whether one is taken is the mail server's to say.
fn recipient(text: &str) -> Option<Address> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (user, domain) = text.rsplit_once('@')?;
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let is_dotted = user.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom));
    let is_known = is_dotted && Address::new("postmaster", domain).is_ok();
    is_known.then(|| Address::new_dangerous(user, domain))
}

/// The envelope and the bytes to hand to a mail server.
pub fn compose(sender: &Sender, message: &Message) -> Result<(Envelope, Vec<u8>), MailError> {
    let to = recipient(&message.to).ok_or(MailError::Address)?;
    let address = sender.from.as_ref().map_or(&sender.mailbox.email, |(_, address)| address);
    let envelope = Envelope::new(Some(address.clone()), vec![to.clone()]).map_err(|_| MailError::Address)?;
    let mut builder = lettre::Message::builder()
        .from(sender.mailbox.clone())
        .to(Mailbox::new(None, to))
        .subject(one_line(&message.subject))
        .date(message.date.into())
        .message_id(Some(format!("<{}>", one_line(&message.message_id))))
        .envelope(envelope.clone());
    if let Some((text, _)) = &sender.from {
        builder = builder.raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("From"), text.clone()));
    }
    for (name, value) in &sender.headers {
        let value = one_line(&value.replace("$messageType", &message.purpose));
        builder = builder.raw_header(HeaderValue::new(name.clone(), value));
    }
    for (name, value) in &message.headers {
        builder = builder.raw_header(HeaderValue::new(header_name(name)?, one_line(value)));
    }
    let html = Body::new_with_encoding(message.html.clone(), ContentTransferEncoding::QuotedPrintable)
        .map_err(|_| unencodable())?;
    let built = match &message.text {
        None => builder.header(MIME_VERSION_1_0).raw_header(content_type("html")).body(html),
        Some(text) => {
            let text = Body::new_with_encoding(text.clone(), ContentTransferEncoding::QuotedPrintable)
                .map_err(|_| unencodable())?;
            builder.multipart(
                MultiPart::alternative().singlepart(SinglePart::plain(text)).singlepart(SinglePart::html(html)),
            )
        }
    };
    Ok((envelope, built.map_err(|error| MailError::Header(error.to_string()))?.formatted()))
}

fn unencodable() -> MailError {
    MailError::Header("the body cannot be encoded".to_owned())
}

/// `text/html; charset="UTF-8"`, spelled as the reference does.
fn content_type(of: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str("Content-Type"), format!("text/{of}; charset=\"UTF-8\""))
}

fn header_name(name: &str) -> Result<HeaderName, MailError> {
    let printable = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    match HeaderName::new_from_ascii(name.to_owned()) {
        Ok(header) if printable && !OUR_OWN.contains(&name.to_ascii_lowercase().as_str()) => Ok(header),
        _ => Err(MailError::Header(format!("{name:?} is no name for a header of one's own"))),
    }
}

/// Line breaks and other control characters become spaces.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}
