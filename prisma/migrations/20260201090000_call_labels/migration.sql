-- What clients say about their calls for their own request log: app, address, metadata. A nullable column changes no row.
ALTER TABLE call_records ADD COLUMN labels JSONB;
