export type { ImageChoice } from './kinds/call-kind.ts'
