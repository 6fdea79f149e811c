-- What a platform key may cost in a day and in a month, in whole USD of the provider's price. Null: not limited here.
ALTER TABLE platform_keys
  ADD COLUMN usd_per_day   integer CHECK (usd_per_day > 0),
  ADD COLUMN usd_per_month integer CHECK (usd_per_month > 0);
