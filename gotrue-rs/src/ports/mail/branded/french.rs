//! The texts in French.

use super::texts::{CommonTexts, MailTexts};

/// The texts of all mails with a link.
pub(super) const COMMON: CommonTexts = CommonTexts {
    address: "Si le bouton ne fonctionne pas, ouvrez cette adresse :",
    code: "Ou saisissez ce code là où vous l’avez demandé :",
    minutes: "Le lien et le code expirent dans {number} minutes et ne servent qu’une fois.",
    hour: "Le lien et le code expirent dans une heure et ne servent qu’une fois.",
    hours: "Le lien et le code expirent dans {number} heures et ne servent qu’une fois.",
    tomorrow: "Le lien et le code expirent demain et ne servent qu’une fois.",
    days: "Le lien et le code expirent dans {number} jours et ne servent qu’une fois.",
};

/// The templates that the texts call.
pub(super) const PHRASES: &str = "\
{{ define \"place\" }}{{ with .SiteHost }} sur <strong>{{ . }}</strong>{{ end }}{{ end }}
{{ define \"way\" }}{{ with .Provider }}{{ if eq . \"phone\" }}codes par SMS{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}
{{ define \"step\" }}{{ with .FactorType }}{{ if eq . \"totp\" }}une application d’authentification{{ else if eq . \"phone\" }}\
codes par SMS{{ else if eq . \"webauthn\" }}une clé de sécurité{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}";

const ALARM: &str = "Si ce n’était pas vous, agissez maintenant.";
const ACT: &str = "Ce n’était pas vous ? Réinitialisez votre mot de passe maintenant et vérifiez comment on peut se connecter à \
             votre compte.";

/// The texts in the order of the kinds.
pub(super) const TEXTS: [MailTexts; 13] = [
    // Invite
    MailTexts {
        subject: "Vous êtes invité",
        title: "Vous avez une invitation",
        preview: "Acceptez l’invitation pour créer votre compte.",
        lead: "Vous êtes invité à ouvrir un compte{{ template \"place\" . }} avec <strong>{{ .Email }}</strong>.",
        label: "Accepter l’invitation",
        note: "",
        closing: "Vous n’attendiez rien ? Ignorez ce message, et rien ne se passera.",
    },
    // Confirmation
    MailTexts {
        subject: "Confirmez votre adresse e-mail",
        title: "Confirmez votre adresse e-mail",
        preview: "Un clic, et votre compte est prêt.",
        lead: "Merci de votre inscription{{ template \"place\" . }}. Veuillez confirmer que <strong>{{ .Email }}</strong> \
             est votre adresse.",
        label: "Confirmer l’adresse",
        note: "",
        closing: "Vous ne vous êtes pas inscrit ? Ignorez ce message : sans votre clic, le compte n’est pas confirmé et ne \
             peut pas être utilisé.",
    },
    // Recovery
    MailTexts {
        subject: "Réinitialisez votre mot de passe",
        title: "Réinitialisez votre mot de passe",
        preview: "Choisissez un nouveau mot de passe avec ce lien.",
        lead: "Quelqu’un, vous sans doute, a demandé un nouveau mot de passe pour le compte de <strong>{{ .Email \
             }}</strong>{{ template \"place\" . }}.",
        label: "Choisir un mot de passe",
        note: "",
        closing: "Vous n’avez rien demandé ? Ignorez ce message : votre mot de passe ne change pas.",
    },
    // MagicLink
    MailTexts {
        subject: "Votre lien de connexion",
        title: "Votre lien de connexion",
        preview: "Connectez-vous sans mot de passe.",
        lead: "Avec ce bouton, vous vous connectez{{ template \"place\" . }} en tant que <strong>{{ .Email }}</strong>.",
        label: "Se connecter",
        note: "Ne transférez pas le lien : quiconque l’a peut se connecter à \
             votre place.",
        closing: "Vous ne vouliez pas vous connecter ? Ignorez ce message.",
    },
    // EmailChange
    MailTexts {
        subject: "Confirmez votre nouvelle adresse e-mail",
        title: "Confirmez votre nouvelle adresse e-mail",
        preview: "Veuillez confirmer le changement de votre adresse.",
        lead: "L’adresse e-mail de votre compte{{ template \"place\" . }} va passer de <strong>{{ .Email }}</strong> à \
             <strong>{{ .NewEmail }}</strong>. Veuillez confirmer ce changement.",
        label: "Confirmer le changement",
        note: "",
        closing: "Ce n’était pas vous ? Ne cliquez pas et réinitialisez votre mot de passe : quelqu’un utilise peut-être votre \
             compte.",
    },
    // Reauthentication
    MailTexts {
        subject: "{{ .Token }} est votre code de vérification",
        title: "Votre code de vérification",
        preview: "Saisissez ce code pour continuer.",
        lead: "Saisissez ce code{{ template \"place\" . }} pour confirmer que c’est bien vous :",
        label: "",
        note: "Il ne fonctionne qu’une fois, et peu de temps. Personne chez nous ne vous le demandera jamais.",
        closing: "Vous n’avez pas demandé de code ? Quelqu’un qui est connecté à votre place l’a fait : changez votre mot de \
             passe.",
    },
    // PasswordChanged
    MailTexts {
        subject: "Votre mot de passe a été changé",
        title: "Votre mot de passe a été changé",
        preview: ALARM,
        lead: "Le mot de passe du compte de <strong>{{ .Email }}</strong>{{ template \"place\" . }} vient d’être changé.",
        label: "",
        note: "",
        closing: ACT,
    },
    // EmailChanged
    MailTexts {
        subject: "Votre adresse e-mail a été changée",
        title: "Votre adresse e-mail a été changée",
        preview: ALARM,
        lead: "L’adresse e-mail de votre compte{{ template \"place\" . }} vient de passer de <strong>{{ .OldEmail \
             }}</strong> à <strong>{{ .Email }}</strong>. C’est le dernier message à l’ancienne adresse.",
        label: "",
        note: "",
        closing: "Ce n’était pas vous ? Quelqu’un d’autre a votre compte : contactez les responsables du site.",
    },
    // PhoneChanged
    MailTexts {
        subject: "Votre numéro de téléphone a été changé",
        title: "Votre numéro de téléphone a été changé",
        preview: ALARM,
        lead: "Le numéro de téléphone du compte de <strong>{{ .Email }}</strong>{{ template \"place\" . }} vient d’être \
             changé{{ with .OldPhone }}, ancien numéro : <strong>{{ . }}</strong>{{ end }}{{ with .Phone }}, nouveau \
             numéro : <strong>{{ . }}</strong>{{ end }}.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityLinked
    MailTexts {
        subject: "Votre compte a un nouveau moyen de connexion",
        title: "Nouveau moyen de connexion",
        preview: ALARM,
        lead: "On peut désormais aussi se connecter au compte de <strong>{{ .Email }}</strong>{{ template \"place\" . }} \
             ainsi : <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityUnlinked
    MailTexts {
        subject: "Un moyen de connexion de votre compte a été supprimé",
        title: "Moyen de connexion supprimé",
        preview: ALARM,
        lead: "On ne peut plus se connecter au compte de <strong>{{ .Email }}</strong>{{ template \"place\" . }} ainsi : \
             <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorEnrolled
    MailTexts {
        subject: "Votre compte a une nouvelle seconde étape",
        title: "Nouvelle seconde étape",
        preview: ALARM,
        lead: "Le compte de <strong>{{ .Email }}</strong>{{ template \"place\" . }} est désormais aussi protégé par une \
             seconde étape : <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorUnenrolled
    MailTexts {
        subject: "Une seconde étape de votre compte a été supprimée",
        title: "Seconde étape supprimée",
        preview: ALARM,
        lead: "Une des secondes étapes qui protégeaient le compte de <strong>{{ .Email }}</strong>{{ template \"place\" . \
             }} vient d’être supprimée : <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
];
