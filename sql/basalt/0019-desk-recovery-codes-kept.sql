-- Whether an owner has said that the codes were kept. Those of an interrupted setup may never have been seen: the desk then
-- asks for new ones. Codes of earlier versions count as kept.

ALTER TABLE desk_recovery_codes ADD COLUMN is_unconfirmed boolean NOT NULL DEFAULT false;
