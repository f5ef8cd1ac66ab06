import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChild } from '../support/child.js'
import { compiled } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

// Nothing a caller passes may end the process: each run is a child, and its last call is shown when it dies. The seed is
// fixed, so that a change is tested and not luck; WHETSTONE_FUZZ_SEED and WHETSTONE_FUZZ_ROUNDS explore further.
const seed = Number(process.env.WHETSTONE_FUZZ_SEED ?? 1)
const rounds = (usual: number) => process.env.WHETSTONE_FUZZ_ROUNDS ?? `${usual}`

async function survives(
  script: string,
  flags: string[],
  ...rest: string[]
): Promise<{ calls: number; refused: number }> {
  const last = join(temporaryDirectory(), 'last')
  const { code, signal, output } = await runChild(
    new URL(`./children/${script}`, import.meta.url),
    [join(compiled(), 'dist/tensor/index.js'), last, `${seed}`, ...rest],
    { flags, timeout: 50_000 },
  )
  if (code !== 0) {
    const call = readFileSync(last, 'utf8').trim()
    throw new Error(
      `the process ended with ${signal ?? `code ${code}`}; WHETSTONE_FUZZ_SEED=${seed}; last call: ${call}\n${output.slice(-2000)}`,
    )
  }
  return JSON.parse(output.trim().split('\n').at(-1)!) as { calls: number; refused: number }
}

test('every typed method and function', async () => {
  const { calls, refused } = await survives('fuzz.mjs', [], rounds(10), 'typed')
  expect(calls).toBeGreaterThan(4000)
  expect(refused / calls).toBeGreaterThan(0.3)
})

test('every public operator through the generic call', async () => {
  const { calls } = await survives('fuzz.mjs', [], rounds(1), 'generic')
  expect(calls).toBeGreaterThan(1500)
})

test('the addon itself, and its mailbox', async () => {
  const { calls, refused } = await survives('raw.mjs', ['--expose-gc'], rounds(40))
  expect(calls).toBeGreaterThan(5000)
  expect(refused / calls).toBeGreaterThan(0.3)
})
