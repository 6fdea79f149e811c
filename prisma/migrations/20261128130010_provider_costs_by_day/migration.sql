-- The retention of provider costs, every half a minute, read the whole table.
CREATE INDEX account_provider_costs_day_idx ON account_provider_costs (day);
