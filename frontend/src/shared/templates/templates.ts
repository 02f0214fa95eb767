import paymentLinks from "./payment-links.json" with { type: "json" };

/** The categories, in the order of the filter row. */
export const CATEGORIES = [
  "Newsletter",
  "Marketing",
  "Onboarding",
  "Corporate",
  "Events",
  "E-commerce",
  "Research",
  "Seasonal",
] as const;

export type Category = (typeof CATEGORIES)[number];

export interface Template {
  id: number;
  title: string;
  category: Category;
  /** The displayed price, with the dollar sign. */
  price: string;
  description: string;
  /** Five features. */
  features: readonly [string, string, string, string, string];
  /** URL at the payment provider; a template without one is a custom design. */
  paymentLink: string | undefined;
}

const links: Readonly<Record<string, string>> = paymentLinks;

/** All templates. Payment links are in `payment-links.json`, pictures in `src/previews`. */
export const TEMPLATES: readonly Template[] = (
  [
    {
      id: 1,
      title: "Professional Newsletter",
      category: "Newsletter",
      price: "$28",
      description:
        "Three stories, one clear order of reading. A lead article with room to breathe, two shorter pieces beneath it, and a masthead your readers will know at a glance.",
      features: [
        "Masthead with issue number and date",
        "Lead story with a full-width picture",
        "Two further stories that stack on a phone",
        "Pull quote for the line worth remembering",
        "Quiet footer with address and unsubscribe",
      ],
    },
    {
      id: 2,
      title: "Product Promotion",
      category: "Marketing",
      price: "$64",
      description:
        "A launch in one scroll: the product large and alone, the reason to want it in a sentence, and a single button that nobody can miss.",
      features: [
        "Full-bleed product stage above the fold",
        "Three benefits with room for a picture each",
        "Launch price with the old one struck through",
        "One call to action, repeated at the end",
        "Dark-mode colours tuned for the product shot",
      ],
    },
    {
      id: 3,
      title: "Welcome Series",
      category: "Onboarding",
      price: "$113",
      description:
        "The first letters a new customer gets, written as one friendly conversation: hello, the three steps that matter, and someone to write back to.",
      features: [
        "Personal greeting with a name placeholder",
        "Three numbered first steps",
        "Progress line that carries through the series",
        "Note from a real person, with portrait",
        "Help links that answer the first questions",
      ],
    },
    {
      id: 4,
      title: "Company Announcement",
      category: "Corporate",
      price: "$700",
      description:
        "News that deserves a letterhead. A composed layout for mergers, new leadership and new names, with the facts first and the statement underneath.",
      features: [
        "Letterhead with space for your mark",
        "Headline and summary for those who skim",
        "Signed statement from the leadership",
        "Key facts set apart in a side note",
        "Press contact ready to forward",
      ],
    },
    {
      id: 5,
      title: "Event Invitation",
      category: "Events",
      price: "$1000",
      description:
        "An invitation people keep: the date set like a poster, the evening hour by hour, and a map that shows the way without opening another app.",
      features: [
        "Date and place set as a poster",
        "Agenda with times and speakers",
        "Drawn map with the venue marked",
        "Reply buttons for yes and no",
        "Travel and access notes at the foot",
      ],
    },
    {
      id: 6,
      title: "Order Confirmation",
      category: "E-commerce",
      price: "$1250",
      description:
        "The most opened mail a shop sends, finally worth opening. Line items, totals and delivery in an order that answers every question before it is asked.",
      features: [
        "Line items with picture, size and quantity",
        "Subtotal, delivery, tax and total that line up",
        "Order number and date ready to copy",
        "Delivery address and expected day",
        "Track and help buttons sized for thumbs",
      ],
    },
    {
      id: 7,
      title: "Survey & Feedback",
      category: "Research",
      price: "$1600",
      description:
        "One question, answered inside the mail. A rating row that works with a single tap, followed by a short note on why the answer matters to you.",
      features: [
        "Rating row that answers with one tap",
        "Every step of the scale labelled in words",
        "Time to complete stated up front",
        "Promise of what happens with the answers",
        "Thank-you gift block you can switch off",
      ],
    },
    {
      id: 8,
      title: "Holiday Greetings",
      category: "Seasonal",
      price: "$2300",
      description:
        "A card rather than a campaign. An illustrated winter scene, a few warm lines and a signature, so that the only thing it sells is your good manners.",
      features: [
        "Illustration drawn for this card alone",
        "Greeting set in generous display type",
        "Room for the signatures of a whole team",
        "Opening hours over the holidays",
        "Looks right in light and in dark mailboxes",
      ],
    },
    {
      id: 9,
      title: "Executive Report",
      category: "Corporate",
      price: "$17",
      description:
        "A month of business on one page. Small charts drawn in plain tables, a number beside each, and three sentences that say what it all means.",
      features: [
        "Headline figures with change to last month",
        "Small bar charts that need no pictures",
        "Summary in three sentences at the top",
        "Risks and decisions in a table of their own",
        "Prints cleanly on a single sheet",
      ],
    },
    {
      id: 10,
      title: "Quarterly Update",
      category: "Corporate",
      price: "$79",
      description:
        "Figures for people who own a part of it. Revenue, margin and outlook set as large as headlines, with the story of the quarter told beneath them.",
      features: [
        "Four key figures set as headlines",
        "Comparison with the quarter before",
        "Highlights and setbacks side by side",
        "Outlook with the range you commit to",
        "Links to the full report and the call",
      ],
    },
    {
      id: 11,
      title: "Policy Notification",
      category: "Corporate",
      price: "$465",
      description:
        "A change of terms that people understand. What changes, from when and what to do about it, in plain language and in that order.",
      features: [
        "Date of effect stated before anything else",
        "Before and after, clause by clause",
        "Plain words beneath every clause",
        "What the reader has to do, or that it is nothing",
        "Contact for questions and objections",
      ],
    },
    {
      id: 12,
      title: "Board Meeting Invitation",
      category: "Corporate",
      price: "$910",
      description:
        "Formal notice with everything a director needs: date, quorum, agenda with times and presenters, and the papers to read beforehand.",
      features: [
        "Formal notice with date, time and place",
        "Numbered agenda with presenters and minutes",
        "Papers to read, linked item by item",
        "Attend, dial in or send a proxy",
        "Quorum and notice period spelled out",
      ],
    },
  ] satisfies Omit<Template, "paymentLink">[]
).map((template) => ({ ...template, paymentLink: links[template.id] }));

/** Returns the template with the id of a path. Ids have one spelling: `01` and `1.0` are unknown. */
export function findTemplate(id: string | undefined): Template | undefined {
  return TEMPLATES.find((template) => String(template.id) === id);
}
