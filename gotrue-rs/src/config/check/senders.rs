//! Senders of phone messages, and the texts they send.

use gotrue_rules::domain::policy::SmsProvider;
use gotrue_rules::domain::secret::Secret;

use super::super::draft::Draft;
use super::text_template::refusal;

/// The named sender, where everything it needs is there. The reference finds out when a message is to be sent, and so
/// does whoever asks for one here; at start it is only noticed.
pub fn sms(draft: &mut Draft) {
    let name = draft.policy.sms.provider_name.clone();
    if name.is_empty() {
        return;
    }
    let value = |key: &str| draft.sms.get(key).filter(|value| !value.is_empty()).cloned();
    let provider = match name.as_str() {
        "twilio" => twilio(&value),
        "twilio_verify" => twilio_verify(&value),
        "messagebird" => messagebird(&value),
        "textlocal" => textlocal(&value),
        "vonage" => vonage(&value),
        _ => Err("is none of twilio, twilio_verify, messagebird, textlocal, vonage".to_owned()),
    };
    match provider {
        Ok(provider) => draft.policy.sms.provider = Some(provider),
        Err(wrong) => draft.warn("GOTRUE_SMS_PROVIDER", format!("{name:?} {wrong}; no message can be sent")),
    }
}

/// A value by its key, unless it is empty.
type Value<'a> = &'a dyn Fn(&str) -> Option<String>;

fn need(value: Value<'_>, key: &str) -> Result<String, String> {
    value(key).ok_or_else(|| format!("lacks GOTRUE_SMS_{}", key.replace('.', "_").to_uppercase()))
}

fn twilio(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Twilio {
        account_sid: need(value, "twilio.account_sid")?,
        auth_token: Secret::new(need(value, "twilio.auth_token")?),
        message_service_sid: need(value, "twilio.message_service_sid")?,
        content_sid: value("twilio.content_sid").unwrap_or_default(),
    })
}

fn twilio_verify(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::TwilioVerify {
        account_sid: need(value, "twilio_verify.account_sid")?,
        auth_token: Secret::new(need(value, "twilio_verify.auth_token")?),
        message_service_sid: need(value, "twilio_verify.message_service_sid")?,
    })
}

fn messagebird(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Messagebird {
        access_key: Secret::new(need(value, "messagebird.access_key")?),
        originator: need(value, "messagebird.originator")?,
    })
}

fn textlocal(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Textlocal {
        api_key: Secret::new(need(value, "textlocal.api_key")?),
        sender: need(value, "textlocal.sender")?,
    })
}

fn vonage(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Vonage {
        api_key: need(value, "vonage.api_key")?,
        api_secret: Secret::new(need(value, "vonage.api_secret")?),
        from: need(value, "vonage.from")?,
    })
}

/// The texts of messages, where someone would send them. One that names what there is not is only noticed: the reference
/// finds out when a message is to be written.
pub fn templates(draft: &mut Draft) {
    let phone = &draft.policy.mfa.phone;
    let texts = [
        ("GOTRUE_SMS_TEMPLATE", !draft.policy.sms.provider_name.is_empty(), draft.policy.sms.template.clone()),
        ("GOTRUE_MFA_PHONE_TEMPLATE", phone.enroll_enabled || phone.verify_enabled, phone.template.clone()),
    ];
    for (name, _, text) in texts.into_iter().filter(|(_, sent, _)| *sent) {
        if let Some(error) = refusal(&text) {
            let complaint = format!("{text:?} is not a Go template: {error}");
            draft.problem(name, complaint, "{{ .Code }} is your code");
            continue;
        }
        match gotmpl::Template::new(name).missing_key(gotmpl::MissingKey::Error).parse(&text) {
            Ok(template) => {
                if let Err(error) = template.execute_to_string(&gotmpl::tmap! { "Code" => "123456" }) {
                    draft.warn(
                        name,
                        format!("{text:?} cannot be filled in ({error}): there is only .Code; no message can be sent"),
                    );
                }
            }
            Err(error) => {
                let complaint = format!("{text:?} is not a Go template: {error}");
                draft.problem(name, complaint, "{{ .Code }} is your code");
            }
        }
    }
}
