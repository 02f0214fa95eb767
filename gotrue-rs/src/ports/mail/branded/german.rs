//! The texts in German.

use super::texts::{CommonTexts, MailTexts};

/// The texts of all mails with a link.
pub(super) const COMMON: CommonTexts = CommonTexts {
    address: "Wenn der Knopf nicht funktioniert, öffnen Sie diese Adresse:",
    code: "Oder geben Sie diesen Code dort ein, wo Sie ihn angefordert haben:",
    minutes: "Link und Code enden in {number} Minuten und gelten einmal.",
    hour: "Link und Code enden in einer Stunde und gelten einmal.",
    hours: "Link und Code enden in {number} Stunden und gelten einmal.",
    tomorrow: "Link und Code enden morgen und gelten einmal.",
    days: "Link und Code enden in {number} Tagen und gelten einmal.",
};

/// The templates that the texts call.
pub(super) const PHRASES: &str = "\
{{ define \"place\" }}{{ with .SiteHost }} bei <strong>{{ . }}</strong>{{ end }}{{ end }}
{{ define \"way\" }}{{ with .Provider }}{{ if eq . \"phone\" }}Codes per SMS{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}
{{ define \"step\" }}{{ with .FactorType }}{{ if eq . \"totp\" }}eine Authenticator-App{{ else if eq . \"phone\" }}\
Codes per SMS{{ else if eq . \"webauthn\" }}einen Sicherheitsschlüssel{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}";

const ALARM: &str = "Wenn Sie das nicht waren, handeln Sie jetzt.";
const ACT: &str = "Das waren Sie nicht? Dann setzen Sie jetzt Ihr Passwort zurück und prüfen Sie, wie man sich bei Ihrem Konto \
             anmelden kann.";

/// The texts in the order of the kinds.
pub(super) const TEXTS: [MailTexts; 13] = [
    // Invite
    MailTexts {
        subject: "Sie sind eingeladen",
        title: "Sie sind eingeladen",
        preview: "Nehmen Sie die Einladung an und richten Sie Ihr Konto ein.",
        lead: "Sie sind eingeladen, mit <strong>{{ .Email }}</strong>{{ template \"place\" . }} ein Konto zu eröffnen.",
        label: "Einladung annehmen",
        note: "",
        closing: "Sie haben das nicht erwartet? Dann ignorieren Sie diese Nachricht, und es passiert nichts.",
    },
    // Confirmation
    MailTexts {
        subject: "Bestätigen Sie Ihre E-Mail-Adresse",
        title: "Bestätigen Sie Ihre E-Mail-Adresse",
        preview: "Ein Klick, und Ihr Konto ist bereit.",
        lead: "Danke für Ihre Registrierung{{ template \"place\" . }}. Bitte bestätigen Sie, dass <strong>{{ .Email \
             }}</strong> Ihre Adresse ist.",
        label: "E-Mail-Adresse bestätigen",
        note: "",
        closing: "Sie haben sich nicht registriert? Dann ignorieren Sie diese Nachricht: Ohne Ihren Klick bleibt das Konto \
             unbestätigt und kann nicht benutzt werden.",
    },
    // Recovery
    MailTexts {
        subject: "Setzen Sie Ihr Passwort zurück",
        title: "Setzen Sie Ihr Passwort zurück",
        preview: "Wählen Sie mit diesem Link ein neues Passwort.",
        lead: "Jemand, hoffentlich Sie, möchte ein neues Passwort für das Konto von <strong>{{ .Email }}</strong>{{ \
             template \"place\" . }}.",
        label: "Neues Passwort wählen",
        note: "",
        closing: "Sie haben das nicht angefordert? Dann ignorieren Sie diese Nachricht: Ihr Passwort bleibt, wie es ist.",
    },
    // MagicLink
    MailTexts {
        subject: "Ihr Anmeldelink",
        title: "Ihr Anmeldelink",
        preview: "Melden Sie sich ohne Passwort an.",
        lead: "Mit diesem Knopf melden Sie sich{{ template \"place\" . }} als <strong>{{ .Email }}</strong> an.",
        label: "Anmelden",
        note: "Bitte leiten Sie den Link nicht weiter: Wer ihn hat, kann sich als \
             Sie anmelden.",
        closing: "Sie wollten sich nicht anmelden? Dann ignorieren Sie diese Nachricht.",
    },
    // EmailChange
    MailTexts {
        subject: "Bestätigen Sie Ihre neue E-Mail-Adresse",
        title: "Bestätigen Sie Ihre neue E-Mail-Adresse",
        preview: "Bitte bestätigen Sie die Änderung Ihrer Adresse.",
        lead: "Die E-Mail-Adresse Ihres Kontos{{ template \"place\" . }} soll von <strong>{{ .Email }}</strong> zu \
             <strong>{{ .NewEmail }}</strong> geändert werden. Bitte bestätigen Sie die Änderung.",
        label: "Änderung bestätigen",
        note: "",
        closing: "Das waren Sie nicht? Dann klicken Sie nicht, und setzen Sie Ihr Passwort zurück: Vielleicht benutzt jemand \
             anderes Ihr Konto.",
    },
    // Reauthentication
    MailTexts {
        subject: "{{ .Token }} ist Ihr Bestätigungscode",
        title: "Ihr Bestätigungscode",
        preview: "Geben Sie diesen Code ein, um fortzufahren.",
        lead: "Geben Sie diesen Code{{ template \"place\" . }} ein, um zu bestätigen, dass Sie es sind:",
        label: "",
        note: "Er gilt einmal und nur für kurze Zeit. Niemand, der für uns arbeitet, wird Sie je danach fragen.",
        closing: "Sie haben keinen Code angefordert? Dann hat es jemand getan, der als Sie angemeldet ist: Ändern Sie Ihr \
             Passwort.",
    },
    // PasswordChanged
    MailTexts {
        subject: "Ihr Passwort wurde geändert",
        title: "Ihr Passwort wurde geändert",
        preview: ALARM,
        lead: "Das Passwort des Kontos von <strong>{{ .Email }}</strong>{{ template \"place\" . }} wurde soeben geändert.",
        label: "",
        note: "",
        closing: ACT,
    },
    // EmailChanged
    MailTexts {
        subject: "Ihre E-Mail-Adresse wurde geändert",
        title: "Ihre E-Mail-Adresse wurde geändert",
        preview: ALARM,
        lead: "Die E-Mail-Adresse Ihres Kontos{{ template \"place\" . }} wurde soeben von <strong>{{ .OldEmail }}</strong> \
             zu <strong>{{ .Email }}</strong> geändert. Dies ist die letzte Nachricht an die alte Adresse.",
        label: "",
        note: "",
        closing: "Das waren Sie nicht? Dann hat jemand anderes Ihr Konto: Wenden Sie sich an die Betreiber der Website.",
    },
    // PhoneChanged
    MailTexts {
        subject: "Ihre Telefonnummer wurde geändert",
        title: "Ihre Telefonnummer wurde geändert",
        preview: ALARM,
        lead: "Die Telefonnummer des Kontos von <strong>{{ .Email }}</strong>{{ template \"place\" . }} wurde soeben \
             geändert{{ with .OldPhone }} von <strong>{{ . }}</strong>{{ end }}{{ with .Phone }} zu <strong>{{ . \
             }}</strong>{{ end }}.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityLinked
    MailTexts {
        subject: "Ihr Konto hat eine neue Anmeldemethode",
        title: "Neue Anmeldemethode",
        preview: ALARM,
        lead: "Beim Konto von <strong>{{ .Email }}</strong>{{ template \"place\" . }} kann man sich nun auch so anmelden: \
             <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityUnlinked
    MailTexts {
        subject: "Eine Anmeldemethode Ihres Kontos wurde entfernt",
        title: "Anmeldemethode entfernt",
        preview: ALARM,
        lead: "Beim Konto von <strong>{{ .Email }}</strong>{{ template \"place\" . }} kann man sich so nicht mehr anmelden: \
             <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorEnrolled
    MailTexts {
        subject: "Ihr Konto hat einen neuen zweiten Schritt",
        title: "Neuer zweiter Schritt",
        preview: ALARM,
        lead: "Das Konto von <strong>{{ .Email }}</strong>{{ template \"place\" . }} ist nun auch durch einen zweiten \
             Schritt geschützt: <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorUnenrolled
    MailTexts {
        subject: "Ein zweiter Schritt Ihres Kontos wurde entfernt",
        title: "Zweiter Schritt entfernt",
        preview: ALARM,
        lead: "Einer der zweiten Schritte, die das Konto von <strong>{{ .Email }}</strong>{{ template \"place\" . }} \
             schützten, wurde soeben entfernt: <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
];
