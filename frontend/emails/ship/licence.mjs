// What a buyer may do with a template, in plain words, and what changed between its versions.

/** The version of all templates. */
const VERSION = "1.3";

/** Returns the licence of a template. */
export function licence({ title }) {
  return `Licence of the template "${title}"

You bought this template. You may:

- use it for your own mails and for those of your clients,
- change everything in it: texts, pictures, colours, layout,
- use it in as many mails, for as many recipients and for as long as you like,
- keep copies, and share it with the people who work on these mails.

You may not:

- sell the template, or give it away, as a template or as a part of one,
- offer it in a service where others make mails of their own with it,
- say that you designed it.

What you make with it is yours. The pictures in it were drawn for it and are
part of the template. The fonts in it are free, each under the
SIL Open Font License that is beside it. It comes as it is: test each mail
before you send it. The seller named on your receipt answers questions, and
gives your money back within 30 days if the template does not serve you.
`;
}

/** Returns the changes of the versions. */
export function changes({ title, mails, isSeries }) {
  return `Versions of the template "${title}"

${VERSION}
- The mail names the fonts that its pictures show, and the folder fonts has
  them. Outlook gets the first font of each list that it has.
${mails > 1 && !isSeries ? `- ${mails} layouts instead of one, each with plain text and sources.\n` : ""}
1.2
${isSeries ? `- ${mails} letters instead of one, each with plain text, pictures and sources.` : "- GUIDE.txt says how each part was tested."}

1.1
- LICENSE.txt says in plain words what you may do.
- sources has the pictures as SVG, to change and draw them again.

1.0
- The first version.

Your download link gives you the latest version. The page of your orders at
the shop sends you a new link whenever you need one.
`;
}
