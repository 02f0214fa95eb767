// The data of the stand-in: what a small shop has after some weeks.

const NOW = Date.now();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Returns a time some milliseconds ago. */
function ago(milliseconds: number): string {
  return new Date(NOW - milliseconds).toISOString();
}

export const TEMPLATES = [
  "Monthly Newsletter",
  "Product Promotion",
  "Welcome Series",
  "Company Announcement",
  "Event Invitation",
  "Order Confirmation",
  "Customer Survey",
  "Holiday Greeting",
  "Executive Report",
  "Quarterly Update",
  "Policy Notification",
  "Board Invitation",
].map((title, index) => ({ id: index + 1, title }));

const TEXTS = [
  "Hello, we run a small bakery in Leeds and would like a newsletter for our regulars. Twelve colours at most, our logo is a wheat sheaf.\n\nCould you tell me whether the headline font can be changed? We would need it before 12 December.\n\nThank you\nAnna Whitfield\nanna@whitfield-bakery.example",
  "We need the executive report in the colours of our company (dark green, sand). Two charts, one table. Please send an offer to office@norrland.example or call me.",
  "Is there a version of the holiday card for a law firm? Nothing with snowmen. k.tanaka@tanaka-legal.example",
  "Please add our venue's map to the event invitation and a second button for online guests. events@harbour-hall.example, copy to mila@harbour-hall.example",
  "CHEAP SEO SERVICES!!! rank your website #1 https://spam.example https://spam.example/2 https://spam.example/3",
  "Can the survey have seven questions in place of five? Our customers are patient. — Ruth, ruth.okafor@okafor-studio.example",
  "The order confirmation looks great. We have long product names (up to 90 characters); would they wrap on a phone? dev@papeterie-lune.example",
  "I want a newsletter with three stories and a large picture. No e-mail address, please call +44 20 7946 0018.",
];

const STATUSES = ["new", "answered", "closed"] as const;

export interface StandInMessage {
  id: string;
  kind: string;
  to: string;
  subject: string;
  text: string;
  state: string;
  error: string | null;
  created_at: string;
  sent_at: string | null;
  attempts: number;
}

/** Returns a message of the outbox. */
export function message(kind: string, to: string, at: string, more: Partial<StandInMessage> = {}) {
  return {
    id: crypto.randomUUID(),
    kind,
    to,
    subject: kind === "confirmation" ? "We have received your details" : "New submission",
    text: "",
    state: "sent",
    error: null,
    created_at: at,
    sent_at: at,
    attempts: 1,
    ...more,
  };
}

function submission(index: number) {
  const description = TEXTS[index % TEXTS.length] ?? "";
  const isSpam = description.includes("SEO");
  const senders = description.match(/[\w.]+@[\w.-]+\.example/g) ?? [];
  const created_at = ago(index * 9.3 * HOUR + 12 * 60_000);
  const status = isSpam ? "spam" : index < 4 ? "new" : (STATUSES[index % 3] ?? "new");
  const failed = {
    state: "failed",
    error: "550 5.1.1 mailbox unavailable",
    attempts: 5,
    sent_at: null,
  };
  const messages = isSpam
    ? []
    : [
        message("notice", "owner@shop.example", created_at),
        ...senders
          .slice(0, 1)
          .map((to) => message("confirmation", to, created_at, index === 2 ? failed : {})),
      ];
  if (status === "answered") {
    messages.push(
      message("reply", senders[0] ?? "", ago(index * 9 * HOUR), {
        subject: "Your request to Basalt Shop",
        text: "Thank you for your message. The headline font can be changed; we would do it for you within two days.",
      }),
    );
  }
  return {
    id: crypto.randomUUID(),
    created_at,
    status: status as string,
    description,
    excerpt: description.replaceAll(/\s+/g, " ").slice(0, 160),
    senders: [...new Set(senders)],
    template: index % 3 === 2 ? null : (TEMPLATES[(index * 5) % 12] ?? null),
    spam_score: isSpam ? 9 : 0,
    notes:
      index === 0
        ? [
            {
              id: crypto.randomUUID(),
              text: "Called: the deadline is firm, the logo comes as SVG on Friday.",
              author: "owner@shop.example",
              created_at: ago(5 * 60_000),
            },
          ]
        : [],
    messages,
  };
}

export const submissions = Array.from({ length: 64 }, (_, index) => submission(index));

const BUYERS = [
  "lea.moreau@atelier-moreau.example",
  "sam@northfield.example",
  "j.costa@costa-filhos.example",
  "accounts.payable@the-very-long-company-name-for-tests.example",
];

function order(index: number) {
  const paid_at = ago(index * 17 * HOUR + 40 * 60_000);
  const state = index === 0 ? "paid" : index % 7 === 3 ? "refunded" : "delivered";
  const buyer_email = BUYERS[index % BUYERS.length] ?? "";
  const template = TEMPLATES[(index * 7) % 8] ?? null;
  const is = (wanted: string) => state === wanted;
  return {
    id: crypto.randomUUID(),
    number: 1048 - index,
    paid_at,
    state,
    template,
    buyer_email,
    amount_minor: [2800, 6400, 4900, 125000][index % 4] ?? 2800,
    currency: index % 5 === 4 ? "EUR" : "USD",
    provider: ["stripe", "paypal", "lemon_squeezy"][index % 3] ?? "stripe",
    quantity: index % 4 === 1 ? 2 : 1,
    unit_minor: index % 4 === 1 ? 3200 : null,
    returned_minor: is("refunded")
      ? ([2800, 6400, 4900, 125000][index % 4] ?? 2800)
      : index % 8 === 4
        ? 1000
        : 0,
    is_test: index % 9 === 5,
    delivered_at: is("paid") ? null : paid_at,
    refunded_at: is("refunded") ? ago(index * 10 * HOUR) : null,
    downloads: is("paid") ? 0 : index % 4,
    provider_reference: `cs_live_a1${index}Qz7LbWq3Fv`,
    download_expires_at: is("paid") ? null : ago((index - 14) * DAY),
    messages: is("paid")
      ? []
      : [
          message("delivery", buyer_email, paid_at, {
            subject: `Your template: ${template?.title}`,
          }),
          ...(is("refunded")
            ? [
                message("refund", buyer_email, ago(index * 10 * HOUR), {
                  subject: `Refund of ${template?.title}`,
                }),
              ]
            : []),
        ],
    events: [
      { at: paid_at, kind: "paid", detail: "checkout.session.completed" },
      ...(is("paid") ? [] : [{ at: paid_at, kind: "delivered", detail: null }]),
      ...(is("refunded")
        ? [{ at: ago(index * 10 * HOUR), kind: "refunded", detail: "charge.refunded" }]
        : []),
    ],
  };
}

export const orders = Array.from({ length: 58 }, (_, index) => order(index));

/** Returns figures of a range, the same ones for each day at every call. */
export function figures(from: string, to: string) {
  const days: { date: string; views: number; requests: number; purchases: number }[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY) {
    const day = Math.floor(time / DAY);
    const wave = 60 + 34 * Math.sin(day / 4) + ((day * 7919) % 37) - (day % 7 > 4 ? 30 : 0);
    days.push({
      date: new Date(time).toISOString().slice(0, 10),
      views: Math.max(3, Math.round(wave)),
      requests: (day * 31) % 5,
      purchases: (day * 17) % 4,
    });
  }
  const sum = (name: "views" | "requests" | "purchases") =>
    days.reduce((total, day) => total + day[name], 0);
  const templates = TEMPLATES.map(({ id, title }) => {
    const purchases = id > 8 ? 0 : Math.round((sum("purchases") * (9 - id)) / 36);
    return {
      id,
      title,
      views: Math.round((sum("views") * (13 - id)) / 78),
      requests: Math.round((sum("requests") * id) / 78),
      purchases,
      revenue: purchases === 0 ? [] : [{ amount_minor: purchases * 4200, currency: "USD" }],
    };
  });
  const revenue = [
    {
      amount_minor: templates.reduce((total, { purchases }) => total + purchases * 4200, 0),
      currency: "USD",
    },
  ];
  return {
    from,
    to,
    days,
    templates,
    totals: {
      views: sum("views"),
      requests: sum("requests"),
      purchases: sum("purchases"),
      revenue,
    },
  };
}

export const checklist = {
  done: 2,
  has_provider: false,
  items: [
    { id: "recovery_codes", done: true, details: [] },
    { id: "products", done: false, details: ["Executive Report (9)", "Quarterly Update (10)"] },
    { id: "test_order", done: true, details: [] },
    { id: "mail_server", done: false, details: [] },
    { id: "address", done: false, details: ["http://127.0.0.1:54321"] },
    { id: "payment", done: false, details: ["Professional Newsletter"] },
  ],
};

export const recoveryCodes = { left: 9, are_unconfirmed: false };

export const activity = {
  events: [
    ["order.refund", "#17", "owner@shop.example"],
    ["sign_in_failed", "somebody@example.com", null],
    ["catalogue.change", "3", "partner@shop.example"],
    ["owner_added", "partner@shop.example", "owner@shop.example"],
    ["sign_in", "passkey", "owner@shop.example"],
    ["setup", null, "owner@shop.example"],
  ].map(([action, subject, email], position) => ({
    id: 6 - position,
    at: new Date(Date.now() - position * 3_600_000).toISOString(),
    email,
    action,
    subject,
    address: "192.0.2.7",
  })),
  has_more: false,
};

export const account = {
  sessions: [
    {
      id: "1",
      is_current: true,
      method: "code",
      created_at: new Date().toISOString(),
      last_used_at: new Date().toISOString(),
      user_agent: "Mozilla/5.0 (Macintosh) Chrome/140",
    },
    {
      id: "2",
      is_current: false,
      method: "passkey",
      created_at: new Date(Date.now() - 86_400_000).toISOString(),
      last_used_at: new Date(Date.now() - 7_200_000).toISOString(),
      user_agent: "Mozilla/5.0 (iPhone) Safari/605",
    },
  ],
  owners: [
    {
      id: "1",
      email: "owner@shop.example",
      is_you: true,
      last_sign_in_at: new Date().toISOString(),
    },
    { id: "2", email: "partner@shop.example", is_you: false, last_sign_in_at: null },
  ],
};

/** Payments that wait for the owner. */
export const held = [
  {
    provider: "paypal",
    event_id: "WH-1",
    received_at: new Date(Date.now() - 3_600_000).toISOString(),
    detail: "A payment belongs to no template on sale: it names none.",
    amount_minor: 2900,
    currency: "USD",
    buyer_email: "buyer@example.com",
    needs_buyer: false,
    is_test: false,
    template: null,
  },
];
