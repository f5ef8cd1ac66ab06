/** The card of a model that leaves this machine, as a file or by an upload. */
import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CardForm, runOfModel, writeModelCard } from '../card/index.js'

interface CardOptions {
  /** A model directory, an adapter or a run. */
  readonly model: string
  /** The adapter that was merged into it. */
  readonly adapter?: string | undefined
  readonly form: CardForm
  readonly title?: string | undefined
  /** In place of a title, for a model that no run made. */
  readonly name?: string | undefined
}

/**
 * Writes README.md (and the curves of a run) into a directory, and gives the paths. A card that is there already stays. The card of a model
 * that no run made travels with it.
 */
export async function placeCard(into: string, options: CardOptions): Promise<string[]> {
  const { model, adapter, form, name } = options
  const card = join(into, 'README.md')
  if (existsSync(card)) return []
  const trained = adapter ?? model
  const run = await runOfModel(trained)
  const own = join(trained, 'README.md')
  if (run === undefined && adapter === undefined && existsSync(own)) {
    await copyFile(own, card)
    return [card]
  }
  const base = adapter === undefined ? undefined : model
  const title = options.title ?? (run === undefined ? name : undefined)
  const names = await writeModelCard(into, trained, { run, form, title, base })
  return names.map(name => join(into, name))
}
