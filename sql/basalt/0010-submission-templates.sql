-- The template that a submission is about, as the address of the form named it.

ALTER TABLE submissions
    ADD COLUMN template integer,
    ADD CONSTRAINT submissions_template_check CHECK (template > 0);
