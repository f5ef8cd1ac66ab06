/** Which row of the data a prompt came from, by its id. */

/** Its id without the epoch and the visit, and without what marks one that took the place of another. */
export const visitOf = (promptId: string): string => promptId.replace(/\/\d+(\/spare)?(\.\d+)?$/, '')

/** Also without the number that a row has where a weight makes an epoch visit it more than once: such a row is dropped as a whole. */
export const dataRowOf = (promptId: string): string => visitOf(promptId).replace(/\+\d+$/, '')
