/**
 * The twelve products: id, folder, and the alternative text of the picture in the shop. A series has further letters; others have further
 * layouts of the same mail.
 *
 * @type {{ id: number, folder: string, alt: string, letters?: { source: string, alt: string }[], layouts?: { source: string, alt: string }[] }[]}
 */
export const EMAILS = [
  {
    id: 1,
    folder: "01-professional-newsletter",
    alt: "Newsletter on cream paper: a large masthead, an engraved lighthouse before a red sun, and the lead story beneath it.",
  },
  {
    id: 2,
    folder: "02-product-promotion",
    alt: "Vermilion launch poster: a black reading lamp throws a cone of warm light on a pear and two books.",
  },
  {
    id: 3,
    folder: "03-welcome-series",
    alt: "Welcome letter: a greeting by name in heavy green letters over a kitchen garden at sunrise, then three numbered steps.",
    letters: [
      {
        source: "letter-2",
        alt: "Second letter: four seed packets on a shelf, then a list of what is in the bag and how deep it lies.",
      },
      {
        source: "letter-3",
        alt: "Third letter: five radishes pulled from the earth before the sun, then three ways to eat them.",
      },
    ],
  },
  {
    id: 4,
    folder: "04-company-announcement",
    alt: "Announcement in black on white with a cobalt picture of two bridge halves meeting, then a signed letter beside the key facts.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: a red A and a green B overlap in a river and carry one bridge, then a letter with a footbridge in two halves.",
      },
    ],
  },
  {
    id: 5,
    folder: "05-event-invitation",
    alt: "Night-blue invitation in slanting Didot: star trails turn above an observatory, then the date, the agenda and a map.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: a star chart on ivory in a ring of moons, with a constellation for each hour of the evening, from soup bowl to telescope.",
      },
    ],
  },
  {
    id: 6,
    folder: "06-order-confirmation",
    alt: "Order confirmation the colour of clay: jug, bowl and mugs on a shelf above a paper slip with items and totals.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: blue painted tiles on which a red van drives from the kiln to the harbour, then a tile for each step and piece.",
      },
    ],
  },
  {
    id: 7,
    folder: "07-survey-and-feedback",
    alt: "Yellow survey asking how you slept, with five faces to tap from wide awake to fast asleep and a sleeping carriage beneath.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: five views from a night train, from jagged peaks to a still sea, under moons that fall asleep one by one.",
      },
    ],
  },
  {
    id: 8,
    folder: "08-holiday-greetings",
    alt: "Dark green holiday card: a red house in the snow inside an arch of leaves, berries and two birds, with a greeting in gold.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: a knitted jumper with two reindeer, a fir and hearts, then a letter in red on cream with eight names.",
      },
      {
        source: "layout-3",
        alt: "Third layout: a red house under the moon, whose nine lit windows are the signatures, with a letter in the snow at its door.",
      },
    ],
  },
  {
    id: 9,
    folder: "09-executive-report",
    alt: "One-page report on pale green: a headline, a bar chart of twelve months with the last bar in orange, and four key figures.",
  },
  {
    id: 10,
    folder: "10-quarterly-update",
    alt: "Quarterly update: a huge lime Q3 and a rising sun on black, then four blocks of colour with a large figure each.",
  },
  {
    id: 11,
    folder: "11-policy-notification",
    alt: "Policy notice on blue-grey: the date of effect set large, then a ruled white sheet with clauses struck out and replaced.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: each clause as a pair of pictures, grey before and in colour after, with the old and the new words beneath.",
      },
    ],
  },
  {
    id: 12,
    folder: "12-board-meeting-invitation",
    alt: "Board invitation: an ivory card with a double gold rule on burgundy beneath an engraved rosette with an oak.",
    layouts: [
      {
        source: "layout-2",
        alt: "Second layout: the board table in green leather from above, a chair for each of eleven directors and a sheet for each item.",
      },
    ],
  },
];

/**
 * Returns the mails of a product: the name of the source, and the folder in the ZIP file; the first mail is at its root.
 *
 * @param {{ letters?: { source: string }[], layouts?: { source: string }[] }} product
 */
export function listMails({ letters = [], layouts = [] }) {
  const further = [...letters, ...layouts].map(({ source }) => ({ source, place: `${source}/` }));
  return [{ source: "index", place: "" }, ...further];
}

/**
 * Returns the names of the pictures of the further mails of a product: `letter2` for the source `letter-2`.
 *
 * @param {{ letters?: { source: string }[], layouts?: { source: string }[] }} product
 */
export function listFurtherKinds(product) {
  return listMails(product)
    .slice(1)
    .map(({ source }) => source.replace("-", ""));
}
