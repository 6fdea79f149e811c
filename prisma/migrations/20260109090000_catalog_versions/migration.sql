-- What operators changed of the catalog, and which rates models ever had. Both are append-only: a correction is
-- a new row, and the last row holds.
CREATE TABLE "catalog_documents" (
    "id" BIGSERIAL NOT NULL,
    "content" JSONB NOT NULL,
    "author" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "catalog_documents_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "catalog_documents_author_given" CHECK ("author" <> ''),
    CONSTRAINT "catalog_documents_object" CHECK (jsonb_typeof("content") = 'object')
);

-- Rates and list prices in pico-USD per token.
CREATE TABLE "rate_versions" (
    "id" BIGSERIAL NOT NULL,
    "model_id" TEXT NOT NULL,
    "rate_version" TEXT NOT NULL,
    "prompt" BIGINT NOT NULL,
    "completion" BIGINT NOT NULL,
    "list_prompt" BIGINT NOT NULL,
    "list_completion" BIGINT NOT NULL,
    "source" TEXT NOT NULL,
    "effective_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "rate_versions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "rate_versions_not_negative"
        CHECK ("prompt" >= 0 AND "completion" >= 0 AND "list_prompt" >= 0 AND "list_completion" >= 0)
);

CREATE INDEX "rate_versions_model_id_id_idx" ON "rate_versions" ("model_id", "id" DESC);
CREATE INDEX "rate_versions_rate_version_idx" ON "rate_versions" ("rate_version");

CREATE FUNCTION "catalog_refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: the catalog''s history is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER "catalog_documents_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "catalog_documents"
    FOR EACH STATEMENT EXECUTE FUNCTION "catalog_refuse_change"();

CREATE TRIGGER "rate_versions_append_only"
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "rate_versions"
    FOR EACH STATEMENT EXECUTE FUNCTION "catalog_refuse_change"();
