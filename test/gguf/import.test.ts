import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importGguf } from '../../src/gguf/index.js'
import { LocalModel, readConfig } from '../../src/model/index.js'
import { Checkpoint } from '../../src/tensor/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { checksumsOf } from '../support/checksums.js'
import { expectClose } from '../support/close.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { fixture, temporary } from '../support/models.js'

const fixtures = new URL('../fixtures/gguf', import.meta.url).pathname

interface Case {
  readBy: 'transformers' | 'gguf'
  checksums: Record<string, string>
  ids: number[]
  logprobs: number[]
}
const cases = JSON.parse(await readFile(join(fixtures, 'models.json'), 'utf8')) as Record<string, Case>

describe.each(Object.keys(cases))('%s', name => {
  const { checksums, ids, logprobs } = cases[name]!

  test('has the bits of an independent reading, and its log-probabilities', async () => {
    const before = await heldMemory()
    const out = temporary(`${name}-model`)
    await importGguf(join(fixtures, `${name}.gguf`), { out, dtype: 'float32' })
    await expectHeld(before)
    expect(await checksumsOf(out)).toEqual(checksums)
    const model = await LocalModel.load(out, { role: 'language' })
    const [scored] = await model.score([Int32Array.from(ids)])
    model.dispose()
    expectClose(scored!.logprobs, logprobs, 1e-4)
  })
})

test('the four numbers of rope scaling come back from its factors', async () => {
  const out = temporary('rope')
  await importGguf(join(fixtures, 'llama31rope.gguf'), { out })
  const { decoder } = await readConfig(out)
  expect(decoder.ropeScaling).toEqual({ factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalContext: 32 })
  expect(decoder).toMatchObject({ normEps: 1e-5, ropeTheta: 10_000, headDim: 16, tiedEmbeddings: true })
})

test('the tokenizer, its chat template and its special tokens come from the file', async () => {
  const out = temporary('tokenizer')
  const made = await importGguf(join(fixtures, 'qwen2.gguf'), { out })
  expect(made).toMatchObject({ architecture: 'Qwen2ForCausalLM', dtype: 'float32', types: ['q5_0', 'f32'] })
  const [own, original] = [await Tokenizer.load(out), await Tokenizer.load(fixture('eos-pad'))]
  const text = "Hi <|im_start|>user\n it's 12 o'clock, größer 你好<|im_end|>"
  expect([...(await own.encode(text))]).toEqual([...(await original.encode(text))])
  const chat = [{ role: 'user', content: 'Hello' }] as const
  expect(own.renderChat(chat, { addGenerationPrompt: true })).toBe(
    original.renderChat(chat, { addGenerationPrompt: true }),
  )
  expect(own).toMatchObject({ bosId: 1, eosId: 2, padId: 0, vocabSize: original.vocabSize })
  expect(await own.decode([2, 60], { skipSpecialTokens: true })).toBe(
    await original.decode([2, 60], { skipSpecialTokens: true }),
  )
})

test('the dtype is that of the matrices, or float32 where they are quantised', async () => {
  for (const [name, dtype] of [
    ['llama31rope', 'float16'],
    ['qwen3', 'bfloat16'],
    ['llama', 'float32'],
  ] as const) {
    const out = temporary(`dtype-${name}`)
    expect(await importGguf(join(fixtures, `${name}.gguf`), { out })).toMatchObject({ dtype })
    const checkpoint = await Checkpoint.open(out)
    for (const tensor of checkpoint.names) expect(checkpoint.info(tensor).dtype).toBe(dtype)
    await checkpoint.close()
  }
})
