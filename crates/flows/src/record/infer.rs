//! Finds where codes, one-time passwords, passkeys and consents of a recording come from.

use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::plain::{is_email, is_origin, phone_digits};
use super::session::{ExpectedMessage, FlowSession};
use super::texts::text;
use crate::format::{Action, Step};
use crate::symbols::decode_base64url;
use crate::text::split_origin;
use crate::tokens::sha256;

/// Calls that send a message to the address or number of their body.
const SENDERS: [&str; 6] = ["/signup", "/otp", "/magiclink", "/recover", "/resend", "/invite"];

/// Adds the steps that the request needs.
pub(super) fn prepare(session: &mut FlowSession, exchange: &Exchange) {
    let route = exchange.route().to_owned();
    let body = exchange.json();
    challenge_pair(session, exchange, body);
    match route.as_str() {
        "/verify" => message_token(session, exchange, body),
        "/callback" => consent(session, exchange),
        "/token" if exchange.query("grant_type").as_deref() == Some("id_token") => id_token(session, exchange, body),
        "/user" | "/reauthenticate" => {
            if let Some(nonce) = body["nonce"].as_str().filter(|_| exchange.is_success()) {
                from_message(session, nonce, ("code", "reauthentication"), None);
            }
        }
        _ => {}
    }
    if route.starts_with("/factors/") && route.ends_with("/verify") {
        factor_code(session, exchange, body);
    }
}

/// The verifier and the challenge of PKCE (RFC 7636), of which the challenge comes first.
fn challenge_pair(session: &mut FlowSession, exchange: &Exchange, body: &Value) {
    let of = |name: &str| body[name].as_str().map(str::to_owned).or_else(|| exchange.query(name));
    if let Some(challenge) = of("code_challenge").filter(|challenge| !challenge.is_empty())
        && session.known.find(&challenge).is_none()
    {
        let name = session.name("pkce");
        session.known.insert(&challenge, format!("{name}.challenge"));
        session.set(&name, json!({ "@pkce": null }));
    }
    // A body of JSON is no form.
    let verifier = of("code_verifier").or_else(|| {
        if !body.is_null() {
            return None;
        }
        let form = crate::text::parse_pairs(&String::from_utf8_lossy(match &exchange.body {
            super::exchange::RecordedBody::Whole(bytes) => bytes,
            super::exchange::RecordedBody::TooLarge(_) => &[],
        }));
        form.into_iter().find(|(name, _)| name == "code_verifier").map(|(_, value)| value)
    });
    if let Some(verifier) = verifier {
        let challenge = base64_url(&sha256(verifier.as_bytes()));
        if let Some(pair) = session.known.find(&challenge).and_then(|known| known.strip_suffix(".challenge")) {
            let expression = format!("{pair}.verifier");
            session.known.insert(&verifier, expression);
        }
    }
}

fn base64_url(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// The code or the token hash of a message.
fn message_token(session: &mut FlowSession, exchange: &Exchange, body: &Value) {
    let of = |name: &str| body[name].as_str().map(str::to_owned).or_else(|| exchange.query(name));
    let kind = match of("type").unwrap_or_default().as_str() {
        "signup" => "confirmation",
        "magiclink" => "magic_link",
        "recovery" => "recovery",
        "invite" => "invite",
        "email_change" => "email_change",
        _ => "",
    };
    let recipient = of("email").or_else(|| of("phone"));
    let is_link = recipient.is_none();
    let Some(token) = of("token_hash").or_else(|| of("token")).filter(|_| exchange.is_success()) else { return };
    let member = if is_link { "token_hash" } else { "code" };
    let recipient = recipient.map(|recipient| address(session, &recipient));
    from_message(session, &token, (member, kind), recipient);
}

/// Makes a text known as a member of the latest message, which the replay waits for.
fn from_message(session: &mut FlowSession, text: &str, (member, kind): (&str, &str), recipient: Option<String>) {
    if session.known.find(text).is_some() {
        return;
    }
    let position = match &recipient {
        Some(to) => session.messages.iter().rposition(|message| message.to == *to),
        // Of several messages of one request, the first is used first.
        None => session.messages.iter().position(|message| message.channel == "email"),
    };
    let message = position.map(|at| session.messages.remove(at));
    let (to, count, channel) = match (message, recipient) {
        (Some(message), _) => (message.to, message.count, message.channel),
        (None, Some(to)) => (to, 1, "email"),
        (None, None) => {
            let name = session.name("token");
            session.known.insert(text, name.clone());
            session.set(&name, json!({ "@provided": "the token of a message that was sent before the recording" }));
            return;
        }
    };
    let name = session.name("message");
    let mut arguments = json!({ "to": to });
    if channel == "sms" {
        arguments["channel"] = "sms".into();
    } else if !kind.is_empty() {
        arguments["kind"] = kind.into();
    }
    if count > 1 {
        arguments["number"] = count.into();
    }
    session.known.insert(text, format!("{name}.{member}"));
    session.set(&name, json!({ "@message": arguments }));
}

/// Returns the text with a placeholder for an address or a number.
fn address(session: &mut FlowSession, recipient: &str) -> String {
    if is_email(recipient) {
        let name = session.email(recipient);
        return format!("{{{{{name}}}}}");
    }
    match phone_digits(recipient) {
        Some(digits) => format!("{{{{{}}}}}", session.phone(digits)),
        None => text(session, recipient, "email"),
    }
}

/// Notes the messages that the server has sent for this request.
pub(super) fn note_messages(session: &mut FlowSession, exchange: &Exchange) {
    let route = exchange.route();
    if !exchange.is_success() {
        return;
    }
    let body = exchange.json();
    let answer = exchange.response_json();
    let sends = SENDERS.contains(&route) && exchange.method == "POST" && answer.get("access_token").is_none()
        || route == "/user" && exchange.method == "PUT" && (body.get("email").is_some() || body.get("phone").is_some());
    if sends {
        // With a confirmation by both addresses, each gets a message.
        let current = answer["email"].as_str().filter(|_| route == "/user" && body.get("email").is_some());
        let recipients = [body["email"].as_str(), body["phone"].as_str(), current];
        for recipient in recipients.into_iter().flatten().filter(|recipient| !recipient.is_empty()) {
            expect_message(session, recipient);
        }
    }
    if route == "/reauthenticate" || route.starts_with("/factors/") && route.ends_with("/challenge") {
        let email = session.last_user.email.clone().filter(|_| route == "/reauthenticate");
        let phone = session.last_user.phone.clone().filter(|_| answer["type"] == "phone");
        if let Some(to) = phone {
            push_message(session, &format!("{{{{{to}}}}}"), "sms");
        } else if let Some(to) = email {
            push_message(session, &format!("{{{{{to}}}}}"), "email");
        }
    }
}

fn expect_message(session: &mut FlowSession, recipient: &str) {
    let to = address(session, recipient);
    let channel = if is_email(recipient) { "email" } else { "sms" };
    push_message(session, &to, channel);
}

fn push_message(session: &mut FlowSession, to: &str, channel: &'static str) {
    if let Some(known) = session.messages.iter_mut().find(|message| message.to == to) {
        known.count += 1;
        return;
    }
    session.messages.push(ExpectedMessage { to: to.to_owned(), channel, count: 1 });
}

/// The code of a second factor: a one-time password of its secret, or the code of an SMS.
fn factor_code(session: &mut FlowSession, exchange: &Exchange, body: &Value) {
    let Some(code) = body["code"].as_str().filter(|_| exchange.is_success()) else { return };
    if session.messages.iter().any(|message| message.channel == "sms") {
        let to =
            session.messages.iter().rev().find(|message| message.channel == "sms").map(|message| message.to.clone());
        from_message(session, code, ("code", ""), to);
        return;
    }
    let factor = exchange.route().split('/').nth(2).unwrap_or_default().to_owned();
    let secret = session.factor_secrets.find(&factor).map(|secret| format!("{{{{{secret}}}}}"));
    let secret = secret.unwrap_or_else(|| {
        let name = session.name("secret");
        session.factor_secrets.insert(&factor, name.clone());
        session
            .set(&name, json!({ "@provided": "the TOTP secret of a factor that was enrolled before the recording" }));
        format!("{{{{{name}}}}}")
    });
    let name = session.name("code");
    session.known.replace(code, name.clone());
    session.set(&name, json!({ "@totp": { "secret": secret, "fresh": true } }));
}

/// The consent of a user at a provider.
fn consent(session: &mut FlowSession, exchange: &Exchange) {
    let (Some(provider), Some(location)) = (session.providers.last().cloned(), session.provider_page.clone()) else {
        return;
    };
    let form = crate::text::parse_pairs(&match &exchange.body {
        super::exchange::RecordedBody::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        super::exchange::RecordedBody::TooLarge(_) => String::new(),
    });
    let of = |name: &str| {
        exchange.query(name).or_else(|| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    };
    let (Some(state), code) = (of("state"), of("code")) else { return };
    let name = session.name("consent");
    let mut arguments = json!({ "name": provider, "url": format!("{{{{{location}}}}}") });
    if of("error").is_some() {
        arguments["scenario"] = "denied".into();
    } else {
        let email = await_email(session);
        arguments["user"] = json!({ "sub": "1001", "email": format!("{{{{{email}}}}}"), "email_verified": true });
    }
    session.context.has_external_profile = true;
    session.known.replace(&state, format!("{name}.query.state"));
    for (member, value) in [("code", code), ("error", of("error")), ("error_description", of("error_description"))] {
        if let Some(value) = value {
            session.known.replace(&value, format!("{name}.query.{member}"));
        }
    }
    session.set(&name, json!({ "@provider": arguments }));
}

/// Generates the address of the user of a provider, whose recorded one the next responses have.
fn await_email(session: &mut FlowSession) -> String {
    let email = session.name("email");
    session.awaited_email = Some(email.clone());
    let values = Map::from_iter([(email.clone(), json!({ "email": email }))]);
    session.before.push(Step { label: None, action: Action::Values(values) });
    email
}

/// The ID token of a provider that an application got natively.
fn id_token(session: &mut FlowSession, exchange: &Exchange, body: &Value) {
    let (Some(token), Some(provider)) = (body["id_token"].as_str(), body["provider"].as_str()) else { return };
    if !exchange.is_success() || session.known.find(token).is_some() || !super::plain::is_word(provider) {
        return;
    }
    let email = await_email(session);
    let mut arguments = json!({ "name": provider, "login_hint": format!("{{{{{email}}}}}") });
    if let Some(nonce) = body["nonce"].as_str().filter(|nonce| !nonce.is_empty()) {
        let name = session.name("nonce");
        session.known.replace(nonce, format!("{name}.value"));
        session.set(&name, json!({ "@nonce": null }));
        arguments["nonce"] = format!("{{{{{name}.sha256}}}}").into();
    }
    session.context.has_external_profile = true;
    session.providers.push(provider.to_owned());
    let name = session.name("issued");
    session.known.replace(token, format!("{name}.id_token"));
    session.set(&name, json!({ "@id_token": arguments }));
}

/// Returns the placeholder of a WebAuthn credential, which the replay creates or uses.
pub(super) fn credential(session: &mut FlowSession, value: &Value) -> Option<Value> {
    let client_data = value["response"]["clientDataJSON"].as_str().filter(|_| value["rawId"].is_string())?;
    let client_data: Value = serde_json::from_slice(&decode_base64url(client_data)?).ok()?;
    let id = value["rawId"].as_str()?.trim_end_matches('=').to_owned();
    let challenge = client_data["challenge"].as_str()?;
    let name = session.name("credential");
    let options = session.known.find(challenge).and_then(|known| known.strip_suffix(".challenge")).map(str::to_owned);
    let earlier = session.passkeys.find(&id).map(str::to_owned);
    let is_registration = client_data["type"] == "webauthn.create";
    let call = match (options, earlier) {
        (Some(options), earlier) if is_registration || earlier.is_some() => {
            let mut arguments = json!({ "options": format!("{{{{{options}}}}}") });
            if let Some(origin) = client_data["origin"].as_str().filter(|origin| is_origin(origin)) {
                arguments["origin"] = origin.into();
                session.add_origin(origin);
            }
            if let Some(earlier) = earlier {
                arguments["passkey"] = format!("{{{{{earlier}.passkey}}}}").into();
            }
            json!({ "@passkey": arguments })
        }
        _ => json!({ "@provided": "{\"credential\": …} of a passkey that was registered before the recording" }),
    };
    session.passkeys.replace(&id, name.clone());
    session.set(&name, call);
    Some(format!("{{{{{name}.credential}}}}").into())
}

/// Returns whether the response leads to a provider, whose URL depends on its settings.
pub(super) fn leads_to_provider(exchange: &Exchange) -> bool {
    matches!(exchange.route(), "/authorize" | "/user/identities/authorize" | "/sso") && exchange.status / 100 == 3
}

/// Returns whether a provider has sent the user back without a code.
pub(super) fn is_refused_by_provider(exchange: &Exchange) -> bool {
    exchange.route() == "/callback" && exchange.query("code").is_none()
}

/// Returns whether a parameter is a detail of a provider's callback that the server ignores.
pub(super) fn is_provider_detail(exchange: &Exchange, name: &str) -> bool {
    exchange.route() == "/callback" && !matches!(name, "code" | "state" | "error" | "error_description" | "error_code")
}

/// Notes what the settings of a replay must allow for this request.
pub(super) fn note_features(session: &mut FlowSession, exchange: &Exchange) {
    let (route, body, answer) = (exchange.route(), exchange.json(), exchange.response_json());
    if route.starts_with("/factors") && exchange.is_success() {
        session.add_feature(match body["factor_type"].as_str() {
            Some("phone") => "mfa_phone",
            Some("webauthn") => "mfa_web_authn",
            _ => "mfa_totp",
        });
        if let (Some(id), true) = (answer["id"].as_str(), answer["totp"]["secret"].is_string()) {
            let number = session.request_number();
            session.factor_secrets.replace(id, format!("step{number}.totp.secret"));
        }
    }
    if route.starts_with("/passkeys") {
        session.add_feature("passkeys");
    }
    if route == "/signup" && exchange.is_success() && answer["access_token"].is_string() {
        // A session at once: nothing had to be confirmed.
        session.add_feature(match (&body["email"], &body["phone"]) {
            (Value::String(email), _) if !email.is_empty() => "email_without_confirmation",
            (_, Value::String(phone)) if !phone.is_empty() => "phone_without_confirmation",
            _ => "anonymous",
        });
    }
    if let Some(phone) = body["phone"].as_str().and_then(phone_digits) {
        session.last_user.phone = Some(session.phone(phone));
    }
    if let Some(email) = body["email"].as_str().filter(|email| is_email(email)) {
        session.last_user.email = Some(session.email(email));
    }
    if let (Some(provider), true) = (exchange.query("provider"), leads_to_provider(exchange))
        && super::plain::is_word(&provider)
    {
        session.providers.push(provider);
        let number = session.request_number();
        session.provider_page = Some(format!("location{number}.url"));
    }
    if let Some((origin, _)) = exchange.header("origin").and_then(split_origin).filter(|(origin, _)| is_origin(origin))
    {
        session.add_origin(origin);
    }
}
