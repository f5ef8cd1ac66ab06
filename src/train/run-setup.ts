/** What every run directory gets before training starts. */
import { readFileSync } from 'node:fs'
import { cp, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDirectoryAtomic } from '../files/index.js'
import { tokenizerFiles } from '../model/index.js'
import { backend } from '../tensor/index.js'

/** Of what a run was made with. */
export function runVersions(): Record<string, string> {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return { whetstone: manifest.version, node: process.version, libtorch: backend().libtorchVersion }
}

/** A copy of the tokenizer in the run directory: a run is replayed without the model's. */
export async function keepTokenizer(from: string, run: string): Promise<void> {
  const target = join(run, 'tokenizer')
  if (await exists(target)) return
  await writeDirectoryAtomic(target, async at => {
    for (const name of ['config.json', 'generation_config.json', ...tokenizerFiles])
      if (await exists(join(from, name))) await cp(join(from, name), join(at, name), { recursive: true })
  })
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
