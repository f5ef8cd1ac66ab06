import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChild } from '../support/child.js'
import { compiled, repository } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

const script = new URL('./children/fuzz-files.mjs', import.meta.url)
const fixtures = join(repository, 'test/fixtures')
const folder = temporaryDirectory()
const cases = 500

/** Runs cases until one ends the process; gives what was printed. */
async function run(kind: string, from: number): Promise<{ output: string; ended: string }> {
  const args = [join(compiled(), 'dist'), fixtures, join(folder, kind), kind, `${from}`, `${cases}`]
  const { code, signal, stdout, stderr } = await runChild(script, args, { flags: ['--max-old-space-size=1024'] })
  return { output: stdout, ended: `${signal ?? code} ${stderr.slice(0, 300)}` }
}

test.each(['tokenizer', 'tokenizer-config', 'template', 'config', 'safetensors'])(
  'a damaged %s: an error of ours or nothing, never the end of the process',
  async kind => {
    const problems: string[] = []
    for (let from = 0; from < cases && problems.length < 10; ) {
      const { output, ended } = await run(kind, from)
      problems.push(...output.split('\n').filter(line => line.startsWith('error ')))
      if (output.endsWith('done\n')) break
      const last = Number(/case (\d+)\n(?!.*case)/s.exec(output)?.[1] ?? from)
      problems.push(`case ${last} ended the process: ${ended}`)
      from = last + 1
    }
    expect(problems).toEqual([])
  },
  120_000,
)
