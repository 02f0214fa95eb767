//! The texts in Spanish.

use super::texts::{CommonTexts, MailTexts};

/// The texts of all mails with a link.
pub(super) const COMMON: CommonTexts = CommonTexts {
    address: "Si el botón no funciona, abre esta dirección:",
    code: "O escribe este código donde lo pediste:",
    minutes: "El enlace y el código caducan en {number} minutos y valen una vez.",
    hour: "El enlace y el código caducan en una hora y valen una vez.",
    hours: "El enlace y el código caducan en {number} horas y valen una vez.",
    tomorrow: "El enlace y el código caducan mañana y valen una vez.",
    days: "El enlace y el código caducan en {number} días y valen una vez.",
};

/// The templates that the texts call.
pub(super) const PHRASES: &str = "\
{{ define \"place\" }}{{ with .SiteHost }} en <strong>{{ . }}</strong>{{ end }}{{ end }}
{{ define \"way\" }}{{ with .Provider }}{{ if eq . \"phone\" }}códigos por SMS{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}
{{ define \"step\" }}{{ with .FactorType }}{{ if eq . \"totp\" }}una aplicación de autenticación{{ else if eq . \"phone\" }}\
códigos por SMS{{ else if eq . \"webauthn\" }}una llave de seguridad{{ else }}{{ . }}{{ end }}{{ end }}{{ end }}";

const ALARM: &str = "Si no has sido tú, actúa ahora.";
const ACT: &str =
    "¿No has sido tú? Restablece ahora tu contraseña y comprueba cómo se puede iniciar sesión en tu cuenta.";

/// The texts in the order of the kinds.
pub(super) const TEXTS: [MailTexts; 13] = [
    // Invite
    MailTexts {
        subject: "Tienes una invitación",
        title: "Tienes una invitación",
        preview: "Acepta la invitación para crear tu cuenta.",
        lead: "Te han invitado a abrir una cuenta{{ template \"place\" . }} con <strong>{{ .Email }}</strong>.",
        label: "Aceptar la invitación",
        note: "",
        closing: "¿No la esperabas? Ignora este mensaje y no pasará nada.",
    },
    // Confirmation
    MailTexts {
        subject: "Confirma tu dirección de correo",
        title: "Confirma tu dirección de correo",
        preview: "Un clic y tu cuenta estará lista.",
        lead: "Gracias por registrarte{{ template \"place\" . }}. Confirma que <strong>{{ .Email }}</strong> es tu dirección.",
        label: "Confirmar la dirección",
        note: "",
        closing: "¿No te has registrado? Ignora este mensaje: sin tu clic la cuenta queda sin confirmar y no se puede usar.",
    },
    // Recovery
    MailTexts {
        subject: "Restablece tu contraseña",
        title: "Restablece tu contraseña",
        preview: "Elige una contraseña nueva con este enlace.",
        lead: "Alguien, esperamos que tú, ha pedido una contraseña nueva para la cuenta de <strong>{{ .Email }}</strong>{{ \
             template \"place\" . }}.",
        label: "Elegir una contraseña",
        note: "",
        closing: "¿No la has pedido? Ignora este mensaje: tu contraseña sigue igual.",
    },
    // MagicLink
    MailTexts {
        subject: "Tu enlace para iniciar sesión",
        title: "Tu enlace para iniciar sesión",
        preview: "Inicia sesión sin contraseña.",
        lead: "Con este botón inicias sesión{{ template \"place\" . }} como <strong>{{ .Email }}</strong>.",
        label: "Iniciar sesión",
        note: "No reenvíes el enlace: quien lo tenga puede iniciar sesión en tu \
             lugar.",
        closing: "¿No querías iniciar sesión? Ignora este mensaje.",
    },
    // EmailChange
    MailTexts {
        subject: "Confirma tu nueva dirección de correo",
        title: "Confirma tu nueva dirección de correo",
        preview: "Confirma el cambio de tu dirección.",
        lead: "La dirección de correo de tu cuenta{{ template \"place\" . }} va a cambiar de <strong>{{ .Email }}</strong> \
             a <strong>{{ .NewEmail }}</strong>. Confirma el cambio.",
        label: "Confirmar el cambio",
        note: "",
        closing: "¿No has sido tú? No hagas clic y restablece tu contraseña: quizá alguien usa tu cuenta.",
    },
    // Reauthentication
    MailTexts {
        subject: "{{ .Token }} es tu código de verificación",
        title: "Tu código de verificación",
        preview: "Escribe este código para continuar.",
        lead: "Escribe este código{{ template \"place\" . }} para confirmar que eres tú:",
        label: "",
        note: "Funciona una sola vez y por poco tiempo. Nadie que trabaje con nosotros te lo pedirá nunca.",
        closing: "¿No has pedido un código? Lo ha hecho alguien que ha iniciado sesión en tu lugar: cambia tu contraseña.",
    },
    // PasswordChanged
    MailTexts {
        subject: "Se ha cambiado tu contraseña",
        title: "Se ha cambiado tu contraseña",
        preview: ALARM,
        lead: "La contraseña de la cuenta de <strong>{{ .Email }}</strong>{{ template \"place\" . }} se acaba de cambiar.",
        label: "",
        note: "",
        closing: ACT,
    },
    // EmailChanged
    MailTexts {
        subject: "Se ha cambiado tu dirección de correo",
        title: "Se ha cambiado tu dirección de correo",
        preview: ALARM,
        lead: "La dirección de correo de tu cuenta{{ template \"place\" . }} acaba de cambiar de <strong>{{ .OldEmail \
             }}</strong> a <strong>{{ .Email }}</strong>. Este es el último mensaje a la dirección anterior.",
        label: "",
        note: "",
        closing: "¿No has sido tú? Otra persona tiene tu cuenta: ponte en contacto con los responsables del sitio.",
    },
    // PhoneChanged
    MailTexts {
        subject: "Se ha cambiado tu número de teléfono",
        title: "Se ha cambiado tu número de teléfono",
        preview: ALARM,
        lead: "El número de teléfono de la cuenta de <strong>{{ .Email }}</strong>{{ template \"place\" . }} se acaba de \
             cambiar{{ with .OldPhone }}, número anterior: <strong>{{ . }}</strong>{{ end }}{{ with .Phone }}, número \
             nuevo: <strong>{{ . }}</strong>{{ end }}.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityLinked
    MailTexts {
        subject: "Tu cuenta tiene un nuevo modo de iniciar sesión",
        title: "Nuevo modo de iniciar sesión",
        preview: ALARM,
        lead: "Ahora también se puede iniciar sesión en la cuenta de <strong>{{ .Email }}</strong>{{ template \"place\" . \
             }} así: <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // IdentityUnlinked
    MailTexts {
        subject: "Se ha eliminado un modo de iniciar sesión de tu cuenta",
        title: "Modo de iniciar sesión eliminado",
        preview: ALARM,
        lead: "Ya no se puede iniciar sesión en la cuenta de <strong>{{ .Email }}</strong>{{ template \"place\" . }} así: \
             <strong>{{ template \"way\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorEnrolled
    MailTexts {
        subject: "Tu cuenta tiene un nuevo segundo paso",
        title: "Nuevo segundo paso",
        preview: ALARM,
        lead: "La cuenta de <strong>{{ .Email }}</strong>{{ template \"place\" . }} está ahora protegida también por un \
             segundo paso: <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
    // MfaFactorUnenrolled
    MailTexts {
        subject: "Se ha eliminado un segundo paso de tu cuenta",
        title: "Segundo paso eliminado",
        preview: ALARM,
        lead: "Uno de los segundos pasos que protegían la cuenta de <strong>{{ .Email }}</strong>{{ template \"place\" . }} \
             se acaba de eliminar: <strong>{{ template \"step\" . }}</strong>.",
        label: "",
        note: "",
        closing: ACT,
    },
];
