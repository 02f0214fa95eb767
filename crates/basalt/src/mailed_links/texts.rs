//! The texts of the pages, by language.

use foundation::language::Language;

/// A heading with a paragraph.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageText {
    /// The heading.
    pub title: &'static str,
    /// The paragraph.
    pub text: &'static str,
}

/// The texts of one language. `{name}` is the project, `{address}` the host of the site, `{number}` a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkTexts {
    pub open: PageText,
    pub open_label: &'static str,
    pub new_password: PageText,
    pub invitation: PageText,
    pub password_field: &'static str,
    pub password_rule: &'static str,
    pub save_label: &'static str,
    pub password_saved: PageText,
    pub invitation_accepted: PageText,
    pub confirmed: PageText,
    pub signed_in: PageText,
    pub address_changed: PageText,
    pub first_confirmation: PageText,
    pub expired: PageText,
    pub address_field: &'static str,
    pub resend_label: &'static str,
    pub resent: PageText,
    pub code: PageText,
    pub blocked: PageText,
    pub failed: PageText,
    pub too_many: PageText,
    pub too_short: &'static str,
    pub needs_characters: &'static str,
    pub leaked: &'static str,
    pub same_password: &'static str,
    pub refused_password: &'static str,
    pub wrong_address: &'static str,
    pub go_on_label: &'static str,
}

/// Returns the texts of a language.
pub(super) fn find_texts(language: Language) -> &'static LinkTexts {
    match language {
        Language::English => &ENGLISH,
        Language::German => &GERMAN,
        Language::French => &FRENCH,
        Language::Spanish => &SPANISH,
    }
}

const ENGLISH: LinkTexts = LinkTexts {
    open: PageText { title: "Continue to {name}", text: "Press the button to use the link of the email." },
    open_label: "Continue",
    new_password: PageText { title: "Choose a new password", text: "For your account at {name}." },
    invitation: PageText {
        title: "Welcome to {name}",
        text: "You accepted the invitation. Choose the password of your account.",
    },
    password_field: "New password",
    password_rule: "At least {number} characters.",
    save_label: "Save the password",
    password_saved: PageText {
        title: "Your new password is saved",
        text: "Sign in with it from now on. You can close this page.",
    },
    invitation_accepted: PageText {
        title: "Your account is ready",
        text: "Sign in with your email address and the password. You can close this page.",
    },
    confirmed: PageText {
        title: "Your email address is confirmed",
        text: "Your account is ready. You can close this page and sign in where you signed up.",
    },
    signed_in: PageText { title: "You are signed in", text: "Continue to {name}." },
    address_changed: PageText {
        title: "Your new email address is confirmed",
        text: "Use it to sign in from now on. You can close this page.",
    },
    first_confirmation: PageText {
        title: "One confirmation is missing",
        text: "We sent an email to your other address, too. The change takes effect when you follow the link there.",
    },
    expired: PageText {
        title: "This link has expired or was used",
        text: "A link works once, and only for some time. We can send you a new one.",
    },
    address_field: "Your email address",
    resend_label: "Send a new link",
    resent: PageText {
        title: "Look into your mailbox",
        text: "If an account with this address waits for a link, a new one is on its way.",
    },
    code: PageText {
        title: "Enter this code where you began",
        text: "You opened the link in another browser or app than the one in which you asked for it. To protect you, it \
               works only there. Go back and enter this code in place of the one in the email:",
    },
    blocked: PageText {
        title: "This link cannot be used",
        text: "Your account cannot be opened with it. Please get in touch with {name}.",
    },
    failed: PageText { title: "That did not work", text: "Please try again in a moment. Your link is still valid." },
    too_many: PageText {
        title: "Please wait a little",
        text: "There were too many attempts. Try again in {number} seconds.",
    },
    too_short: "The password needs at least {number} characters.",
    needs_characters: "The password needs more kinds of characters: small and capital letters, digits, symbols.",
    leaked: "This password is in a list of stolen passwords. Choose another one.",
    same_password: "This is the password you have now. Choose another one.",
    refused_password: "This password cannot be used. Choose another one.",
    wrong_address: "Enter an email address, such as ada@example.com.",
    go_on_label: "Continue to {address}",
};

const GERMAN: LinkTexts = LinkTexts {
    open: PageText { title: "Weiter zu {name}", text: "Drücken Sie den Knopf, um den Link der E-Mail zu verwenden." },
    open_label: "Weiter",
    new_password: PageText { title: "Neues Passwort wählen", text: "Für Ihr Konto bei {name}." },
    invitation: PageText {
        title: "Willkommen bei {name}",
        text: "Sie haben die Einladung angenommen. Wählen Sie das Passwort Ihres Kontos.",
    },
    password_field: "Neues Passwort",
    password_rule: "Mindestens {number} Zeichen.",
    save_label: "Passwort speichern",
    password_saved: PageText {
        title: "Ihr neues Passwort ist gespeichert",
        text: "Melden Sie sich ab jetzt damit an. Sie können diese Seite schließen.",
    },
    invitation_accepted: PageText {
        title: "Ihr Konto ist bereit",
        text: "Melden Sie sich mit Ihrer E-Mail-Adresse und dem Passwort an. Sie können diese Seite schließen.",
    },
    confirmed: PageText {
        title: "Ihre E-Mail-Adresse ist bestätigt",
        text: "Ihr Konto ist bereit. Sie können diese Seite schließen und sich dort anmelden, wo Sie sich registriert haben.",
    },
    signed_in: PageText { title: "Sie sind angemeldet", text: "Weiter zu {name}." },
    address_changed: PageText {
        title: "Ihre neue E-Mail-Adresse ist bestätigt",
        text: "Melden Sie sich ab jetzt mit ihr an. Sie können diese Seite schließen.",
    },
    first_confirmation: PageText {
        title: "Eine Bestätigung fehlt noch",
        text: "Auch an Ihre andere Adresse ging eine E-Mail. Die Änderung gilt, sobald Sie dem Link darin folgen.",
    },
    expired: PageText {
        title: "Dieser Link ist abgelaufen oder wurde schon benutzt",
        text: "Ein Link gilt einmal und nur für einige Zeit. Wir können Ihnen einen neuen schicken.",
    },
    address_field: "Ihre E-Mail-Adresse",
    resend_label: "Neuen Link senden",
    resent: PageText {
        title: "Sehen Sie in Ihr Postfach",
        text: "Wenn ein Konto mit dieser Adresse auf einen Link wartet, ist ein neuer unterwegs.",
    },
    code: PageText {
        title: "Geben Sie diesen Code dort ein, wo Sie begonnen haben",
        text: "Sie haben den Link in einem anderen Browser oder einer anderen App geöffnet als der, in der Sie ihn angefordert \
               haben. Zu Ihrem Schutz gilt er nur dort. Gehen Sie zurück und geben Sie diesen Code anstelle des Codes der \
               E-Mail ein:",
    },
    blocked: PageText {
        title: "Dieser Link kann nicht verwendet werden",
        text: "Ihr Konto lässt sich damit nicht öffnen. Bitte wenden Sie sich an {name}.",
    },
    failed: PageText {
        title: "Das hat nicht geklappt",
        text: "Bitte versuchen Sie es gleich noch einmal. Ihr Link ist noch gültig.",
    },
    too_many: PageText {
        title: "Bitte warten Sie einen Moment",
        text: "Es gab zu viele Versuche. Versuchen Sie es in {number} Sekunden noch einmal.",
    },
    too_short: "Das Passwort braucht mindestens {number} Zeichen.",
    needs_characters: "Das Passwort braucht mehr Arten von Zeichen: kleine und große Buchstaben, Ziffern, Sonderzeichen.",
    leaked: "Dieses Passwort steht in einer Liste gestohlener Passwörter. Wählen Sie ein anderes.",
    same_password: "Das ist Ihr jetziges Passwort. Wählen Sie ein anderes.",
    refused_password: "Dieses Passwort kann nicht verwendet werden. Wählen Sie ein anderes.",
    wrong_address: "Geben Sie eine E-Mail-Adresse ein, etwa ada@example.com.",
    go_on_label: "Weiter zu {address}",
};

const FRENCH: LinkTexts = LinkTexts {
    open: PageText {
        title: "Continuer vers {name}", text: "Appuyez sur le bouton pour utiliser le lien de l’e-mail."
    },
    open_label: "Continuer",
    new_password: PageText { title: "Choisissez un nouveau mot de passe", text: "Pour votre compte chez {name}." },
    invitation: PageText {
        title: "Bienvenue chez {name}",
        text: "Vous avez accepté l’invitation. Choisissez le mot de passe de votre compte.",
    },
    password_field: "Nouveau mot de passe",
    password_rule: "Au moins {number} caractères.",
    save_label: "Enregistrer le mot de passe",
    password_saved: PageText {
        title: "Votre nouveau mot de passe est enregistré",
        text: "Connectez-vous désormais avec lui. Vous pouvez fermer cette page.",
    },
    invitation_accepted: PageText {
        title: "Votre compte est prêt",
        text: "Connectez-vous avec votre adresse e-mail et le mot de passe. Vous pouvez fermer cette page.",
    },
    confirmed: PageText {
        title: "Votre adresse e-mail est confirmée",
        text: "Votre compte est prêt. Vous pouvez fermer cette page et vous connecter là où vous vous êtes inscrit.",
    },
    signed_in: PageText { title: "Vous êtes connecté", text: "Continuez vers {name}." },
    address_changed: PageText {
        title: "Votre nouvelle adresse e-mail est confirmée",
        text: "Connectez-vous désormais avec elle. Vous pouvez fermer cette page.",
    },
    first_confirmation: PageText {
        title: "Il manque une confirmation",
        text: "Nous avons aussi envoyé un e-mail à votre autre adresse. La modification prend effet quand vous suivez le lien \
               qu’il contient.",
    },
    expired: PageText {
        title: "Ce lien a expiré ou a déjà servi",
        text: "Un lien fonctionne une fois et pour un temps limité. Nous pouvons vous en envoyer un nouveau.",
    },
    address_field: "Votre adresse e-mail",
    resend_label: "Envoyer un nouveau lien",
    resent: PageText {
        title: "Consultez votre boîte de réception",
        text: "Si un compte avec cette adresse attend un lien, un nouveau est en route.",
    },
    code: PageText {
        title: "Saisissez ce code là où vous avez commencé",
        text: "Vous avez ouvert le lien dans un autre navigateur ou une autre application que celui où vous l’avez demandé. Pour \
               votre sécurité, il ne fonctionne que là. Retournez-y et saisissez ce code à la place de celui de l’e-mail :",
    },
    blocked: PageText {
        title: "Ce lien ne peut pas être utilisé",
        text: "Il ne permet pas d’ouvrir votre compte. Veuillez contacter {name}.",
    },
    failed: PageText {
        title: "Cela n’a pas fonctionné",
        text: "Veuillez réessayer dans un instant. Votre lien reste valable.",
    },
    too_many: PageText {
        title: "Veuillez patienter un peu",
        text: "Il y a eu trop d’essais. Réessayez dans {number} secondes.",
    },
    too_short: "Le mot de passe doit avoir au moins {number} caractères.",
    needs_characters: "Le mot de passe doit avoir plus de sortes de caractères : minuscules, majuscules, chiffres, symboles.",
    leaked: "Ce mot de passe figure dans une liste de mots de passe volés. Choisissez-en un autre.",
    same_password: "C’est votre mot de passe actuel. Choisissez-en un autre.",
    refused_password: "Ce mot de passe ne peut pas être utilisé. Choisissez-en un autre.",
    wrong_address: "Saisissez une adresse e-mail, par exemple ada@example.com.",
    go_on_label: "Continuer vers {address}",
};

const SPANISH: LinkTexts = LinkTexts {
    open: PageText { title: "Continuar a {name}", text: "Pulsa el botón para usar el enlace del correo." },
    open_label: "Continuar",
    new_password: PageText { title: "Elige una contraseña nueva", text: "Para tu cuenta en {name}." },
    invitation: PageText {
        title: "Te damos la bienvenida a {name}",
        text: "Has aceptado la invitación. Elige la contraseña de tu cuenta.",
    },
    password_field: "Contraseña nueva",
    password_rule: "Al menos {number} caracteres.",
    save_label: "Guardar la contraseña",
    password_saved: PageText {
        title: "Tu contraseña nueva está guardada",
        text: "Inicia sesión con ella a partir de ahora. Puedes cerrar esta página.",
    },
    invitation_accepted: PageText {
        title: "Tu cuenta está lista",
        text: "Inicia sesión con tu correo y la contraseña. Puedes cerrar esta página.",
    },
    confirmed: PageText {
        title: "Tu correo está confirmado",
        text: "Tu cuenta está lista. Puedes cerrar esta página e iniciar sesión donde te registraste.",
    },
    signed_in: PageText { title: "Has iniciado sesión", text: "Continúa a {name}." },
    address_changed: PageText {
        title: "Tu correo nuevo está confirmado",
        text: "Inicia sesión con él a partir de ahora. Puedes cerrar esta página.",
    },
    first_confirmation: PageText {
        title: "Falta una confirmación",
        text: "También enviamos un correo a tu otra dirección. El cambio vale cuando sigas el enlace de ese correo.",
    },
    expired: PageText {
        title: "Este enlace ha caducado o ya se usó",
        text: "Un enlace vale una vez y por un tiempo limitado. Podemos enviarte uno nuevo.",
    },
    address_field: "Tu correo electrónico",
    resend_label: "Enviar un enlace nuevo",
    resent: PageText {
        title: "Mira tu buzón",
        text: "Si una cuenta con esta dirección espera un enlace, hay uno nuevo en camino.",
    },
    code: PageText {
        title: "Escribe este código donde empezaste",
        text: "Has abierto el enlace en otro navegador o en otra aplicación distinta de la que usaste para pedirlo. Para \
               protegerte, solo vale allí. Vuelve y escribe este código en lugar del que está en el correo:",
    },
    blocked: PageText {
        title: "Este enlace no se puede usar",
        text: "No permite abrir tu cuenta. Ponte en contacto con {name}.",
    },
    failed: PageText {
        title: "No ha funcionado",
        text: "Vuelve a intentarlo dentro de un momento. Tu enlace sigue siendo válido.",
    },
    too_many: PageText {
        title: "Espera un poco",
        text: "Ha habido demasiados intentos. Vuelve a intentarlo dentro de {number} segundos.",
    },
    too_short: "La contraseña necesita al menos {number} caracteres.",
    needs_characters: "La contraseña necesita más tipos de caracteres: minúsculas, mayúsculas, cifras, símbolos.",
    leaked: "Esta contraseña está en una lista de contraseñas robadas. Elige otra.",
    same_password: "Esta es tu contraseña actual. Elige otra.",
    refused_password: "Esta contraseña no se puede usar. Elige otra.",
    wrong_address: "Escribe un correo electrónico, como ada@example.com.",
    go_on_label: "Continuar a {address}",
};
