-- Why an operator moved money by hand. Append-only like the ledger itself: a correction is a new adjustment.
CREATE TABLE "ledger_notes" (
    "id" TEXT NOT NULL,
    "kind" "ledger_kind" NOT NULL,
    "reason" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_notes_pkey" PRIMARY KEY ("id", "kind"),
    CONSTRAINT "ledger_notes_reason_given" CHECK ("reason" <> '')
);

CREATE TRIGGER "ledger_notes_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_notes"
    FOR EACH STATEMENT EXECUTE FUNCTION "ledger_refuse_change"();
