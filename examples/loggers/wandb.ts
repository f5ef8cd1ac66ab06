/**
 * Sends a run to Weights & Biases with their JavaScript SDK: `npm install @wandb/sdk@0.5.1 graphql@16`, set WANDB_API_KEY, and name this
 * file in a config: `loggers: [tensorboard, ./wandb.ts]`.
 *
 * Metrics, the config and the texts of samples are sent. The SDK has no tables and no artifacts, and it writes the history of a run from its
 * first line: a resumed run is a second W&B run with the same name.
 */
import { defineLogger } from 'whetstone'

/** What is used of `@wandb/sdk`. */
interface Wandb {
  init(options: Record<string, unknown>): Promise<{ readonly id: string }>
  log(data: Record<string, unknown>, step?: number): void
  finish(code?: number): Promise<void>
}

/** A name that the compiler does not look for: this file compiles without the package. */
const sdk: string = '@wandb/sdk'
let wandb: Wandb

export default defineLogger({
  name: 'wandb',
  async start({ name, id, command, config, from }) {
    wandb = ((await import(sdk)) as { default: Wandb }).default
    const own = from === undefined ? id.slice(0, 8) : `${id.slice(0, 8)}-${from}`
    const project = process.env.WANDB_PROJECT ?? 'whetstone'
    await wandb.init({ project, name, id: own, job_type: command, config })
    return { id: own }
  },
  metrics(entries) {
    for (const { step, values } of entries) wandb.log({ ...values, _step: step }, step)
  },
  samples(entries) {
    for (const { step, prompt, response, reward } of entries)
      wandb.log({ sample: `${prompt}\n---\n${response}\n---\nreward ${reward}`, _step: step }, step)
  },
  async end({ outcome }) {
    await wandb.finish(outcome === 'finished' ? 0 : 1)
  },
})
