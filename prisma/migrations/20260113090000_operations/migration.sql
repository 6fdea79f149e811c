-- What operators did, what audits found, and what raised an alarm.

-- Append-only: who did what, and when. A deed is written down before it is done.
CREATE TABLE "operator_actions" (
    "id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "details" JSONB NOT NULL,
    "request_id" TEXT NOT NULL,
    CONSTRAINT "operator_actions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "operator_actions_outcome_known" CHECK ("outcome" IN ('asked', 'failed'))
);

CREATE INDEX "operator_actions_target_id_idx" ON "operator_actions"("target", "id");

CREATE FUNCTION "operator_actions_refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: the record of operators'' actions is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END;
$$;

CREATE TRIGGER "operator_actions_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "operator_actions"
    FOR EACH STATEMENT EXECUTE FUNCTION "operator_actions_refuse_change"();

CREATE TABLE "audit_runs" (
    "id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "ok" BOOLEAN NOT NULL,
    "cause" TEXT NOT NULL,
    "figures" JSONB NOT NULL,
    "checks" JSONB NOT NULL,
    "discrepancies" JSONB NOT NULL,
    CONSTRAINT "audit_runs_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "alarms" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "count" INTEGER NOT NULL,
    "fields" JSONB NOT NULL,
    "acknowledged_at" TIMESTAMPTZ(3),
    "acknowledged_by" TEXT,
    CONSTRAINT "alarms_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alarms_acknowledged_by_somebody" CHECK (("acknowledged_at" IS NULL) = ("acknowledged_by" IS NULL))
);

-- An alarm that is open takes its repetitions in; once acknowledged, the next opens a new one.
CREATE UNIQUE INDEX "alarms_open_kind_subject_key" ON "alarms"("kind", "subject") WHERE "acknowledged_at" IS NULL;

-- How far the stream of alarms in Redis has been taken over; one row.
CREATE TABLE "alarm_cursor" (
    "id" INTEGER NOT NULL,
    "entry_id" TEXT NOT NULL,
    CONSTRAINT "alarm_cursor_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alarm_cursor_one_row" CHECK ("id" = 1)
);

INSERT INTO "alarm_cursor" ("id", "entry_id") VALUES (1, '0-0');
