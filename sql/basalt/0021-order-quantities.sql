-- How many copies an order is for and what one costs, as far as the provider says it; null for orders from before.

ALTER TABLE orders ADD COLUMN quantity integer;
ALTER TABLE orders ADD COLUMN unit_minor bigint;
