//! The page that lets the developer choose a user: a form without any script.

use std::fmt::Write as _;

use gotrue_rules::wire::html::escape_html;

use super::parameters::Parameters;
use super::users::PRESET_USERS;

/// Parameters of the request that the form repeats.
const REPEATED_PARAMETERS: [&str; 7] =
    ["client_id", "redirect_uri", "response_type", "state", "nonce", "code_challenge", "code_challenge_method"];

/// Formats the page; `hint` is the initial value of the address.
pub fn format_chooser(requested: &Parameters, hint: &str) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Sign in</title>\n<link rel=\"stylesheet\" href=\"/_dev/inbox.css\">\n<main>\n<h1>Who do you want to be?</h1>\n\
         <p>This provider is for development. It stands in for the real one and believes everybody.</p>\n",
    );
    let mut carried = String::new();
    for name in REPEATED_PARAMETERS {
        let value = escape_html(requested.get(name));
        let _ = writeln!(carried, "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
    }
    let _ =
        writeln!(page, "<form method=\"post\" action=\"/_dev/provider/authorize\">\n{carried}<ul class=\"people\">");
    for (id, name, email, verified) in PRESET_USERS {
        let about = match (email, verified) {
            ("", _) => "has no address".to_owned(),
            (email, true) => format!("{email}, verified"),
            (email, false) => format!("{email}, not verified"),
        };
        let _ = writeln!(
            page,
            "<li><button name=\"person\" value=\"{id}\"><strong>{name}</strong><br>{about}</button></li>"
        );
    }
    let _ = writeln!(
        page,
        "<li><button name=\"person\" value=\"nobody\">Nobody: deny the request</button></li>\n</ul>\n</form>"
    );
    let _ = writeln!(
        page,
        "<form method=\"post\" action=\"/_dev/provider/authorize\">\n{carried}<h2>Somebody else</h2>\n\
         <p><label for=\"email\">Address</label><br><input id=\"email\" name=\"email\" type=\"email\" autocomplete=\"off\" maxlength=\"200\" value=\"{}\"></p>\n\
         <p><label for=\"name\">Name</label><br><input id=\"name\" name=\"name\" autocomplete=\"off\" maxlength=\"200\" value=\"{}\"></p>\n\
         <p><label><input type=\"checkbox\" name=\"verified\" value=\"yes\" checked> The address is verified</label></p>\n\
         <p><button name=\"person\" value=\"other\">Continue</button></p>\n</form>\n</main>",
        escape_html(hint),
        escape_html(requested.get("name")),
    );
    page
}
