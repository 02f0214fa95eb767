-- The template that a submission is about, as the address of the form named it.

ALTER TABLE submissions ADD COLUMN template integer CHECK (template > 0);
