import type { PresetSettings } from '../../core/api/presets.ts'
import { newId } from '../../core/kernel/ids.ts'
import type { PresetReference, PresetVersion } from '../../core/presets/preset.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { Sealer } from '../../platform/sealing.ts'

/** The sealing purpose: a system text is a part of prompts. */
export const PRESET_PURPOSE = 'preset'

export const PRESET_BOUNDS = {
  active: 50,
  /** Including deleted ones, whose names keep their count of versions. */
  inAll: 500,
  /** The latest versions of each preset that are kept. */
  versions: 50,
}

/** A version as listed. */
export interface StoredVersion {
  version: number
  createdAt: Date
}

export interface StoredPreset extends PresetVersion, StoredVersion {}

export interface PresetWithVersions extends StoredPreset {
  /** The versions that are kept, latest first. */
  versions: StoredVersion[]
}

/** `unknown`: there is no such version to restore. */
type Saving = { kind: 'saved'; preset: StoredPreset } | { kind: 'too-many' | 'too-many-in-all' | 'unknown' }

/** Presets of accounts. Rejects if a change could not be announced: it is then stored, and repeating it announces it. */
export type PresetStore = ReturnType<typeof createPresetStore>

/** Binds a version to its account, name and number. */
const contextOf = (accountId: string, name: string, version: number): string =>
  `${accountId}/${name}@${version}`

interface SealedVersion {
  accountId: string
  name: string
  version: number
  settingsSealed: string
  createdAt: Date
}

/** The latest version of each preset of an account. */
const LATEST = `
SELECT version.account_id AS "accountId", name, version, settings_sealed AS "settingsSealed", version.created_at AS "createdAt"
FROM presets JOIN preset_versions AS version USING (account_id, name)
WHERE account_id = $1 AND version = latest_version ORDER BY name`

const SEALED = { accountId: true, name: true, version: true, settingsSealed: true, createdAt: true } as const

/** The preset store over PostgreSQL. A version never changes; a name that was deleted continues its numbers. */
export function createPresetStore(options: {
  postgres: Postgres
  sealer: Sealer
  /** Announces a change of an account to every process, after it is committed. */
  announceAccount: (accountId: string) => Promise<void>
}) {
  const { postgres, sealer, announceAccount } = options

  const opened = ({ accountId, name, version, settingsSealed, createdAt }: SealedVersion): StoredPreset => ({
    name,
    version,
    settings: JSON.parse(sealer.open(settingsSealed, contextOf(accountId, name, version))) as PresetSettings,
    createdAt,
  })

  const add = async (
    client: PostgresTransaction,
    accountId: string,
    { name, settings, author }: NewVersion,
  ): Promise<Saving> => {
    // The lock on the account's row serializes the count and the numbers.
    await client.$queryRawUnsafe('SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
    const of = { accountId, name }
    const known = await client.preset.findUnique({ where: { accountId_name: of } })
    if (known?.deletedAt !== null) {
      const active = await client.preset.count({ where: { accountId, deletedAt: null } })
      if (active >= PRESET_BOUNDS.active) return { kind: 'too-many' }
    }
    if (!known && (await client.preset.count({ where: { accountId } })) >= PRESET_BOUNDS.inAll)
      return { kind: 'too-many-in-all' }
    const version = (known?.latestVersion ?? 0) + 1
    await client.preset.upsert({
      where: { accountId_name: of },
      create: { ...of, latestVersion: version },
      update: { latestVersion: version, deletedAt: null },
    })
    const settingsSealed = sealer.seal(JSON.stringify(settings), contextOf(accountId, name, version))
    const { createdAt } = await client.presetVersion.create({
      data: { id: newId('preset'), ...of, version, settingsSealed, author },
    })
    const oldest = version - PRESET_BOUNDS.versions
    await client.presetVersion.deleteMany({ where: { ...of, version: { lte: oldest } } })
    return { kind: 'saved', preset: { name, version, settings, createdAt } }
  }

  /** The version that a reference names; null if there is none. */
  const read = async (
    accountId: string,
    { name, version }: PresetReference,
    client: PostgresTransaction = postgres,
  ): Promise<StoredPreset | null> => {
    const row = await client.presetVersion.findFirst({
      where: { accountId, name, ...(version !== null && { version }) },
      orderBy: { version: 'desc' },
      select: SEALED,
    })
    return row && opened(row)
  }

  const announced = async (accountId: string, saving: Saving): Promise<Saving> => {
    if (saving.kind === 'saved') await announceAccount(accountId)
    return saving
  }

  return {
    read,

    /** Adds a version, the first of a new name. */
    save: async (accountId: string, version: NewVersion): Promise<Saving> =>
      announced(accountId, await postgres.$transaction((client) => add(client, accountId, version))),

    /** Adds a version with the settings of an earlier one. */
    restore: async (
      accountId: string,
      { name, version, author }: { name: string; version: number; author: string },
    ): Promise<Saving> =>
      announced(
        accountId,
        await postgres.$transaction(async (client): Promise<Saving> => {
          const earlier = await read(accountId, { name, version }, client)
          if (!earlier) return { kind: 'unknown' }
          return add(client, accountId, { name, settings: earlier.settings, author })
        }),
      ),

    /** The latest version of each preset, by name. */
    async list(accountId: string): Promise<StoredPreset[]> {
      return (await postgres.$queryRawUnsafe<SealedVersion[]>(LATEST, accountId)).map(opened)
    },

    /** A version with the list of all that are kept. */
    async find(accountId: string, reference: PresetReference): Promise<PresetWithVersions | null> {
      const [preset, versions] = await Promise.all([
        read(accountId, reference),
        postgres.presetVersion.findMany({
          where: { accountId, name: reference.name },
          orderBy: { version: 'desc' },
          select: { version: true, createdAt: true },
        }),
      ])
      return preset && { ...preset, versions }
    },

    /** Deletes a preset with all its versions; false if the account has none of this name. */
    async remove(accountId: string, name: string): Promise<boolean> {
      const removed = await postgres.$transaction(async (client) => {
        const { count } = await client.preset.updateMany({
          where: { accountId, name, deletedAt: null },
          data: { deletedAt: new Date() },
        })
        await client.presetVersion.deleteMany({ where: { accountId, name } })
        return count > 0
      })
      if (removed) await announceAccount(accountId)
      return removed
    },
  }
}

interface NewVersion {
  name: string
  settings: PresetSettings
  /** The person or the key that saved it. */
  author: string
}
