/**
 * What reads journals and replays them, loaded when it is first needed: libtorch comes with it, and tables of samples need neither.
 */
export const journalReading = (): Promise<typeof import('../../train/index.js')> => import('../../train/index.js')
