import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Binary, buildBinary } from '../support/binary.js'

const script = fileURLToPath(new URL('./children/fuzz-files.mjs', import.meta.url))
const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const cases = 500

let binary: Binary
beforeAll(() => {
  binary = buildBinary()
})
afterAll(() => binary.remove())

/** Runs cases until one ends the process; gives what was printed. */
function run(kind: string, from: number): Promise<{ output: string; ended: string }> {
  const dist = join(binary.folder, '../dist')
  const args = [script, dist, fixtures, join(binary.folder, kind), kind, `${from}`, `${cases}`]
  const child = spawn(process.execPath, ['--max-old-space-size=1024', ...args], {
    env: { ...process.env, OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  return new Promise(resolve =>
    child.on('close', (code, signal) => resolve({ output, ended: `${signal ?? code} ${errors.slice(0, 300)}` })),
  )
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
