// Writes the guide that buyers get: plain text, because mailing tools accept one HTML file per ZIP file.
import { FONTS } from "./fonts.mjs";
import { PICTURES } from "./html.mjs";
import { parseEmail } from "./styles.mjs";

const WIDTH = 72;

/** Returns the guide to an e-mail. `fonts` are the paths of the font files, each file once. */
export function guide({ title, html, fonts, others, isSeries }) {
  const page = parseEmail(html);
  const pages = [page, ...others.map((other) => parseEmail(other.html))];
  const whole = [html, ...others.map((other) => other.html)].join("\n");
  return `${heading(`${title}: how to use this template`, "=")}

${heading("What is in the folder")}

${list([
  "index.html: the e-mail. The styles are in the tags, as mail programs want them.",
  "plain-text.txt: the same message without pictures and colours. Send it along: some people read only this part, and filters trust a mail that has it.",
  ...(hasPictures(page)
    ? [
        `${PICTURES}: the pictures, as PNG in double size for sharp screens.`,
        "sources: the drawings of the pictures as SVG. Change them in Inkscape, Figma or Illustrator, and export them as PNG under the old names.",
      ]
    : ["There are no pictures: everything you see is text and coloured table cells."]),
  `${FONTS}: the ${families(html).length > 1 ? "fonts" : "font"} of the mail, ${families(html).join(" and ")}, and the licence of each.`,
  ...others.map(
    ({ place }) =>
      `${place}index.html and ${place}plain-text.txt: ${isSeries ? "a further letter of the series" : "another layout of the mail"}, with its own images, sources and fonts.`,
  ),
  "LICENSE.txt: what you may do with the template, in plain words.",
  "CHANGELOG.txt: the versions and what changed in them.",
])}

${heading("Make it yours")}

${numbered([
  "Open index.html in any text editor. Comments such as <!-- Footer --> name the sections. A section is one row, <tr> to </tr>; move or delete whole rows.",
  "Replace the text between the tags. Keep the tags.",
  "Replace the links. They all lead to example.com, which belongs to nobody:",
])}

${linkList(pages)}

${numbered(
  [
    "Change the line that inboxes show after the subject: it is the first text after <body>.",
    "Make the same changes in plain-text.txt.",
    "Send yourself a test, open it on your phone, and once with a dark screen.",
  ],
  4,
)}

${pictureSection(page)}${others.map((other) => otherSection(other, isSeries)).join("")}${heading("Fonts")}

${paragraph(`The pictures in the shop show the mail in ${families(whole).join(" and ")}, as mail programs show it that load fonts: those of Apple on Mac, iPhone and iPad, and Thunderbird. Gmail and Outlook load none: they show the next font of the list that the machine has, as the view "Windows" in the shop does. Each list ends with fonts that every machine has:`)}

${list(fontStacks(whole))}

${paragraph("The files, which are free and may be sent along:")}

${list(fonts)}

${paragraph("Mailing tools take pictures, but few take fonts. Put the files on your own web site, which then is the only one that is asked for them:")}

${numbered([
  `Upload the folder ${FONTS} to a place with an https address.`,
  'Let the server send the header "Access-Control-Allow-Origin: *" with the files. Without it mail programs do not use them.',
  `Replace each ${FONTS}/… in the first <style> of index.html by the whole address.`,
])}

${paragraph("If you leave this out, delete that <style>: nothing breaks, and everybody sees the next font of the list. A mail that loads fonts tells the server that has them when it is opened, as a mail with pictures does.")}

${heading("In Mailchimp")}

${numbered([
  "Under Email templates choose Create template, then Code your own and Import zip, and choose the ZIP file as you got it.",
  "Put *|UNSUB|* in place of the unsubscribe address. Mailchimp sends no campaign without it.",
  "Other tags: *|FNAME|* is the first name, *|ARCHIVE|* the address of the mail in a browser, *|LIST:ADDRESS|* your postal address.",
  "Plain text: Mailchimp writes its own. Replace it with plain-text.txt in the step Plain-text version.",
])}

${heading("In Brevo")}

${numbered([
  uploadStep(
    page,
    "Under Templates choose New template and, as editor, Paste your code.",
    "Upload the pictures in the media library",
  ),
  "Paste the whole of index.html.",
  "Put {{ unsubscribe }} in place of the unsubscribe address, and {{ mirror }} in place of the address of the mail in a browser.",
  "The first name is {{ contact.FIRSTNAME }}.",
])}

${heading("In Klaviyo")}

${numbered([
  uploadStep(
    page,
    "Under Templates choose Create template, then HTML.",
    "Upload the pictures under Images & brand",
  ),
  "Paste the whole of index.html.",
  "Put {% unsubscribe_link %} in place of the unsubscribe address, and {% web_view_link %} in place of the address of the mail in a browser.",
  "The first name is {{ first_name|default:'' }}.",
  "Paste plain-text.txt into the plain-text version of the template.",
])}

${paragraph("Menus of these tools move now and then. If a name differs, search their help for “custom HTML”. Other tools work in the same way: upload the pictures, paste the HTML, insert their unsubscribe tag.")}

${heading("How it was tested")}

${list([
  "The HTML is smaller than 102 kB, above which Gmail cuts mails off.",
  "It fits screens from 320 pixels on.",
  "Outlook for Windows gets a fixed width of 600 pixels, and by name the first font of each list that comes with Windows or Office.",
  "The pictures in the shop are compared with this folder, drawn with its own fonts.",
  "Dark mailboxes get colours of their own. Gmail's apps change colours by their own rules; the text stays readable.",
  "With pictures off, each picture shows a text that says the same.",
])}
`;
}

function hasPictures(page) {
  return page.querySelector("img") !== null;
}

function uploadStep(page, first, upload) {
  if (!hasPictures(page)) return first;
  return `${first} ${upload} first, and replace each ${PICTURES}/… in index.html by the address that the tool shows for it.`;
}

function linkList(pages) {
  const links = new Map();
  for (const link of pages.flatMap((page) => [...page.querySelectorAll("a")])) {
    const address = link.getAttribute("href");
    const label = clean(link.textContent) || clean(link.querySelector("img")?.getAttribute("alt"));
    if (!links.has(address)) links.set(address, label);
  }
  return [...links].map(([address, label]) => `   ${address}\n      ${label}`).join("\n");
}

function pictureSection(page) {
  const pictures = [...page.querySelectorAll("img")];
  if (pictures.length === 0) return "";
  const lines = pictures.map((picture) => {
    const [width, height] = ["width", "height"].map((name) => picture.getAttribute(name) * 2);
    const night = picture.classList.contains("by-night") ? " For dark mailboxes." : "";
    const alt = clean(picture.getAttribute("alt")) || "An ornament.";
    return `${picture.getAttribute("src")}, about ${width} × ${height} pixels.${night} ${alt}`;
  });
  const dark = page.querySelector(".by-night")
    ? " Where a second picture for dark mailboxes follows, replace both, or delete the second <img> and the words by-day in the first."
    : "";
  return `${heading("Pictures")}

${paragraph(`To use a picture of your own, save it under the same name and in the same size, and rewrite its alt text: it is what people see while pictures are off.${dark}`)}

${list(lines)}

`;
}

function otherSection({ place, html }, isSeries) {
  const use = isSeries
    ? "A letter of its own, used like the first one. For tools that import ZIP files, compress what is in this folder into a ZIP file of its own. Send each letter by an automation, a few days after the one before."
    : "The same mail in another layout, complete and used like the first one: choose the one that suits the occasion, or use it the next time. For tools that import ZIP files, compress what is in this folder into a ZIP file of its own.";
  const pictures = [...parseEmail(html).querySelectorAll("img")];
  const lines = pictures.map((picture) => {
    const night = picture.classList.contains("by-night") ? " For dark mailboxes." : "";
    const alt = clean(picture.getAttribute("alt")) || "An ornament.";
    return `${place}${picture.getAttribute("src")}.${night} ${alt}`;
  });
  return `${heading(`The folder ${place.replace(/\/$/, "")}`)}

${paragraph(use)}
${lines.length > 0 ? `\n${list(lines)}\n` : ""}
`;
}

/** The families that the mail loads. */
function families(html) {
  const named = [...html.matchAll(/@font-face \{ font-family: "([^"]*)"/g)];
  return [...new Set(named.map(([, family]) => family))];
}

function fontStacks(html) {
  const stacks = [...html.matchAll(/font:[^;"]*px\s([^;"]*)/g)].map(([, stack]) =>
    stack.replaceAll("'", ""),
  );
  return [...new Set(stacks)]
    .filter((stack) => stack !== "Arial,Helvetica,sans-serif")
    .map((stack) => stack.replaceAll(",", ", "));
}

function clean(text) {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

function heading(text, line = "-") {
  return `${text}\n${line.repeat(text.length)}`;
}

function list(items) {
  return items.map((item) => wrap(item, " - ")).join("\n");
}

function numbered(items, first = 1) {
  return items.map((item, index) => wrap(item, `${first + index}. `)).join("\n");
}

function paragraph(text) {
  return wrap(text, "");
}

/** Breaks a text into lines, not within tags; the first begins with `start`, the others with as many spaces. */
function wrap(text, start) {
  const lines = [];
  let line = start;
  for (const word of text.match(/(?:\{[{%][^}]*\}|\S)+/g)) {
    const isFirst = line.trim() === start.trim();
    if (!isFirst && line.length + word.length > WIDTH) {
      lines.push(line.trimEnd());
      line = " ".repeat(start.length);
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join("\n");
}
