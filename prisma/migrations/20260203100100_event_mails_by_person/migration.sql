-- One message per event and recipient: events of an organisation go to several people. `account_id` is the personal
-- account of the recipient, as it always was.
ALTER TABLE event_mails DROP CONSTRAINT event_mails_pkey, ADD PRIMARY KEY (event_id, account_id);
