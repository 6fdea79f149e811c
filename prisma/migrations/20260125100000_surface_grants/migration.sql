-- Surfaces that operators opened to an account, with all its keys, or to one key.

CREATE TABLE "surface_grants" (
    "id" TEXT NOT NULL,
    "surface" TEXT NOT NULL,
    "account_id" TEXT,
    "key_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "surface_grants_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "surface_grants_one_holder" CHECK (num_nonnulls("account_id", "key_id") = 1),
    CONSTRAINT "surface_grants_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id")
        ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "surface_grants_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id")
        ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "surface_grants_account_id_surface_key" ON "surface_grants"("account_id", "surface");
CREATE UNIQUE INDEX "surface_grants_key_id_surface_key" ON "surface_grants"("key_id", "surface");
