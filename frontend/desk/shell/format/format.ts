/** The locale of dates: the browser's form of English, as the texts are English. */
const LOCALE = navigator.language.startsWith("en") ? navigator.language : "en-GB";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const full = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const thisYear = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });
const otherYear = new Intl.DateTimeFormat(LOCALE, {
  day: "numeric",
  month: "short",
  year: "numeric",
});
const clock = new Intl.DateTimeFormat(LOCALE, { hour: "numeric", minute: "2-digit" });
const utcDay = new Intl.DateTimeFormat(LOCALE, {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});
const utcFull = new Intl.DateTimeFormat(LOCALE, {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

/** Returns date and time. */
export function formatTime(iso: string): string {
  return full.format(new Date(iso));
}

/** Returns the date with the time of day, without the present year. */
export function formatDate(iso: string, now = Date.now()): string {
  const date = new Date(iso);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return isThisYear ? `${thisYear.format(date)}, ${clock.format(date)}` : otherYear.format(date);
}

/** Returns a short form: the time of the last hours, today's clock, otherwise the date. */
export function formatBrief(iso: string, now = Date.now()): string {
  const date = new Date(iso);
  const age = now - date.getTime();
  if (age >= 0 && age < MINUTE) return "just now";
  if (age >= 0 && age < HOUR) return `${Math.floor(age / MINUTE)} min ago`;
  if (age >= 0 && age < DAY && date.getDate() === new Date(now).getDate()) {
    return clock.format(date);
  }
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return (isThisYear ? thisYear : otherYear).format(date);
}

/** Returns a day of the form `2026-11-23` without its year. */
export function formatDay(day: string): string {
  return utcDay.format(new Date(`${day}T00:00:00Z`));
}

/** Returns a day of the form `2026-11-23` with weekday and year. */
export function formatFullDay(day: string): string {
  return utcFull.format(new Date(`${day}T00:00:00Z`));
}

/** Returns the day some days before a time, in UTC, as `2026-11-23`. */
export function dayBefore(days: number, now = Date.now()): string {
  return new Date(now - days * DAY).toISOString().slice(0, 10);
}

/** The texts are English, and so are the separators: as in the mails and receipts of the server. */
const NUMBER_LOCALE = "en-US";

const count = new Intl.NumberFormat(NUMBER_LOCALE);

/** The decimals of currencies that do not have two, as `crates/orders/src/amount.rs` counts them. */
const WITHOUT_DECIMALS = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ");
const THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND".split(" ");

/** The currencies whose symbol is no other's; the others are named by their code. */
const SYMBOLS = ["USD", "EUR", "GBP", "JPY"];

/** Returns a number with separators. */
export function formatCount(value: number): string {
  return count.format(value);
}

/** Returns a noun with its number: `1 order`, `2 orders`. */
export function formatPlural(value: number, one: string, many = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`;
}

function countDecimals(currency: string): number {
  if (WITHOUT_DECIMALS.includes(currency)) return 0;
  return THREE_DECIMALS.includes(currency) ? 3 : 2;
}

/** Returns an amount of minor units with its currency (ISO 4217), such as `$1,250.00`. */
export function formatMoney(minor: number, currency: string): string {
  const decimals = countDecimals(currency);
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const amount = minor / 10 ** decimals;
  try {
    const currencyDisplay = SYMBOLS.includes(currency) ? "symbol" : "code";
    const style = { style: "currency", currency, currencyDisplay } as const;
    return new Intl.NumberFormat(NUMBER_LOCALE, { ...style, ...digits }).format(amount);
  } catch {
    return `${new Intl.NumberFormat(NUMBER_LOCALE, digits).format(amount)} ${currency}`;
  }
}
