import { useEffect } from 'react'

const STORED_AS = 'switchyard-drafts'

/** What was typed into one form, by field. */
type Draft = Record<string, string>

/** The drafts of one person, by form. */
interface KeptDrafts {
  personId: string
  forms: Record<string, Draft>
}

/** Never kept. URLs of webhooks and alarm destinations may hold a token. */
const SECRET_FIELD = /password|secret|token|^(admin_)?key$|^code$|^url$/

/** The forms on screen, with what was typed into them. */
const openForms = new Map<string, Draft>()
let shownPersonId: string | null = null

/**
 * Notes who is signed in; null: the session has ended, and what was typed into the forms on screen is kept in this tab, without
 * secrets, until the same person signs in again. For anybody else it is dropped.
 */
export function noteDraftOwner(personId: string | null): void {
  if (personId === shownPersonId) return
  if (personId === null) keepDrafts()
  else if (readKept()?.personId !== personId) dropDrafts()
  shownPersonId = personId
}

function keepDrafts(): void {
  const forms = Object.fromEntries([...openForms].filter(([, draft]) => Object.keys(draft).length > 0))
  if (shownPersonId === null || Object.keys(forms).length === 0) return
  write({ personId: shownPersonId, forms })
}

function write(kept: KeptDrafts): void {
  try {
    sessionStorage.setItem(STORED_AS, JSON.stringify(kept))
  } catch {
    // Storage may be refused or full; what was typed then ends with the session.
  }
}

function readKept(): KeptDrafts | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORED_AS) ?? 'null') as KeptDrafts | null
  } catch {
    return null
  }
}

/** Forgets what was kept, as signing out does. */
export function dropDrafts(): void {
  try {
    sessionStorage.removeItem(STORED_AS)
  } catch {
    // Where storage is refused nothing was kept.
  }
}

/** Whether something is kept until its person signs in again. */
export const hasKeptDrafts = (): boolean => readKept() !== null

/** What the signed-in person had typed into a form when the session ended; empty without. */
export function readDraft(form: string): Draft {
  const kept = readKept()
  return kept !== null && kept.personId === shownPersonId ? (kept.forms[form] ?? {}) : {}
}

/** Removes it, once it is back on screen. */
function removeDraft(form: string): void {
  const kept = readKept()
  if (kept === null || !(form in kept.forms)) return
  const { [form]: _, ...forms } = kept.forms
  if (Object.keys(forms).length === 0) dropDrafts()
  else write({ ...kept, forms })
}

/** Puts a form on screen under a name that no other form of the console has. Fields that hold secrets are left out. */
export function openForm(form: string, typed: Draft): () => void {
  openForms.set(form, Object.fromEntries(Object.entries(typed).filter(([name]) => !SECRET_FIELD.test(name))))
  return () => openForms.delete(form)
}

/** Keeps what is typed into a form if the session ends. `typed`: the fields that differ from what the form began with. */
export function useDraft(form: string, typed: Draft): void {
  useEffect(() => removeDraft(form), [form])
  useEffect(() => openForm(form, typed))
}
