import { expect, test } from "vitest";
import type { OrderDetail } from "./api.ts";
import {
  checkAddress,
  checkDays,
  describeDownload,
  describePrice,
  describeReturned,
  isSameAddress,
  nameEvent,
  nameProduct,
  nameProvider,
} from "./model.ts";

const NOW = Date.parse("2026-11-23T12:00:00Z");

function order(changes: Partial<OrderDetail>): OrderDetail {
  return {
    id: "1",
    number: 1,
    paid_at: "2026-11-20T12:00:00Z",
    state: "delivered",
    template: { id: 1, title: "Newsletter" },
    buyer_email: "a@b.example",
    amount_minor: 2800,
    currency: "USD",
    provider: "stripe",
    returned_minor: 0,
    is_test: false,
    is_disputed: false,
    downloads: 0,
    provider_reference: "cs_1",
    download_expires_at: "2026-12-01T12:00:00Z",
    messages: [],
    events: [],
    ...changes,
  };
}

test("a download link is valid until its end and never after a refund", () => {
  expect(describeDownload(order({}), NOW)).toBe("valid");
  expect(describeDownload(order({ download_expires_at: "2026-11-23T11:00:00Z" }), NOW)).toBe(
    "over",
  );
  expect(describeDownload(order({ download_expires_at: null }), NOW)).toBe("none");
  expect(describeDownload(order({ state: "refunded" }), NOW)).toBe("none");
});

test("the parts of an amount are named as far as they are known", () => {
  expect(describePrice(order({}))).toEqual([]);
  expect(describePrice(order({ quantity: 1, unit_minor: 2800, discount_minor: 0 }))).toEqual([]);
  const parts = { quantity: 3, unit_minor: 2800, discount_minor: 840, tax_minor: 1207 };
  expect(describePrice(order(parts)).join(", ")).toBe(
    "3 copies at $28.00, $8.40 discount, $12.07 tax included",
  );
  expect(describePrice(order({ quantity: 2 }))).toEqual(["2 copies"]);
});

test("the days of a filter are in order, and either may be missing", () => {
  expect(checkDays({ from: "2026-01-02", to: "2026-01-01" })).toContain("must not be after");
  for (const days of [
    { from: "2026-01-02", to: "2026-01-02" },
    { from: "2026-01-02", to: "" },
    { from: "", to: "2026-01-02" },
  ]) {
    expect(checkDays(days)).toBeUndefined();
  }
});

test("an address is checked and compared without its case", () => {
  expect(checkAddress("ann@example.com")).toBeUndefined();
  for (const address of ["", "ann", "ann@", "an n@example.com"]) {
    expect(checkAddress(address)).toBe("Enter an email address.");
  }
  expect(isSameAddress(" Ann@Example.com", "ann@example.com")).toBe(true);
  expect(isSameAddress("ann@example.org", "ann@example.com")).toBe(false);
});

test("what came back is told with what remains", () => {
  expect(describeReturned(order({}))).toBe("");
  expect(describeReturned(order({ amount_minor: 125000, returned_minor: 25000 }))).toBe(
    "$250.00, $1,000.00 remain paid",
  );
});

test("what has no name of its own is still readable", () => {
  expect(nameProduct(order({ template: { id: 7, title: "" } }))).toBe("Template 7");
  expect(nameProvider("new_provider")).toBe("new_provider");
  expect(nameEvent("checkout.session.completed")).toBe("Checkout session completed");
});
