// Written by "npm run emails:render" from the e-mails in frontend/emails: change those, not this file.
import avif01Card360 from "./01-card-360.avif";
import webp01Card480 from "./01-card-480.webp";
import avif01Card720 from "./01-card-720.avif";
import avif01Dark840 from "./01-dark-840.avif";
import webp01Detail480 from "./01-detail-480.webp";
import avif01Detail720 from "./01-detail-720.avif";
import avif01Detail1200 from "./01-detail-1200.avif";
import avif01Phone720 from "./01-phone-720.avif";
import avif01Unloaded720 from "./01-unloaded-720.avif";
import avif01Windows720 from "./01-windows-720.avif";
import avif02Card360 from "./02-card-360.avif";
import webp02Card480 from "./02-card-480.webp";
import avif02Card720 from "./02-card-720.avif";
import avif02Dark840 from "./02-dark-840.avif";
import webp02Detail480 from "./02-detail-480.webp";
import avif02Detail720 from "./02-detail-720.avif";
import avif02Detail1200 from "./02-detail-1200.avif";
import avif02Phone720 from "./02-phone-720.avif";
import avif02Unloaded720 from "./02-unloaded-720.avif";
import avif02Windows720 from "./02-windows-720.avif";
import avif03Card360 from "./03-card-360.avif";
import webp03Card480 from "./03-card-480.webp";
import avif03Card720 from "./03-card-720.avif";
import avif03Dark840 from "./03-dark-840.avif";
import webp03Detail480 from "./03-detail-480.webp";
import avif03Detail720 from "./03-detail-720.avif";
import avif03Detail1200 from "./03-detail-1200.avif";
import avif03Letter2720 from "./03-letter2-720.avif";
import avif03Letter3720 from "./03-letter3-720.avif";
import avif03Phone720 from "./03-phone-720.avif";
import avif03Unloaded720 from "./03-unloaded-720.avif";
import avif03Windows720 from "./03-windows-720.avif";
import avif04Card360 from "./04-card-360.avif";
import webp04Card480 from "./04-card-480.webp";
import avif04Card720 from "./04-card-720.avif";
import avif04Dark840 from "./04-dark-840.avif";
import webp04Detail480 from "./04-detail-480.webp";
import avif04Detail720 from "./04-detail-720.avif";
import avif04Detail1200 from "./04-detail-1200.avif";
import avif04Layout2720 from "./04-layout2-720.avif";
import avif04Phone720 from "./04-phone-720.avif";
import avif04Unloaded720 from "./04-unloaded-720.avif";
import avif04Windows720 from "./04-windows-720.avif";
import avif05Card360 from "./05-card-360.avif";
import webp05Card480 from "./05-card-480.webp";
import avif05Card720 from "./05-card-720.avif";
import avif05Dark840 from "./05-dark-840.avif";
import webp05Detail480 from "./05-detail-480.webp";
import avif05Detail720 from "./05-detail-720.avif";
import avif05Detail1200 from "./05-detail-1200.avif";
import avif05Layout2720 from "./05-layout2-720.avif";
import avif05Phone720 from "./05-phone-720.avif";
import avif05Unloaded720 from "./05-unloaded-720.avif";
import avif05Windows720 from "./05-windows-720.avif";
import avif06Card360 from "./06-card-360.avif";
import webp06Card480 from "./06-card-480.webp";
import avif06Card720 from "./06-card-720.avif";
import avif06Dark840 from "./06-dark-840.avif";
import webp06Detail480 from "./06-detail-480.webp";
import avif06Detail720 from "./06-detail-720.avif";
import avif06Detail1200 from "./06-detail-1200.avif";
import avif06Layout2720 from "./06-layout2-720.avif";
import avif06Phone720 from "./06-phone-720.avif";
import avif06Unloaded720 from "./06-unloaded-720.avif";
import avif06Windows720 from "./06-windows-720.avif";
import avif07Card360 from "./07-card-360.avif";
import webp07Card480 from "./07-card-480.webp";
import avif07Card720 from "./07-card-720.avif";
import avif07Dark840 from "./07-dark-840.avif";
import webp07Detail480 from "./07-detail-480.webp";
import avif07Detail720 from "./07-detail-720.avif";
import avif07Detail1200 from "./07-detail-1200.avif";
import avif07Layout2720 from "./07-layout2-720.avif";
import avif07Phone720 from "./07-phone-720.avif";
import avif07Unloaded720 from "./07-unloaded-720.avif";
import avif07Windows720 from "./07-windows-720.avif";
import avif08Card360 from "./08-card-360.avif";
import webp08Card480 from "./08-card-480.webp";
import avif08Card720 from "./08-card-720.avif";
import avif08Dark840 from "./08-dark-840.avif";
import webp08Detail480 from "./08-detail-480.webp";
import avif08Detail720 from "./08-detail-720.avif";
import avif08Detail1200 from "./08-detail-1200.avif";
import avif08Layout2720 from "./08-layout2-720.avif";
import avif08Layout3720 from "./08-layout3-720.avif";
import avif08Phone720 from "./08-phone-720.avif";
import avif08Unloaded720 from "./08-unloaded-720.avif";
import avif08Windows720 from "./08-windows-720.avif";
import avif09Card360 from "./09-card-360.avif";
import webp09Card480 from "./09-card-480.webp";
import avif09Card720 from "./09-card-720.avif";
import avif09Dark840 from "./09-dark-840.avif";
import webp09Detail480 from "./09-detail-480.webp";
import avif09Detail720 from "./09-detail-720.avif";
import avif09Detail1200 from "./09-detail-1200.avif";
import avif09Phone720 from "./09-phone-720.avif";
import avif09Unloaded720 from "./09-unloaded-720.avif";
import avif09Windows720 from "./09-windows-720.avif";
import avif10Card360 from "./10-card-360.avif";
import webp10Card480 from "./10-card-480.webp";
import avif10Card720 from "./10-card-720.avif";
import avif10Dark840 from "./10-dark-840.avif";
import webp10Detail480 from "./10-detail-480.webp";
import avif10Detail720 from "./10-detail-720.avif";
import avif10Detail1200 from "./10-detail-1200.avif";
import avif10Phone720 from "./10-phone-720.avif";
import avif10Unloaded720 from "./10-unloaded-720.avif";
import avif10Windows720 from "./10-windows-720.avif";
import avif11Card360 from "./11-card-360.avif";
import webp11Card480 from "./11-card-480.webp";
import avif11Card720 from "./11-card-720.avif";
import avif11Dark840 from "./11-dark-840.avif";
import webp11Detail480 from "./11-detail-480.webp";
import avif11Detail720 from "./11-detail-720.avif";
import avif11Detail1200 from "./11-detail-1200.avif";
import avif11Layout2720 from "./11-layout2-720.avif";
import avif11Phone720 from "./11-phone-720.avif";
import avif11Unloaded720 from "./11-unloaded-720.avif";
import avif11Windows720 from "./11-windows-720.avif";
import avif12Card360 from "./12-card-360.avif";
import webp12Card480 from "./12-card-480.webp";
import avif12Card720 from "./12-card-720.avif";
import avif12Dark840 from "./12-dark-840.avif";
import webp12Detail480 from "./12-detail-480.webp";
import avif12Detail720 from "./12-detail-720.avif";
import avif12Detail1200 from "./12-detail-1200.avif";
import avif12Layout2720 from "./12-layout2-720.avif";
import avif12Phone720 from "./12-phone-720.avif";
import avif12Unloaded720 from "./12-unloaded-720.avif";
import avif12Windows720 from "./12-windows-720.avif";

/** A rendered e-mail: AVIF, and WebP where browsers without AVIF need it. */
export interface Picture {
  avif: { src: string; width: number }[];
  webp: { src: string; width: number }[];
  /** Of the largest file, in pixels. */
  width: number;
  height: number;
}

/** What buyers get, rendered: the top in 4:5, all of it, on a phone, in a dark mailbox, with pictures off, with the fonts of Windows, and the other letters of a series or layouts of a mail. */
export interface Preview {
  alt: string;
  card: Picture;
  detail: Picture;
  phone: Picture;
  dark: Picture;
  unloaded: Picture;
  windows: Picture;
  /** The further letters of a series. */
  letters?: (Picture & { alt: string })[];
  /** The further layouts of a mail. */
  layouts?: (Picture & { alt: string })[];
}

function sources(...files: [src: string, width: number][]): Picture["avif"] {
  return files.map(([src, width]) => ({ src, width }));
}

function single(src: string, width: number, height: number): Picture {
  return { avif: [{ src, width }], webp: [], width, height };
}

/** By product number. */
export const previews: Record<number, Preview> = {
  1: {
    alt: "Newsletter on cream paper: a large masthead, an engraved lighthouse before a red sun, and the lead story beneath it.",
    card: {
      avif: sources([avif01Card360, 360], [avif01Card720, 720]),
      webp: sources([webp01Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif01Detail720, 720], [avif01Detail1200, 1200]),
      webp: sources([webp01Detail480, 480]),
      width: 1200,
      height: 4158,
    },
    phone: single(avif01Phone720, 720, 4769),
    dark: single(avif01Dark840, 840, 2911),
    unloaded: single(avif01Unloaded720, 720, 2495),
    windows: single(avif01Windows720, 720, 2495),
  },
  2: {
    alt: "Vermilion launch poster: a black reading lamp throws a cone of warm light on a pear and two books.",
    card: {
      avif: sources([avif02Card360, 360], [avif02Card720, 720]),
      webp: sources([webp02Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif02Detail720, 720], [avif02Detail1200, 1200]),
      webp: sources([webp02Detail480, 480]),
      width: 1200,
      height: 4756,
    },
    phone: single(avif02Phone720, 720, 5430),
    dark: single(avif02Dark840, 840, 3329),
    unloaded: single(avif02Unloaded720, 720, 2854),
    windows: single(avif02Windows720, 720, 2854),
  },
  3: {
    alt: "Welcome letter: a greeting by name in heavy green letters over a kitchen garden at sunrise, then three numbered steps.",
    card: {
      avif: sources([avif03Card360, 360], [avif03Card720, 720]),
      webp: sources([webp03Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif03Detail720, 720], [avif03Detail1200, 1200]),
      webp: sources([webp03Detail480, 480]),
      width: 1200,
      height: 4586,
    },
    phone: single(avif03Phone720, 720, 4913),
    dark: single(avif03Dark840, 840, 3210),
    unloaded: single(avif03Unloaded720, 720, 2752),
    windows: single(avif03Windows720, 720, 2944),
    letters: [
      {
        ...single(avif03Letter2720, 720, 2531),
        alt: "Second letter: four seed packets on a shelf, then a list of what is in the bag and how deep it lies.",
      },
      {
        ...single(avif03Letter3720, 720, 2339),
        alt: "Third letter: five radishes pulled from the earth before the sun, then three ways to eat them.",
      },
    ],
  },
  4: {
    alt: "Announcement in black on white with a cobalt picture of two bridge halves meeting, then a signed letter beside the key facts.",
    card: {
      avif: sources([avif04Card360, 360], [avif04Card720, 720]),
      webp: sources([webp04Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif04Detail720, 720], [avif04Detail1200, 1200]),
      webp: sources([webp04Detail480, 480]),
      width: 1200,
      height: 3964,
    },
    phone: single(avif04Phone720, 720, 4246),
    dark: single(avif04Dark840, 840, 2775),
    unloaded: single(avif04Unloaded720, 720, 2378),
    windows: single(avif04Windows720, 720, 2512),
    layouts: [
      {
        ...single(avif04Layout2720, 720, 3338),
        alt: "Second layout: a red A and a green B overlap in a river and carry one bridge, then a letter with a footbridge in two halves.",
      },
    ],
  },
  5: {
    alt: "Night-blue invitation in slanting Didot: star trails turn above an observatory, then the date, the agenda and a map.",
    card: {
      avif: sources([avif05Card360, 360], [avif05Card720, 720]),
      webp: sources([webp05Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif05Detail720, 720], [avif05Detail1200, 1200]),
      webp: sources([webp05Detail480, 480]),
      width: 1200,
      height: 5218,
    },
    phone: single(avif05Phone720, 720, 5171),
    dark: single(avif05Dark840, 840, 3653),
    unloaded: single(avif05Unloaded720, 720, 3131),
    windows: single(avif05Windows720, 720, 3137),
    layouts: [
      {
        ...single(avif05Layout2720, 720, 3974),
        alt: "Second layout: a star chart on ivory in a ring of moons, with a constellation for each hour of the evening, from soup bowl to telescope.",
      },
    ],
  },
  6: {
    alt: "Order confirmation the colour of clay: jug, bowl and mugs on a shelf above a paper slip with items and totals.",
    card: {
      avif: sources([avif06Card360, 360], [avif06Card720, 720]),
      webp: sources([webp06Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif06Detail720, 720], [avif06Detail1200, 1200]),
      webp: sources([webp06Detail480, 480]),
      width: 1200,
      height: 3504,
    },
    phone: single(avif06Phone720, 720, 3426),
    dark: single(avif06Dark840, 840, 2453),
    unloaded: single(avif06Unloaded720, 720, 2102),
    windows: single(avif06Windows720, 720, 2102),
    layouts: [
      {
        ...single(avif06Layout2720, 720, 3112),
        alt: "Second layout: blue painted tiles on which a red van drives from the kiln to the harbour, then a tile for each step and piece.",
      },
    ],
  },
  7: {
    alt: "Yellow survey asking how you slept, with five faces to tap from wide awake to fast asleep and a sleeping carriage beneath.",
    card: {
      avif: sources([avif07Card360, 360], [avif07Card720, 720]),
      webp: sources([webp07Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif07Detail720, 720], [avif07Detail1200, 1200]),
      webp: sources([webp07Detail480, 480]),
      width: 1200,
      height: 3202,
    },
    phone: single(avif07Phone720, 720, 3103),
    dark: single(avif07Dark840, 840, 2241),
    unloaded: single(avif07Unloaded720, 720, 1921),
    windows: single(avif07Windows720, 720, 1958),
    layouts: [
      {
        ...single(avif07Layout2720, 720, 3239),
        alt: "Second layout: five views from a night train, from jagged peaks to a still sea, under moons that fall asleep one by one.",
      },
    ],
  },
  8: {
    alt: "Dark green holiday card: a red house in the snow inside an arch of leaves, berries and two birds, with a greeting in gold.",
    card: {
      avif: sources([avif08Card360, 360], [avif08Card720, 720]),
      webp: sources([webp08Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif08Detail720, 720], [avif08Detail1200, 1200]),
      webp: sources([webp08Detail480, 480]),
      width: 1200,
      height: 3420,
    },
    phone: single(avif08Phone720, 720, 3111),
    dark: single(avif08Dark840, 840, 2394),
    unloaded: single(avif08Unloaded720, 720, 2052),
    windows: single(avif08Windows720, 720, 2362),
    layouts: [
      {
        ...single(avif08Layout2720, 720, 2069),
        alt: "Second layout: a knitted jumper with two reindeer, a fir and hearts, then a letter in red on cream with eight names.",
      },
      {
        ...single(avif08Layout3720, 720, 2862),
        alt: "Third layout: a red house under the moon, whose nine lit windows are the signatures, with a letter in the snow at its door.",
      },
    ],
  },
  9: {
    alt: "One-page report on pale green: a headline, a bar chart of twelve months with the last bar in orange, and four key figures.",
    card: {
      avif: sources([avif09Card360, 360], [avif09Card720, 720]),
      webp: sources([webp09Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif09Detail720, 720], [avif09Detail1200, 1200]),
      webp: sources([webp09Detail480, 480]),
      width: 1200,
      height: 3524,
    },
    phone: single(avif09Phone720, 720, 4156),
    dark: single(avif09Dark840, 840, 2467),
    unloaded: single(avif09Unloaded720, 720, 2114),
    windows: single(avif09Windows720, 720, 2114),
  },
  10: {
    alt: "Quarterly update: a huge lime Q3 and a rising sun on black, then four blocks of colour with a large figure each.",
    card: {
      avif: sources([avif10Card360, 360], [avif10Card720, 720]),
      webp: sources([webp10Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif10Detail720, 720], [avif10Detail1200, 1200]),
      webp: sources([webp10Detail480, 480]),
      width: 1200,
      height: 3992,
    },
    phone: single(avif10Phone720, 720, 4405),
    dark: single(avif10Dark840, 840, 2794),
    unloaded: single(avif10Unloaded720, 720, 2395),
    windows: single(avif10Windows720, 720, 2395),
  },
  11: {
    alt: "Policy notice on blue-grey: the date of effect set large, then a ruled white sheet with clauses struck out and replaced.",
    card: {
      avif: sources([avif11Card360, 360], [avif11Card720, 720]),
      webp: sources([webp11Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif11Detail720, 720], [avif11Detail1200, 1200]),
      webp: sources([webp11Detail480, 480]),
      width: 1200,
      height: 3896,
    },
    phone: single(avif11Phone720, 720, 4052),
    dark: single(avif11Dark840, 840, 2727),
    unloaded: single(avif11Unloaded720, 720, 2338),
    windows: single(avif11Windows720, 720, 2338),
    layouts: [
      {
        ...single(avif11Layout2720, 720, 3407),
        alt: "Second layout: each clause as a pair of pictures, grey before and in colour after, with the old and the new words beneath.",
      },
    ],
  },
  12: {
    alt: "Board invitation: an ivory card with a double gold rule on burgundy beneath an engraved rosette with an oak.",
    card: {
      avif: sources([avif12Card360, 360], [avif12Card720, 720]),
      webp: sources([webp12Card480, 480]),
      width: 720,
      height: 900,
    },
    detail: {
      avif: sources([avif12Detail720, 720], [avif12Detail1200, 1200]),
      webp: sources([webp12Detail480, 480]),
      width: 1200,
      height: 4388,
    },
    phone: single(avif12Phone720, 720, 4560),
    dark: single(avif12Dark840, 840, 3072),
    unloaded: single(avif12Unloaded720, 720, 2633),
    windows: single(avif12Windows720, 720, 2591),
    layouts: [
      {
        ...single(avif12Layout2720, 720, 3262),
        alt: "Second layout: the board table in green leather from above, a chair for each of eleven directors and a sheet for each item.",
      },
    ],
  },
};
