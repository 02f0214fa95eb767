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

/// What a password needs, for [`LinkTexts::password_kinds`].
#[derive(Debug, Clone, Copy)]
pub(super) struct CharacterTexts {
    pub small_letter: &'static str,
    pub capital_letter: &'static str,
    pub letter: &'static str,
    pub digit: &'static str,
    pub symbol: &'static str,
    /// `{set}` is the characters.
    pub other: &'static str,
    /// Joins the last two.
    pub and: &'static str,
}

/// The texts of the second step of an account. `{factor}` is the name of an app, `{ending}` the last digits of a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct SecondStepTexts {
    pub page: PageText,
    pub app_field: &'static str,
    pub named_app_field: &'static str,
    pub phone_field: &'static str,
    pub recovery_field: &'static str,
    pub use_app: &'static str,
    pub use_named_app: &'static str,
    pub use_phone: &'static str,
    pub use_recovery: &'static str,
    pub sent: &'static str,
    pub wrong_code: &'static str,
    pub locked: &'static str,
    /// The account has no second step that the page can ask for.
    pub impossible: PageText,
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
    /// `{kinds}` is the list of [`LinkTexts::characters`].
    pub password_kinds: &'static str,
    pub characters: CharacterTexts,
    pub never_stolen: &'static str,
    pub save_label: &'static str,
    pub password_saved: PageText,
    pub invitation_accepted: PageText,
    pub confirmed: PageText,
    pub signed_in: PageText,
    pub address_changed: PageText,
    pub first_confirmation: PageText,
    pub expired: PageText,
    /// No new link can be sent from here.
    pub expired_elsewhere: PageText,
    pub address_field: &'static str,
    pub resend_label: &'static str,
    pub resent: PageText,
    pub code: PageText,
    pub blocked: PageText,
    pub failed: PageText,
    pub too_many: PageText,
    pub busy: &'static str,
    pub second_step: SecondStepTexts,
    pub too_short: &'static str,
    pub too_long: &'static str,
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
    password_kinds: "Among them {kinds}.",
    characters: CharacterTexts {
        small_letter: "a small letter",
        capital_letter: "a capital letter",
        letter: "a letter",
        digit: "a digit",
        symbol: "a symbol such as ! ? # %",
        other: "one of {set}",
        and: " and ",
    },
    never_stolen: "It must not be in a list of stolen passwords.",
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
    expired_elsewhere: PageText {
        title: "This link has expired or was used",
        text: "A link works once, and only for some time. Ask for a new one where you asked for this one, for \
               example at the sign-in.",
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
    busy: "That did not work. Please try again in a moment.",
    second_step: SecondStepTexts {
        page: PageText {
            title: "Confirm that it is you",
            text: "Your account at {name} is protected by a second step. When it is done, you choose the new password.",
        },
        app_field: "Code of your authenticator app",
        named_app_field: "Code of the app “{factor}”",
        phone_field: "Code of the text message",
        recovery_field: "Recovery code",
        use_app: "Use the authenticator app",
        use_named_app: "Use the app “{factor}”",
        use_phone: "Send a code to the number ending in {ending}",
        use_recovery: "Use a recovery code",
        sent: "A code is on its way to the number ending in {ending}.",
        wrong_code: "This code is not right. Enter the latest one; each code counts once.",
        locked: "There were too many wrong codes. Try again later, or in another way.",
        impossible: PageText {
            title: "Your password is not changed yet",
            text: "Your account has a second step that this page cannot ask for, such as a security key. Sign in to \
                   {name} with a link or a code by email and with your second step, and change the password there. \
                   If that is not possible, please get in touch with {name}.",
        },
    },
    too_short: "The password needs at least {number} characters.",
    too_long: "The password can have at most 72 characters.",
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
    password_kinds: "Darunter {kinds}.",
    characters: CharacterTexts {
        small_letter: "ein Kleinbuchstabe",
        capital_letter: "ein Großbuchstabe",
        letter: "ein Buchstabe",
        digit: "eine Ziffer",
        symbol: "ein Sonderzeichen wie ! ? # %",
        other: "eines von {set}",
        and: " und ",
    },
    never_stolen: "Es darf in keiner Liste gestohlener Passwörter stehen.",
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
    expired_elsewhere: PageText {
        title: "Dieser Link ist abgelaufen oder wurde schon benutzt",
        text: "Ein Link gilt einmal und nur für einige Zeit. Fordern Sie einen neuen dort an, wo Sie diesen \
               angefordert haben, zum Beispiel bei der Anmeldung.",
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
    busy: "Das hat nicht geklappt. Bitte versuchen Sie es gleich noch einmal.",
    second_step: SecondStepTexts {
        page: PageText {
            title: "Bestätigen Sie, dass Sie es sind",
            text: "Ihr Konto bei {name} ist durch einen zweiten Schritt geschützt. Danach wählen Sie das neue \
                   Passwort.",
        },
        app_field: "Code Ihrer Authenticator-App",
        named_app_field: "Code der App „{factor}“",
        phone_field: "Code der SMS",
        recovery_field: "Wiederherstellungscode",
        use_app: "Authenticator-App verwenden",
        use_named_app: "App „{factor}“ verwenden",
        use_phone: "Code an die Nummer senden, die auf {ending} endet",
        use_recovery: "Wiederherstellungscode verwenden",
        sent: "Ein Code ist unterwegs an die Nummer, die auf {ending} endet.",
        wrong_code: "Dieser Code stimmt nicht. Geben Sie den neuesten ein; jeder Code gilt einmal.",
        locked: "Es gab zu viele falsche Codes. Versuchen Sie es später noch einmal oder auf einem anderen Weg.",
        impossible: PageText {
            title: "Ihr Passwort ist noch nicht geändert",
            text: "Ihr Konto hat einen zweiten Schritt, nach dem diese Seite nicht fragen kann, etwa einen \
                   Sicherheitsschlüssel. Melden Sie sich bei {name} mit einem Link oder Code per E-Mail und Ihrem \
                   zweiten Schritt an und ändern Sie das Passwort dort. Wenn das nicht geht, wenden Sie sich bitte \
                   an {name}.",
        },
    },
    too_short: "Das Passwort braucht mindestens {number} Zeichen.",
    too_long: "Das Passwort darf höchstens 72 Zeichen haben.",
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
    password_kinds: "Parmi eux {kinds}.",
    characters: CharacterTexts {
        small_letter: "une minuscule",
        capital_letter: "une majuscule",
        letter: "une lettre",
        digit: "un chiffre",
        symbol: "un symbole comme ! ? # %",
        other: "un de {set}",
        and: " et ",
    },
    never_stolen: "Il ne doit figurer dans aucune liste de mots de passe volés.",
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
    expired_elsewhere: PageText {
        title: "Ce lien a expiré ou a déjà servi",
        text: "Un lien fonctionne une fois et pour un temps limité. Demandez-en un nouveau là où vous avez demandé \
               celui-ci, par exemple à la connexion.",
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
    busy: "Cela n’a pas fonctionné. Veuillez réessayer dans un instant.",
    second_step: SecondStepTexts {
        page: PageText {
            title: "Confirmez que c’est bien vous",
            text: "Votre compte chez {name} est protégé par une deuxième étape. Ensuite, vous choisissez le nouveau \
                   mot de passe.",
        },
        app_field: "Code de votre application d’authentification",
        named_app_field: "Code de l’application « {factor} »",
        phone_field: "Code du SMS",
        recovery_field: "Code de secours",
        use_app: "Utiliser l’application d’authentification",
        use_named_app: "Utiliser l’application « {factor} »",
        use_phone: "Envoyer un code au numéro qui finit par {ending}",
        use_recovery: "Utiliser un code de secours",
        sent: "Un code est en route vers le numéro qui finit par {ending}.",
        wrong_code: "Ce code n’est pas le bon. Saisissez le plus récent ; chaque code sert une fois.",
        locked: "Il y a eu trop de codes erronés. Réessayez plus tard ou par un autre moyen.",
        impossible: PageText {
            title: "Votre mot de passe n’est pas encore changé",
            text: "Votre compte a une deuxième étape que cette page ne peut pas demander, comme une clé de sécurité. \
                   Connectez-vous à {name} avec un lien ou un code par e-mail et votre deuxième étape, puis \
                   changez-y le mot de passe. Si ce n’est pas possible, veuillez contacter {name}.",
        },
    },
    too_short: "Le mot de passe doit avoir au moins {number} caractères.",
    too_long: "Le mot de passe peut avoir au plus 72 caractères.",
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
    password_kinds: "Entre ellos {kinds}.",
    characters: CharacterTexts {
        small_letter: "una minúscula",
        capital_letter: "una mayúscula",
        letter: "una letra",
        digit: "una cifra",
        symbol: "un símbolo como ! ? # %",
        other: "uno de {set}",
        and: " y ",
    },
    never_stolen: "No debe estar en ninguna lista de contraseñas robadas.",
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
    expired_elsewhere: PageText {
        title: "Este enlace ha caducado o ya se usó",
        text: "Un enlace vale una vez y por un tiempo limitado. Pide uno nuevo donde pediste este, por ejemplo al \
               iniciar sesión.",
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
    busy: "No ha funcionado. Vuelve a intentarlo dentro de un momento.",
    second_step: SecondStepTexts {
        page: PageText {
            title: "Confirma que eres tú",
            text: "Tu cuenta en {name} está protegida por un segundo paso. Después eliges la contraseña nueva.",
        },
        app_field: "Código de tu aplicación de autenticación",
        named_app_field: "Código de la aplicación «{factor}»",
        phone_field: "Código del SMS",
        recovery_field: "Código de recuperación",
        use_app: "Usar la aplicación de autenticación",
        use_named_app: "Usar la aplicación «{factor}»",
        use_phone: "Enviar un código al número que termina en {ending}",
        use_recovery: "Usar un código de recuperación",
        sent: "Hay un código en camino al número que termina en {ending}.",
        wrong_code: "Este código no es correcto. Escribe el más reciente; cada código vale una vez.",
        locked: "Ha habido demasiados códigos erróneos. Vuelve a intentarlo más tarde o de otra manera.",
        impossible: PageText {
            title: "Tu contraseña todavía no ha cambiado",
            text: "Tu cuenta tiene un segundo paso que esta página no puede pedir, como una llave de seguridad. \
                   Inicia sesión en {name} con un enlace o un código por correo y tu segundo paso, y cambia allí la \
                   contraseña. Si no es posible, ponte en contacto con {name}.",
        },
    },
    too_short: "La contraseña necesita al menos {number} caracteres.",
    too_long: "La contraseña puede tener como máximo 72 caracteres.",
    needs_characters: "La contraseña necesita más tipos de caracteres: minúsculas, mayúsculas, cifras, símbolos.",
    leaked: "Esta contraseña está en una lista de contraseñas robadas. Elige otra.",
    same_password: "Esta es tu contraseña actual. Elige otra.",
    refused_password: "Esta contraseña no se puede usar. Elige otra.",
    wrong_address: "Escribe un correo electrónico, como ada@example.com.",
    go_on_label: "Continuar a {address}",
};
