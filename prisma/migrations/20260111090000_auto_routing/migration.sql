-- What `auto` chose by: for judging its choices later. NULL where a call named its model.
ALTER TABLE "call_records" ADD COLUMN "auto_score" REAL;
ALTER TABLE "call_records" ADD COLUMN "auto_tier" TEXT;
ALTER TABLE "call_records" ADD COLUMN "auto_profile" TEXT;
ALTER TABLE "call_records" ADD CONSTRAINT "call_records_auto_whole"
    CHECK (("auto_score" IS NULL) = ("auto_tier" IS NULL) AND ("auto_score" IS NULL) = ("auto_profile" IS NULL));
