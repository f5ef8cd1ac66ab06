/** What every run directory gets before training starts. */
import { existsSync, readFileSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processorFiles, writeDirectoryAtomic } from '../../files/index.js'
import { copyTokenizer } from '../../model/index.js'
import { backend } from '../../tensor/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { LiveParts } from './job.js'

/** Of what a run was made with. */
export function runVersions(): Record<string, string> {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return { whetstone: manifest.version, node: process.version, libtorch: backend().libtorchVersion }
}

/**
 * Copies the tokenizer into the run directory, so that a run can be replayed without the model; a given chat template and the
 * processor of images are included. Returns the tokenizer directory for exported models, if it is not the one of the model.
 */
export async function keepTokenizer(
  tokenizer: Tokenizer,
  run: string,
  live: Pick<LiveParts, 'tokenizer'> = {},
): Promise<string | undefined> {
  const { dir: from, givenTemplate, stopIds } = tokenizer
  const target = join(run, 'tokenizer')
  // A resumed run may be allowed to have another.
  await writeDirectoryAtomic(
    target,
    async at => {
      await copyTokenizer(from, at, ['config.json', 'generation_config.json', ...processorFiles])
      if (givenTemplate !== undefined) await writeTemplate(at, givenTemplate, stopIds)
    },
    { replaces: () => true },
  )
  return givenTemplate === undefined && !live.tokenizer ? undefined : target
}

/** The template in place of all that were there, and what ends a turn in it among what ends a response. */
async function writeTemplate(directory: string, template: string, stopIds: readonly number[]): Promise<void> {
  for (const name of ['chat_template.json', 'additional_chat_templates'])
    await rm(join(directory, name), { recursive: true, force: true })
  await writeFile(join(directory, 'chat_template.jinja'), template)
  const file = join(directory, 'generation_config.json')
  const generation = existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as object) : {}
  const ends = { eos_token_id: stopIds.length === 1 ? stopIds[0] : stopIds }
  await writeFile(file, `${JSON.stringify({ ...generation, ...ends }, undefined, 2)}\n`)
}
