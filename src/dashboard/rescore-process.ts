/** The process that scores samples again: it gets them in one message, answers in another, and ends. */
import type { RescoreAnswer } from './api.js'
import { RequestError } from './errors.js'
import { type RescoreOptions, rescore } from './rescore.js'

export type FromRescoreProcess =
  | { readonly answer: RescoreAnswer }
  | { readonly error: string; readonly status: number }

// However the dashboard ended.
process.on('disconnect', () => process.exit())
process.once('message', async (asked: RescoreOptions) => {
  const said = await answer(asked)
  process.send!(said, () => process.exit())
})

async function answer(asked: RescoreOptions): Promise<FromRescoreProcess> {
  try {
    return { answer: await rescore(asked) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { error: message, status: error instanceof RequestError ? error.status : 500 }
  }
}
