// Written by "npm run emails:render" from the e-mails in frontend/emails: change those, not this file.
import avif01Card360 from "./01-card-360.avif";
import avif01Card720 from "./01-card-720.avif";
import webp01Card720 from "./01-card-720.webp";
import avif01Card1080 from "./01-card-1080.avif";
import avif01Detail720 from "./01-detail-720.avif";
import webp01Detail960 from "./01-detail-960.webp";
import avif01Detail1440 from "./01-detail-1440.avif";
import avif02Card360 from "./02-card-360.avif";
import avif02Card720 from "./02-card-720.avif";
import webp02Card720 from "./02-card-720.webp";
import avif02Card1080 from "./02-card-1080.avif";
import avif02Detail720 from "./02-detail-720.avif";
import webp02Detail960 from "./02-detail-960.webp";
import avif02Detail1440 from "./02-detail-1440.avif";
import avif03Card360 from "./03-card-360.avif";
import avif03Card720 from "./03-card-720.avif";
import webp03Card720 from "./03-card-720.webp";
import avif03Card1080 from "./03-card-1080.avif";
import avif03Detail720 from "./03-detail-720.avif";
import webp03Detail960 from "./03-detail-960.webp";
import avif03Detail1440 from "./03-detail-1440.avif";
import avif04Card360 from "./04-card-360.avif";
import avif04Card720 from "./04-card-720.avif";
import webp04Card720 from "./04-card-720.webp";
import avif04Card1080 from "./04-card-1080.avif";
import avif04Detail720 from "./04-detail-720.avif";
import webp04Detail960 from "./04-detail-960.webp";
import avif04Detail1440 from "./04-detail-1440.avif";
import avif05Card360 from "./05-card-360.avif";
import avif05Card720 from "./05-card-720.avif";
import webp05Card720 from "./05-card-720.webp";
import avif05Card1080 from "./05-card-1080.avif";
import avif05Detail720 from "./05-detail-720.avif";
import webp05Detail960 from "./05-detail-960.webp";
import avif05Detail1440 from "./05-detail-1440.avif";
import avif06Card360 from "./06-card-360.avif";
import avif06Card720 from "./06-card-720.avif";
import webp06Card720 from "./06-card-720.webp";
import avif06Card1080 from "./06-card-1080.avif";
import avif06Detail720 from "./06-detail-720.avif";
import webp06Detail960 from "./06-detail-960.webp";
import avif06Detail1440 from "./06-detail-1440.avif";
import avif07Card360 from "./07-card-360.avif";
import avif07Card720 from "./07-card-720.avif";
import webp07Card720 from "./07-card-720.webp";
import avif07Card1080 from "./07-card-1080.avif";
import avif07Detail720 from "./07-detail-720.avif";
import webp07Detail960 from "./07-detail-960.webp";
import avif07Detail1440 from "./07-detail-1440.avif";
import avif08Card360 from "./08-card-360.avif";
import avif08Card720 from "./08-card-720.avif";
import webp08Card720 from "./08-card-720.webp";
import avif08Card1080 from "./08-card-1080.avif";
import avif08Detail720 from "./08-detail-720.avif";
import webp08Detail960 from "./08-detail-960.webp";
import avif08Detail1440 from "./08-detail-1440.avif";
import avif09Card360 from "./09-card-360.avif";
import avif09Card720 from "./09-card-720.avif";
import webp09Card720 from "./09-card-720.webp";
import avif09Card1080 from "./09-card-1080.avif";
import avif09Detail720 from "./09-detail-720.avif";
import webp09Detail960 from "./09-detail-960.webp";
import avif09Detail1440 from "./09-detail-1440.avif";
import avif10Card360 from "./10-card-360.avif";
import avif10Card720 from "./10-card-720.avif";
import webp10Card720 from "./10-card-720.webp";
import avif10Card1080 from "./10-card-1080.avif";
import avif10Detail720 from "./10-detail-720.avif";
import webp10Detail960 from "./10-detail-960.webp";
import avif10Detail1440 from "./10-detail-1440.avif";
import avif11Card360 from "./11-card-360.avif";
import avif11Card720 from "./11-card-720.avif";
import webp11Card720 from "./11-card-720.webp";
import avif11Card1080 from "./11-card-1080.avif";
import avif11Detail720 from "./11-detail-720.avif";
import webp11Detail960 from "./11-detail-960.webp";
import avif11Detail1440 from "./11-detail-1440.avif";
import avif12Card360 from "./12-card-360.avif";
import avif12Card720 from "./12-card-720.avif";
import webp12Card720 from "./12-card-720.webp";
import avif12Card1080 from "./12-card-1080.avif";
import avif12Detail720 from "./12-detail-720.avif";
import webp12Detail960 from "./12-detail-960.webp";
import avif12Detail1440 from "./12-detail-1440.avif";

/** A rendered e-mail in two formats. */
export interface Picture {
  avif: { src: string; width: number }[];
  webp: { src: string; width: number }[];
  /** Of the largest file, in pixels. */
  width: number;
  height: number;
}

/** By product number: the top of the e-mail in 4:5, and the whole of it. */
export const previews: Record<number, { alt: string; card: Picture; detail: Picture }> = {
  1: {
    alt: "Newsletter on cream paper: a large masthead, an engraved lighthouse before a red sun, and the lead story beneath it.",
    card: {
      avif: [
        { src: avif01Card360, width: 360 },
        { src: avif01Card720, width: 720 },
        { src: avif01Card1080, width: 1080 },
      ],
      webp: [{ src: webp01Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif01Detail720, width: 720 },
        { src: avif01Detail1440, width: 1440 },
      ],
      webp: [{ src: webp01Detail960, width: 960 }],
      width: 1440,
      height: 4990,
    },
  },
  2: {
    alt: "Vermilion launch poster: a black reading lamp throws a cone of warm light on a pear and two books.",
    card: {
      avif: [
        { src: avif02Card360, width: 360 },
        { src: avif02Card720, width: 720 },
        { src: avif02Card1080, width: 1080 },
      ],
      webp: [{ src: webp02Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif02Detail720, width: 720 },
        { src: avif02Detail1440, width: 1440 },
      ],
      webp: [{ src: webp02Detail960, width: 960 }],
      width: 1440,
      height: 5707,
    },
  },
  3: {
    alt: "Welcome letter: a greeting by name in heavy green letters over a kitchen garden at sunrise, then three numbered steps.",
    card: {
      avif: [
        { src: avif03Card360, width: 360 },
        { src: avif03Card720, width: 720 },
        { src: avif03Card1080, width: 1080 },
      ],
      webp: [{ src: webp03Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif03Detail720, width: 720 },
        { src: avif03Detail1440, width: 1440 },
      ],
      webp: [{ src: webp03Detail960, width: 960 }],
      width: 1440,
      height: 5503,
    },
  },
  4: {
    alt: "Announcement in black on white with a cobalt picture of two bridge halves meeting, then a signed letter beside the key facts.",
    card: {
      avif: [
        { src: avif04Card360, width: 360 },
        { src: avif04Card720, width: 720 },
        { src: avif04Card1080, width: 1080 },
      ],
      webp: [{ src: webp04Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif04Detail720, width: 720 },
        { src: avif04Detail1440, width: 1440 },
      ],
      webp: [{ src: webp04Detail960, width: 960 }],
      width: 1440,
      height: 4757,
    },
  },
  5: {
    alt: "Night-blue invitation in slanting Didot: star trails turn above an observatory, then the date, the agenda and a map.",
    card: {
      avif: [
        { src: avif05Card360, width: 360 },
        { src: avif05Card720, width: 720 },
        { src: avif05Card1080, width: 1080 },
      ],
      webp: [{ src: webp05Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif05Detail720, width: 720 },
        { src: avif05Detail1440, width: 1440 },
      ],
      webp: [{ src: webp05Detail960, width: 960 }],
      width: 1440,
      height: 6262,
    },
  },
  6: {
    alt: "Order confirmation the colour of clay: jug, bowl and mugs on a shelf above a paper slip with items and totals.",
    card: {
      avif: [
        { src: avif06Card360, width: 360 },
        { src: avif06Card720, width: 720 },
        { src: avif06Card1080, width: 1080 },
      ],
      webp: [{ src: webp06Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif06Detail720, width: 720 },
        { src: avif06Detail1440, width: 1440 },
      ],
      webp: [{ src: webp06Detail960, width: 960 }],
      width: 1440,
      height: 4205,
    },
  },
  7: {
    alt: "Yellow survey asking how you slept, with five faces to tap from wide awake to fast asleep and a sleeping carriage beneath.",
    card: {
      avif: [
        { src: avif07Card360, width: 360 },
        { src: avif07Card720, width: 720 },
        { src: avif07Card1080, width: 1080 },
      ],
      webp: [{ src: webp07Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif07Detail720, width: 720 },
        { src: avif07Detail1440, width: 1440 },
      ],
      webp: [{ src: webp07Detail960, width: 960 }],
      width: 1440,
      height: 3842,
    },
  },
  8: {
    alt: "Dark green holiday card: a red house in the snow inside an arch of leaves, berries and two birds, with a greeting in gold.",
    card: {
      avif: [
        { src: avif08Card360, width: 360 },
        { src: avif08Card720, width: 720 },
        { src: avif08Card1080, width: 1080 },
      ],
      webp: [{ src: webp08Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif08Detail720, width: 720 },
        { src: avif08Detail1440, width: 1440 },
      ],
      webp: [{ src: webp08Detail960, width: 960 }],
      width: 1440,
      height: 4104,
    },
  },
  9: {
    alt: "One-page report on pale green: a headline, a bar chart of twelve months with the last bar in orange, and four key figures.",
    card: {
      avif: [
        { src: avif09Card360, width: 360 },
        { src: avif09Card720, width: 720 },
        { src: avif09Card1080, width: 1080 },
      ],
      webp: [{ src: webp09Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif09Detail720, width: 720 },
        { src: avif09Detail1440, width: 1440 },
      ],
      webp: [{ src: webp09Detail960, width: 960 }],
      width: 1440,
      height: 4229,
    },
  },
  10: {
    alt: "Quarterly update: a huge lime Q3 and a rising sun on black, then four blocks of colour with a large figure each.",
    card: {
      avif: [
        { src: avif10Card360, width: 360 },
        { src: avif10Card720, width: 720 },
        { src: avif10Card1080, width: 1080 },
      ],
      webp: [{ src: webp10Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif10Detail720, width: 720 },
        { src: avif10Detail1440, width: 1440 },
      ],
      webp: [{ src: webp10Detail960, width: 960 }],
      width: 1440,
      height: 4790,
    },
  },
  11: {
    alt: "Policy notice on blue-grey: the date of effect set large, then a ruled white sheet with clauses struck out and replaced.",
    card: {
      avif: [
        { src: avif11Card360, width: 360 },
        { src: avif11Card720, width: 720 },
        { src: avif11Card1080, width: 1080 },
      ],
      webp: [{ src: webp11Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif11Detail720, width: 720 },
        { src: avif11Detail1440, width: 1440 },
      ],
      webp: [{ src: webp11Detail960, width: 960 }],
      width: 1440,
      height: 4675,
    },
  },
  12: {
    alt: "Board invitation: an ivory card with a double gold rule on burgundy beneath an engraved rosette with an oak.",
    card: {
      avif: [
        { src: avif12Card360, width: 360 },
        { src: avif12Card720, width: 720 },
        { src: avif12Card1080, width: 1080 },
      ],
      webp: [{ src: webp12Card720, width: 720 }],
      width: 1080,
      height: 1350,
    },
    detail: {
      avif: [
        { src: avif12Detail720, width: 720 },
        { src: avif12Detail1440, width: 1440 },
      ],
      webp: [{ src: webp12Detail960, width: 960 }],
      width: 1440,
      height: 5266,
    },
  },
};
