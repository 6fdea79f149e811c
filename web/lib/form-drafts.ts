import { useEffect } from 'react'
import { readStored, writeStored } from './storage.ts'

const STORED_AS = 'shuntyard-drafts'

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
 * Notes who is signed in. With null, after the session ended, the drafts of the open forms are kept in this tab, without
 * secrets, until the same person signs in again. They are dropped when another person signs in.
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

const write = (kept: KeptDrafts): void => writeStored(STORED_AS, JSON.stringify(kept), 'sessionStorage')

function readKept(): KeptDrafts | null {
  try {
    return JSON.parse(readStored(STORED_AS, 'sessionStorage') ?? 'null') as KeptDrafts | null
  } catch {
    return null
  }
}

/** Forgets what was kept, as signing out does. */
export const dropDrafts = (): void => writeStored(STORED_AS, null, 'sessionStorage')

/** Whether drafts are kept for a person whose session ended. */
export const hasKeptDrafts = (): boolean => readKept() !== null

/** The kept draft of a form of the signed-in person; empty if there is none. */
export function readDraft(form: string): Draft {
  const kept = readKept()
  return kept !== null && kept.personId === shownPersonId ? (kept.forms[form] ?? {}) : {}
}

/** Removes the kept draft of a form once the form shows it. */
function removeDraft(form: string): void {
  const kept = readKept()
  if (kept === null || !(form in kept.forms)) return
  const { [form]: _, ...forms } = kept.forms
  if (Object.keys(forms).length === 0) dropDrafts()
  else write({ ...kept, forms })
}

/** Leaves a draft for a form that is opened next, on another page. */
export function leaveDraft(form: string, typed: Draft): void {
  if (shownPersonId !== null) write({ personId: shownPersonId, forms: { [form]: typed } })
}

/** Registers a form on screen under its unique name. Fields that hold secrets are left out. */
export function openForm(form: string, typed: Draft): () => void {
  openForms.set(form, Object.fromEntries(Object.entries(typed).filter(([name]) => !SECRET_FIELD.test(name))))
  return () => openForms.delete(form)
}

/** Keeps the draft of a form if the session ends. `typed`: the fields that differ from their initial values. */
export function useDraft(form: string, typed: Draft): void {
  useEffect(() => removeDraft(form), [form])
  useEffect(() => openForm(form, typed))
}
