/** Killed at any rename or removal, an export is the old one or the new one. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { runChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { fixture, sequences, temporary } from '../support/models.js'

async function train(model: LocalModel<'language'>): Promise<void> {
  await model.forwardBackward(sequences([6, 11, 4]), outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1) })),
  )
  await model.step({ lr: 1e-2 })
}

const script = new URL('./children/export-over.mjs', import.meta.url)

/** Until a process comes through alive. */
async function killAtEvery(
  what: string,
  prepare: (target: string) => void,
  check: (target: string) => Promise<string>,
) {
  const found: string[] = []
  for (let at = 1; ; at++) {
    const parent = temporary(`${what}-${at}`)
    mkdirSync(parent)
    const target = join(parent, 'out')
    prepare(target)
    const { code, signal, output } = await runChild(script, [
      compiledRoom('model'),
      temporary('new'),
      target,
      what,
      `${at}`,
    ])
    if (signal !== 'SIGKILL') expect(code, output).toBe(0)
    found.push(await check(target))
    expect(readdirSync(parent), `killed at ${at}`).toEqual(['out'])
    rmSync(parent, { recursive: true })
    if (signal !== 'SIGKILL') break
  }
  expect(found[0]).toBe('old')
  expect(found.at(-1)).toBe('new')
  expect(found.indexOf('new')).toBeGreaterThan(found.lastIndexOf('old'))
}

test('an export is the old model or the new one', async () => {
  const model = await LocalModel.load(fixture('qwen2'), { role: 'language' })
  await model.export(temporary('old'), { what: 'model', maxShardBytes: 40_000 })
  const names = new Map([[await model.checksum(), 'old']])
  await train(model)
  await model.export(temporary('new'), { what: 'model' })
  names.set(await model.checksum(), 'new')
  model.dispose()
  await killAtEvery(
    'export',
    target => cpSync(temporary('old'), target, { recursive: true }),
    async target => {
      const back = await LocalModel.load(target, { role: 'language' })
      const name = names.get(await back.checksum())
      back.dispose()
      // The files are those of one export: an index, or a list of shards, of the other would show.
      const index = JSON.parse(readFileSync(join(target, 'model.safetensors.index.json'), 'utf8'))
      const shards = new Set(Object.values(index.weight_map as Record<string, string>))
      expect(
        readdirSync(target)
          .filter(file => file.endsWith('.safetensors'))
          .sort(),
      ).toEqual([...shards].sort())
      return name ?? 'a mixture'
    },
  )
}, 240_000)

test('a state is the old training or the new one', async () => {
  const old = await LocalModel.load(fixture('qwen2'), { role: 'language', version: 3 })
  await train(old)
  await old.saveState(temporary('old-state'))
  await killAtEvery(
    'state',
    target => cpSync(temporary('old-state'), target, { recursive: true }),
    async target => {
      await old.loadState(target)
      return old.version === 4 ? 'old' : old.version === 0 ? 'new' : 'a mixture'
    },
  )
  old.dispose()
}, 240_000)
