/** Exports that are wrong on purpose: the comparison with llama.cpp has to find each of them (`npm run test:gguf`). */
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { exportGguf, GgufFile, importGguf } from '../../src/gguf/index.js'
import { permuteHeads } from '../../src/gguf/permute.js'
import { bytesOf } from '../../src/gguf/tensor-types.js'
import { bounds, type ComparedType, compareWithLlamaCpp, goldenModel } from '../support/llama-cpp.js'
import { temporary } from '../support/models.js'

type Change = (bytes: Buffer, file: GgufFile) => Promise<void>

const dataOf = (bytes: Buffer, file: GgufFile, name: string): Buffer => {
  const { position, type, shape } = file.info(name)!
  return bytes.subarray(position, position + bytesOf(type, shape[0]! * shape[1]!))
}

/** The data of two tensors of the same type and shape. */
const swapped =
  (first: string, second: string): Change =>
  async (bytes, file) => {
    const [a, b] = [dataOf(bytes, file, first), dataOf(bytes, file, second)]
    const kept = Buffer.from(a)
    a.set(b)
    b.set(kept)
  }

const changes: Readonly<Record<string, Change>> = {
  'the rows of the keys are in the order of transformers': async (bytes, file) => {
    const keys = dataOf(bytes, file, 'blk.1.attn_k.weight')
    keys.set(await permuteHeads(keys, { rows: 32, heads: 2, to: 'halves' }))
  },
  'two projections of one layer are swapped': swapped('blk.2.ffn_gate.weight', 'blk.2.ffn_up.weight'),
  'a matrix of two layers is swapped': swapped('blk.0.attn_v.weight', 'blk.2.attn_v.weight'),
  'a token is the bos that is not': async bytes => {
    const key = Buffer.from('tokenizer.ggml.bos_token_id')
    bytes.writeUInt32LE(3, bytes.indexOf(key) + key.length + 4)
  },
}

const source = await goldenModel('llama')

describe.each(Object.keys(bounds) as ComparedType[])('%s', type => {
  const right = temporary(`right-${type}.gguf`)
  const weights = temporary(`right-${type}`)

  test('the right export has no problems', async () => {
    await exportGguf(source, { out: right, type })
    await importGguf(right, { out: weights, dtype: 'float32' })
    expect((await compareWithLlamaCpp(right, { type, source, weights })).problems).toEqual([])
  })

  test.each(Object.keys(changes))('%s', async name => {
    await using file = await GgufFile.open(right)
    const bytes = await readFile(right)
    await changes[name]!(bytes, file)
    const wrong = temporary(`wrong-${type}.gguf`)
    await writeFile(wrong, bytes)
    const { problems, same } = await compareWithLlamaCpp(wrong, { type, source, weights })
    console.log(`${type}, ${name}: ${same.most.toExponential(1)}; ${problems.slice(0, 2).join('; ')}`)
    expect(problems).not.toEqual([])
  })
})
