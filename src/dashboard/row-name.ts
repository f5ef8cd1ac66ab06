/** The row of a prompt: its id without the epoch and the visit, and without what marks one that took the place of another. */
export const rowName = (promptId: string): string => promptId.replace(/\/\d+(\/spare)?(\.\d+)?$/, '')

/** What is dropped with a prompt: a row that an epoch visits more than once is dropped as a whole. */
export const droppedName = (promptId: string): string => rowName(promptId).replace(/\+\d+$/, '')

/** Whether a prompt is among those that are not drawn any more. */
export const isDropped = (promptId: string, droppedPrompts: readonly string[]): boolean =>
  droppedPrompts.includes(droppedName(promptId))
