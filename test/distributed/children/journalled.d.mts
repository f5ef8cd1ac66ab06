import type { TokenModel } from '../../../src/model/index.js'

export interface JournalledJob {
  readonly directory: string
  readonly iterations: number
  readonly samples: number
}
export function readJournal(directory: string): { i: number; samples: number[]; norm: number }[]
export function trainJournalled(
  model: TokenModel<'language'>,
  job: JournalledJob,
  print?: (line: string) => void,
): Promise<void>
