/** The name that leaves the choice of a model to us. */
export const AUTO_MODEL = 'auto'

/** Whether a name that a client asked for, suffix and all, leaves the choice to us: its target is not told. */
export const isAutoModel = (asked: string): boolean => asked.split(':', 1)[0] === AUTO_MODEL
