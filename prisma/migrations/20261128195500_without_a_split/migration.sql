-- The partition of the months before partitions is archived as one.
DROP FUNCTION create_split_tables(date, date);
DROP FUNCTION finish_split(date, date);
