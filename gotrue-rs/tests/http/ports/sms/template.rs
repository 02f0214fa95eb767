//! What texts say.

use gotrue_rs::ports::sms::TextTemplate;
use gotrue_rules::domain::policy::SmsPolicy;

#[test]
fn a_text_is_filled_in_as_text_and_not_as_html() {
    for (template, text) in [
        (SmsPolicy::default().template.as_str(), "Your code is 123456"),
        ("<b>{{ .Code }}</b> & \"good\" luck", "<b>123456</b> & \"good\" luck"),
        ("{{ printf \"%s-%s\" (slice .Code 0 3) (slice .Code 3) }}", "123-456"),
        ("{{ len .Code }} digits: {{ .Code -}}   ", "6 digits: 123456"),
        ("{{/* nothing */}}no code", "no code"),
    ] {
        assert_eq!(TextTemplate::parse(template).fill("123456").as_deref(), Ok(text), "{template}");
    }
}

#[test]
fn a_text_that_names_what_there_is_not_cannot_be_filled_in() {
    for (template, reason) in [
        ("{{ .Token }}", "map has no entry for key: Token"),
        ("{{ .Code", "template: text:1:9: unclosed action"),
        ("a\n{{ nothing .Code }}", "nothing"),
    ] {
        let error = TextTemplate::parse(template).fill("123456").expect_err("it fails").to_string();
        assert!(error.starts_with("the template of the text cannot be filled in: "), "{error}");
        assert!(error.contains(reason) && !error.contains("123456"), "{error}");
    }
}
