-- What receipts say about a payment: taxes and discounts, as the provider signed them. Null for earlier orders.

ALTER TABLE orders ADD COLUMN tax_minor bigint;
ALTER TABLE orders ADD COLUMN discount_minor bigint;
CREATE INDEX orders_buyer_email_idx ON orders (lower(buyer_email), number);
