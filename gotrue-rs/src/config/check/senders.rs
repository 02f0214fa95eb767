//! Checks the SMS provider and the templates of phone messages.

use foundation::secret::Secret;
use gotrue_rules::domain::policy::SmsProvider;

use super::super::draft::Draft;
use super::text_template::find_error;
use crate::ports::sms::SmsTemplate;

/// Selects the named provider if all of its settings are present.
///
/// Otherwise it only warns: like in the reference, sending a message then fails.
pub(super) fn select_provider(draft: &mut Draft) {
    let name = draft.policy.sms.provider_name.clone();
    if name.is_empty() {
        return;
    }
    let value = |key: &str| draft.sms.get(key).filter(|value| !value.is_empty()).cloned();
    let provider = match name.as_str() {
        "twilio" => build_twilio(&value),
        "twilio_verify" => build_twilio_verify(&value),
        "messagebird" => build_messagebird(&value),
        "textlocal" => build_textlocal(&value),
        "vonage" => build_vonage(&value),
        _ => Err("is none of twilio, twilio_verify, messagebird, textlocal, vonage".to_owned()),
    };
    match provider {
        Ok(provider) => draft.policy.sms.provider = Some(provider),
        Err(wrong) => draft.warn("GOTRUE_SMS_PROVIDER", format!("{name:?} {wrong}; no message can be sent")),
    }
}

/// Looks up a value by its key; `None` if it is empty.
type Value<'a> = &'a dyn Fn(&str) -> Option<String>;

fn require_value(value: Value<'_>, key: &str) -> Result<String, String> {
    value(key).ok_or_else(|| format!("lacks GOTRUE_SMS_{}", key.replace('.', "_").to_uppercase()))
}

fn build_twilio(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Twilio {
        account_sid: require_value(value, "twilio.account_sid")?,
        auth_token: Secret::new(require_value(value, "twilio.auth_token")?),
        message_service_sid: require_value(value, "twilio.message_service_sid")?,
        content_sid: value("twilio.content_sid").unwrap_or_default(),
    })
}

fn build_twilio_verify(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::TwilioVerify {
        account_sid: require_value(value, "twilio_verify.account_sid")?,
        auth_token: Secret::new(require_value(value, "twilio_verify.auth_token")?),
        message_service_sid: require_value(value, "twilio_verify.message_service_sid")?,
    })
}

fn build_messagebird(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Messagebird {
        access_key: Secret::new(require_value(value, "messagebird.access_key")?),
        originator: require_value(value, "messagebird.originator")?,
    })
}

fn build_textlocal(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Textlocal {
        api_key: Secret::new(require_value(value, "textlocal.api_key")?),
        sender: require_value(value, "textlocal.sender")?,
    })
}

fn build_vonage(value: Value<'_>) -> Result<SmsProvider, String> {
    Ok(SmsProvider::Vonage {
        api_key: require_value(value, "vonage.api_key")?,
        api_secret: Secret::new(require_value(value, "vonage.api_secret")?),
        from: require_value(value, "vonage.from")?,
    })
}

/// Checks the templates of messages if a provider or phone factors are enabled.
///
/// A template with unknown fields only causes a warning: like in the reference, sending a message then fails.
pub(super) fn check_templates(draft: &mut Draft) {
    let phone = &draft.policy.mfa.phone;
    let texts = [
        ("GOTRUE_SMS_TEMPLATE", !draft.policy.sms.provider_name.is_empty(), draft.policy.sms.template.clone()),
        ("GOTRUE_MFA_PHONE_TEMPLATE", phone.enroll_enabled || phone.verify_enabled, phone.template.clone()),
    ];
    for (name, _, text) in texts.into_iter().filter(|(_, sent, _)| *sent) {
        if let Some(error) = find_error(&text) {
            let complaint = format!("{text:?} is not a Go template: {error}");
            draft.problem(name, complaint, "{{ .Code }} is your code");
            continue;
        }
        if let Err(error) = SmsTemplate::parse(&text).render("123456") {
            let reason = error.reason();
            draft.warn(
                name,
                format!("{text:?} cannot be filled in ({reason}): there is only .Code; no message can be sent"),
            );
        }
    }
}
