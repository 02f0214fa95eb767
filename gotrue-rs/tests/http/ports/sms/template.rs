//! What texts say.

use gotrue_rs::ports::sms::SmsTemplate;
use gotrue_rules::domain::policy::SmsPolicy;

#[test]
fn sms_template_is_rendered_as_plain_text() {
    for (template, text) in [
        (SmsPolicy::default().template.as_str(), "Your code is 123456"),
        ("<b>{{ .Code }}</b> & \"good\" luck", "<b>123456</b> & \"good\" luck"),
        ("{{ printf \"%s-%s\" (slice .Code 0 3) (slice .Code 3) }}", "123-456"),
        ("{{ len .Code }} digits: {{ .Code -}}   ", "6 digits: 123456"),
        ("{{/* nothing */}}no code", "no code"),
    ] {
        assert_eq!(SmsTemplate::parse(template).render("123456").as_deref(), Ok(text), "{template}");
    }
}

#[test]
fn sms_template_with_unknown_variable_or_unlimited_work_fails() {
    let doubled = "{{ $x := .Code }}".to_owned() + &"{{ $x = print $x $x }}".repeat(40);
    for (template, reason) in [
        ("{{ .Token }}", "map has no entry for key: Token"),
        ("{{ .Code", "template: text:1:9: unclosed action"),
        ("a\n{{ nothing .Code }}", "nothing"),
        (&doubled, "are joined more than 8 times"),
        (
            "{{ printf \"%65000s\" .Code }}{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}",
            "calls itself",
        ),
    ] {
        let error = SmsTemplate::parse(template).render("123456").expect_err("it fails").to_string();
        assert!(error.starts_with("the template of the text cannot be filled in: "), "{error}");
        assert!(error.contains(reason) && !error.contains("123456"), "{error}");
    }
}
