-- The session with which a provider sends the buyer back; null for earlier orders and for PayPal.

ALTER TABLE orders ADD COLUMN checkout text;
CREATE INDEX orders_checkout_idx ON orders (checkout) WHERE checkout IS NOT NULL;

-- What is needed to deliver a payment that waits for the owner; null for others.
ALTER TABLE payment_events ADD COLUMN held jsonb;
CREATE INDEX payment_events_held_idx ON payment_events (received_at) WHERE held IS NOT NULL;
