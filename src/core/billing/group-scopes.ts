/** What calls of an account are grouped by: the project of their key, a value of `metadata`, or the end user. */
export const GROUP_SCOPES = ['project', 'tag', 'user'] as const
export type GroupScope = (typeof GROUP_SCOPES)[number]

export const isGroupScope = (scope: string): scope is GroupScope =>
  (GROUP_SCOPES as readonly string[]).includes(scope)
