import { describeAddress, type PresetUser } from "./users.ts";

/** The longest name or address that the server accepts. */
const MAX_INPUT_LENGTH = 200;

/**
 * Renders the page on which a developer chooses the user to sign in. It has no script. The server
 * replaces `{{action}}` with the escaped URL of the request, and the values of the other fields.
 */
export function renderPage(users: readonly PresetUser[]): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Sign in</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/_dev/inbox.css" />
  </head>
  <body class="provider">
    <main>
      <h1>Who do you want to be?</h1>
      <p>This provider is for development. It replaces the real one and checks no passwords.</p>
      ${renderForm(renderChoices(users))}
      ${renderForm(renderOtherUser())}
    </main>
  </body>
</html>
`;
}

function renderForm(content: string): string {
  return `<form method="post" action="${placeholder("action")}">
${content}
</form>`;
}

function renderChoices(users: readonly PresetUser[]): string {
  const choices = users.map((user) => {
    const [id, name, address] = [user.id, user.name, describeAddress(user)].map(escapeMarkup);
    return `<li><button name="person" value="${id}"><strong>${name}</strong><br />${address}</button></li>`;
  });
  return `<ul class="choices">
${choices.join("\n")}
<li><button name="person" value="nobody">Nobody: deny the request</button></li>
</ul>`;
}

function renderOtherUser(): string {
  return `<h2>Another user</h2>
<p><label for="email">Address</label><input id="email" name="email" type="email" autocomplete="off" maxlength="${MAX_INPUT_LENGTH}" value="${placeholder("email")}" /></p>
<p><label for="name">Name</label><input id="name" name="name" autocomplete="off" maxlength="${MAX_INPUT_LENGTH}" value="${placeholder("name")}" /></p>
<p><label><input type="checkbox" name="verified" value="yes" checked /> The address is verified</label></p>
<p class="actions"><button name="person" value="other" class="main">Continue</button></p>`;
}

function placeholder(parameter: string): string {
  return `{{${parameter}}}`;
}

/** Escapes text for markup; braces too, so that no text is taken for a placeholder. */
function escapeMarkup(text: string): string {
  return text.replace(/[&<>"{}]/g, (character) => `&#${character.charCodeAt(0)};`);
}
