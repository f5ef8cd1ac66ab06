/** The row of a prompt: its id without the epoch and the visit, and without what marks one that took the place of another. */
export const rowName = (promptId: string): string => promptId.replace(/\/\d+(\/spare)?(\.\d+)?$/, '')

/** Whether a prompt is among those that are not drawn any more. A row that an epoch visits more than once is dropped as a whole. */
export const isDropped = (promptId: string, droppedPrompts: readonly string[]): boolean =>
  droppedPrompts.includes(rowName(promptId).replace(/\+\d+$/, ''))
